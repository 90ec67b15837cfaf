#!/usr/bin/env bash
# Installs the routing daemons and tools that the tests use and that are missing. None of the daemons' services starts.
set -euo pipefail
missing=()
for tool in vtysh:frr bird:bird2 traceroute:traceroute ethtool:ethtool ping:iputils-ping ip:iproute2; do
    PATH=$PATH:/usr/sbin:/usr/lib/frr command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
done
((${#missing[@]})) || exit 0
if [[ $EUID -ne 0 ]]; then
    echo "Missing packages: ${missing[*]}. Install them with: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
