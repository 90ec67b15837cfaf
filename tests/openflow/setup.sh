#!/usr/bin/env bash
# Installs what the OpenFlow tests talk to: os-ken, and Open vSwitch from Debian, which is not started. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
stamp=.venv/requirements
if ! cmp -s requirements.txt "$stamp"; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$stamp"
fi
../packages.sh ovs-vswitchd:openvswitch-switch ovs-ofctl:openvswitch-common
