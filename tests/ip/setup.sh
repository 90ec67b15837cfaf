#!/usr/bin/env bash
# Installs the routing daemons and tools that the tests use and that are missing. None of the daemons' services starts.
set -euo pipefail
"$(dirname "$0")/../packages.sh" vtysh:frr bird:bird2 traceroute:traceroute ping:iputils-ping ip:iproute2 nft:nftables iptables:iptables
