#!/usr/bin/env bash
# Installs the compiler of the XDP programs that forwarding.py compares with. Needs root.
set -euo pipefail
command -v clang > /dev/null && exit 0
apt-get install -y -qq --no-install-recommends clang libc6-dev > /dev/null \
    || { apt-get update -qq; apt-get install -y -qq --no-install-recommends clang libc6-dev > /dev/null; }
