#!/usr/bin/env bash
# packages.sh COMMAND:PACKAGE…: installs the Debian packages of commands that are missing. As root it installs them, and starts none
# of their services; otherwise it names them and fails. An absolute path in place of a command is a file that must exist.
set -euo pipefail
missing=()
for pair; do
    command=${pair%%:*}
    [[ -e $command ]] || PATH=$PATH:/usr/sbin:/usr/lib/frr command -v "$command" >/dev/null || missing+=("${pair#*:}")
done
((${#missing[@]})) || exit 0
if [[ $EUID -ne 0 ]]; then
    echo "Missing packages: ${missing[*]}. Install them with: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi
echo "Installing ${missing[*]}…" >&2
# What runs side by side installs one after the other.
exec {lock}>/run/hopwright-packages.lock
flock "$lock"
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi
apt() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=900 -qq "$@" {lock}>&- >/dev/null; }
apt update
apt install -y --no-install-recommends "${missing[@]}"
