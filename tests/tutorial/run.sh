#!/usr/bin/env bash
# Tries docs/tutorial.md, or the pages that are named, in a network of its own. Needs root, and tests/p4runtime/setup.sh run before.
set -euo pipefail
cd "$(dirname "$0")"
unshare --net --mount sh -c '
    mkdir -p /run/netns /run/hopwright && mount --make-rprivate / && ip link set lo up
    mount -t tmpfs none /run/netns && mount -t tmpfs none /run/hopwright
    exec python3 tutorial_test.py "$@"' run "$@"
