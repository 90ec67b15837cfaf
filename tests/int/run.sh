#!/usr/bin/env bash
# Runs the packet tests of the programs, then the networks, each in a namespace of its own. Needs root, and for SCION the reference's router.
set -euo pipefail
cd "$(dirname "$0")"
hopwright=${HOPWRIGHT:-../../target/release/hopwright}
for architecture in v1model tna; do
    for engine in interp jit reference; do
        for program in int scion; do
            "$hopwright" stf "../../p4/int/${program}_$architecture.p4" "../../p4/int/${program}_$architecture.stf" --engine "$engine"
        done
    done
done
# `ip netns` names are of this run only.
for test in chain_test scion_test; do
    unshare --net --mount sh -c 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && ip link set lo up; exec "$@"' run \
        "./$test.py" "$@"
done
