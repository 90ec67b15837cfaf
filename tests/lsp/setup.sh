#!/usr/bin/env bash
# Installs a client of the Language Server Protocol, in a virtual environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
