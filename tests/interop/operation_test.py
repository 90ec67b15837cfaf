#!/usr/bin/env python3
"""A router in operation: hosts behind a NAT learn their address by STUN, with each kind of port; an address that is
missing at the start takes down its own link until it appears; links by IPv6 zones and by unspecified addresses; BFD over a link whose
egress queue is full; signals, the state and compressed metrics.

The STUN client is the reference's (stun/, v0.15.1), the NAT is Linux's.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not run.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import LabError
from lab.ledger import waited_for_cpu
from lab.netns import End, Namespace, remove_all, veth
from lab.process import Process
from lab.reference import tool
from lab.router import RouterKind, hopwright_binary, wait_ready
from lab.scion import hop_key, pace, packet, udp_socket
from lab.scrape import metrics, total

KEY = "MDEyMzQ1Njc4OWFiY2RlZg=="
PREFIX = "hopwright-op-"
METRICS = "127.0.0.1:30442"
# Seconds that BFD waits for a router.
BFD_PATIENCE = 0.6
# The host, its NAT, and the router of the AS's network; a link whose address comes later.
HOST, NAT_INSIDE, NAT_OUTSIDE, ROUTER, LATER = "10.1.0.2", "10.1.0.1", "10.2.0.5", "10.2.0.1", "10.3.0.1"
# By an unspecified address, UDP sockets do everything.
KINDS = {"AF_PACKET": ("hopwright+ports=af_packet", ROUTER), "AF_XDP": ("hopwright+ports=af_xdp", ROUTER),
         "UDP sockets": ("hopwright", "0.0.0.0")}


class Lab:
    """host - nat - router, and a device of the router's for a link."""

    def __init__(self, directory: Path):
        self.directory = directory
        self.host, self.nat, self.router = (Namespace(f"{PREFIX}{name}") for name in ("host", "nat", "router"))
        veth(End(self.host, "eth0", (f"{HOST}/24",)), End(self.nat, "in", (f"{NAT_INSIDE}/24",)), 1500)
        veth(End(self.nat, "out", (f"{NAT_OUTSIDE}/24",)), End(self.router, "eth0", (f"{ROUTER}/24",)), 1500)
        self.router.ip("link", "add", "eth1", "type", "veth", "peer", "name", "eth2")
        for device in ("eth1", "eth2"):
            self.router.ip("link", "set", device, "up")
        self.host.ip("route", "add", "default", "via", NAT_INSIDE)
        self.nat.set("net/ipv4/ip_forward", "1")
        done = self.nat.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "out", "-j", "MASQUERADE",
                            capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(f"no NAT: {done.stderr.strip()}")

    def configure(self, internal: str, locals: list[str], remotes: list[str], ia: int = 110, bfd: bool = True) -> Path:
        """Files of a router with these addresses: its router.toml."""
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        (directory / "keys").mkdir()
        for name in ("master0.key", "master1.key"):
            (directory / "keys" / name).write_text(KEY)
        neighbour, link_to = (111, "child") if ia == 110 else (110, "parent")
        links = {str(number): {"isd_as": f"1-ff00:0:{neighbour}", "link_to": link_to,
                               "underlay": {"local": local, "remote": remote}}
                 for number, (local, remote) in enumerate(zip(locals, remotes), 1)}
        (directory / "topology.json").write_text(json.dumps({
            "isd_as": f"1-ff00:0:{ia}",
            "border_routers": {"br1": {"internal_addr": f"{internal}:30042", "interfaces": links}}}))
        config = directory / "br1.toml"
        config.write_text(f'[general]\nid = "br1"\nconfig_dir = "{directory}"\n[metrics]\n'
                          f'prometheus = "{METRICS}"\n[router.bfd]\ndisable = {str(not bfd).lower()}\n')
        return config

    def start(self, kind: str, internal: str) -> Process:
        """Starts a router with this internal address and a link whose address is missing."""
        self.config = self.configure(internal, [f"{LATER}:50000"], ["10.3.0.2:50000"], bfd=False)
        self.log = self.config.with_suffix(".log")
        router = RouterKind(kind).start("br1", self.router, self.config, self.log, self.config.with_suffix(".json"))
        wait_ready(router)
        return router

    def page(self, path: str, *headers: str) -> bytes:
        """A page of the router, as a client in its namespace gets it."""
        ask = "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(u.Request(sys.argv[1], headers=" \
              "dict(h.split(': ') for h in sys.argv[2:]))).read())"
        return self.router.run(sys.executable, "-c", ask, f"http://{METRICS}/{path}", *headers,
                               capture_output=True, check=True, text=False).stdout


