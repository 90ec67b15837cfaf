#!/usr/bin/env bash
# rlite.sh CHECKOUT [ARGUMENT…]: members that run rlite, in virtual machines with Debian's kernel, and members of ours in one DIF. CHECKOUT is
# a clone of https://github.com/rlite/rlite, bare or not; it stays as it is, and is built in $RLITE_BUILD (/var/tmp/hopwright-rlite).
# Needs root, and the command (make hopwright). Arguments are those of rlite_live.py.
set -euo pipefail
cd "$(dirname "$0")"
checkout=$(realpath "${1:?a checkout of rlite}")
shift
build=${RLITE_BUILD:-/var/tmp/hopwright-rlite}
# The machines have file systems of their own there.
case $build in /tmp/* | /run/* | /dev/*) echo "RLITE_BUILD is in a folder that the machines do not see" >&2 && exit 2 ;; esac
../packages.sh qemu-system-x86_64:qemu-system-x86 depmod:kmod cpio:cpio busybox:busybox-static cmake:cmake g++:g++ git:git \
    protoc:protobuf-compiler /usr/include/google/protobuf/message.h:libprotobuf-dev
image=$(python3 -c 'from lab import machine; print(machine.kernel_package())')
headers=/usr/src/${image/image/headers}
../packages.sh "$headers:$(basename "$headers")"
commit=$(git -c safe.directory='*' -C "$checkout" rev-parse HEAD)
if [[ $(cat "$build/built" 2>/dev/null) != "$commit $image" ]]; then
    rm -rf "$build"
    mkdir -p "$build/kernel"
    git -c safe.directory='*' clone --quiet "$checkout" "$build/rlite"
    echo "Building rlite for $image in $build…" >&2
    (
        cd "$build/rlite"
        ./configure --no-swig --prefix "$build/out" --kernbuilddir "$headers"
        make -j"$(nproc)"
        make usr_install
    ) >"$build/log" 2>&1 || { tail -20 "$build/log" >&2 && exit 2; }
    python3 - "$build/kernel" <<'.'
import pathlib, sys
from lab import machine
folder = pathlib.Path(sys.argv[1])
machine.first_files(folder, machine.unpack_kernel(folder).name.removeprefix("vmlinuz-"))
.
    echo "$commit $image" >"$build/built"
fi
exec unshare --net --mount sh -c 'ip link set lo up; mkdir -p /run/netns; mount -t tmpfs tmpfs /run/netns; exec "$@"' run python3 rlite_live.py "$build" "$@"
