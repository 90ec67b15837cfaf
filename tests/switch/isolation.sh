#!/usr/bin/env bash
# Runs the ledger of isolation in a network namespace of its own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
unshare --net sh -c 'ip link set lo up; exec "$@"' run ../p4runtime/.venv-finsy/bin/python isolation.py "$@"
