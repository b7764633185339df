#!/usr/bin/env bash
# Every fuzz target over its kept corpus, then SECONDS of new inputs: tools/fuzz.sh BUILD_FOLDER SECONDS.
set -euo pipefail
folder=$1
seconds=$2
# Without it UBSan only prints, and the run counts as clean.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
for target in "$folder"/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  name=$(basename "$target" | sed 's/^fuzz_//')
  work=$folder/corpus_$name
  mkdir -p "$work"
  kept=fuzz/corpus/$name
  [ -d "$kept" ] || kept=""
  echo "fuzz $name: ${seconds}s"
  "$target" "$work" $kept -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=2048 -print_final_stats=0 \
    -artifact_prefix="$folder/" > "$folder/$name.log" 2>&1 || { tail -n 60 "$folder/$name.log" >&2; exit 1; }
done
