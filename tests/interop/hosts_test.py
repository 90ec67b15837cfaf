#!/usr/bin/env python3
"""Floods a border router with packets to very many hosts of its AS, then asks it to reach a new one.

Anybody who has a path to an AS can send to every address that the AS's routes cover. No
matter how many addresses that are, hosts that the router has not seen yet must be reached,
and the router must be idle afterwards.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Callable

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, wait_until
from lab.netns import End, Namespace, many_neighbours, remove_lab, veth
from lab.router import RouterKind, wait_ready
from lab.scion import deliver, hop_key, udp_socket
from lab.scrape import metrics, total

PREFIX = f"hwh{os.getpid()}-"
PORT = 50000
HOST_PORT = 40001
AS = "1-ff00:0:1"
METRICS = "127.0.0.1:30442"
# Of one core.
IDLE = 0.03
# Packets to each made-up host: enough to make it look like one that is in use.
EACH = 5


class Lab:
    """A router between a neighbour AS and a network of hosts, some on its link and some behind a gateway."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-hosts-"))
        conf = self.directory / "conf"
        (conf / "keys").mkdir(parents=True)
        for name in ("master0.key", "master1.key"):
            (conf / "keys" / name).write_text(base64.b64encode(b"0123456789abcdef").decode())
        (conf / "topology.json").write_text(json.dumps({
            "isd_as": AS, "mtu": 1400, "attributes": [],
            "border_routers": {"r1": {"internal_addr": "10.0.0.1:30042", "interfaces": {"1": {
                "isd_as": "1-ff00:0:11", "link_to": "parent", "mtu": 1400,
                "underlay": {"local": f"10.1.0.1:{PORT}", "remote": f"10.1.0.2:{PORT}"}}}}},
            "control_service": {"cs": {"addr": "10.0.0.9:30252"}}}))
        (conf / "router.toml").write_text(
            f'[general]\nid = "r1"\nconfig_dir = "{conf}"\n[router.bfd]\ndisable = true\n'
            f'[metrics]\nprometheus = "{METRICS}"\n')
        self.conf = conf
        self.key = hop_key(conf / "keys" / "master0.key")
        self.outside = Namespace(PREFIX + "outside", ipv6=False)
        self.router = Namespace(PREFIX + "router", ipv6=False)
        self.hosts = Namespace(PREFIX + "hosts", ipv6=False)
        veth(End(self.router, "if1", ("10.1.0.1/24",)), End(self.outside, "out1", ("10.1.0.2/24",)), 1500)
        veth(End(self.router, "if0", ("10.0.0.1/16",)), End(self.hosts, "in0", ("10.0.0.254/16",)), 1500)
        self.router.ip("route", "add", "10.128.0.0/9", "via", "10.0.0.254")
        # What is for addresses that nobody has is not answered, as if it had gone further.
        self.hosts.ip("route", "add", "blackhole", "10.128.0.0/9")
        self.out = udp_socket(self.outside, "10.1.0.2", PORT)
        self.process = None
        self.next_host = 0

    def start(self, kind: RouterKind) -> None:
        self.process = kind.start("router", self.router, self.conf / "router.toml",
                                  self.directory / "router.log", self.directory / "stats.json")
        wait_ready(self.process)

    def send(self, host: str, number: int) -> None:
        packet = deliver(self.key, 1, AS, host, HOST_PORT, number.to_bytes(8, "big"))
        self.out.sendto(packet, ("10.1.0.1", PORT))

    def flood(self, first: str, count: int, rate: float, each: int) -> float:
        """Some packets to each of this many addresses; returns the rate there was."""
        packet = bytearray(deliver(self.key, 1, AS, first, HOST_PORT, bytes(8)))
        base, start = int.from_bytes(socket.inet_aton(first), "big"), time.monotonic()
        for number in range(count):
            packet[28:32] = (base + number).to_bytes(4, "big")
            for _ in range(each):
                self.out.sendto(packet, ("10.1.0.1", PORT))
            if number % 50 == 0:
                time.sleep(max(0.0, start + number * each / rate - time.monotonic()))
        return count * each / (time.monotonic() - start)

    def new_host(self, behind_gateway: bool) -> socket.socket:
        """A host that nobody has sent anything to yet."""
        self.next_host += 1
        address = f"10.{200 if behind_gateway else 0}.255.{self.next_host}"
        self.hosts.ip("addr", "add", f"{address}/32", "dev", "lo")
        sock = udp_socket(self.hosts, address, HOST_PORT)
        sock.settimeout(1.0)
        return sock

    def reach(self, sock: socket.socket, count: int = 200, pause: float = 0.005) -> tuple[int, float]:
        """How many of some packets reach a host, and after how long the first does."""
        host = sock.getsockname()[0]
        start, first, seen = time.monotonic(), 0.0, 0
        sock.setblocking(False)
        last, number = start, 0
        # Until all are there, or nothing has come for thirty seconds after the last was sent.
        while seen < count and time.monotonic() - last < 30:
            if number < count:
                self.send(host, number)
                number, last = number + 1, time.monotonic()
            time.sleep(pause)
            while True:
                try:
                    sock.recv(9000)
                except BlockingIOError:
                    break
                last = time.monotonic()
                first = first or last - start
                seen += 1
        return seen, first

    def move_gateway(self) -> tuple[float, float, float]:
        """Gives the gateway another Ethernet address. Hosts behind it that had entries, hosts that have after that, and after how long."""
        def entries() -> float:
            return total(metrics(self.router, METRICS), "hopwright_host_entries")
        # The host on the link has the same Ethernet address. The kernel may find that it cannot be reached any longer.
        mac, before = "02:00:00:00:00:fe", entries() - 1
        self.hosts.ip("link", "set", "in0", "address", mac)
        self.router.ip("neigh", "replace", "10.0.0.254", "lladdr", mac, "dev", "if0", "nud", "reachable")
        start = time.monotonic()
        # The status is published five times a second.
        time.sleep(0.3)
        while (after := entries()) < before and time.monotonic() < start + PATIENCE:
            time.sleep(0.1)
        return before, after, time.monotonic() - start

    def cpu(self, seconds: float) -> float:
        """Share of a core that the router uses."""
        def used() -> float:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before, start = used(), time.monotonic()
        time.sleep(seconds)
        return (used() - before) / (time.monotonic() - start)

    def close(self, keep: bool) -> None:
        if self.process:
            self.process.stop()
        remove_lab(PREFIX, self.directory, keep)