def stun(lab: Lab, checks: Checks) -> None:
    for name, (kind, internal) in KINDS.items():
        router = lab.start(kind, internal)
        try:
            def asked(namespace: Namespace, local: str) -> str:
                done = namespace.run(tool("stun"), local, f"{ROUTER}:30042", capture_output=True, text=True)
                return done.stdout + done.stderr
            # A client gives up after three seconds.
            checks.comes(f"STUN from behind a NAT, by {name}", lambda: asked(lab.host, f"{HOST}:31000"),
                         lambda found: found.startswith(f"{NAT_OUTSIDE}:"))
            checks.comes(f"STUN without one, by {name}", lambda: asked(lab.nat, f"{NAT_OUTSIDE}:31001"),
                         lambda found: found.strip() == f"{NAT_OUTSIDE}:31001")
        finally:
            router.stop()


def missing_address(lab: Lab, checks: Checks) -> None:
    lab.running = lab.start("hopwright", ROUTER)

    def up(value: int) -> bool:
        return f'router_interface_up{{interface="1",isd_as="1-ff00:0:110",neighbor_isd_as="1-ff00:0:111"}} {value}' \
            in lab.page("metrics").decode()

    checks.comes("the link is down", lambda: up(0), bool)
    checks.comes("a metric says why", lambda: all(text in lab.page("metrics").decode() for text in ("hopwright_link_down_info", LATER)), bool)
    checks.that("and the log", f"address={LATER}:50000" in lab.log.read_text(), lab.log.read_text())
    lab.router.ip("addr", "add", f"{LATER}/24", "dev", "eth1")
    checks.comes("it is up once the address is there", lambda: up(1), bool)


def addresses(lab: Lab, checks: Checks) -> None:
    """Our router and the reference's over links by zones and by addresses that the kernel chooses: BFD says whether they work."""
    other = Namespace(f"{PREFIX}other")
    for device in ("zoned", "plain"):
        veth(End(lab.router, device), End(other, device), 1500)
    for namespace, last in ((lab.router, 1), (other, 2)):
        namespace.ip("addr", "add", f"fe80::{last}/64", "dev", "zoned", "nodad")
        namespace.ip("addr", "add", f"10.4.0.{last}/24", "dev", "plain")
    other.ip("addr", "add", "10.5.0.2/32", "dev", "lo")
    far = ["[fe80::2%zoned]:50001", "10.4.0.2:50002"]
    near = ["[fe80::1%zoned]:50001", "10.4.0.1:50002"]
    ours = lab.configure("0.0.0.0", [near[0], "0.0.0.0:50002"], far)
    theirs = lab.configure("10.5.0.2", far, near, ia=111)
    log = ours.with_suffix(".log")
    routers = [RouterKind("hopwright").start("ours", lab.router, ours, log, ours.with_suffix(".json")),
               RouterKind("reference").start("theirs", other, theirs, theirs.with_suffix(".log"), theirs.with_suffix(".json"))]
    try:
        for router in routers:
            wait_ready(router)
        up = lambda: [line[-1] for line in lab.page("metrics").decode().splitlines()
                      if line.startswith("router_interface_up{")]
        checks.comes("links by zones and unspecified addresses, to the reference", up, lambda found: found == ["1", "1"])
        if checks.failed:
            print(log.read_text()[-1000:], file=sys.stderr)
    finally:
        for router in routers:
            router.stop()


