#!/usr/bin/env bash
# Runs the packet tests of both programs, then the network, which is in a namespace of its own. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
hopwright=${HOPWRIGHT:-../../target/release/hopwright}
for architecture in v1model tna; do
    for engine in interp jit reference; do
        "$hopwright" stf "../../p4/int/int_$architecture.p4" "../../p4/int/int_$architecture.stf" --engine "$engine"
    done
done
# `ip netns` names are of this run only.
exec unshare --net --mount sh -c 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up; exec "$@"' run \
    ./chain_test.py --hopwright "$hopwright"
