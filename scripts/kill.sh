#!/usr/bin/env bash
# Kills a run with SIGKILL, the whole process group, at random moments, and lets it go on, until it is
# done; then compares output, clusters and the counters of all stages with an unbroken run's.
#
#   scripts/kill.sh [KILLS] [DOCUMENTS]
#
# KILLS (default 200) in all; DOCUMENTS (default 2,400,000, about a minute on two cores) of 100 to
# 1,000 words. In the environment: THREADS (default 2), SEED (default 1), BIN as for big.sh, KILL_WITHIN
# in seconds (default a sixth of an unbroken run): a process lives so long at most, so that every run is
# killed several times. Everything is made under target/kill and goes at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
kills=${1:-200}
documents=${2:-2400000}
threads=${THREADS:-2}
RANDOM=${SEED:-1}
for number in "$kills" "$documents" "$threads"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { echo "KILLS, DOCUMENTS and THREADS are numbers, not \`$number\`" >&2; exit 2; }
done
folder=$PWD/target/kill
rm -rf "$folder"
mkdir -p "$folder"
pid=
finish() {
  [ -z "$pid" ] || kill -9 -- "-$pid" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT
trap 'exit 130' INT TERM
if [ -n "${BIN:-}" ]; then
  bin=$(realpath "$BIN")
else
  cargo build --release --quiet -p neardup
  cargo build --release --quiet -p corpus --bins
  bin=$folder/bin
  mkdir "$bin"
  cp target/release/{neardup,corpus} "$bin"
fi
"$bin/corpus" "$folder/corpus" --documents "$documents" --files 12 >"$folder/made"
cat >"$folder/pipeline.toml" <<TOML
[input]
paths = "corpus/data"
[run]
work = "work"
threads = $threads
[filter]
output = "output"
TOML

digest() {
  (cd "$folder" && find output work/clusters.parquet -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum)
}
# The counters of all stages from report.json, which has one key a line.
counters() {
  awk '/"counters": \{/ { inside = 1 } inside { print } /^      \}/ { inside = 0 }' "$folder/work/report.json" | sha256sum
}
# Whatever a stopped run leaves is gone when it is done.
tidy() {
  local left
  left=$(find "$folder" -name '*.neardup-*' -o -name '.neardup-tmp-*' -o -path "$folder/work/scratch" -o -path "$folder/work/parts")
  [ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }
}

begin=$(date +%s%N)
"$bin/neardup" run "$folder/pipeline.toml" --quiet
unbroken_ms=$((($(date +%s%N) - begin) / 1000000))
expected="$(digest) $(counters)"
within_ms=$(awk "BEGIN { print int(1000 * ${KILL_WITHIN:-$unbroken_ms / 6000}) + 1 }")
echo "$documents documents; unbroken run $unbroken_ms ms; kills within $within_ms ms of the start"
rm -rf "$folder/work" "$folder/output"

killed=0
rounds=0
of_round=0
stages=""
while [ "$killed" -lt "$kills" ] || [ "$of_round" -gt 0 ]; do
  setsid "$bin/neardup" run "$folder/pipeline.toml" >/dev/null 2>"$folder/errors" &
  pid=$!
  if [ "$killed" -lt "$kills" ]; then
    sleep "$(awk "BEGIN { printf \"%.3f\", ($RANDOM * 32768 + $RANDOM) / 1073741824 * $within_ms / 1000 }")"
    if kill -9 -- "-$pid" 2>/dev/null; then
      stage=$(grep -oE '[a-z]+ +starts \(' "$folder/errors" | tail -1 | cut -d' ' -f1) || true
    fi
  fi
  code=0
  { wait "$pid" || code=$?; } 2>/dev/null
  pid=
  case $code in
    0)
      [ "$(digest) $(counters)" = "$expected" ] || { echo "another result after $killed kills" >&2; exit 1; }
      tidy
      rounds=$((rounds + 1))
      of_round=0
      rm -rf "$folder/work" "$folder/output"
      ;;
    137)
      killed=$((killed + 1))
      of_round=$((of_round + 1))
      stages+="${stage:-none} "
      ;;
    *)
      echo "exit $code after $killed kills:" >&2
      cat "$folder/errors" >&2
      exit 1
      ;;
  esac
done
echo "$killed kills, $rounds runs done: bytes and counters equal to an unbroken run's"
echo "killed in: $(tr ' ' '\n' <<<"$stages" | grep . | sort | uniq -c | tr '\n' ' ')"
