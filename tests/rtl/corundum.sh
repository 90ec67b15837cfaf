#!/usr/bin/env bash
# Packets through a NIC by Corundum with a design as its application block, in simulation: `corundum.sh CHECKOUT`, with a checkout of
# https://github.com/corundum/corundum. Corundum's models of PCIe and of MACs run in Icarus Verilog, for some minutes. Outside `make test`.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 1 ] || { echo "corundum.sh CHECKOUT: a checkout is missing" >&2; exit 2; }
checkout=$(cd "$1" && pwd)
"$here/../packages.sh" iverilog:iverilog make:make g++:g++
venv=$here/.venv-corundum
if ! cmp -s "$here/corundum/requirements.txt" "$venv/requirements"; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check -r "$here/corundum/requirements.txt"
    cp "$here/corundum/requirements.txt" "$venv/requirements"
fi
PATH=$venv/bin:$PATH exec "$venv/bin/python" "$here/corundum/run.py" "$checkout"
