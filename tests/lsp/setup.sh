#!/usr/bin/env bash
# Installs a client of the Language Server Protocol, in a virtual environment of its own.
set -euo pipefail
cd "$(dirname "$0")"
cmp -s requirements.txt .venv/requirements && exit
rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
cp requirements.txt .venv/requirements
