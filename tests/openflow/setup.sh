#!/usr/bin/env bash
# Installs what the OpenFlow tests talk to: os-ken, and Open vSwitch from Debian, which is not started. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
../packages.sh ovs-vswitchd:openvswitch-switch ovs-ofctl:openvswitch-common
