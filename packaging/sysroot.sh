#!/usr/bin/env bash
# sysroot.sh ARCHITECTURE FOLDER: unpacks what the container image has beside the command, from this machine's Debian but for another
# architecture: the shared libraries and busybox. Nothing is installed, and the system's lists of packages stay as they are.
set -euo pipefail
architecture=$1
mkdir -p "$2"
folder=$(realpath "$2")
[[ ! -e $folder/complete ]] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,archives}/partial
touch "$work/status"
apt() {
    "$@" -qq -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o APT::Sandbox::User=root \
        -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work"
}
apt apt-get update
# The license of libgcc-s1 lies in the package that it depends on.
base=$(apt apt-cache depends libgcc-s1 | sed -n 's/.*Depends: \(gcc-[0-9]*-base\).*/\1/p')
cd "$work"
apt apt-get download busybox-static libc6 libgcc-s1 "$base"
for package in *.deb; do
    dpkg-deb --extract "$package" "$folder"
done
touch "$folder/complete"
