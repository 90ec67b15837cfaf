#!/usr/bin/env bash
# Builds the reference SCION tools pinned in go.mod into tests/interop/bin, and makes a virtual environment for the reference's topology
# generator. REFERENCE=v0.15.1 builds those pinned in v0.15.1.mod into bin/v0.15.1. `tools.sh demo` builds what the demonstration runs, no
# more. Does nothing when they are up to date.
set -euo pipefail
cd "$(dirname "$0")"
modules=go.mod bin=bin release=${REFERENCE:-v0.14.0}
if [[ $release != v0.14.0 ]]; then
    modules=$release.mod bin=bin/$release
fi
if [[ ! -f $modules ]]; then
    echo "REFERENCE=$release: there are v0.14.0 and" v*.mod >&2
    exit 1
fi

what=${1:-all}
if [[ $what == all ]] && ! cmp -s requirements-topogen.txt .venv-topogen/requirements; then
    rm -rf .venv-topogen
    python3 -m venv .venv-topogen
    .venv-topogen/bin/pip install --quiet --no-compile --disable-pip-version-check -r requirements-topogen.txt
    cp requirements-topogen.txt .venv-topogen/requirements
fi

stamp=$bin/.built-from
sources=$(cat "$modules" "${modules%.mod}.sum" stun/go.mod stun/go.sum | sha256sum; find . -name '*.go' -not -path './bin/*' -print0 | sort -z | xargs -0r sha256sum; go version)
built=$(cat "$stamp" 2>/dev/null || true)
if [[ $built == "$sources"$'\nall' || $built == "$sources"$'\n'$what ]]; then
    exit 0
fi
echo "Building the reference SCION tools, $release (once; a minute or two)…" >&2
mkdir -p "$bin"
# Without debug information, which nothing here reads.
build() { go build -buildvcs=false -ldflags=-w -gcflags=all=-dwarf=false "$@"; }
if [[ $what == demo ]]; then
    mapfile -t tools < <(go list -modfile="$modules" tool | grep -E '/(control|daemon|dispatcher|scion|scion-pki|end2end)$')
    build -modfile="$modules" -o "$bin/" "${tools[@]}" ./cmd/traffic
else
    build -modfile="$modules" -o "$bin/" tool ./cmd/...
    # Of a later release, see there.
    (cd stun && build -o "../$bin/" .)
fi
printf '%s\n%s\n' "$sources" "$what" >"$stamp"
