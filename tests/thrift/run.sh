#!/usr/bin/env bash
# Runs the tests of the Thrift interface in a network namespace of their own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
run() { unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python "$@"; }
run cli_test.py "$@"
run notifications_test.py "$@"
