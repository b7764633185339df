#!/bin/sh
# Checks that the objects of src/kernels/isa export nothing but the functions of kernels.def.
#
#   tools/check_isa_symbols.sh [BUILD_DIR]     default build/release
#
# A weak symbol, such as an inline function of the standard library, would be compiled with that file's instructions, and
# the linker might choose that copy for the whole program: an illegal instruction on an older machine.
set -eu
build=${1:-build/release}
objects=$(find "$build" -path '*/kernels/isa/*.o' | sort)
if [ -z "$objects" ]; then
  echo "check_isa_symbols: no objects of src/kernels/isa under $build; build first" >&2
  exit 2
fi
status=0
for object in $objects; do
  # W and V are weak, u is unique; C is common. Sanitizers and coverage add their own, which begin with two underscores.
  weak=$(nm -C "$object" | grep -E ' [WVuwvC] ' | grep -vE ' [WVuwvC] (__|_GLOBAL_)' || true)
  # What an isa file may ask of the rest of the program: the C library's memory functions, fmaf and rintf.
  wanted=$(nm -u "$object" | awk '{print $2}' |
    grep -vE '^(memcpy|memset|memmove|memcmp|fmaf|rintf|__.*|_GLOBAL_OFFSET_TABLE_)$' || true)
  if [ -n "$weak$wanted" ]; then
    echo "$object: must have only its own strong symbols; found" >&2
    printf '%s\n' "$weak" "$wanted" | grep -v '^$' | sed 's/^/  /' >&2
    status=1
  fi
done
[ $status -ne 0 ] || echo "check_isa_symbols: $(echo "$objects" | wc -l) objects, only strong symbols of their own"
exit $status
