#!/usr/bin/env bash
# Installs BMv2's command line, in a virtual environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
