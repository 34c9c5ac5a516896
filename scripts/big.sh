#!/usr/bin/env bash
# Large and skewed corpora under a memory budget, measured from outside: the proofs that neardup is
# larger than RAM. Prints a table, then bytes and CPU by stage, then every violation; exits 1 if any.
#
#   scripts/big.sh [SIZE_GB] [CASE...]
#
# SIZE_GB (default 1) is the text of the largest corpus; 10 gives the figures of the issue (20 M
# lines, 5 M rows in a row group ...), less scales rows and budgets down, budgets to 64 MiB at least.
# CASES (default all):
#   memory      the large corpus at a small and at an 8 times larger budget
#   cost        CPU a document at 0.1, 1 and 10 GB, up to SIZE_GB
#   lines       rows of 8 to 20 words, 30 % of them one line, 10 % from a template
#   chain       every document like the next, in order and scattered
#   star        one document like all others
#   bucket      one bucket of nearly all documents, nothing in it alike
#   duplicates  99 % duplicates, and 0 %
#   group       all rows in a single row group
#   files       3,000 files of 100 rows against 10 files, with `ulimit -n 128`
#   budgets     the sample at 16, 32, 64 and 128 MiB: it works, or names a budget that works
#   edges       200 M edges over 100 M documents: external components against union-find
#
# In the environment: THREADS (default 2); KEEP=1 leaves corpora for the next call; BIN names a
# folder of binaries to use instead of building. Everything is made under target/big and goes as
# the cases end.
#
# A budget is enforced by a cgroup (memory.max, 16 MiB more for the parent process) where version 2
# can be written. Elsewhere VmHWM of every stage is read from /proc every 0.2 s, and compared with
# the stage's own last word in report.json; the larger counts.
set -euo pipefail
cd "$(dirname "$0")/.."
all="memory cost lines chain star bucket duplicates group files budgets edges"
size=${1:-1}
shift $(($# > 0))
cases=${*:-$all}
threads=${THREADS:-2}
[[ $size =~ ^[0-9]+(\.[0-9]+)?$ ]] || { echo "SIZE_GB is a number, not \`$size\`" >&2; exit 2; }
for one in $cases; do
  [[ " $all " == *" $one "* ]] || { echo "no case \`$one\`; there are $all" >&2; exit 2; }
done

big=$PWD/target/big
mkdir -p "$big"
# A second call would measure the first.
exec 9>"$big/lock"
flock -n 9 || { echo "another big.sh is running in $big" >&2; exit 1; }
corpora=$big/corpora
scratch=$big/run
rm -rf "$scratch"
mkdir -p "$corpora" "$scratch"
pid=
sampler=
group=
finish() {
  [ -z "$pid$sampler" ] || kill $pid $sampler 2>/dev/null || true
  [ -z "$group" ] || rmdir "$group" 2>/dev/null || true
  rm -rf "$scratch"
  [ -n "${KEEP:-}" ] || rm -rf "$corpora"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ -n "${BIN:-}" ]; then
  bin=$(realpath "$BIN")
else
  cargo build --release --quiet -p neardup
  cargo build --release --quiet -p corpus --bins
  cargo build --release --quiet -p cluster --example components
  # A copy, so that a build meanwhile changes nothing.
  bin=$big/bin
  rm -rf "$bin"
  mkdir "$bin"
  cp target/release/{neardup,corpus,shapes,recall} target/release/examples/components "$bin"
fi

calc() { awk "BEGIN { printf \"$2\", $1 }"; }
holds() { awk "BEGIN { exit !($1) }"; }
rows() { calc "$1 * ($size < 10 ? $size : 10) / 10" %d; }
budget() { calc "($1 * $size / 10 > 64) ? $1 * (($size < 10) ? $size : 10) / 10 : 64" %dMiB; }
mib() { calc "$1 / 1048576" %.1f; }
violations=()
violation() { violations+=("$1"); echo "  ! $1"; }

# --- corpora -----------------------------------------------------------------

# make NAME COMMAND...: `@` in the command is the folder. Reused where the same command made it.
make() {
  local name=$1 program=$2 command="${*:2}"
  shift 2
  [ "$(cat "$corpora/$name.made" 2>/dev/null)" != "$command" ] || return 0
  rm -rf "${corpora:?}/$name" "$corpora/$name.made"
  "$bin/$program" "${@/#@/$corpora/$name}" >"$scratch/made" 2>&1 || { cat "$scratch/made" >&2; exit 1; }
  echo "$command" >"$corpora/$name.made"
  sed "s|^$corpora/||; s/^/  corpus /" "$scratch/made"
}

discard() {
  local name
  for name in "$@"; do
    [ -n "${KEEP:-}" ] || rm -rf "${corpora:?}/$name" "$corpora/$name.made"
  done
}

# --- one run -----------------------------------------------------------------

cgroup_root=/sys/fs/cgroup
limits="VmHWM sampled from outside"
if [ -w $cgroup_root/cgroup.subtree_control ] &&
  grep -qw memory $cgroup_root/cgroup.subtree_control &&
  mkdir "$cgroup_root/neardup-big.$$" 2>/dev/null; then
  group=$cgroup_root/neardup-big.$$
  limits="memory.max of a cgroup, and VmHWM sampled from outside"
fi

bytes_of() { numfmt --from=auto "${1%B}"; }

# sample PID: until it is killed, reads VmHWM of every child process of PID by stage, and the size of
# the work folder; writes the largest of each to $scratch/samples, whole lines at a time.
sample() {
  local child stage kib key changed
  declare -A most=()
  while :; do
    changed=
    for child in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
      stage=$(tr '\0' ' ' 2>/dev/null <"/proc/$child/cmdline" | cut -d' ' -f2) || continue
      kib=$(awk '/^VmHWM:/ { print $2 }' "/proc/$child/status" 2>/dev/null) || continue
      [ -n "$stage" ] && [ "${kib:-0}" -gt "${most[$stage]:-0}" ] || continue
      most[$stage]=$kib
      changed=1
    done
    kib=$(du -sk "$scratch/work" 2>/dev/null | cut -f1) || true
    if [ "${kib:-0}" -gt "${most[work]:-0}" ]; then
      most[work]=$kib
      changed=1
    fi
    if [ -n "$changed" ]; then
      for key in "${!most[@]}"; do echo "$key ${most[$key]}"; done >"$scratch/samples.new"
      mv "$scratch/samples.new" "$scratch/samples"
    fi
    sleep 0.2
  done
}

# The largest sample of a stage or of the work folder, in KiB.
sampled() { awk -v key="$1" '$1 == key { kib = $2 } END { print kib + 0 }' "$scratch/samples"; }

# One figure of a stage from report.json, which has one key a line.
figure() { # stage, name
  awk -v stage="\"$1\": {" -v name="\"$2\":" '
    index($0, "\"stages\": {") { inside = 1 }
    inside && index($0, stage) { found = 1 }
    found && index($0, name) { gsub(/[^0-9.e-]/, "", $2); print $2; exit }' \
    "$scratch/work/report.json"
}

# The first figure of that name after a line that holds a text.
after() { # text, name
  awk -v text="$1" -v name="\"$2\":" '
    index($0, text) { found = 1; if ($0 ~ /\[\]/) { print 0; exit } }
    found && index($0, name) { gsub(/[^0-9]/, "", $2); print $2; exit }' \
    "$scratch/work/report.json"
}

digest() {
  (cd "$scratch/output" && find . -name '*.parquet' -type f -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c1-16)
}

# start MEMORY [ARGUMENT...]: runs neardup on the manifest and samples it to its end. Sets code and
# wall_s; what it prints is in $scratch/errors.
start() {
  local memory=$1 begin
  shift
  : >"$scratch/samples"
  if [ -n "$group" ]; then
    echo $(($(bytes_of "$memory") + (16 << 20))) >"$group/memory.max"
    echo 0 >"$group/memory.swap.max" 2>/dev/null || true
  fi
  begin=$(date +%s.%N)
  (
    [ -z "$group" ] || echo "$BASHPID" >"$group/cgroup.procs"
    ulimit -n "${files_limit:-1024}"
    exec 9>&-
    exec "$bin/neardup" run "$scratch/pipeline.toml" --quiet --memory "$memory" \
      --threads "$threads" "$@"
  ) >"$scratch/errors" 2>&1 &
  pid=$!
  sample $pid 9>&- &
  sampler=$!
  code=0
  wait $pid || code=$?
  wall_s=$(calc "$(date +%s.%N) - $begin" %.2f)
  pid=
  kill $sampler
  wait $sampler 2>/dev/null || true
  sampler=
}

printed=
heading() {
  [ -z "$printed" ] || return 0
  printed=1
  echo "$threads threads; limits: $limits"
  printf '%-21s %8s %10s %8s %8s %8s %8s  %-31s %6s %9s %-17s %-4s %s\n' case budget rows text_MB \
    wall_s cpu_s us/doc 'peak MiB sign band join cl filter' within work_MB planned same notes
}

declare -A reference cost wall mode
# run CASE CORPUS MEMORY [ARGUMENT...]: one measured run, one line of the table. The first run of a
# corpus with some arguments is the reference of the next ones. Returns 1 where it did not end well.
run() {
  local name=$1 corpus=$2 memory=$3 planned
  shift 3
  heading
  rm -rf "$scratch/work" "$scratch/output"
  cat >"$scratch/pipeline.toml" <<TOML
[input]
paths = "$corpora/$corpus/data"
[run]
work = "work"
[filter]
output = "output"
TOML
  planned=$("$bin/neardup" plan "$scratch/pipeline.toml" --memory "$memory" --threads "$threads" \
    "$@" 2>/dev/null | sed -n 's/^work folder: \(.*\) at the peak.*/\1/p' | sed 's/ to /-/; s/ //g') || true
  start "$memory" "$@"
  if [ "$code" -ne 0 ]; then
    printf '%-21s %8s exit %s after %s s: %s\n' "$name" "$memory" "$code" "$wall_s" \
      "$(head -c 300 "$scratch/errors" | tr '\n' ' ')"
    [ "$code" -eq 3 ] && [ -n "${may_refuse:-}" ] || violation "$name at $memory: exit $code"
    return 1
  fi
  record "$name" "$corpus" "$memory" "${planned:--}" "$*"
}

# Turns a run that ended well into a line.
record() {
  local name=$1 corpus=$2 memory=$3 planned=$4 arguments=$5
  local documents text cpu_s=0 peaks="" within=yes limit inner kib same notes stage key sum
  documents=$(after '"rows": {' in)
  text=$(awk -F'[:,]' '/"text_bytes"/ { print $2; exit }' "$scratch/work/report.json")
  limit=$(bytes_of "$memory")
  for stage in sign band join cluster filter; do
    cpu_s=$(calc "$cpu_s + $(figure $stage cpu_s)" %.3f)
    inner=$(figure $stage peak_rss_bytes)
    kib=$(($(sampled $stage) * 1024))
    [ "$inner" -ge "$kib" ] || inner=$kib
    peaks+=$(calc "$inner / 1048576" %6.1f)
    if [ "$inner" -gt "$limit" ]; then
      within=NO
      violation "$name at $memory: $stage peaked at $(mib "$inner") MiB"
    fi
    printf '%-21s %8s %-8s %8.2f %8.2f %10.1f %10.1f\n' "$name" "$memory" $stage \
      "$(figure $stage wall_s)" "$(figure $stage cpu_s)" \
      "$(calc "$(figure $stage bytes_read) / $documents" %.1f)" \
      "$(calc "$(figure $stage bytes_written) / $documents" %.1f)" >>"$scratch/stages"
  done
  key="$corpus $arguments"
  sum=$(digest)
  same=ref
  if [ -n "${reference[$key]:-}" ]; then
    same=yes
    [ "$sum" = "${reference[$key]}" ] || { same=NO; violation "$name at $memory: other bytes"; }
  else
    reference[$key]=$sum
  fi
  cost[$name]=$(calc "$cpu_s * 1e6 / $documents" %.2f)
  wall[$name]=$wall_s
  # Whether `join` held the signatures or brought them to the buckets, at another cost.
  mode[$name]=$(awk -F'[:,]' '/"signatures_resident"/ { print $2; exit }' "$scratch/work/report.json")
  notes="dropped $(after '"rows": {' dropped), largest cluster $(after '"largest_clusters": [' documents)"
  notes+=", bucket $(after '"largest_buckets": [' documents)"
  printf '%-21s %8s %10d %8.1f %8.2f %8.2f %8.2f %-31s %6s %9.1f %-17s %-4s %s\n' "$name" "$memory" \
    "$documents" "$(calc "${text:-0} / 1e6" %.1f)" "$wall_s" "$cpu_s" "${cost[$name]}" "$peaks" \
    $within "$(calc "$(sampled work) * 1024 / 1e6" %.1f)" "$planned" $same "$notes"
  if [ -e "$corpora/$corpus/planted.parquet" ]; then
    "$bin/recall" "$corpora/$corpus/planted.parquet" "$scratch/work/clusters.parquet" \
      >"$scratch/recall" || violation "$name at $memory: recall"
    sed 's/^/  recall /' "$scratch/recall"
  fi
}

# flat WHAT LIMIT FIGURE...: the largest of the figures is at most LIMIT times the smallest.
flat() {
  local what=$1 limit=$2 ratio
  shift 2
  ratio=$(printf '%s\n' "$@" | sort -g | awk 'NR == 1 { low = $1 } END { printf "%.2f", $1 / low }')
  echo "  $what: $* (ratio $ratio, at most $limit)"
  ! holds "$ratio > $limit" || violation "$what: ratio $ratio is over $limit"
}

# at_most WHAT LIMIT BASE FIGURE: the figure is at most LIMIT times the base.
at_most() {
  local ratio
  ratio=$(calc "$4 / $3" %.2f)
  echo "  $1: $3 and $4 (ratio $ratio, at most $2)"
  ! holds "$ratio > $2" || violation "$1: ratio $ratio is over $2"
}

# one_cluster CASE ROWS SHARE: so many documents at least are in one cluster, or a violation.
one_cluster() {
  local found
  found=$(after '"largest_clusters": [' documents)
  holds "$found >= $3 * $2" || violation "$1: the largest cluster holds $found of $2 documents"
}

# --- cases -------------------------------------------------------------------

documents_of() { calc "$1 * 400000" %d; } # of 100 to 1,000 words: 2.5 KB each

case_memory() {
  local small large
  small=$(calc "(102.4 * $size > 64) ? 102.4 * $size : 64" %dMiB)
  large=$(calc "8 * ${small%MiB}" %dMiB)
  make plain corpus @ --documents "$(documents_of "$size")" --files 16
  run memory-8x plain "$large" && run memory plain "$small" || return 0
  at_most "wall at the large budget and at the small" 1.3 "${wall[memory-8x]}" "${wall[memory]}"
  [[ " $cases " == *" cost "* ]] || discard plain
}

case_cost() {
  local gb figures=()
  for gb in 0.1 1 10; do
    holds "$gb <= $size" || continue
    if [ "$gb" = "$size" ]; then
      make plain corpus @ --documents "$(documents_of "$gb")" --files 16
      run "cost-$gb" plain 1GiB || return 0
      discard plain
    else
      make "plain-$gb" corpus @ --documents "$(documents_of "$gb")" --files 4
      run "cost-$gb" "plain-$gb" 1GiB || return 0
      discard "plain-$gb"
    fi
    figures+=("${cost[cost-$gb]}")
  done
  flat "CPU us a document" 1.15 "${figures[@]}"
}

# tenfold CASE ROWS MIB SHAPE-ARGUMENTS -- ARGUMENTS: a tenth of the rows at a tenth of the budget
# (40 MiB at least: filter's least is 34), then all of them at MIB and at 8 GiB. CPU a document stays flat from a tenth to
# all where `join` went the same way in both; what the small budget costs beside a large one is shown.
tenfold() {
  local name=$1 all=$2 memory small shape=()
  memory=$(budget "$3")
  small=$(calc "(${memory%MiB} > 320) ? ${memory%MiB} / 10 : 40" %dMiB)
  shift 3
  while [ "$1" != -- ]; do shape+=("$1"); shift; done
  shift
  make "$name-tenth" shapes "${shape[0]}" @ --rows $((all / 10)) "${shape[@]:1}"
  run "$name-tenth" "$name-tenth" "$small" "$@" || return 0
  discard "$name-tenth"
  make "$name" shapes "${shape[0]}" @ --rows "$all" "${shape[@]:1}"
  run "$name" "$name" "$memory" "$@" || return 0
  case $name in
    chain*) one_cluster "$name" "$all" 1 ;;
    # P(found) of a leaf with J 0.859 to the hub.
    star) one_cluster "$name" "$all" 0.95 ;;
  esac
  run "$name-8GiB" "$name" 8GiB "$@" || return 0
  local like=$name
  [ "${mode[$name]}" = "${mode[$name-tenth]}" ] || like=$name-8GiB
  at_most "CPU us a document, $name-tenth and $like" 1.5 "${cost[$name-tenth]}" "${cost[$like]}"
  echo "  CPU us a document at 8GiB and at $memory: ${cost[$name-8GiB]} and ${cost[$name]}"
  discard "$name"
}

