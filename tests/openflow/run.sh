#!/usr/bin/env bash
# Runs the OpenFlow tests, each in a network namespace of its own: of our switch, against controllers that misbehave, and, if asked for,
# the same of Open vSwitch. Needs root.
#
#     run.sh [ours] [features] [hostile] [docs] [peer] [peer-features] [--only NAME]
set -euo pipefail
cd "$(dirname "$0")"
parts=()
while [[ ${1:-} == [a-z]* ]]; do parts+=("$1") && shift; done
((${#parts[@]})) || parts=(ours features hostile docs)
for part in "${parts[@]}"; do
    echo "OpenFlow: $part"
    case $part in
        ours) test=(switch_test.py OurSwitch) ;;
        features) test=(features_test.py OurSwitch) ;;
        peer-features) test=(features_test.py Peer) ;;
        peer) test=(switch_test.py Peer) ;;
        hostile) test=(hostile_test.py) ;;
        docs) test=(docs_test.py) ;;
        *) echo "run.sh: no part is called $part" >&2; exit 2 ;;
    esac
    unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python "${test[@]}" "$@"
done
