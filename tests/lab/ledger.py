"""Who lost the packets of a stream through one router: the generator's kernel, the receiver's socket, a machine without
CPU time for the router, or the router.

On a busy machine packets get lost outside the router: the queue of a veth device overflows while the kernel's thread waits for a
CPU, and so does the router's receive ring while the router does. Each loss is counted somewhere. A `Ledger` reads these
counters before and after, and leaves to the router what nobody else has lost.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .netns import Namespace
from .process import Process
from .schedstat import waited_for_cpu
from .scion import Tally


@dataclass(frozen=True)
class Counters:
    """Packets lost at each place until now, and how long the router has waited for a CPU."""

    # By the devices of the generator's and receiver's side, whose kernel thread did not empty a queue.
    generator: int
    # By the router's devices as they send, likewise.
    output: int
    # By the receiver's sockets, whose owner did not read.
    receiver: int
    # By the router's receive rings, and by its devices in front of these.
    ring: int
    # By the router itself, for any reason.
    router: int
    # Seconds that the router's threads were ready to run and did not.
    waited: float

    def since(self, before: Counters) -> Counters:
        return Counters(*(getattr(self, name) - getattr(before, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Account:
    """Where a stream's missing packets were lost."""

    lost: int
    # Not by the router.
    excused: dict[str, int]
    # By the router, or by nobody who counts.
    router: int

    def __str__(self) -> str:
        parts = [f"{count} by {who}" for who, count in self.excused.items() if count]
        if self.router:
            parts.append(f"{self.router} by the router")
        return ", ".join([f"{self.lost} lost", *parts])


def settle(lost: int, rate: float, spent: Counters) -> Account:
    """Attributes missing packets to who has lost packets meanwhile.

    What a full receive ring has lost is the machine's only as far as the router has waited for a CPU: `rate` packets in a
    second arrived meanwhile. Otherwise the router has been too slow.
    """
    ring = min(spent.ring, int(spent.waited * rate) + 1) if spent.waited > 0 else 0
    excused, left = {}, max(0, lost - spent.router)
    for who, count in (("the generator's devices", spent.generator), ("devices as the router sends", spent.output),
                       ("the receiver's socket", spent.receiver), ("a router without CPU time", ring)):
        excused[who] = min(left, count)
        left -= excused[who]
    return Account(lost, excused, lost - sum(excused.values()))


def _devices(namespace: Namespace) -> tuple[int, int]:
    """Packets that a namespace's devices have dropped on reception and on transmission."""
    links = [link["stats64"] for link in json.loads(namespace.ip("-s", "-j", "link"))]
    return sum(link["rx"]["dropped"] for link in links), sum(link["tx"]["dropped"] for link in links)


def _socket_drops(namespace: Namespace) -> int:
    """Packets that UDP and packet sockets in a namespace have dropped since they exist, or existed."""
    text = namespace.run("cat", "/proc/net/snmp").stdout
    names, values = (line.split() for line in text.splitlines() if line.startswith("Udp:"))
    return int(values[names.index("RcvbufErrors")])


class Ledger:
    """The counters of one router between two namespaces."""

    def __init__(self, process: Process, inside: Namespace, outside: Namespace, figures: Callable[[], tuple[int, int]]):
        """`figures`: packets lost by the router's receive rings, and by the router itself, read after the call."""
        self._process, self._inside, self._outside, self._figures = process, inside, outside, figures
        self._before = self._read()

    def _read(self) -> Counters:
        arrived, left = _devices(self._inside)
        _, generated = _devices(self._outside)
        ring, router = self._figures()
        return Counters(generated, left, _socket_drops(self._outside), ring + arrived, router, waited_for_cpu(self._process.pid))

    def close(self, stream: Tally) -> Account:
        """Where the missing packets of a stream were lost since the ledger was made."""
        lost = len(stream.lost)
        if not lost:
            return Account(0, {}, 0)
        rate = stream.sent / max(0.001, stream.at[-1] - stream.at[0])
        return settle(lost, rate, self._read().since(self._before))


def fresh(file: Path, read: Callable[[Path], dict], timeout: float = 60.0) -> dict:
    """The contents of a file that a process writes again and again, as it is after this call."""
    before, deadline = file.stat().st_mtime_ns if file.exists() else 0, time.monotonic() + timeout
    while time.monotonic() < deadline:
        if file.exists() and file.stat().st_mtime_ns != before and (contents := read(file)):
            return contents
        time.sleep(0.05)
    return read(file)
