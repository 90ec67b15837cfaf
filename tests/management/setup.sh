#!/usr/bin/env bash
# Installs what the tests of network management talk to: pygnmi, gNMI's own client, and from Debian net-snmp's agent and tools and nfdump's
# collector of sFlow. Needs root.
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
sources=$(cat go.mod go.sum; go version)
if [[ $(cat bin/.built-from 2>/dev/null) != "$sources" ]]; then
    echo "Building gNMI's client (once; a minute)…" >&2
    mkdir -p bin
    go build -buildvcs=false -ldflags=-w -gcflags=all=-dwarf=false -o bin/ tool
    echo "$sources" >bin/.built-from
fi
../packages.sh snmpd:snmpd snmpwalk:snmp snmptrapd:snmptrapd nfdump:nfdump sfcapd:nfdump-sflow tshark:tshark ping:iputils-ping ip:iproute2
