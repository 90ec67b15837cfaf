#!/usr/bin/env bash
# Installs the P4Runtime clients that the tests use, each in a virtual environment of its own: they want different
# versions of protobuf.
set -euo pipefail
cd "$(dirname "$0")"
for client in finsy shell; do
    stamp=.venv-$client/requirements
    cmp -s "requirements-$client.txt" "$stamp" && continue
    rm -rf ".venv-$client"
    python3 -m venv ".venv-$client"
    ".venv-$client/bin/pip" install --quiet --no-compile --disable-pip-version-check -r "requirements-$client.txt"
    cp "requirements-$client.txt" "$stamp"
done
