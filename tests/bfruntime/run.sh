#!/usr/bin/env bash
# Runs the BfRuntime tests in a network namespace of their own. Needs root. With BFRT_CLIENT, a folder that has the package
# `bfrt_grpc` of Intel's drivers, its unmodified client takes the place of ours.
set -euo pipefail
cd "$(dirname "$0")"
for test in bfruntime_test switchd_test hashes_test; do
    # A client that waits for the switch must not get the switch's port for itself.
    unshare --net sh -c 'ip link set lo up; echo 50052 >/proc/sys/net/ipv4/ip_local_reserved_ports; exec "$@"' run .venv/bin/python "$test.py" "$@"
done
