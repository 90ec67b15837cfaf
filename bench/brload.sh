#!/usr/bin/env bash
# Loads border routers with the reference's traffic generator and compares them;
# see brload.py --help.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/../tests/interop/setup.sh"
"$here/../tests/interop/tools.sh"
exec python3 "$here/brload.py" "$@"