def full_queue(lab: Lab, checks: Checks) -> None:
    """A host sends four times what a link takes. The queue is full, which would delay BFD for two seconds if it waited in it."""
    other = Namespace(f"{PREFIX}slow")
    veth(End(lab.router, "slow", ("10.6.0.1/24",)), End(other, "slow", ("10.6.0.2/24",)), 1500)
    other.ip("addr", "add", "10.7.0.2/32", "dev", "lo")
    ours = lab.configure(ROUTER, ["10.6.0.1:50000"], ["10.6.0.2:50000"])
    theirs = lab.configure("10.7.0.2", ["10.6.0.2:50000"], ["10.6.0.1:50000"], ia=111)
    kind = RouterKind('hopwright+queues={slow={rate="1M"}}')
    routers = [kind.start("ours", lab.router, ours, ours.with_suffix(".log"), ours.with_suffix(".json")),
               RouterKind("reference").start("theirs", other, theirs, theirs.with_suffix(".log"), theirs.with_suffix(".json"))]

    def pages() -> list[dict]:
        return [metrics(namespace, METRICS) for namespace in (lab.router, other)]

    def changes() -> list[float]:
        return [total(page, "router_bfd_state_changes_total") for page in pages()]

    def dropped() -> float:
        return total(pages()[0], "hopwright_port_lost_packets_total", device="slow", reason="tx_queue_full")

    def waited() -> float:
        """How long at most a router has waited for a CPU until now."""
        return max(waited_for_cpu(router.pid) for router in routers)

    def steady() -> bool | None:
        """Floods the link for three seconds. BFD may also notice that a router has had no time, from which nothing can be concluded: None."""
        checks.comes("the link is up at both ends", lambda: [total(page, "router_interface_up") for page in pages()],
                     lambda up: up == [1, 1])
        before, idle, due, end = changes(), waited(), time.monotonic(), time.monotonic() + 3
        while time.monotonic() < end:
            out.sendto(frame, (ROUTER, 30042))
            due = pace(due, 1 / 500)
        if changes() == before:
            return True
        return None if waited() - idle > BFD_PATIENCE else False

    def undisturbed() -> bool:
        """Whether an attempt shows it, or nothing can be concluded from any."""
        attempts = []
        while True not in attempts and len(attempts) < 5:
            attempts.append(steady())
        return True in attempts or False not in attempts

    try:
        for router in routers:
            wait_ready(router)
        frame = packet(hop_key(ours.parent / "keys" / "master0.key"), 0, 1, bytes(900), source=("1-ff00:0:110", NAT_OUTSIDE),
                       destination=("1-ff00:0:111", "10.7.0.9"))
        out = udp_socket(lab.nat, NAT_OUTSIDE, 31002)
        checks.that("BFD does not notice that a queue is full", undisturbed(), changes())
        checks.comes("the queue was full: dropped", dropped, lambda count: count > 100)
        out.close()
    finally:
        for router in routers:
            router.stop()


def signals_and_state(lab: Lab, checks: Checks) -> None:
    router = lab.running
    for name in ("SIGUSR1", "SIGUSR2", "SIGALRM", "SIGPIPE", "SIGQUIT"):
        os.kill(router.pid, getattr(signal, name))
    checks.comes("SIGQUIT writes the state", lambda: '"tables": {' in lab.log.read_text(), bool)
    done = lab.router.run(hopwright_binary(), "scion", "dump", "--config", str(lab.config), capture_output=True, text=True)
    state = json.loads(done.stdout) if done.returncode == 0 else {}
    names = [link["name"] for link in state.get("links", [])]
    checks.that("hopwright scion dump", names == ["internal", "interface 1"], done.stderr)
    checks.that("no signal has ended the router", router.running())
    compressed = lab.page("metrics", "Accept-Encoding: gzip")
    checks.that("compressed metrics", b"router_interface_up" in gzip.decompress(compressed))


def main() -> int:
    cases = {case.__name__: case for case in (stun, addresses, full_queue, missing_address, signals_and_state)}
    names = choose(case_options(__doc__).parse_args(), cases, {"signals_and_state": ["missing_address"]})

    def test(checks: Checks) -> None:
        remove_all(PREFIX)
        with tempfile.TemporaryDirectory() as directory:
            try:
                lab = Lab(Path(directory))
                for name in names:
                    cases[name](lab, checks)
            finally:
                remove_all(PREFIX)
    return carry_out("operation", test, long_details=True)


if __name__ == "__main__":
    sys.exit(main())
