#!/usr/bin/env bash
# Runs the reference's router acceptance tool against a border router; see
# braccept.py --help. Builds the tool first where it is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/setup.sh"
"$here/tools.sh"
exec python3 "$here/braccept.py" "$@"