def reached(lab: Lab) -> tuple[int, float]:
    """As `Lab.reach`, of a new host. While a busy machine answers the kernel's question for its address late, packets get lost: another new
    host, then."""
    for _ in range(5):
        seen, first = lab.reach(lab.new_host(True))
        if seen >= 199:
            break
    return seen, first


def run(lab: Lab, kind: RouterKind, addresses: int, that: Callable[[str, bool, object], None]) -> None:
    """The checks."""
    ours = kind.name != "reference"
    lab.start(kind)
    for behind in (True, False):
        where = "behind a gateway" if behind else "on the link"
        sock = lab.new_host(behind)
        seen, first = lab.reach(sock)
        # The kernel may lose one where it has just begun to ask for the address.
        that(f"a host {where}", seen >= 199, f"{seen} of 200, the first after {first * 1000:.1f} ms")
    if ours:
        wait_until("both to have entries", lambda: total(metrics(lab.router, METRICS), "hopwright_host_entries") == 2)
    idle = lab.cpu(2)
    bounded = None
    for behind, base in ((True, "10.129.0.0"), (False, "10.0.16.0")):
        where = "behind a gateway" if behind else "on the link"
        count = addresses if behind else min(addresses, 50_000)
        rate = lab.flood(base, count, 20_000, EACH)
        seen, first = reached(lab)
        that(f"a new host after packets to {count} addresses {where}", seen >= 199,
             f"{seen} of 200, the first after {first * 1000:.1f} ms ({rate:.0f} packets/s before)")
        time.sleep(1)
        bounded = bounded or metrics(lab.router, METRICS) if ours else None
        now = lab.cpu(2)
        that("idle afterwards", now <= idle + IDLE, f"{now:.1%} of a core, before {idle:.1%}")
        if ours and behind:
            before, after, took = lab.move_gateway()
            that("they keep their entries when the gateway gets another Ethernet address", after >= before,
                 f"{before:.0f} entries, {after:.0f} after {took:.1f} s")
            seen, first = reached(lab)
            that("a new host behind it", seen >= 199, f"{seen} of 200, the first after {first * 1000:.1f} ms")
    if bounded:
        page = bounded
        names = ("entries", "promotions_total", "evictions_total")
        entries, promotions, evictions = (total(page, f"hopwright_host_{name}") for name in names)
        that("hosts behind the gateway have entries, not too many", 2 < entries <= min(60_000, promotions),
             f"{entries:.0f} entries, {promotions:.0f} promotions, {evictions:.0f} evictions")


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="reference, hopwright (default), or hopwright with settings")
    parser.add_argument("--addresses", type=int, default=70_000, help="made-up hosts behind the gateway")
    args = parser.parse_args()
    choose(args, ["hosts"])

    def test(checks: Checks) -> None:
        with many_neighbours():
            lab, done = Lab(), False
            try:
                run(lab, RouterKind(args.router), args.addresses, checks.that)
                done = True
            finally:
                lab.close(keep=not done or checks.failed > 0)
    return carry_out(f"hosts, {args.router}", test)


if __name__ == "__main__":
    sys.exit(main())
