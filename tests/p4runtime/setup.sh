#!/usr/bin/env bash
# Installs the P4Runtime clients that the tests use, each in a virtual environment of its own: they want different
# versions of protobuf.
set -euo pipefail
cd "$(dirname "$0")"
for client in finsy shell; do
    ../venv.sh "requirements-$client.txt" ".venv-$client"
done
