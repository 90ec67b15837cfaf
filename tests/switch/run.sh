#!/usr/bin/env bash
# Runs the tests of a switch with tenants in network namespaces of their own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
for tests in switch_test.py memory_test.py; do
    unshare --net sh -c 'ip link set lo up; exec "$@"' run ../p4runtime/.venv-finsy/bin/python "$tests" "$@"
done
