#!/usr/bin/env bash
# Installs the hardware tools: Debian's verilator for simulation, and yosys, nextpnr and solvers as Python wheels in a
# virtual environment. Quick when they are there.
set -euo pipefail
cd "$(dirname "$0")"
if ! command -v verilator >/dev/null; then
    [ "$(id -u)" = 0 ] || { echo "tests/rtl needs verilator 5: apt-get install verilator" >&2; exit 1; }
    apt-get install -y -q --no-install-recommends verilator >/dev/null || {
        apt-get update -q >/dev/null
        apt-get install -y -q --no-install-recommends verilator >/dev/null
    }
fi
stamp=.venv/requirements
if ! cmp -s requirements.txt "$stamp"; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$stamp"
fi
