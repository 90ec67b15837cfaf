#!/usr/bin/env bash
# Installs a browser, and what drives it, in a virtual environment of its own. Needs root for packages that are missing.
set -euo pipefail
cd "$(dirname "$0")"
../packages.sh chromium:chromium chromedriver:chromium-driver
../venv.sh
