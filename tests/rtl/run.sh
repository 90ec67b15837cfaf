#!/usr/bin/env bash
# Tests of the hardware engines (crates/targets/rtl/lib): lint, check and simulation of each alone, and of what is made of several.
# `run.sh hw_fifo hw_skid` runs those of some.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
exec .venv/bin/python engines.py "$@"
