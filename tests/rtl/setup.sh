#!/usr/bin/env bash
# Installs the hardware tools: Debian's verilator for simulation, and yosys, nextpnr and solvers as Python wheels in a
# virtual environment. Quick when they are there.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh verilator:verilator g++:g++ make:make
stamp=.venv/requirements
if ! cmp -s requirements.txt "$stamp"; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$stamp"
fi
