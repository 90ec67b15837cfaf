#!/usr/bin/env bash
# Installs what the tests of the RINA router use: curl, openssl, tshark, and p4runtime-shell and Scapy in a virtual environment.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh curl:curl openssl:openssl tshark:tshark
cmp -s requirements.txt .venv/requirements && exit 0
rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
cp requirements.txt .venv/requirements
