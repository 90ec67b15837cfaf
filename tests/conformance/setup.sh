#!/usr/bin/env bash
# Installs PTF and what its suites import, in a virtual environment; and Scapy for OFTest if there is a Python 2.7 (PYTHON2 names it).
set -euo pipefail
cd "$(dirname "$0")"
../venv.sh
python2=${PYTHON2:-python2}
if [ ! -e .python2/scapy ] && "$python2" -m pip --version > /dev/null 2>&1; then
    "$python2" -m pip install --quiet --disable-pip-version-check --target .python2 scapy==2.3.3
fi
