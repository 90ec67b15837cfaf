#!/usr/bin/env bash
# Installs the Debian packages that the interoperability tests and the demo need
# and that are missing. As root it installs them; otherwise it names them.
set -euo pipefail

# From 1.21 on, Go fetches by itself the newer toolchain that go.mod asks for.
if ! go version 2>/dev/null | grep -Eq 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])'; then
    echo "Go 1.21 or newer is needed: https://go.dev/dl/" >&2
    exit 1
fi

packages=(ip:iproute2 python3:python3 taskset:util-linux openssl:openssl gcc:gcc objcopy:binutils ping:iputils-ping iptables:iptables
    /usr/include/linux/if_packet.h:linux-libc-dev /usr/include/stdio.h:libc6-dev)
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(/nowhere:python3-venv)
"$(dirname "$0")/../packages.sh" "${packages[@]}"
