"""A virtual machine with Debian's kernel, rlite's modules, and an IPC process of rlite's in it.

It has this machine's files, and takes commands as JSON lines by its second serial port: `{"words": […]}` is carried out to its end,
`{"words": […], "log": FILE}` is started.
"""

import json
import socket
import subprocess

from lab.command import Failed, end, run, wait_for
from lab.machine import machine

SECOND = """#!/bin/bash
export PATH={build}/out/usr/bin:{build}/out/usr/sbin:/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH={build}/out/usr/lib
mkdir -p /run/rlite
modprobe -d {kernel} virtio_net
for module in rlite rlite-normal rlite-shim-eth; do insmod {build}/rlite/kernel/$module.ko; done
ip link set lo up
for device in eth0 eth1 eth2; do [ -e /sys/class/net/$device ] && ip link set $device up; done
stty -F /dev/ttyS1 raw -echo
python3 /mnt/shared/agent.py < /dev/ttyS1 > /dev/ttyS1 2> /dev/ttyS0
poweroff -f
"""
AGENT = """import json, subprocess, sys
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if "log" in order:
        log = open("/mnt/shared/" + order["log"], "w")
        process = subprocess.Popen(order["words"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        done = {"status": 0, "output": process.pid}
    else:
        try:
            got = subprocess.run(order["words"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace", timeout=order["timeout"])
            done = {"status": got.returncode, "output": got.stdout}
        except subprocess.TimeoutExpired as error:
            done = {"status": 124, "output": str(error.stdout or b"", "utf-8", "replace")}
    print(json.dumps(done), flush=True)
"""
BOOT = 900


class Machine:
    """A machine whose network devices are at `ends`, which are options of QEMU's `-netdev` each."""

    def __init__(self, name, folder, kernel, build, ends):
        image, archive = kernel
        self.name, self.folder = name, folder / name
        self.folder.mkdir()
        root = image.parents[1]
        (self.folder / "second").write_text(SECOND.format(build=build, kernel=root))
        (self.folder / "second").chmod(0o755)
        (self.folder / "agent.py").write_text(AGENT)
        orders = self.folder / "orders"
        options = ["-smp", "1", "-serial", f"file:{self.folder}/console",
                   "-chardev", f"socket,id=orders,path={orders},server=on,wait=off", "-serial", "chardev:orders"]
        number = sum(map(ord, name))
        for at, one in enumerate(ends):
            options += ["-netdev", f"{one},id=n{at}", "-device", f"virtio-net-pci,netdev=n{at},mac=02:00:00:{number >> 8:02x}:{number & 255:02x}:{at:02x}",
                        "-object", f"filter-dump,id=d{at},netdev=n{at},file={self.folder}/eth{at}.pcap"]
        # In a session of its own: Ctrl-C is the test's, which stops it.
        self.process = subprocess.Popen(machine(image, archive, self.folder, "320M", *options), stdin=subprocess.DEVNULL,
                                        stdout=open(self.folder / "qemu.log", "w"), stderr=subprocess.STDOUT, start_new_session=True)
        wait_for(f"{name}'s serial port", lambda: orders.exists() or self.process.poll() is not None)
        if self.process.poll() is not None:
            raise Failed(f"{name}: {(self.folder / 'qemu.log').read_text()}")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(orders))
        self.lines = self.socket.makefile("r", errors="replace")

    def booted(self):
        self.socket.settimeout(BOOT)
        try:
            while "ready" not in (line := self.lines.readline()):
                if not line:
                    raise Failed(f"{self.name} has stopped")
        except TimeoutError:
            raise Failed(f"{self.name} has not booted: {(self.folder / 'console').read_text()[-2000:]}")
        self.socket.settimeout(None)

    def order(self, **order):
        self.socket.sendall(json.dumps(order).encode() + b"\n")
        answer = self.lines.readline()
        if not answer:
            raise Failed(f"{self.name} has stopped: {(self.folder / 'console').read_text()[-2000:]}")
        return json.loads(answer)

    def run(self, *words, timeout=60, check=True):
        done = self.order(words=[str(word) for word in words], timeout=timeout)
        if check and done["status"]:
            raise Failed(f"{self.name}: {' '.join(map(str, words))}: status {done['status']}: {done['output']}")
        return done["output"]

    def start(self, log, *words):
        """Starts a program, whose output goes to a log. Returns its process id."""
        return self.order(words=[str(word) for word in words], log=log)["output"]

    def log(self, name):
        file = self.folder / name
        return file.read_text(errors="replace") if file.exists() else ""

    def ctl(self, *words, **kwargs):
        return self.run("rlite-ctl", *words, **kwargs)

    def stop(self):
        end(self.process, timeout=10)
        self.lines.close()
        self.socket.close()


def tap(name):
    return f"tap,ifname={name},script=no,downscript=no"


def move(device, node, name):
    """Gives the other end of a machine's device to a node."""
    run("ip", "link", "set", device, "netns", node.net, "name", name)
    run("ip", "netns", "exec", node.net, "sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{name}/disable_ipv6")
    run("ip", "-n", node.net, "link", "set", name, "up")
    node.devices.append(name)
