#!/usr/bin/env bash
# Installs the hardware tools: Debian's verilator for simulation, and yosys, nextpnr and solvers as Python wheels in a
# virtual environment. Quick when they are there.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh verilator:verilator g++:g++ make:make
../venv.sh
