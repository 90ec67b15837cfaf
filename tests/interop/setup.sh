#!/usr/bin/env bash
# Installs the Debian packages that the interoperability tests and the demo need
# and that are missing. As root it installs them; otherwise it names them.
set -euo pipefail

missing=()
need() { # command package
    command -v "$1" >/dev/null || missing+=("$2")
}
need ip iproute2
need python3 python3
need taskset util-linux
need openssl openssl
python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
need gcc gcc
need objcopy binutils
[[ -e /usr/include/linux/if_packet.h ]] || missing+=(linux-libc-dev libc6-dev)
# From 1.21 on, Go fetches by itself the newer toolchain that go.mod asks for.
if ! go version 2>/dev/null | grep -Eq 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])'; then
    echo "Go 1.21 or newer is needed: https://go.dev/dl/" >&2
    exit 1
fi

((${#missing[@]})) || exit 0
if [[ $EUID -ne 0 ]]; then
    echo "Missing packages: ${missing[*]}. Install them with: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "Installing ${missing[*]}…" >&2
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
