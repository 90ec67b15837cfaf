#!/usr/bin/env bash
# Hopwright by the names of BMv2 and p4c: compilers, switches in a network namespace of their own, some exercises in Mininet. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
python3 compiler_test.py "$@"
unshare --net sh -c 'ip link set lo up; exec ../p4runtime/.venv-shell/bin/python switch_test.py "$@"' run "$@"
(($#)) || set -- Tutorials.test_basic Tutorials.test_p4runtime Tutorials.test_calc
python3 tutorials_test.py "$@"
