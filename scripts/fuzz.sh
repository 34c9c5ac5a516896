#!/usr/bin/env bash
# The long form of tests/fuzz.rs: mutated Parquet files through the binary and through the reader, and
# mutated files of our own formats through their readers, with other seeds each round.
#
#   scripts/fuzz.sh [MINUTES] [FIRST_SEED]
#
# MINUTES (default 60) in all; a round takes about two. Prints a line a round; ends with 1 at the first
# round that finds something, whose files are below target/fuzz.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-60}
seed=${2:-2}
for number in "$minutes" "$seed"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "MINUTES and FIRST_SEED are numbers, not \`$number\`" >&2; exit 2; }
done
export CARGO_TERM_COLOR=never
cargo build --quiet
cargo test --quiet --package tests --test fuzz --no-run
end=$((SECONDS + 60 * minutes))
files=0
while [ $SECONDS -lt $end ]; do
  log=target/fuzz-$seed.log
  if ! NEARDUP_FUZZ_SEED=$seed NEARDUP_FUZZ_CASES=2000 NEARDUP_FUZZ_SECONDS=100 \
    cargo test --quiet --package tests --test fuzz -- --nocapture >"$log" 2>&1; then
    grep -E "^found|panicked at|^error" "$log" | cut -c1-300 >&2 || true
    echo "seed $seed found something: see $log and target/fuzz" >&2
    exit 1
  fi
  line=$(grep -E "mutated files of [0-9]+ seeds" "$log")
  files=$((files + ${line%% *}))
  echo "seed $seed: $line"
  rm "$log"
  seed=$((seed + 1))
done
echo "$files mutated files through the binary; nothing found"
