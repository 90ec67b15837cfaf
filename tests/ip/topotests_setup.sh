#!/usr/bin/env bash
# Installs what FRR's topotests use and is missing: FRR with all its parts, pytest and tools.
set -euo pipefail
here=$(dirname "$0")
"$here/setup.sh"
"$here/../packages.sh" /usr/lib/python3/dist-packages/pytest:python3-pytest /usr/lib/frr/frr-reload.py:frr-pythontools \
    /usr/lib/python3/dist-packages/scapy:python3-scapy iperf:iperf tcpdump:tcpdump snmpd:snmpd snmpwalk:snmp \
    "/usr/lib/$(uname -m)-linux-gnu/frr/modules/zebra_snmp.so:frr-snmp"
