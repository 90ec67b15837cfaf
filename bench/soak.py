#!/usr/bin/env python3
"""Puts a border router under everything at once and balances its books.

For the given time: the reference's load generator at saturation over one pair of
links; a steady stream of numbered packets over a second pair; a flood over a link of
its own of which a part must be answered and the rest is malformed, so much that it is
a given share of everything that arrives; a link that goes down and up; a configuration
that changes each second. At the other end of each link, and as sibling, is a reference
router, with BFD. At the end a ledger:

  packets in = packets sent + handed to the agent + lost, by reason

to the packet. The steady stream must arrive complete, BFD must be up throughout on all
links but the one that goes down, with as many packets as without load, and memory must
stay flat.

With --upgrade another process takes over from the router again and again, under the same
demands: the books of each are closed a second before it ends, and packets that wait for the
next one are in the next one's. With --share the load generator and the flood get a part of
a CPU, for a soak of hours on a machine that has other work, too.

The router gets the first CPU and everything else the others, unless told otherwise.
With --overload it shares its CPU with busy processes, so that more arrives than it can
take, for the same demands: what is lost is lost where the generator's packets come in.

Exit status: 0 if all of that holds, 1 if something does not, 2 if the soak could
not be carried out.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import select
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from control_group import ControlGroup
from lab.cases import status_of
from lab.command import PATIENCE, LabError, wait_until
from lab.netns import End, Namespace, Offloads, remove_lab, veth
from lab.process import Process
from lab.reference import copy_tree, module_dir, tool
from lab.router import RouterKind, read_stats, wait_ready
from lab.scion import Stream, attach_filter, hop_key, of_next_header, transit, udp_socket

# As in brload.py: label, the router's address, the generator's MAC address, an address to ask from.
LINKS = {
    "1_0": ("10.123.10.1/24", "f0:0d:ca:fe:10:02", "10.123.10.200/24"),
    "1_2": ("10.123.2.1/24", "f0:0d:ca:fe:02:02", "10.123.2.200/24"),
    "1_3": ("10.123.3.1/24", "f0:0d:ca:fe:03:03", "10.123.3.200/24"),
}
# Our own links: the steady stream's two, the flapping one, the flood's.
STEADY_IN, STEADY_OUT, FLAP, FLOOD = 11, 12, 13, 14
OWN = (STEADY_IN, STEADY_OUT, FLAP, FLOOD)
PORT = 50000
MTU = 9000
MALFORMED = ("length", "segments", "type")
ANSWERED = ("mac", "expired", "ingress", "egress")
# Of the router at the other end of the links, and of the flood's packets those that must be answered.
PEER_AS, ANSWERED_SHARE = "1-ff00:0:2", 0.1
# BFD: a packet in 200 ms at least, in 150 ms at most.
SLOWEST, FASTEST = 5.0, 1 / 0.15
# Packets that a running router may have taken in, and not yet sent or counted.
BURSTS = 4096


def enter(namespace: str) -> None:
    """Moves this process into a namespace."""
    with open(f"/run/netns/{namespace}", "rb") as target:
        if ctypes.CDLL(None, use_errno=True).setns(target.fileno(), 0x40000000):
            raise LabError(f"cannot enter {namespace}")


def relay(namespace: str, pairs: list[str]) -> int:
    """Copies BFD frames, and nothing else, between pairs of devices: the work of a process of its own.

    So that the routers at the other ends see none of the load.
    """
    enter(namespace)
    poll, ways = select.poll(), {}

    def inlet(device: str) -> socket.socket:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        attach_filter(sock, of_next_header(46))
        sock.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
        sock.bind((device, 3))
        return sock

    for pair in pairs:
        ends = [inlet(device) for device in pair.split("=")]
        for end, other in (ends, ends[::-1]):
            ways[end.fileno()] = (end, other)
            poll.register(end, select.POLLIN)
    while True:
        for number, _ in poll.poll():
            end, other = ways[number]
            try:
                other.send(end.recv(2000, socket.MSG_DONTWAIT))
            except OSError:
                # A device is down.
                continue


def flood(namespace: str, key: bytes) -> int:
    """Sends bad packets until it is ended, as many per second as the last line of its input says: the work of a
    process of its own."""
    enter(namespace)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((f"10.{FLOOD}.0.2", PORT))
    sock.connect((f"10.{FLOOD}.0.1", PORT))
    bad = [transit(key, FLOOD, STEADY_OUT, b"x" * 40, spoil) for spoil in MALFORMED]
    asked = [transit(key, FLOOD, STEADY_OUT, b"x" * 40, spoil) for spoil in ANSWERED]
    burst: list[bytes] = []
    while len(burst) < 200:
        burst += asked if len(burst) % 40 < 40 * ANSWERED_SHARE else bad
    rate, due = 1000.0, time.monotonic()
    os.set_blocking(0, False)
    while True:
        if told := os.read(0, 4096) if select.select([0], [], [], 0)[0] else b"":
            rate = max(100.0, float(told.split()[-1]))
        for packet in burst:
            try:
                sock.send(packet)
            except OSError:
                time.sleep(0.001)
        # Never to catch up more than a little.
        due = max(due + len(burst) / rate, time.monotonic() - 0.05)
        time.sleep(max(0.0, due - time.monotonic()))


class Soak:
    """The network, and what goes on in it."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-soak-"))
        self._prefix = f"hws{os.getpid()}-"
        self._processes: list[Process] = []
        self._children: list[subprocess.Popen] = []
        self._stop = threading.Event()
        self._group: ControlGroup | None = None
        self.changes = 0
        self.flaps = 0
        self.router: Process | None = None
        self.memory: list[int] = []
        # The last statistics of routers from which others have taken over, and take-overs that came to nothing.
        self.ended: list[dict] = []
        self.late = 0
        # Of each BFD session: state changes, sent and received when it was first up, and whether it was seen down before the time was up.
        self.sessions: dict[str, dict] = {}
        self.went_down: set[str] = set()
        self.over = False

    def build(self) -> None:
        self.conf = self.directory / "conf"
        copy_tree(module_dir() / "acceptance" / "router_benchmark" / "conf", self.conf)
        self.config = self.conf / "router.toml"
        text = self.config.read_text().replace('"/etc/scion"', f'"{self.conf}"')
        text = text.replace("disable = true", "disable = false")
        self.config.write_text(text)
        self.topology = json.loads((self.conf / "topology.json").read_text())
        interfaces = self.topology["border_routers"]["br1a"]["interfaces"]
        for interface in interfaces.values():
            interface["isd_as"] = PEER_AS
        for number in OWN:
            interfaces[str(number)] = {
                "isd_as": PEER_AS, "link_to": "core", "mtu": 1400,
                "underlay": {"local": f"10.{number}.0.1:{PORT}",
                             "remote": f"10.{number}.0.2:{PORT}"}}
        self.write_topology()
        self.router_side, self.load_side, self.peer_side, self.sibling_side = (
            Namespace(self._prefix + role, ipv6=False)
            for role in ("router", "load", "peer", "sibling"))
        self.relayed: list[str] = []
        for label, (address, mac, own) in LINKS.items():
            sibling = label == "1_0"
            remote = self.topology["border_routers"]["br1b"]["internal_addr"] if sibling else \
                interfaces[label[-1]]["underlay"]["remote"]
            remote = remote.partition(":")[0]
            ours = f"f0:0d:ca:fe:00:{label[-1]}0"
            # The generator answers only while it runs. The router's devices have the offloads of a network card.
            veth(End(self.router_side, f"br{label}", (address,), ours, ((remote, mac),), Offloads.CARD),
                 End(self.load_side, f"gen{label}", (own,), offloads=Offloads.NONE), MTU)
            self._peer(self.sibling_side if sibling else self.peer_side, f"gen{label}",
                       remote, mac, address.partition("/")[0], ours)
        for number in OWN:
            ours, theirs = f"f0:0d:ca:fe:01:{number}", f"f0:0d:ca:fe:02:{number}"
            veth(End(self.router_side, f"if{number}", (f"10.{number}.0.1/24",), ours, offloads=Offloads.CARD),
                 End(self.load_side, f"out{number}", (f"10.{number}.0.2/24",), theirs, offloads=Offloads.NONE), 1500)
            self._peer(self.peer_side, f"out{number}", f"10.{number}.0.2", theirs,
                       f"10.{number}.0.1", ours)
        self._configure_peers(interfaces)
        # What comes back for the flood is nobody's: the host must not answer it.
        self.load_side.set("net/ipv4/icmp_ratemask", "0xffff")
        self.load_side.set("net/ipv4/icmp_ratelimit", "100000")

    def _peer(self, namespace: Namespace, device: str, address: str, mac: str, router: str,
              router_mac: str) -> None:
        """The other end of a link, behind the device where the load is."""
        veth(End(namespace, f"to-{device}", (f"{address}/24",), mac, ((router, router_mac),), Offloads.NONE),
             End(self.load_side, f"bfd-{device}", offloads=Offloads.NONE), 1500)
        self.relayed.append(f"{device}=bfd-{device}")

    def _configure_peers(self, interfaces: dict) -> None:
        """A router of another AS with the other ends of all links, and the sibling."""
        self.peer_side.ip("addr", "add", "10.200.0.1/32", "dev", "lo")
        self.sibling_side.ip("addr", "add", "10.123.4.1/24", "dev", "lo")
        theirs = {
            number: {"isd_as": self.topology["isd_as"], "link_to": "core", "mtu": 1280,
                     "underlay": {"local": ours["underlay"]["remote"],
                                  "remote": ours["underlay"]["local"]}}
            for number, ours in interfaces.items()}
        peer = {"attributes": ["core"], "isd_as": PEER_AS, "mtu": 1400,
                "dispatched_ports": "1024-65535", "border_routers": {
                    "peer": {"internal_addr": "10.200.0.1:30042", "interfaces": theirs}}}
        for name, topology in (("peer", peer), ("br1b", self.topology)):
            directory = self.directory / name
            copy_tree(self.conf, directory)
            (directory / "topology.json").write_text(json.dumps(topology))
            (directory / "router.toml").write_text(
                f'[general]\nid = "{name}"\nconfig_dir = "{directory}"\n'
                '[log.console]\nlevel = "error"\n')

    def write_topology(self) -> None:
        new = self.conf / "topology.new"
        new.write_text(json.dumps(self.topology))
        new.rename(self.conf / "topology.json")

    def close(self, keep: bool) -> None:
        self._stop.set()
        for child in self._children:
            child.kill()
            child.wait()
        for process in self._processes:
            process.stop()
        if self._group:
            self._group.remove()
        remove_lab(self._prefix, self.directory, keep)

    def _change(self) -> None:
        """A service moves, a sibling's link comes and goes."""
        routers = self.topology["border_routers"]
        while not self._stop.wait(1.0):
            self.changes += 1
            self.topology["control_service"] = {
                "cs": {"addr": f"10.123.10.{100 + self.changes % 50}:30252"}}
            if self.changes % 2:
                routers["br1c"] = {"internal_addr": "10.123.10.3:30042", "interfaces": {
                    "21": {"isd_as": "2-ff00:0:5", "link_to": "core", "mtu": 1400}}}
            else:
                routers.pop("br1c", None)
            self.write_topology()

    def _flap(self) -> None:
        while not self._stop.wait(4.0):
            self.flaps += 1
            self.router_side.ip("link", "set", f"if{FLAP}", "down")
            if self._stop.wait(1.5):
                break
            self.router_side.ip("link", "set", f"if{FLAP}", "up")

    def _stats_file(self) -> Path:
        return self.directory / f"stats{len(self.ended)}.json"

    def _start(self, *options: str) -> Process:
        number = len(self.ended) + bool(options)
        control = ("--control", str(self.directory / "control")) if self.args.upgrade else ()
        router = self.kind.start("router", self.router_side, self.config, self.directory / f"router{number}.log",
                                 self.directory / f"stats{number}.json", cpus=self.args.router_cpu, options=(*control, *options))
        self._processes.append(router)
        return router

    def _upgrade(self) -> None:
        """Another process takes over. On a busy machine it may be too late, and the router goes on: then at the next time."""
        spent = self.router.cpu_seconds()
        heir, old = self._start("--take-over"), self.router
        wait_until("a router to take over", lambda: heir.is_ready() or not heir.running(), interval=0.02)
        if not heir.is_ready():
            self.late += 1
            self._processes.remove(heir)
            return
        if status := old.wait(PATIENCE):
            raise LabError(f"the router before ends with status {status}: {old.tail()}")
        self.cpu += spent
        self._processes.remove(old)
        self.ended.append(read_stats(self._stats_file()))
        self.router = heir

    def _steer(self, flood_process: subprocess.Popen) -> None:
        """Watches the sessions, and makes the flood so large that its share of what arrives is as wanted."""
        rate, malformed, received = 20_000.0, None, 0
        while not self._stop.wait(1.0):
            stats = read_stats(self._stats_file())
            for name, session in stats.get("bfd", {}).items():
                if not session["up"] and name in self.sessions and not self.over:
                    self.went_down.add(name)
            if "ledger" not in stats:
                continue
            now = malformed_of(stats), stats["ledger"]["received"]
            if malformed is not None and now[1] > received and now[0] >= malformed:
                share = max(0.01, (now[0] - malformed) / (now[1] - received))
                rate *= min(1.5, max(0.6, self.args.malformed / share))
                rate = min(rate, 1_000_000.0)
            malformed, received = now
            try:
                os.write(flood_process.stdin.fileno(), f"{rate}\n".encode())
            except OSError:
                return

    def _watch_memory(self) -> None:
        page = os.sysconf("SC_PAGE_SIZE") // 1024
        while not self._stop.wait(1.0):
            try:
                statm = Path(f"/proc/{self.router.pid}/statm").read_text()
            except OSError:
                # Another one has taken over.
                continue
            self.memory.append(int(statm.split()[1]) * page)

    def run(self) -> bool:
        args = self.args
        self.kind = RouterKind(args.router)
        reference = RouterKind("reference")
        for name, side in (("peer", self.peer_side), ("br1b", self.sibling_side)):
            self._processes.append(reference.start(
                name, side, self.directory / name / "router.toml", self.directory / f"{name}.log",
                self.directory / f"{name}.json"))
        self._child("--relay", self.load_side.name, *self.relayed)
        self.router = router = self._start()
        wait_ready(router)
        key = hop_key(self.conf / "keys" / "master0.key")

        def all_up() -> bool:
            router.check()
            self.sessions = read_stats(self._stats_file()).get("bfd", {})
            return len(self.sessions) >= 7 and all(s["up"] for s in self.sessions.values())

        wait_until("all BFD sessions", all_up)
        # The way must be known before the books are opened on it.
        self._ping(key)
        steady = Stream(udp_socket(self.load_side, f"10.{STEADY_IN}.0.2", PORT),
                        (f"10.{STEADY_IN}.0.1", PORT),
                        lambda payload: transit(key, STEADY_IN, STEADY_OUT, payload), args.rate)
        steady.into(self._without_bfd(STEADY_OUT))
        flapping = Stream(udp_socket(self.load_side, f"10.{FLAP}.0.2", PORT),
                          (f"10.{FLAP}.0.1", PORT),
                          lambda payload: transit(key, FLAP, FLOOD, payload), 100)
        command = [tool("brload"), "run", "--artifacts", str(self.directory), "--case",
                   "br_transit", "--packet-size", "172", "--num-streams", "840",
                   "--duration", f"{args.seconds}s"]
        for label, (_, mac, _) in LINKS.items():
            command += ["--interface", f"{label}=gen{label},{mac}"]
        self.began, self.cpu = time.monotonic(), -router.cpu_seconds()
        load = Process("brload", command, self.directory / "brload.log",
                       namespace=self.load_side)
        self._processes.append(load)
        bad = self._child("--flood", self.load_side.name, key.hex())
        if args.share:
            self._group = ControlGroup("soak", args.share)
            for process in load, bad:
                self._group.add(process.pid)
        for _ in range(args.overload):
            self._children.append(subprocess.Popen(
                ["taskset", "-c", args.router_cpu, sys.executable, "-c", "while True: pass"]))
        for work in (self._change, self._flap, self._watch_memory,
                     lambda: self._steer(bad)):
            threading.Thread(target=work, daemon=True).start()
        steady.start()
        flapping.start()
        end, upgrade = self.began + args.seconds, self.began + (args.upgrade or math.inf)
        while time.monotonic() < end:
            self.router.check()
            if time.monotonic() > upgrade:
                self._upgrade()
                upgrade = time.monotonic() + args.upgrade
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
        router = self.router
        # What follows ends the load and the neighbours, too.
        self.over = True
        self.took = time.monotonic() - self.began
        self.cpu += router.cpu_seconds()
        self.sessions_after = summed([*self.ended, read_stats(self._stats_file())]).get("bfd", {})
        flapping.finish(0)
        steady.finish(1.0)
        self._stop.set()
        for child in self._children:
            child.kill()
            child.wait()
        load.wait(PATIENCE)
        time.sleep(1.5)
        status = router.stop()
        return self.report(read_stats(self._stats_file()), steady, status)

    def _child(self, *arguments: str) -> subprocess.Popen:
        """This program as a process of another kind."""
        child = subprocess.Popen([sys.executable, __file__, *arguments], stdin=subprocess.PIPE)
        self._children.append(child)
        return child

    def _without_bfd(self, number: int) -> socket.socket:
        """Where packets that leave by a link arrive, but for BFD."""
        sock = udp_socket(self.load_side, f"10.{number}.0.2", PORT)
        attach_filter(sock, of_next_header(12, passes=False))
        return sock

    def _ping(self, key: bytes) -> None:
        for number in OWN:
            # Resolves both ends.
            udp_socket(self.load_side, f"10.{number}.0.2", 0).sendto(b"?", (f"10.{number}.0.1", 9))
        out = udp_socket(self.load_side, f"10.{STEADY_IN}.0.2", PORT)
        back = self._without_bfd(STEADY_OUT)
        back.settimeout(0.2)

        def there() -> bool:
            out.sendto(transit(key, STEADY_IN, STEADY_OUT, b"are you?"),
                       (f"10.{STEADY_IN}.0.1", PORT))
            try:
                return bool(back.recv(2000))
            except TimeoutError:
                return False

        wait_until("the router to forward", there)
        out.close()
        back.close()

    def report(self, last: dict, steady: Stream, status: int | None) -> bool:
        if not last.get("ledger"):
            raise LabError("the router wrote no ledger")
        stats = summed([*self.ended, last])
        ledger, reloads = stats["ledger"], stats.get("reloads", {})
        faults: list[str] = []

        def check(good: bool, what: str) -> None:
            if not good:
                faults.append(what)

        overrun = sum(p["lost"] for p in stats["ports"].values()) - ledger["lost"].get("not_sent", 0)
        punted = stats["packets_punted"]
        malformed = malformed_of(stats)
        share = malformed / max(1, ledger["received"])
        print(f"{'received by the router':<44}{ledger['received']:>14,}")
        print(f"{'sent by its agent':<44}{ledger['injected']:>14,}")
        print(f"{'packets in':<44}{ledger['packets_in']:>14,}")
        print(f"{'forwarded or answered: sent by devices':<44}{ledger['sent']:>14,}")
        print(f"{'handed to the agent':<44}{ledger['punted']:>14,}")
        for reason, count in sorted(punted.items()):
            print(f"  {'of which ' + reason:<42}{count:>14,}")
        for reason, count in sorted(ledger["lost"].items()):
            print(f"{'dropped: ' + reason:<44}{count:>14,}")
        print(f"{'packets out':<44}{ledger['packets_out']:>14,}")
        print(f"{'before the router: receive rings full':<44}{overrun:>14,}")
        for device, port in sorted(stats["ports"].items()):
            if port["lost"]:
                print(f"{'  of which at ' + device:<44}{port['lost']:>14,}")
        print(f"{'CPU time of the router, of one CPU':<44}{self.cpu / self.took:>14.1%}")
        print(f"{'received per second':<44}{ledger['received'] / self.took:>14,.0f}")
        print(f"{'malformed of those received':<44}{share:>14.1%}")
        slow = stats.get("slow_path", {})
        for what, count in sorted(slow.items()):
            print(f"  {'agent: ' + what:<42}{count:>14,}")
        print(f"{'steady stream: sent, lost, twice':<44}"
              f"{steady.sent:>14,}{len(steady.lost):>8,}{steady.doubled:>8,}")
        print(f"{'configurations: changes, applied, refused':<44}{self.changes:>14,}"
              f"{reloads.get('applied', 0):>8,}{reloads.get('refused', 0):>8,}")
        print(f"{'link flaps':<44}{self.flaps:>14,}")
        if self.args.upgrade:
            print(f"{'take-overs, and such as came too late':<44}{len(self.ended):>14,}{self.late:>8,}")
        settled = self.memory[len(self.memory) // 3:] or [0]
        # What grows are not the peaks, which a router has while it compiles.
        half = len(settled) // 2
        growth = int(statistics.median(settled[half:]) - statistics.median(settled[:half] or [0]))
        print(f"{'memory KiB: first third, end, growth':<44}{self.memory[len(self.memory) // 3]:>14,}"
              f"{self.memory[-1]:>10,}{growth:>8,}")

        flapping, starved = f"interface {FLAP}", set()
        for name, before in sorted(self.sessions.items()):
            after = self.sessions_after.get(name, before)
            changes, sent, received = (after[k] - before[k]
                                       for k in ("state_changes", "sent", "received"))
            rates = [count / self.took for count in (sent, received)]
            print(f"{'BFD, ' + name + ': changes, sent, received /s':<44}{changes:>14,}"
                  f"{rates[0]:>8.2f}{rates[1]:>8.2f}")
            if name == flapping:
                check(changes >= 2, "the link that goes down has not gone down")
                continue
            if self.args.may_starve and after["up"] and changes:
                starved.add(name)
                continue
            check(changes == 0 and name not in self.went_down, f"BFD has flapped: {name}")
            for what, rate in zip(("sent", "received"), rates):
                check(0.95 * SLOWEST <= rate <= 1.05 * FASTEST,
                      f"BFD, {name}: {rate:.2f} packets {what} per second")

        check(not self.args.overload or overrun > 0, "more was taken than could be: no overload")
        check(status == 0, f"the router ended with status {status}")
        check(last["ledger"]["packets_in"] == last["ledger"]["packets_out"], "the ledger does not balance")
        for number, books in enumerate(self.ended):
            books = books["ledger"]
            running = abs(books["packets_in"] - books["packets_out"]) + books["lost"].get("without_reason", 0)
            check(running <= BURSTS, f"the ledger of router {number} differs by {running} packets while it runs")
        check(not self.args.upgrade or self.ended, "no router has taken over")
        check("without_reason" not in last["ledger"]["lost"], "packets were dropped without a reason")
        allowed = stats["ports"][f"if{STEADY_IN}"]["lost"] if self.args.may_starve else 0
        if f"interface {STEADY_OUT}" in starved:
            allowed += punted.get("interface_down", 0)
        check(len(steady.lost) <= allowed, f"{len(steady.lost)} packets of the steady stream are "
                                           f"lost: {steady.lost[:10]}")
        check(not steady.doubled, "packets of the steady stream came twice")
        check(growth < 2048, f"memory has grown by {growth} KiB")
        check(reloads.get("refused") == 0, f"a configuration was refused: {reloads.get('error')}")
        check(reloads.get("applied", 0) >= self.changes * 0.8, "changes were not taken on")
        check(ledger["punted"] > 0, "nothing had to be answered")
        # Under overload most of what arrives is the generator's, and some is lost unseen.
        check(self.args.overload or abs(share - self.args.malformed) < (0.15 if self.args.may_starve else 0.05),
              f"{share:.1%} malformed instead of {self.args.malformed:.0%}")
        for fault in faults:
            print(f"FAULT: {fault}")
        print(f"soak, {self.args.seconds} s: {'FAILED' if faults else 'passed'}")
        return not faults


def summed(parts: list[dict]) -> dict:
    """Statistics of routers that followed each other: counters added up, and otherwise what the last one says."""
    whole: dict = {}
    for part in parts:
        for name, value in part.items():
            before = whole.get(name)
            if isinstance(value, dict):
                whole[name] = summed([before or {}, value])
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                whole[name] = (before or 0) + value
            else:
                whole[name] = value
    return whole


def malformed_of(stats: dict) -> int:
    """Packets that make no sense, of those received."""
    return sum(stats["packets_dropped"].get(k, 0) for k in
               ("malformed", "unsupported_path_type", "singleton_segment"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", default="hopwright", help="as for the other tests")
    parser.add_argument("--seconds", type=int, default=600, help="default: %(default)s")
    parser.add_argument("--rate", type=float, default=500,
                        help="packets per second of the steady stream (default: %(default)s)")
    parser.add_argument("--malformed", type=float, default=0.2,
                        help="share of all that arrives that is malformed (default: %(default)s)")
    parser.add_argument("--overload", type=int, nargs="?", const=40, default=0, metavar="PROCESSES",
                        help="this many busy processes on the router's CPU (%(const)s without a number)")
    parser.add_argument("--may-starve", action="store_true",
                        help="on a machine that is busy otherwise: the steady stream may lose what "
                             "its receive ring counts as lost while the router gets no CPU, and BFD "
                             "may flap if it is up again at the end")
    parser.add_argument("--upgrade", type=float, default=0, metavar="SECONDS",
                        help="another process takes over from the router each time that many seconds have passed")
    parser.add_argument("--share", type=float, metavar="CPU",
                        help="the load generator and the flood get this part of a CPU, below 1 (default: all they can use)")
    cpus = sorted(os.sched_getaffinity(0))
    first, others = str(cpus[0]), ",".join(str(c) for c in cpus[1:]) or str(cpus[0])
    parser.add_argument("--router-cpu", default=first,
                        help="CPUs the router may use (default: the first, %(default)s)")
    parser.add_argument("--load-cpu", default=others,
                        help="CPUs that everything else may use (default: the others, %(default)s)")
    parser.add_argument("--flood", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--relay", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.flood:
        return flood(args.flood[0], bytes.fromhex(args.flood[1]))
    if args.relay:
        return relay(args.relay[0], args.relay[1:])
    os.sched_setaffinity(0, {int(cpu) for cpu in args.load_cpu.split(",")})

    def run() -> bool:
        soak, good = Soak(args), False
        try:
            soak.build()
            good = soak.run()
        finally:
            soak.close(keep=not good)
        return not good
    return status_of("soak", run)


if __name__ == "__main__":
    sys.exit(main())
