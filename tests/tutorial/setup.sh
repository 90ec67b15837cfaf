#!/usr/bin/env bash
# Installs what the tutorial asks of a newcomer's machine and is missing.
set -euo pipefail
cd "$(dirname "$0")"
../p4runtime/setup.sh
command -v ping >/dev/null && exit 0
if [[ $EUID -ne 0 ]]; then
    echo "Missing package: iputils-ping. Install it with: sudo apt-get install iputils-ping" >&2
    exit 1
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends iputils-ping >&2
