#!/usr/bin/env bash
# Installs what the tutorial asks of a newcomer's machine and is missing.
set -euo pipefail
cd "$(dirname "$0")"
../p4runtime/setup.sh
../packages.sh ping:iputils-ping