case_lines() { tenfold lines "$(rows 20000000)" 512 lines -- ; }
case_chain() {
  tenfold chain "$(rows 1000000)" 512 chain --
  tenfold chain-scattered "$(rows 1000000)" 512 chain --scattered --
}
case_star() { tenfold star "$(rows 100000)" 512 star --rows-per-row-group 10000 -- ; }
case_bucket() {
  # One slot a band: a bucket of one band holds nearly all documents, and most others half of them.
  tenfold bucket "$(rows 3000000)" 512 bucket -- --set band.rows=1
}

case_duplicates() {
  local documents memory
  documents=$(rows 1000000)
  memory=$(budget 512)
  make all-alike corpus @ --documents "$documents" --exact 0.5 --normalised 0.19 --near 0.3 --edit-rates 0.005,0.01 \
    --null 0 --empty 0 --blank 0
  if run duplicates-99 all-alike 4GiB; then run duplicates-99 all-alike "$memory" || true; fi
  discard all-alike
  make unlike corpus @ --documents "$documents" --exact 0 --normalised 0 --near 0
  if run duplicates-0 unlike 4GiB; then run duplicates-0 unlike "$memory" || true; fi
  discard unlike
}

case_group() {
  local documents
  documents=$(rows 5000000)
  make group corpus @ --documents "$documents" --files 1 --rows-per-row-group "$documents" \
    --words-min 20 --words-max 60
  if run group group 4GiB; then run group group "$(budget 512)" || true; fi
  discard group
}

