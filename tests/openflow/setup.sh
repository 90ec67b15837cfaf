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
if ! command -v ovs-vswitchd > /dev/null; then
    # The package would start its daemons.
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' > "$policy"
        chmod 755 "$policy"
    fi
    apt-get install -y -qq --no-install-recommends openvswitch-switch openvswitch-common > /dev/null \
        || { apt-get update -qq; apt-get install -y -qq --no-install-recommends openvswitch-switch openvswitch-common > /dev/null; }
fi
