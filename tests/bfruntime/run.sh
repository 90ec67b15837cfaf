#!/usr/bin/env bash
# Runs the BfRuntime tests in a network namespace of their own. Needs root. With BFRT_CLIENT, a folder that has the package
# `bfrt_grpc` of Intel's drivers, its unmodified client takes the place of ours.
set -euo pipefail
cd "$(dirname "$0")"
unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python bfruntime_test.py "$@"
