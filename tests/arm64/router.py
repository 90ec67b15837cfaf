#!/usr/bin/env python3
"""A border router on a 64-bit Arm machine that QEMU emulates whole: Debian's kernel, and our command as only process.

    router.py prepare FOLDER COMMAND       what the machine boots, in FOLDER: a kernel, and files with this COMMAND
    router.py run FOLDER --config … --stats …

`run` is for the namespace of a router: each device there is bridged to one of the machine, which gets its addresses. What the router reads and writes
is in the folder of the statistics file and below, which both have. SIGTERM stops the router, then the machine. When the router serves its metrics it
is ready, which is told as sd_notify(3) says.

Needs root, qemu-system-arm, kmod and cpio.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
from lab import machine

MODULES = ("virtio_pci", "virtio_net", "9pnet_virtio", "9p")
# Libraries that the command needs, as Debian's sysroot has them.
LIBRARIES = ("ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0")
READY = "router: ready"
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /tmp /run /shared; mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /run
for module in $(cat /order); do insmod /modules/$module; done
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 shared /shared
. /shared/$(sed 's/.*router=\\([^ ]*\\).*/\\1/' /proc/cmdline)
/bin/hopwright scion "$@" &
router=$!
(until wget -q -O /dev/null http://$metrics/metrics; do sleep 0.1; done; echo {READY}) &
(read line; kill -TERM $router) < /dev/console &
wait $router
echo "router: status $?"
sync
poweroff -f
"""


def prepare(folder: pathlib.Path, command: pathlib.Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sysroot = folder / "sysroot"
    subprocess.run([str(HERE.parent.parent / "packaging/sysroot.sh"), "arm64", str(sysroot)], check=True)
    libraries = sysroot / "lib/aarch64-linux-gnu"
    more = {f"lib/aarch64-linux-gnu/{name}": libraries / name for name in LIBRARIES if (libraries / name).exists()}
    more["lib/ld-linux-aarch64.so.1"] = libraries / "ld-linux-aarch64.so.1"
    more["bin/hopwright"] = folder / "hopwright"
    subprocess.run(["aarch64-linux-gnu-objcopy", "--strip-debug", str(command), str(folder / "hopwright")], check=True)
    image = machine.unpack_kernel(folder, "arm64")
    machine.first_files(folder, image.name.removeprefix("vmlinuz-"), INIT, sysroot / "bin/busybox", MODULES, more)
    shutil.move(image, folder / "vmlinuz")
    for name in ("kernel", "first", "sysroot"):
        shutil.rmtree(folder / name)


def ip(*words: str) -> str:
    return machine.output("ip", *words)


def bridged(number: int, link: dict) -> list[str]:
    """Bridges a device of this namespace to the machine's device of this number. Returns the lines that set that one up."""
    name, device = link["ifname"], f"eth{number}"
    lines = [f"ip link set {device} name {name}", f"ip link set {name} mtu {link['mtu']} up"]
    lines += [f"ip addr add {a['local']}/{a['prefixlen']} dev {name}" for a in link["addr_info"] if a["scope"] == "global"]
    bridge, tap = f"bridge{number}", f"tap{number}"
    ip("addr", "flush", "dev", name)
    ip("tuntap", "add", tap, "mode", "tap", "vnet_hdr")
    ip("link", "add", bridge, "mtu", str(link["mtu"]), "type", "bridge", "mcast_snooping", "0")
    for port in (name, tap):
        ip("link", "set", port, "mtu", str(link["mtu"]), "master", bridge, "up")
    ip("link", "set", bridge, "up")
    return lines


def ready() -> None:
    """Tells the service manager, if there is one."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.sendto(b"READY=1", address)


def run(folder: pathlib.Path, config: pathlib.Path, stats: pathlib.Path) -> int:
    shared = stats.resolve().parent
    inside = pathlib.Path("/shared")
    # The configuration names files by their paths here.
    copy = pathlib.Path(tempfile.mkdtemp(prefix="emulated-", dir=shared))
    settings = config.read_text().replace(str(shared), str(inside))
    (copy / config.name).write_text(settings)
    links = [link for link in json.loads(ip("-j", "addr")) if link["ifname"] != "lo"]
    lines = ["echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad", "echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad", "ip link set lo up"]
    for number, link in enumerate(links):
        lines += bridged(number, link)
    # Addresses are the machine's now.
    pathlib.Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    lines += [f"metrics={tomllib.loads(settings)['metrics']['prometheus']}",
              shlex.join(["set", "--", "--config", str(inside / copy.name / config.name), "--stats", str(inside / stats.name)])]
    (copy / "setup").write_text("\n".join(lines) + "\n")
    share = f"local,security_model=none,path={shared},mount_tag=shared"
    # It ends with this process, also if that is killed.
    words = ["setpriv", "--pdeathsig", "KILL",
             "qemu-system-aarch64", "-machine", "virt", "-accel", "tcg,thread=multi", "-cpu", "cortex-a72", "-smp", "1", "-m", "512M",
             "-nographic", "-monitor", "none", "-serial", "stdio", "-no-reboot", "-nic", "none", "-virtfs", share,
             "-kernel", str(folder / "vmlinuz"), "-initrd", str(folder / "first.cpio"),
             "-append", f"console=ttyAMA0 quiet panic=-1 router={copy.name}/setup"]
    for number, link in enumerate(links):
        mac = f"02:a0:{number:02x}:" + link["address"][9:]
        words += ["-netdev", f"tap,id=n{number},ifname=tap{number},script=no,downscript=no",
                  "-device", f"virtio-net-pci,netdev=n{number},mac={mac},romfile="]
    emulator = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def stop(*_: object) -> None:
        try:
            emulator.stdin.write("\n")
            emulator.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    status = None
    for line in emulator.stdout:
        line = line.rstrip()
        print(line, flush=True)
        if line.endswith(READY):
            ready()
        elif "router: status " in line:
            status = int(line.rsplit(" ", 1)[1])
    emulator.wait()
    shutil.rmtree(copy, ignore_errors=True)
    return 1 if status is None else status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("prepare")
    verb.add_argument("folder", type=pathlib.Path)
    verb.add_argument("command", type=pathlib.Path)
    verb = verbs.add_parser("run")
    verb.add_argument("folder", type=pathlib.Path)
    verb.add_argument("--config", type=pathlib.Path, required=True)
    verb.add_argument("--stats", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if args.verb == "prepare":
        prepare(args.folder, args.command)
        return 0
    return run(args.folder, args.config, args.stats)


if __name__ == "__main__":
    sys.exit(main())
