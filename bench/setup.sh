#!/usr/bin/env bash
# Installs the compiler of the XDP programs that forwarding.py compares with. Needs root.
set -euo pipefail
"$(dirname "$0")/../tests/packages.sh" clang:clang /usr/include/stdio.h:libc6-dev
