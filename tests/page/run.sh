#!/usr/bin/env bash
# Runs the tests of the page in a network namespace of their own, with a browser without a window. Needs root.
# SCREENSHOTS=DIR keeps pictures of the page there.
set -euo pipefail
cd "$(dirname "$0")"
exec unshare --net sh -c 'ip link set lo up; exec "$@"' run .venv/bin/python -m pytest -q -p no:cacheprovider -p lab.pytest_options "$@" page_test.py
