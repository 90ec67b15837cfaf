"""Network namespaces, veth pairs and bridges; and their complete removal.

Processes inside a namespace live in `process`; addresses of particular
networks live with the tests that use them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Iterator

from .command import LabError

SIOCETHTOOL = 0x8946
# Legacy ethtool commands: turn receive checksumming, transmit checksumming and
# generic receive offload on or off (linux/ethtool.h).
ETHTOOL_SRXCSUM = 0x15
ETHTOOL_STXCSUM = 0x17
ETHTOOL_SGRO = 0x2C


def require_root(what: str) -> None:
    """Refuses to go on without the rights that network namespaces need."""
    if os.geteuid() != 0:
        raise LabError(f"{what} needs root: it creates network namespaces. Run it with sudo.")


def ip(*args: str, check: bool = True) -> str:
    """Runs one `ip` command and returns what it printed."""
    done = subprocess.run(["ip", *args], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise LabError(f"ip {' '.join(args)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _ethtool(device: str, command: int, value: int) -> None:
    """Sets one legacy offload switch of a device in the current namespace."""
    import array

    data = array.array("B", struct.pack("=II", command, value))
    address, _ = data.buffer_info()
    request = struct.pack("16sP", device.encode(), address)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock.fileno(), SIOCETHTOOL, request)


class Namespace:
    """One network namespace. `remove` takes its links and its processes' home away."""

    def __init__(self, name: str, ipv6: bool = True):
        self.name = name
        ip("netns", "add", name)
        self.set("net/ipv4/ip_default_ttl", "64")
        if ipv6:
            # No duplicate address detection: addresses are usable at once.
            self.set("net/ipv6/conf/all/accept_dad", "0")
            self.set("net/ipv6/conf/default/accept_dad", "0")
        else:
            self.set("net/ipv6/conf/all/disable_ipv6", "1")
            self.set("net/ipv6/conf/default/disable_ipv6", "1")
        self.ip("link", "set", "lo", "up")

    @classmethod
    def existing(cls, name: str) -> Namespace:
        """One that somebody else has made."""
        namespace = cls.__new__(cls)
        namespace.name = name
        return namespace

    def ip(self, *args: str) -> str:
        """Runs `ip` inside the namespace."""
        return ip("-n", self.name, *args)

    def set(self, key: str, value: str) -> None:
        """Writes one sysctl of this namespace, e.g. `net/ipv4/ip_forward`."""
        done = self.run("sh", "-c", f"echo {value} > /proc/sys/{key}")
        if done.returncode != 0:
            raise LabError(f"{self.name}: cannot set {key}={value}: {done.stderr.strip()}")

    def run(self, *command: str, **kwargs) -> subprocess.CompletedProcess:
        """Runs a command inside and waits for it; output is captured as text."""
        kwargs.setdefault("capture_output", True)
        kwargs.setdefault("text", True)
        return subprocess.run(["ip", "netns", "exec", self.name, *command], **kwargs)

    def remove(self) -> None:
        """Removes the namespace with everything in it; silent if it is gone."""
        for pid in ip("netns", "pids", self.name, check=False).split():
            try:
                os.kill(int(pid), 9)
            except ProcessLookupError:
                pass
        ip("netns", "del", self.name, check=False)


class Offloads(Enum):
    """What one end of a veth pair leaves to whoever receives."""

    # What the kernel gives a veth pair: checksums and segmentation, as between containers of one machine.
    VETH = ()
    # What a network card does: checksums and segmentation of what is sent. What is received has been on a wire.
    CARD = (ETHTOOL_SRXCSUM, ETHTOOL_SGRO)
    # Nothing: every frame has a complete checksum and at most the link's MTU, for those who compare frames.
    NONE = (ETHTOOL_SRXCSUM, ETHTOOL_SGRO, ETHTOOL_STXCSUM)


@dataclass
class End:
    """Where one end of a veth pair goes and how it is set up there."""

    namespace: Namespace
    device: str
    addresses: tuple[str, ...] = ()
    mac: str | None = None
    neighbours: tuple[tuple[str, str], ...] = ()
    offloads: Offloads = Offloads.VETH


def veth(a: End, b: End, mtu: int) -> None:
    """Joins two namespaces by a veth pair."""
    names = [f"hw{os.getpid()}{side}" for side in "ab"]
    ip("link", "add", names[0], "mtu", str(mtu), "type", "veth",
       "peer", "name", names[1], "mtu", str(mtu))
    try:
        for name, end in zip(names, (a, b)):
            for command in end.offloads.value:
                _ethtool(name, command, 0)
        for name, end in zip(names, (a, b)):
            ip("link", "set", name, "netns", end.namespace.name, "name", end.device)
    except BaseException:
        for name in names:
            ip("link", "del", name, check=False)
        raise
    for end in (a, b):
        if end.mac:
            end.namespace.ip("link", "set", end.device, "address", end.mac)
        for address in end.addresses:
            end.namespace.ip("addr", "add", address, "dev", end.device)
        end.namespace.ip("link", "set", end.device, "up")
        for address, mac in end.neighbours:
            end.namespace.ip("neigh", "replace", address, "lladdr", mac,
                             "nud", "permanent", "dev", end.device)


def namespaces(prefix: str) -> list[str]:
    """Names of the existing namespaces that begin with `prefix`."""
    directory = Path("/run/netns")
    if not directory.is_dir():
        return []
    return sorted(entry.name for entry in directory.iterdir() if entry.name.startswith(prefix))


def remove_all(prefix: str) -> list[str]:
    """Removes every namespace whose name begins with `prefix`, with its processes."""
    found = namespaces(prefix)
    for name in found:
        Namespace.existing(name).remove()
    return found


def remove_lab(prefix: str, directory: Path, keep: bool) -> None:
    """Removes a lab's namespaces, and its files unless they are to be kept."""
    remove_all(prefix)
    if keep:
        print(f"files are kept in {directory}", file=sys.stderr)
    else:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def many_neighbours() -> Iterator[None]:
    """The machine's kernel may know many neighbours, as a router's should.

    The limit is that of all namespaces: a flood of packets to hosts that do not exist keeps every other router on the machine from
    finding its neighbours. One test at a time changes it, and removes its namespaces before the end.
    """
    limits = [Path(f"/proc/sys/net/ipv4/neigh/default/gc_thresh{n}") for n in (1, 2, 3)]
    with limits[0].open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        before = [limit.read_text() for limit in limits]
        try:
            for limit in limits:
                limit.write_text("200000")
            yield
        finally:
            # Those of namespaces that are being removed count until they are gone, and beyond the limit the kernel forgets others.
            deadline = time.monotonic() + 60
            while known_neighbours() > int(before[0]) and time.monotonic() < deadline:
                time.sleep(0.1)
            for limit, value in zip(limits, before):
                limit.write_text(value)


def known_neighbours() -> int:
    """How many IPv4 neighbours the machine's kernel knows, in all namespaces."""
    return int(Path("/proc/net/stat/arp_cache").read_text().splitlines()[1].split()[0], 16)
