#!/usr/bin/env bash
# Builds the reference SCION tools pinned in go.mod into tests/interop/bin.
# Does nothing when they are up to date.
set -euo pipefail
cd "$(dirname "$0")"

stamp=bin/.built-from
want=$(cat go.mod go.sum | sha256sum; find . -name '*.go' -not -path './bin/*' -print0 | sort -z | xargs -0r sha256sum; go version)
if [[ -f $stamp && $(<"$stamp") == "$want" ]]; then
    exit 0
fi
echo "Building the reference SCION tools (once; a minute or two)…" >&2
mkdir -p bin
go build -buildvcs=false -o bin/ tool ./cmd/...
printf '%s\n' "$want" >"$stamp"
