#!/usr/bin/env bash
# Runs the tests of the language server.
set -euo pipefail
cd "$(dirname "$0")"
exec .venv/bin/python -m pytest -q -p no:cacheprovider -p lab.pytest_options "$@" server_test.py
