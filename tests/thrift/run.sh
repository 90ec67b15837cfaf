#!/usr/bin/env bash
# Runs the tests of the Thrift interface in a network namespace of their own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
exec unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python cli_test.py "$@"
