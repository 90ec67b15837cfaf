#!/usr/bin/env bash
# Runs the OpenFlow tests in a network namespace of their own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
for test in "${@:-switch hostile}"; do
    for name in $test; do
        echo "OpenFlow: $name"
        unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python "${name}_test.py"
    done
done
