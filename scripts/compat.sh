#!/usr/bin/env bash
# Files of other writers there and back: makes small Parquet files with pyarrow, Polars, DuckDB, arrow-rs,
# pandas and fastparquet (from PyPI), over types, encodings, codecs, page versions and all that a footer can
# say; runs neardup on them in both modes, with and without duplicates; and compares each output with its
# input, byte by byte where nothing was dropped, field by field in the footers, and value by value as pyarrow,
# arrow-rs (also as DataFusion), DuckDB, Polars, pandas and fastparquet read them.
#
#   scripts/compat.sh [WORD...]
#
# Only files whose name contains one of the WORDs are made; all of them without. In the environment: BIN as for
# big.sh (a folder with `neardup`; otherwise it is built), KEEP=1 to leave the files where they are. Everything
# is made under target/compat, where the Python packages stay for the next time. Prints a table of files by
# readers, failures first, then the totals; the exit code is 1 when anything fails.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/target/compat
files=$folder/files
packages=(pyarrow polars duckdb pandas fastparquet arro3-core arro3-io datafusion)
mkdir -p "$folder"
rm -rf "$files"
finish() {
  [ -n "${KEEP:-}" ] || rm -rf "$files"
}
trap finish EXIT
trap 'exit 130' INT TERM
if [ -n "${BIN:-}" ]; then
  bin=$(realpath "$BIN")/neardup
else
  cargo build --release --quiet -p neardup
  # A copy, so that a build meanwhile does not change what is tested.
  mkdir -p "$folder/bin"
  cp target/release/neardup "$folder/bin/"
  bin=$folder/bin/neardup
fi
python=$folder/venv/bin/python
[ -x "$python" ] || python3 -m venv "$folder/venv"
"$python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
"$python" -m pip list --disable-pip-version-check 2>/dev/null | grep -E "^(${packages[0]}$(printf '|%s' "${packages[@]:1}")) "
export PYTHONDONTWRITEBYTECODE=1
"$python" scripts/compat/make.py "$files" "$@"
"$python" scripts/compat/check.py "$bin" "$files"
