#!/usr/bin/env bash
# Times every stage and the whole run beside a plain copy of the same Parquet files with the same
# crate at the same threads, interleaved, and prints medians and ratios.
#
#   scripts/bench.sh [FOLDER] [RUNS]
#
# FOLDER holds Parquet files with a column `text` (default: 0.2 GB made by crates/corpus).
# THREADS and MODE (drop or annotate) may be set in the environment.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${2:-5}
threads=${THREADS:-2}
mode=${MODE:-drop}
cargo build --release --quiet
cargo build --release --quiet -p corpus
bin=${CARGO_TARGET_DIR:-$PWD/target}/release
scratch=$(mktemp -d "$PWD/target/bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
if [ $# -ge 1 ]; then
  folder=$(realpath "$1")
else
  "$bin/corpus" "$scratch/corpus" --documents 80000 --files 4 >/dev/null
  folder=$scratch/corpus/data
fi
cat >"$scratch/pipeline.toml" <<TOML
[input]
paths = "$folder"
[run]
work = "work"
threads = $threads
[filter]
output = "output"
mode = "$mode"
TOML

# One figure of a stage from report.json, which has one key a line.
figure() { # stage, name
  awk -v stage="\"$1\": {" -v name="\"$2\":" '
    index($0, "\"stages\": {") { inside = 1 }
    inside && index($0, stage) { found = 1 }
    found && index($0, name) { gsub(/[^0-9.e-]/, "", $2); print $2; exit }' \
    "$scratch/work/report.json"
}
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

stages="sign band join cluster filter"
for _ in $(seq "$runs"); do
  for what in copy text; do
    rm -rf "$scratch/copy"
    "$bin/baseline" "$what" "$folder" "$scratch/copy" --threads "$threads" >>"$scratch/$what.txt"
  done
  rm -rf "$scratch/work" "$scratch/output"
  begin=$(date +%s.%N)
  "$bin/neardup" run "$scratch/pipeline.toml" --quiet
  end=$(date +%s.%N)
  total_cpu=0
  peak=0
  for stage in $stages; do
    cpu=$(figure "$stage" cpu_s)
    rss=$(figure "$stage" peak_rss_bytes)
    echo "$(figure "$stage" wall_s) $cpu $rss $(figure "$stage" bytes_written)" >>"$scratch/$stage.txt"
    total_cpu=$(awk "BEGIN { print $total_cpu + $cpu }")
    peak=$(awk "BEGIN { print ($rss > $peak) ? $rss : $peak }")
  done
  echo "$(awk "BEGIN { print $end - $begin }") $total_cpu $peak 0" >>"$scratch/whole.txt"
done

copy_wall=$(cut -d' ' -f1 "$scratch/copy.txt" | median)
copy_cpu=$(cut -d' ' -f2 "$scratch/copy.txt" | median)
text_mb=$(awk -F'[:,]' '/"text_bytes"/ { print $2 / 1e6; exit }' "$scratch/work/report.json")
echo "$folder: $text_mb MB of text, $mode, $threads threads, medians of $runs interleaved runs"
printf '%-10s %8s %8s %8s %8s %9s %9s\n' what wall_s cpu_s wall/copy cpu/copy MB/s/core peak_MiB
for what in copy text $stages whole; do
  wall=$(cut -d' ' -f1 "$scratch/$what.txt" | median)
  cpu=$(cut -d' ' -f2 "$scratch/$what.txt" | median)
  rss=$(cut -d' ' -f3 "$scratch/$what.txt" | median)
  awk -v what=$what -v w="$wall" -v c="$cpu" -v cw="$copy_wall" -v cc="$copy_cpu" -v r="$rss" -v mb="$text_mb" 'BEGIN {
    printf "%-10s %8.3f %8.3f %8.2f %8.2f %9.0f %9.1f\n", what, w, c, w / cw, c / cc, (c > 0) ? mb / c : 0, r / 1048576 }'
done