case_files() {
  local documents files
  files=$(rows 3000)
  documents=$((files * 100))
  make few corpus @ --documents "$documents" --files 10
  run files-10 few 512MiB || return 0
  discard few
  make many corpus @ --documents "$documents" --files "$files" --rows-per-row-group 100
  files_limit=128
  run files-many many 512MiB || return 0
  files_limit=
  at_most "wall of 10 files and of $files" 2 "${wall[files-10]}" "${wall[files-many]}"
  discard many
}

case_budgets() {
  local memory named
  make sample corpus @ --sample
  run budgets sample 1GiB || return 0
  may_refuse=1
  for memory in 16MiB 32MiB 64MiB 128MiB; do
    if run budgets sample $memory; then continue; fi
    named=$(grep -oE 'run\.memory = "[0-9]+[KMG]iB"' "$scratch/errors" | grep -oE '[0-9]+[KMG]iB' | tail -1) || true
    if [ -z "$named" ]; then
      violation "budgets at $memory: refused without a budget that would do"
    elif ! run budgets sample "$named"; then
      violation "budgets at $memory: $named was named, and is refused"
    fi
  done
  may_refuse=
  discard sample
}

case_edges() {
  local documents
  documents=$(rows 100000000)
  "$bin/components" "$documents" $((2 * documents)) "$(b=$(budget 256); echo "${b%MiB}")" \
    "$scratch/edges" | sed 's/^/  edges /' || violation "edges: not equal, or over the budget"
  rm -rf "$scratch/edges"
}

for one in $cases; do
  "case_$one"
  rm -rf "$scratch/work" "$scratch/output"
done

if [ -s "$scratch/stages" ]; then
  echo
  printf '%-21s %8s %-8s %8s %8s %10s %10s\n' case budget stage wall_s cpu_s read_B/doc write_B/doc
  cat "$scratch/stages"
fi
echo
echo "${#violations[@]} violations"
[ ${#violations[@]} -eq 0 ] || { printf '  %s\n' "${violations[@]}"; exit 1; }
