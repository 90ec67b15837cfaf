#!/usr/bin/env bash
# Runs the tests of network management, each in a network namespace of its own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
for what in gnmi snmp sflow; do
    echo "$what"
    # `ip netns` names are of this run only.
    unshare --net --mount sh -c 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up; exec "$@"' run \
        .venv/bin/python "${what}_test.py" "$@"
done
