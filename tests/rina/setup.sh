#!/usr/bin/env bash
# Installs what the tests of the RINA router use: curl, openssl, tshark, and p4runtime-shell and Scapy in a virtual environment.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh curl:curl openssl:openssl tshark:tshark
../venv.sh
