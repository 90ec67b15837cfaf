#!/usr/bin/env python3
"""Replaces a running border router again and again, under traffic between reference routers.

The router has links with BFD to reference routers of two other ASes. Numbered packets cross all
three ASes in both directions, and go to and from a host of the router's own AS, while one process
takes over from the other: every packet arrives exactly once, and no reference router sees a change
of its BFD session. What a busy machine loses outside of the router is attributed by counters and
allowed. Processes that cannot take over leave the router at work.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, LabError, wait_until
from lab.ledger import _devices, _socket_drops
from lab.netns import End, Namespace, remove_all, remove_lab, veth
from lab.process import Process
from lab.reference import tool
from lab.router import RouterKind, wait_ready
from lab.scion import PORT, SOURCE_PORT, Stream, cmac, hop_key, isd_as, udp_socket
from lab.scrape import metrics, total, wait_served
from lab.traffic import Traffic as AnyTraffic
from lab.traffic import warm_up

PREFIX = f"hwh{os.getpid()}-"
UNDERLAY = 50000
INTERNAL = 30042
METRICS = "127.0.0.1:30401"
RATE = 500
OWN = "1-ff00:0:1"
# The neighbours' ASes: number of the link, relation as the router sees it.
NEIGHBOURS = {1: "parent", 2: "child"}
OPPOSITE = {"parent": "child", "child": "parent"}
# For restarts, which on a busy machine take longer than BFD's default intervals allow, and than rings have room for at that rate.
PATIENT_BFD = {"desired_min_tx_interval": "500ms", "required_min_rx_interval": "500ms", "detect_mult": 60}
RESTART_RATE = 50
# A user without rights.
NOBODY = "65534"
# How messages of a hand-over begin.
VERSION = b"HWHO" + struct.pack("!H", 4)


def neighbour(number: int) -> str:
    return f"1-ff00:0:{10 + number}"


def packet(hops: list[tuple[bytes, int, int]], ends: tuple[tuple[str, str], tuple[str, str]], forth: bool) -> bytes:
    """A UDP packet with eight bytes of payload along one segment.

    `hops` are key, ingress and egress of each AS in the direction of construction, `ends` the ISD-AS numbers and
    hosts of the source and the destination. `forth`: it travels in that direction.
    """
    begin, expiry, beta = int(time.time()) - 10, 63, 0x1234
    fields, betas = [], [beta]
    for key, ingress, egress in hops:
        mac = cmac(key, struct.pack("!HHIBBHHH", 0, beta, begin, 0, expiry, ingress, egress, 0))[:6]
        fields.append(struct.pack("!BBHH", 0, expiry, ingress, egress) + mac)
        beta ^= int.from_bytes(mac[:2], "big")
        betas.append(beta)
    if not forth:
        fields.reverse()
    # As the source sends it; against the direction of construction routers undo the last step first.
    seg_id = betas[0] if forth else betas[len(hops) - 1]
    path = struct.pack("!I", len(hops) << 12)
    path += struct.pack("!BBHI", int(forth), 0, seg_id, begin) + b"".join(fields)
    (source, from_host), (destination, to_host) = ends
    addresses = isd_as(destination) + isd_as(source) + socket.inet_aton(to_host) + socket.inet_aton(from_host)
    udp = struct.pack("!HHHH", SOURCE_PORT, PORT, 16, 0) + bytes(8)
    words = (12 + len(addresses) + len(path)) // 4
    return struct.pack("!IBBHBBH", 1, 17, words, len(udp), 1, 0, 0) + addresses + path + udp


class Lab:
    """The router, its neighbours, and the hosts."""

    def __init__(self, kind: RouterKind, as_user: str | None, bfd: dict | None = None, rate: float = RATE) -> None:
        self.kind, self.as_user, self.bfd_of_links, self.rate = kind, as_user, bfd, rate
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-take-over-"))
        self.directory.chmod(0o777)
        self.hosts = Namespace(PREFIX + "hosts", ipv6=False)
        self.inside = Namespace(PREFIX + "router", ipv6=False)
        self.references = {n: Namespace(PREFIX + f"ref{n}", ipv6=False) for n in NEIGHBOURS}
        veth(End(self.inside, "if0", ("10.0.0.1/24",)), End(self.hosts, "out0", ("10.0.0.9/24",)), 1500)
        for number, namespace in self.references.items():
            veth(End(self.inside, f"if{number}", (f"10.{number}.0.1/24",)),
                 End(namespace, "outer", (f"10.{number}.0.2/24",)), 1500)
            veth(End(namespace, "inner", (f"10.{10 + number}.0.1/24",)),
                 End(self.hosts, f"out{number}", (f"10.{10 + number}.0.9/24",)), 1500)
        self.control = self.directory / "control"
        self.count = 0
        self.conf = self.files("own", OWN, "10.0.0.1", {
            n: self.interface(n, relation, "10.{}.0.1", "10.{}.0.2", neighbour(n))
            for n, relation in NEIGHBOURS.items()})
        self.neighbours = []
        for number, namespace in self.references.items():
            conf = self.files(f"as{number}", neighbour(number), f"10.{10 + number}.0.1", {
                number: self.interface(number, OPPOSITE[NEIGHBOURS[number]], "10.{}.0.2", "10.{}.0.1", OWN)})
            router = Process(f"reference {number}", [tool("router"), "--config", str(conf)],
                             self.directory / f"reference{number}.log", namespace=namespace)
            self.neighbours.append(router)
        self.router = self.start()
        wait_ready(self.router)
        for router in self.neighbours:
            wait_ready(router)
        for namespace in (self.inside, *self.references.values()):
            wait_served(namespace, f"http://{METRICS}/metrics")
        wait_until("BFD sessions to be up", lambda: all(
            total(metrics(n, METRICS), "router_interface_up") == 1 for n in self.references.values())
            and total(metrics(self.inside, METRICS), "router_interface_up") == 2)

    def interface(self, number: int, relation: str, local: str, remote: str, ia: str) -> dict:
        return {"isd_as": ia, "link_to": relation, "mtu": 1400, **({"bfd": self.bfd_of_links} if self.bfd_of_links else {}),
                "underlay": {"local": f"{local.format(number)}:{UNDERLAY}", "remote": f"{remote.format(number)}:{UNDERLAY}"}}

    def files(self, name: str, ia: str, internal: str, interfaces: dict) -> Path:
        """The files of a router of this AS; returns its router.toml."""
        conf = self.directory / name
        (conf / "keys").mkdir(parents=True)
        for key in ("master0.key", "master1.key"):
            (conf / "keys" / key).write_text(base64.b64encode(f"{name:_<16}".encode()).decode())
        (conf / "topology.json").write_text(json.dumps({
            "isd_as": ia, "mtu": 1400, "attributes": [], "dispatched_ports": "1024-65535",
            "border_routers": {"r1": {"internal_addr": f"{internal}:{INTERNAL}", "interfaces": interfaces}}}))
        config = conf / "router.toml"
        config.write_text(f'[general]\nid = "r1"\nconfig_dir = "{conf}"\n[metrics]\nprometheus = "{METRICS}"\n')
        return config

    def start(self, *, heir: bool = False, config: Path | None = None, control: Path | None = None,
              kept: dict[str, int] | None = None) -> Process:
        self.count += 1
        options = ("--control", str(control or self.control)) + ("--take-over",) * heir
        log = self.directory / f"router{self.count}.log"
        return self.kind.start(f"router {self.count}", self.inside, config or self.conf, log,
                               self.directory / f"stats{self.count}.json", as_user=self.as_user, options=options, kept=kept)

    def key(self, name: str) -> bytes:
        return hop_key(self.directory / name / "keys" / "master0.key")

    def streams(self) -> dict[str, Stream]:
        """The flows of packets, by what they do."""
        keys = {name: self.key(name) for name in ("as1", "own", "as2")}
        host = {1: (neighbour(1), "10.11.0.9"), 0: (OWN, "10.0.0.9"), 2: (neighbour(2), "10.12.0.9")}
        inner = {1: ("10.11.0.1", INTERNAL), 0: ("10.0.0.1", INTERNAL), 2: ("10.12.0.1", INTERNAL)}
        through = [(keys["as1"], 0, 1), (keys["own"], 1, 2), (keys["as2"], 2, 0)]
        down, up = [(keys["as1"], 0, 1), (keys["own"], 1, 0)], [(keys["own"], 0, 2), (keys["as2"], 2, 0)]
        made = {}
        for name, hops, forth, source, destination in (
                ("forth through the AS", through, True, 1, 2), ("back through the AS", through, False, 2, 1),
                ("to a host of the AS", down, True, 1, 0), ("from a host of the AS", up, True, 0, 2)):
            # Each flow has ports of its own at its ends, so that what arrives is told apart.
            port = PORT + len(made)
            whole = packet(hops, (host[source], host[destination]), forth)
            whole = whole[:-14] + struct.pack("!H", port) + whole[-12:]
            out = udp_socket(self.hosts, host[source][1], SOURCE_PORT + len(made) + 100)
            stream = Stream(out, inner[source], lambda _, whole=whole: whole, self.rate)
            made[name] = stream.into(udp_socket(self.hosts, host[destination][1], port))
        return made

    def lost_elsewhere(self) -> int:
        """Packets that a busy machine has lost outside of the router until now: by the devices of others and, as the router
        sends, of its own, in front of sockets, and by the reference routers."""
        others = [self.hosts, *self.references.values()]
        dropped = sum(sum(_devices(namespace)) + _socket_drops(namespace) for namespace in others)
        references = sum(total(metrics(n, METRICS), "router_dropped_pkts_total") for n in self.references.values())
        return int(dropped + _devices(self.inside)[1] + references)

    def bfd(self) -> list[tuple[float, float]]:
        """What the reference routers say: changes of their sessions, and whether their links are up."""
        pages = [metrics(namespace, METRICS) for namespace in self.references.values()]
        return [(total(page, "router_bfd_state_changes_total"), total(page, "router_interface_up")) for page in pages]

    def wait_for_ports(self, kind: str) -> None:
        """Until the router receives from all links by this kind of port."""
        def kinds() -> set[str]:
            page = metrics(self.inside, METRICS)
            return {dict(labels)["kind"] for name, labels in page
                    if name == "hopwright_link_port_info" and dict(labels)["direction"] == "receive"}
        wait_until(f"links to use {kind}", lambda: kinds() == {kind})

    def close(self, keep: bool) -> None:
        for process in (self.router, *self.neighbours):
            process.stop()
        remove_lab(PREFIX, self.directory, keep)


class Traffic(AnyTraffic):
    """All flows, while something happens to the router: BFD notices nothing."""

    def __init__(self, lab: Lab, checks: Checks, what: str):
        super().__init__(lab, checks, what, lab.streams())
        self.bfd = lab.bfd()

    def __exit__(self, kind, *rest) -> None:
        super().__exit__(kind, *rest)
        if kind is None:
            bfd = self.lab.bfd()
            self.checks.that(f"{self.what}: BFD notices nothing", bfd == self.bfd and all(up for _, up in bfd), f"{bfd}")


def take_over(lab: Lab) -> Process:
    """Starts a router that takes over. On a busy machine it may be too late when the running one has stopped, which then
    goes on: then another one."""
    for _ in range(5):
        heir = lab.start(heir=True)
        wait_until("a router to take over", lambda: heir.is_ready() or not heir.running(), interval=0.02)
        if heir.is_ready():
            return heir
        lab.router.check()
        print(f"        {heir.name} has not taken over:\n{heir.tail(3)}", flush=True)
    raise LabError("no router takes over")


def replace(lab: Lab, checks: Checks, times: int, ports: str) -> None:
    """One process after the other takes over, each when the one before uses this kind of port."""
    longest, gap = 0.0, 0
    with Traffic(lab, checks, f"{times} take-overs") as traffic:
        for _ in range(times):
            old, begun = lab.router, time.monotonic()
            lab.router = take_over(lab)
            longest = max(longest, time.monotonic() - begun)
            status = old.wait(PATIENCE)
            if status != 0 or f"MAINPID={lab.router.pid}" not in old.announced() or "RELOADING=1" not in old.announced():
                checks.that("the router before ends as it should", False, f"{status}, {old.announced()}\n{old.tail()}")
                return
            gap = max([gap, *map(int, re.findall(r"taken_ms=(\d+)", old.tail()))])
            traffic.wait(50)
            lab.wait_for_ports(ports)
    checks.that("a process takes over soon", longest < PATIENCE, f"{longest:.2f} s at most, in which packets wait for {gap} ms at most")
    page = metrics(lab.inside, METRICS)
    checks.that("its sessions are up", total(page, "router_interface_up") == 2)
    checks.that("its counters begin anew", 0 < total(page, "router_input_pkts_total"))


def in_background(lab: Lab, checks: Checks) -> None:
    """A command that returns when the router it has started has taken over, as a service manager wants it."""
    with Traffic(lab, checks, "a take-over in the background") as traffic:
        old = lab.router
        done = lab.inside.run(*old.command, "--background", capture_output=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        checks.that("the command returns with status 0", done.returncode == 0, done.returncode)
        checks.that("the router before ends", old.wait(PATIENCE) == 0)
        traffic.wait(50)
        lab.router = take_over(lab)
        words = [str(lab.directory / "none") if before == "--config" else word
                 for before, word in zip(["", *old.command], old.command)]
        done = lab.inside.run(*words, "--background", capture_output=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        checks.that("it fails if no router takes over", done.returncode not in (0, None), done.returncode)
        traffic.wait(50)


def restart(lab: Lab, checks: Checks, times: int, ports: str) -> None:
    """A service manager stops the router and starts another one, to which it gives what the first has left."""
    longest = 0.0
    with Traffic(lab, checks, f"{times} restarts") as traffic:
        for _ in range(times):
            old, begun = lab.router, time.monotonic()
            status = old.stop(keep=True)
            if status or not (kept := old.left()):
                checks.that("the router leaves its sockets to the service manager", False, f"{status}, {old.announced()}\n{old.tail()}")
                return
            lab.router = lab.start(kept=kept)
            old.forget()
            wait_ready(lab.router)
            longest = max(longest, time.monotonic() - begun)
            traffic.wait(50)
            lab.wait_for_ports(ports)
    checks.that("a restart is soon over", longest < PATIENCE, f"{longest:.2f} s at most, in which packets wait")
    checks.that("its sessions are up", total(metrics(lab.inside, METRICS), "router_interface_up") == 2)
    checks.that("it has the service manager forget what it kept", "FDSTOREREMOVE=1" in lab.router.announced())


def refused(lab: Lab, checks: Checks) -> None:
    """What cannot take over leaves the router at work."""
    bad = lab.directory / "bad"
    shutil.copytree(lab.conf.parent, bad, ignore=shutil.ignore_patterns("*-own-settings"))
    config = bad / "router.toml"
    good = config.read_text().replace(str(lab.conf.parent), str(bad))
    occupied = udp_socket(lab.inside, "10.0.0.1", 31000)
    topology = (bad / "topology.json").read_text()
    cases = [
        ("a configuration with a mistake", good + "[router]\nno_such = 1\n", topology, "no_such"),
        ("another AS", good, topology.replace(OWN, "1-ff00:0:9"), "it is router r1 of 1-ff00:0:1"),
        ("an address that is in use", good, topology.replace("10.0.0.1:30042", "10.0.0.1:31000"), "31000"),
        ("an HTTP server that cannot listen", good.replace("127.0.0.1:30401", "192.0.2.9:1"), topology, "192.0.2.9:1"),
    ]
    with Traffic(lab, checks, "take-overs that fail") as traffic:
        for what, text, files, why in cases:
            config.write_text(text)
            (bad / "topology.json").write_text(files)
            heir = lab.start(heir=True, config=config)
            status = heir.wait(PATIENCE)
            checks.that(f"{what}: the new one ends", status not in (0, None) and why in heir.tail(), heir.tail(2))
            traffic.wait(50)
        foreign(lab, checks, traffic)
        lab.router.check()
    occupied.close()


def foreign(lab: Lab, checks: Checks, traffic: Traffic) -> None:
    """Peers that are no router, or die at a bad moment."""
    def connect() -> socket.socket:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.settimeout(PATIENCE)
        # Somebody else may be connected.
        peer.connect(str(lab.control))
        return peer

    name = f"router r1 of {OWN}".encode()
    hello = VERSION + bytes([0, 7, len(name)]) + name
    ready = VERSION + bytes([7])
    for what, message, answer in (("garbage", b"GET / HTTP/1.1\r\n\r\n", "no message of a hand-over"),
                                  ("another version", hello[:5] + b"\x63" + hello[6:], "version 99"),
                                  ("out of turn", ready, "out of turn")):
        with connect() as peer:
            peer.send(message)
            said = peer.recv(65536).decode(errors="replace")
            checks.that(f"{what} is refused", answer in said, said[6:])
        traffic.wait(20)
    for silent in (True, False):
        with connect() as peer:
            peer.send(hello)
            # What is offered; an offer ends with a message without contents.
            while peer.recv(65536) != VERSION + bytes([6]):
                pass
            peer.send(ready)
            if silent:
                # Longer than the router waits, which then hangs up.
                while peer.recv(65536):
                    pass
        checks.that(f"a successor that {'says nothing more' if silent else 'dies'} when the router has stopped", True)
        traffic.wait(50)


class Late:
    """Passes on what the running router and its heir say. Of the first conversation it keeps back that the router has stopped, until
    that waits no longer for the heir."""

    STOPPED = VERSION + bytes([10])

    def __init__(self, lab: Lab):
        self.control, self.path = lab.control, lab.directory / "late"
        self.door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.door.bind(str(self.path))
        self.door.listen()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        for late in (True, False):
            heir, _ = self.door.accept()
            running = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            running.connect(str(self.control))
            with heir, running:
                while self.pass_on(heir, running, late):
                    pass

    def pass_on(self, heir: socket.socket, running: socket.socket, late: bool) -> bool:
        """Passes on a message; false if there are no more."""
        for source in select.select([heir, running], [], [])[0]:
            message, descriptors, _, _ = socket.recv_fds(source, 65536, 128)
            if late and message == self.STOPPED:
                return running.recv(65536) != b""
            if not message:
                return False
            socket.send_fds(running if source is heir else heir, [message], descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
        return True


def late(lab: Lab, checks: Checks) -> None:
    """A successor that has not taken over in time leaves the router at work, and tries again."""
    with Traffic(lab, checks, "a take-over that is too late at first") as traffic:
        old = lab.router
        lab.router = lab.start(heir=True, control=Late(lab).path)
        wait_until("a router to take over", lambda: lab.router.is_ready() or not lab.router.running())
        checks.that("it takes over when it tries again",
                    lab.router.is_ready() and "take-over-late" in lab.router.tail(100), lab.router.tail(5))
        checks.that("the router before went on, and ends", old.wait(PATIENCE) == 0 and "hand-over-failed" in old.tail(), old.tail(5))
        traffic.wait(50)
        # The file of its socket is another one.
        lab.router = take_over(lab)


@contextmanager
def laboratory(choice: str, ports: str, as_user: str | None, checks: Checks, what: str = "", **settings) -> Iterator[Lab]:
    """A lab in which everything is forwarded by ports of this kind. Its files are kept if something fails."""
    print(f"{choice}{', without privileges' if as_user else ''}{what}", flush=True)
    failed = checks.failed
    try:
        lab = Lab(RouterKind(choice), as_user, **settings)
    except BaseException:
        remove_all(PREFIX)
        raise
    done = False
    try:
        warm_up(lab.router, lab.streams)
        lab.wait_for_ports(ports)
        yield lab
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


def run(choice: str, ports: str, as_user: str | None, times: int, with_failures: bool, checks: Checks) -> None:
    with laboratory(choice, ports, as_user, checks) as lab:
        replace(lab, checks, times, ports)
        if with_failures:
            refused(lab, checks)
            late(lab, checks)
            in_background(lab, checks)
        status = lab.router.stop()
        checks.that("the last one ends with status 0", status == 0, f"{status}")
        checks.that("and leaves no socket", not lab.control.exists())


def run_restarts(choice: str, ports: str, as_user: str | None, times: int, checks: Checks) -> None:
    with laboratory(choice, ports, as_user, checks, ", restarts", bfd=PATIENT_BFD, rate=RESTART_RATE) as lab:
        restart(lab, checks, times, ports)


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--times", type=int, default=20, help="take-overs of the router with packet sockets (default: %(default)s)")
    args = parser.parse_args()
    few = max(2, args.times // 4)
    cases = {
        "af_packet": lambda checks: run("hopwright+ports=af_packet", "af_packet", None, args.times, True, checks),
        # Devices are closed and opened again.
        "af_xdp": lambda checks: run("hopwright+ports=af_xdp", "af_xdp", None, max(2, args.times // 2), False, checks),
        "udp": lambda checks: run("hopwright", "udp", NOBODY, few, False, checks),
        "restarts af_packet": lambda checks: run_restarts("hopwright+ports=af_packet", "af_packet", None, few, checks),
        "restarts af_xdp": lambda checks: run_restarts("hopwright+ports=af_xdp", "af_xdp", None, few, checks),
        "restarts udp": lambda checks: run_restarts("hopwright", "udp", NOBODY, few, checks),
    }
    names = choose(args, cases)
    return carry_out("take-over", lambda checks: [cases[name](checks) for name in names])


if __name__ == "__main__":
    sys.exit(main())
