#!/usr/bin/env bash
# clang-tidy over the sources: tools/tidy.sh BUILD_FOLDER JOBS. Findings only, and exit code 1 if there are any.
#
# The clang-analyzer checks double the time, so they run where bytes of strangers are read.
set -euo pipefail
export folder=$1
jobs=$2

check_one() {
  local checks=()
  case $1 in
    # Holds all of Boost.URL, in which the analyzer takes a returned value for a dangling reference.
    src/hub/url.cc) checks=('--checks=-clang-analyzer-*') ;;
    src/onnx/* | src/text/* | src/hub/* | src/graph/*) ;;
    *) checks=('--checks=-clang-analyzer-*') ;;
  esac
  # The commands are those of gcc, whose warnings clang does not all know. On stderr there is only a count of warnings in
  # other people's headers, unless the program itself fails.
  local log
  log=$(mktemp)
  local status=0
  clang-tidy-19 -p "$folder" --quiet --extra-arg=-Wno-unknown-warning-option "${checks[@]}" "$1" 2> "$log" || status=$?
  grep -vE '^([0-9]+ (warnings?|errors?)( and [0-9]+ errors?)? generated\.|Error while processing .*|)$' "$log" >&2 || true
  rm -f "$log"
  return "$status"
}
export -f check_one

# Left out: tables that a program wrote, and the one file that is all of Boost.JSON.
git ls-files 'src/*.cc' | grep -v -e src/text/unicode_tables.cc -e src/base/json.cc |
  xargs -P "$jobs" -n 1 bash -c 'check_one "$1"' _ || exit 1
echo "clang-tidy: clean"
