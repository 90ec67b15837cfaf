#!/usr/bin/env bash
# Runs the tests of the RINA router, those with packets in a network namespace of their own. Needs root, and setup.sh.
set -euo pipefail
cd "$(dirname "$0")"
echo "RINA: engines"
python3 engines_test.py "$@"
echo "RINA: router"
unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python router_test.py "$@"
