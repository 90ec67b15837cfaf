#!/usr/bin/env bash
# Runs the P4Runtime tests in a network namespace of their own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
for client in finsy balance sai shell command; do
    echo "P4Runtime as $client sees it"
    case $client in
    balance | sai) python=.venv-finsy/bin/python ;;
    # Our own command needs no installed client.
    command) python=python3 ;;
    *) python=.venv-$client/bin/python ;;
    esac
    unshare --net sh -c 'ip link set lo up; exec "$@"' run "$python" "${client}_test.py" "$@"
done
