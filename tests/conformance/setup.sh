#!/usr/bin/env bash
# Installs PTF and what its suites import, in a virtual environment.
set -euo pipefail
cd "$(dirname "$0")"
if ! cmp -s requirements.txt .venv/requirements; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
    cp requirements.txt .venv/requirements
fi
