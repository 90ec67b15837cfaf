#!/usr/bin/env bash
# Installs a browser, and what drives it, in a virtual environment of its own. Needs root for packages that are missing.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh chromium:chromium chromedriver:chromium-driver
cmp -s requirements.txt .venv/requirements && exit
rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
cp requirements.txt .venv/requirements
