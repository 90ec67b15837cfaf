#!/usr/bin/env python3
"""Everything that the kernel can carry, the router carries: never fewer packets than the reference.

One router between two neighbours, a sibling and a host, over every kind of underlay, and
while devices, addresses, routes and neighbours change. The same packets cross the
reference's router and the one under test, in turn.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import base64
import json
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from lab.cases import case_options, choose, status_of
from lab.command import LabError
from lab.ledger import waited_for_cpu
from lab.netns import many_neighbours, remove_all
from lab.process import Process
from lab.router import RouterKind, wait_ready
from lab.scion import PORT, SOURCE_PORT, Flow, Mix, Tally, hop_key, packet, udp_socket
from underlay_net import (
    FLOWS, INTERNAL_PORT, KINDS, LINK_PORT, LOCAL_AS, LONG, MTU, PREFIX, PROBE_PORT, SIBLING_INTERFACE, Kind, Net, Unsupported, build, by_veth,
    link_of, second, try_ip)

# Packets of a flow, and per second.
COUNT, RATE = 60, 150
# Of an event's flows; recovery is measured as exactly as this.
EVENT_RATE = 100
# Forwarding resumes this many seconds after the kernel's at the latest; and what a busy machine may add.
RESUME, GRACE = 0.1, 0.15
# A busy machine loses packets too: a cell passes if one attempt does.
ATTEMPTS = 3
# Packets of a flow that may arrive twice at the moment of an event, when one way of receiving takes over from another.
TWICE = 5


class Router:
    """A router at work in a network, and the flows through it."""

    def __init__(self, net: Net, choice: str, directory: Path):
        self.net = net
        self.directory = directory
        conf = directory / "conf"
        shutil.rmtree(conf, ignore_errors=True)
        (conf / "keys").mkdir(parents=True)
        for number in (0, 1):
            (conf / "keys" / f"master{number}.key").write_text(
                base64.b64encode(b"the master of it").decode())
        self.key = hop_key(conf / "keys" / "master0.key")
        (conf / "topology.json").write_text(json.dumps(self.topology(), indent=1))
        (conf / "router.toml").write_text(f'[general]\nid = "r1"\nconfig_dir = "{conf}"\n'
                                          "[router.bfd]\ndisable = true\n")
        log = directory / f"{choice.replace('/', '_')}.log"
        log.unlink(missing_ok=True)
        self.open: list = []
        self.process: Process = RouterKind(choice).start(
            choice, net.router, conf / "router.toml", log, directory / "stats.json")
        try:
            wait_ready(self.process, settle=0.4)
        except BaseException:
            self.process.stop()
            raise

    @staticmethod
    def at(address: str, port: int) -> str:
        return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"

    def topology(self) -> dict:
        def interface(number: int, relation: str, local: str, remote: str) -> dict:
            return {"isd_as": f"1-ff00:0:{10 + number}", "link_to": relation, "mtu": MTU,
                    "bfd": {"disable": True},
                    "underlay": {"local": self.at(local, LINK_PORT), "remote": self.at(remote, LINK_PORT)}}

        net = self.net
        return {
            "isd_as": LOCAL_AS, "mtu": MTU, "attributes": [], "dispatched_ports": "1024-65535",
            "border_routers": {
                "r1": {"internal_addr": self.at(net.local[0], INTERNAL_PORT), "interfaces": {
                    "1": interface(1, "parent", net.local[1], net.remote[1]),
                    "2": interface(2, "child", net.local[2], net.remote[2])}},
                "r2": {"internal_addr": self.at(net.sibling, INTERNAL_PORT), "interfaces": {
                    str(SIBLING_INTERFACE): interface(3, "child", "192.0.2.1", "192.0.2.2")}}},
            "control_service": {"cs": {"addr": self.at(net.host, 30252)}},
        }

    def mix(self, names: tuple[str, ...], payload: int = 64, rate: float = RATE,
            count: int | None = None, probe: int | None = None) -> Mix:
        """Flows across the router at once.

        With `probe` there are two more, of plain datagrams on a link from kernel to kernel:
        to the router's machine, and from it.
        """
        net = self.net
        places = {"host": (net.host, SOURCE_PORT), "host inlet": (net.host, PORT),
                  "sibling": (net.sibling, INTERNAL_PORT),
                  1: (net.remote[1], LINK_PORT), 2: (net.remote[2], LINK_PORT)}
        inlets = {place: udp_socket(net.outside, *at) for place, at in places.items()}
        self.open += inlets.values()
        flows = []
        for name in names:
            enter, leave = FLOWS[name]
            n = link_of(enter)
            out = inlets[enter]
            if net.sender:
                out = net.sender(net, n, *places[enter])
                self.open.append(out)
            else:
                net.equip(out)
            numbers = {"host": 0, "sibling": SIBLING_INTERFACE, 1: 1, 2: 2}
            ends = {}
            if enter == "host":
                ends["source"] = (LOCAL_AS, net.host)
            if leave == "host":
                ends["destination"] = (LOCAL_AS, net.host)
            whole = packet(self.key, numbers[enter], numbers[leave], bytes(payload), **ends)
            flows.append(Flow(out, whole, (net.local[n], LINK_PORT if n else INTERNAL_PORT), count))
        if probe is not None:
            far = net.there(probe)[0]
            sides = [(net.outside, far), (net.router, net.local[probe])]
            socks = [udp_socket(namespace, address, PROBE_PORT) for namespace, address in sides]
            self.open += socks
            for sock, (_, to) in zip(socks, sides[::-1]):
                flows.append(Flow(sock, bytes(payload), (to, PROBE_PORT), count))
            inlets["near"], inlets["far"] = socks
        return Mix(flows, list(inlets.values()), rate)

    def stop(self) -> None:
        for sock in self.open:
            sock.close()
        self.process.stop()


@dataclass
class Result:
    """What arrived of each flow, or how long each took after an event."""

    flows: dict[str, Tally]
    # From when the kernel forwards again, per flow; with events only.
    lag: dict[str, float] | None = None
    # As many of the kernel's own datagrams, of flows that the reference cannot be the measure of.
    kernel: dict[str, Tally] | None = None
    note: str = ""


def steady(kind: Kind, links: tuple[int, ...], six: bool, choice: str, directory: Path) -> Result:
    """All flows at once, from the very first packet."""
    net = build(kind, links, six)
    try:
        router = Router(net, choice, directory)
        try:
            # A busy machine may not run the router for some seconds.
            mix = router.mix(tuple(FLOWS), kind.payload, count=COUNT).start().finish(5.0)
            router.process.check()
            return Result(dict(zip(FLOWS, mix.flows)))
        finally:
            router.stop()
    finally:
        net.close()


# What happens while a router is running. Each changes link n.

def move_address(net: Net, n: int, old: str, new: str) -> None:
    net.router.ip("addr", "del", f"{net.local[n]}/{net.bits}", "dev", old)
    net.router.ip("addr", "add", f"{net.local[n]}/{net.bits}", "dev", new)


def into_a_bridge(net: Net, n: int) -> None:
    net.router.ip("link", "add", "bridge", "type", "bridge")
    net.router.ip("link", "set", "bridge", "up")
    net.router.ip("link", "set", f"if{n}", "master", "bridge")
    move_address(net, n, f"if{n}", "bridge")
    forget_neighbours(net, n)


def out_of_the_bridge(net: Net, n: int) -> None:
    """The bridge is `if<n>`, its port `port<n>`."""
    net.router.ip("link", "set", f"port{n}", "nomaster")
    move_address(net, n, f"if{n}", f"port{n}")
    forget_neighbours(net, n)


def into_a_bond(net: Net, n: int) -> None:
    try_ip(net.router, "link", "add", "bond", "type", "bond", "mode", "active-backup", "miimon", "20")
    net.router.ip("addr", "del", f"{net.local[n]}/{net.bits}", "dev", f"if{n}")
    net.router.ip("link", "set", f"if{n}", "down")
    net.router.ip("link", "set", f"if{n}", "master", "bond")
    net.router.ip("link", "set", "bond", "up")
    net.router.ip("addr", "add", f"{net.local[n]}/{net.bits}", "dev", "bond")
    forget_neighbours(net, n)


def forget_neighbours(net: Net, n: int) -> None:
    """The other side asks for the router's Ethernet address again."""
    net.outside.ip("neigh", "flush", "dev", f"out{n}")


def made_anew(net: Net, n: int) -> None:
    """The device is deleted and comes back, with the same name and another index and Ethernet address."""
    net.router.ip("link", "del", f"if{n}")
    time.sleep(0.3)
    by_veth(net, n)


def other_mac(net: Net, n: int) -> None:
    net.router.ip("link", "set", f"if{n}", "address", "02:00:5e:00:53:77")
    forget_neighbours(net, n)


def address_away(net: Net, n: int) -> None:
    net.router.ip("addr", "del", f"{net.local[n]}/{net.bits}", "dev", f"if{n}")
    time.sleep(0.3)
    net.router.ip("addr", "add", f"{net.local[n]}/{net.bits}", "dev", f"if{n}")


def device_down(net: Net, n: int) -> None:
    net.router.ip("link", "set", f"if{n}", "down")
    time.sleep(0.3)
    net.router.ip("link", "set", f"if{n}", "up")
    if net.six:
        net.router.ip("addr", "replace", f"{net.local[n]}/{net.bits}", "dev", f"if{n}")


def cable_out(net: Net, n: int) -> None:
    net.outside.ip("link", "set", f"out{n}", "down")
    time.sleep(0.3)
    net.outside.ip("link", "set", f"out{n}", "up")
    if net.six:
        for address in net.there(n):
            net.outside.ip("addr", "replace", f"{address}/{net.bits}", "dev", f"out{n}")


def other_route(net: Net, n: int) -> None:
    """Packets take another device, in both directions; the address stays where it is."""
    here, there = second(net, n)
    for address in net.there(n):
        net.route(net.router, address, "via", there, "dev", f"ifx{n}")
    net.route(net.outside, net.local[n], "via", here, "dev", f"outx{n}", "src", net.there(n)[0])


def other_gateway(net: Net, n: int) -> None:
    """The gateway's place is taken by another one, behind another device."""
    here, there = second(net, n)
    for address in net.there(n):
        net.route(net.router, address, "via", there, "dev", f"ifx{n}", "src", net.local[n])
    net.route(net.outside, net.local[n], "via", here, "dev", f"outx{n}", "src", net.there(n)[0])
    net.router.ip("link", "del", f"if{n}")


def other_neighbour(net: Net, n: int) -> None:
    """Another machine takes the neighbours' addresses over."""
    net.outside.ip("link", "set", f"out{n}", "address", "02:00:5e:00:53:99")


def smaller_mtu(net: Net, n: int) -> None:
    size = "1280" if net.six else "800"
    net.router.ip("link", "set", f"if{n}", "mtu", size)
    net.outside.ip("link", "set", f"out{n}", "mtu", size)


@dataclass(frozen=True)
class Event:
    """Something that happens to a link of a kind."""

    name: str
    happens: Callable[[Net, int], None]
    kind: str = "veth"
    payload: int = 64


EVENTS = {event.name: event for event in (
    Event("device into a bridge", into_a_bridge),
    Event("device out of a bridge", out_of_the_bridge, "bridge"),
    Event("device into a bond", into_a_bond),
    Event("device made anew", made_anew),
    Event("another Ethernet address", other_mac),
    Event("address away and back", address_away),
    Event("device down and up", device_down),
    Event("cable out and in", cable_out),
    Event("route to another device", other_route),
    Event("gateway behind another device", other_gateway, "addresses on lo"),
    Event("neighbour replaced", other_neighbour),
    Event("MTU smaller", smaller_mtu, payload=LONG),
)}
# Flows that enter by a link, and those that leave by it.
ENTERING = {1: ("in", "transit", "to the sibling"), 0: ("out", "from the sibling")}
LEAVING = {1: ("out", "transit back", "from the sibling"), 0: ("in", "to the sibling")}


def eventful(event: Event, n: int, six: bool, choice: str, directory: Path) -> Result:
    """Flows before, during and after an event on a link, beside plain datagrams of the kernels."""
    net = build(KINDS[event.kind], (n,), six)
    try:
        router = Router(net, choice, directory)
        try:
            names = ENTERING[n] + LEAVING[n]
            mix = router.mix(names, event.payload, rate=EVENT_RATE, probe=n).start()
            # The kernel believes for a second what it knows of a neighbour.
            time.sleep(1.3)
            begin, idle = time.monotonic(), waited_for_cpu(router.process.pid)
            event.happens(net, n)
            # How long the router has waited for a CPU since the event, by time.
            waits, end = [], time.monotonic() + 2.5
            while time.monotonic() < end:
                waits.append((time.monotonic(), waited_for_cpu(router.process.pid) - idle))
                time.sleep(0.02)
            mix.finish()
            router.process.check()
        finally:
            router.stop()
    finally:
        net.close()
    flows, (into, from_) = dict(zip(names, mix.flows)), mix.flows[-2:]
    kernel = {name: (into if name in ENTERING[n] else from_).resumed(begin) for name in names}

    def lag(name: str, flow: Tally) -> float:
        """What the router has waited for a CPU until it went on is the machine's."""
        resumed = flow.resumed(begin)
        return resumed - kernel[name] - next((waited for at, waited in waits if at >= begin + resumed), waits[-1][1])
    return Result(flows, {name: lag(name, flow) for name, flow in flows.items()})


class Flood:
    """Packets by link 1 to all addresses of a /16 inside the AS in turn, each to another host."""

    def __init__(self, router: Router, network: bytes, rate: float):
        self.sent = 0
        self._rate = rate
        self._packet = bytearray(packet(router.key, 1, 0, b"\xff" * 16, destination=(LOCAL_AS, "0.0.0.0")))
        self._packet[28:30] = network  # after the common header and two ISD-AS numbers
        net = router.net
        self._sock = udp_socket(net.outside, net.remote[1], LINK_PORT)
        self._to = (net.local[1], LINK_PORT)

    def run(self, count: int | None = None, until: threading.Event | None = None) -> None:
        due = time.monotonic()
        while self.sent != count and not (until and until.is_set()):
            for _ in range(10):
                self._packet[30:32] = (self.sent & 0xFFFF).to_bytes(2, "big")
                self._sock.sendto(self._packet, self._to)
                self.sent += 1
            due += 10 / self._rate
            time.sleep(max(0.0, due - time.monotonic()))
        self._sock.close()


def after_a_flood(choice: str, directory: Path) -> Result:
    """Packets to 60,000 addresses that a gateway covers; then there is a new host."""
    net = build(KINDS["veth"], (), False)
    try:
        net.router.ip("route", "add", "10.200.0.0/16", "via", net.host)
        router = Router(net, choice, directory)
        try:
            Flood(router, bytes([10, 200]), 8000).run(60_000)
            time.sleep(1.0)
            used, at = router.process.cpu_seconds(), time.monotonic()
            time.sleep(2.0)
            idle = (router.process.cpu_seconds() - used) / (time.monotonic() - at)
            net.host = net.address(0, 77)
            net.outside.ip("addr", "add", f"{net.host}/{net.bits}", "dev", "out0")
            mix = router.mix(("in", "out"), count=COUNT).start().finish()
            router.process.check()
            return Result({"to a new host": mix.flows[0], "from it": mix.flows[1]},
                          note=f"{idle:.1%} CPU when idle")
        finally:
            router.stop()
    finally:
        net.close()


@many_neighbours()
def during_a_flood(choice: str, directory: Path) -> Result:
    """Hosts while there are packets to 10,000 hosts a second that do not exist, on the same network.

    The reference's socket is blocked by what waits for them.
    """
    net = build(KINDS["veth"], (), False)
    try:
        net.router.ip("route", "add", "10.201.0.0/16", "dev", "if0", "src", net.local[0])
        hosts = [f"10.201.255.{number}" for number in range(1, 21)]
        for host in hosts:
            net.outside.ip("addr", "add", f"{host}/32", "dev", "out0")
        router = Router(net, choice, directory)
        over = threading.Event()
        try:
            # By link 2: the flood may fill what link 1 has of queues.
            sock, to = udp_socket(net.outside, net.remote[2], LINK_PORT), (net.local[2], LINK_PORT)
            known = [Flow(sock, packet(router.key, 2, 0, bytes(64), destination=(LOCAL_AS, net.host)), to, 100)]
            inlets = [udp_socket(net.outside, host, PORT) for host in (net.host, *hosts)]
            plain = udp_socket(net.router, net.local[0], PROBE_PORT)
            router.open += [sock, plain, *inlets]
            Mix([known[0]], inlets[:1], 100).start().finish()
            waves = Flood(router, bytes([10, 201]), 10_000)
            thread = threading.Thread(target=waves.run, kwargs={"until": over}, daemon=True)
            begin = time.monotonic()
            thread.start()
            time.sleep(1.0)
            new = [Flow(sock, packet(router.key, 2, 0, bytes(64), destination=(LOCAL_AS, host)), to, 30)
                   for host in hosts[:10]]
            probes = [Flow(plain, bytes(64), (host, PORT), 30) for host in hosts[10:]]
            more = Flow(sock, known[0].packet, to, 30)
            Mix([more, *new, *probes], inlets, 20).start().finish()
            rate = waves.sent / (time.monotonic() - begin)
            over.set()
            thread.join()
            router.process.check()
            return Result({"to known hosts": more, "to new hosts": Tally.of(new)},
                          kernel={"to new hosts": Tally.of(probes)}, note=f"{rate:,.0f} packets/s flooded")
        finally:
            over.set()
            router.stop()
    finally:
        net.close()


@dataclass(frozen=True)
class Cell:
    """One square of the matrix."""

    name: str
    run: Callable[[str, Path], Result]
    short: bool = False
    # How many more packets of a flow than the reference the router may lose.
    tolerance: int = 0


def cells() -> list[Cell]:
    """The whole matrix."""
    made = []

    def add_kind(kind: Kind, links: tuple[int, ...], six: bool, short: bool) -> None:
        where = {(0,): "inside", (1,): "outside"}.get(links, "everywhere")
        made.append(Cell(f"{kind.name}, IPv{6 if six else 4}, {where}",
                         lambda choice, directory: steady(kind, links, six, choice, directory),
                         short, kind.tolerance))

    def add_event(event: Event, n: int, six: bool, short: bool) -> None:
        made.append(Cell(f"{event.name}, IPv{6 if six else 4}, {'outside' if n else 'inside'}",
                         lambda choice, directory: eventful(event, n, six, choice, directory), short))

    for kind in KINDS.values():
        for six in (False, True):
            if kind.alone or kind.links == (0,):
                add_kind(kind, kind.links, six, (kind.name, six) in SHORT)
            else:
                add_kind(kind, kind.links, six, (kind.name, six) in SHORT)
                for links in ((0,), (1,)):
                    add_kind(kind, links, six, False)
    for event in EVENTS.values():
        for six in (False, True):
            for n in (1, 0):
                add_event(event, n, six, n == 1 and (event.name, six) in SHORT)
    made.append(Cell("after a flood", after_a_flood))
    made.append(Cell("during a flood", during_a_flood, tolerance=30))
    return made


# What `make test` has the time for: name, and whether IPv6.
SHORT = {
    ("loopback", False), ("loopback", True), ("addresses on lo", False), ("macvlan", False), ("tun", True),
    ("hosts behind another device", False), ("asymmetric arrival", False), ("device MTU too small", False),
    ("path MTU too small", False), ("IP options", True), ("priority tags", False),
    ("device into a bridge", False), ("device made anew", False), ("route to another device", False),
}


def worse(reference: Result, ours: Result, tolerance: int) -> list[str]:
    """In what a router is worse than the reference."""
    found = []
    for name, flow in ours.flows.items():
        theirs = reference.flows[name]
        if ours.lag:
            lag, base = ours.lag[name], reference.lag[name]
            if not base < 2:
                found.append(f"{name}: not even the reference goes on")
            elif not lag <= max(base, 0.0) + RESUME + GRACE:
                found.append(f"{name}: goes on {lag * 1000:.0f} ms after the kernel, "
                             f"the reference {base * 1000:.0f} ms; {len(flow.lost)} lost, {len(theirs.lost)}")
        elif not ours.kernel and len(theirs.received) < theirs.sent * 0.8:
            found.append(f"{name}: not even the reference's arrive, {len(theirs.received)} of {theirs.sent}")
        elif len(flow.lost) > len(theirs.lost) + tolerance:
            found.append(f"{name}: {len(flow.received)} of {flow.sent} arrive, "
                         f"the reference's {len(theirs.received)} of {theirs.sent}")
        if flow.doubled > theirs.doubled + (TWICE if ours.lag else 0):
            found.append(f"{name}: {flow.doubled} arrive twice")
    return found


def worse_than_kernel(ours: Result, tolerance: int) -> list[str]:
    """In what a router is worse than its kernel."""
    return [f"{name}: {len(ours.flows[name].received)} of {ours.flows[name].sent} arrive, "
            f"the kernel's own {len(theirs.received)} of {theirs.sent}"
            for name, theirs in (ours.kernel or {}).items()
            if len(ours.flows[name].lost) > len(theirs.lost) + tolerance]


def figures(result: Result) -> str:
    """What there is to say of a result in a few words."""
    flows = result.flows.values()
    text = f"{sum(len(f.received) for f in flows)} of {sum(f.sent for f in flows)}"
    if result.lag:
        text += f", {max(result.lag.values()) * 1000:+.0f} ms"
    for name, theirs in (result.kernel or {}).items():
        text += (f", {name} {len(result.flows[name].received)} of {result.flows[name].sent}"
                 f" (the kernel's own {len(theirs.received)} of {theirs.sent})")
    return text + (f", {result.note}" if result.note else "")


def try_cell(cell: Cell, choice: str, directory: Path, attempts: int) -> str:
    """Compares a cell's results: `passed`, `failed` or `skipped`."""
    for _ in range(attempts):
        begin = time.monotonic()
        try:
            reference = cell.run("reference", directory)
        except Unsupported as error:
            print(f"  skip  {cell.name}: not on this kernel: {error}", flush=True)
            return "skipped"
        try:
            ours = cell.run(choice, directory)
            problems = worse(reference, ours, cell.tolerance)
            if choice != "reference":
                problems += worse_than_kernel(ours, cell.tolerance)
        except LabError as error:
            problems = [str(error)]
        if not problems:
            print(f"  pass  {cell.name}: {figures(ours)}; reference {figures(reference)} "
                  f"({time.monotonic() - begin:.1f} s)", flush=True)
            return "passed"
    print(f"  FAIL  {cell.name}")
    for problem in problems:
        print(f"          {problem}")
    print(end="", flush=True)
    return "failed"


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="hopwright (default), reference, hopwright+ports=af_packet (or other "
                             "settings), or a command with {config} in it")
    parser.add_argument("--short", action="store_true", help="only the most important part of the matrix")
    parser.add_argument("--attempts", type=int, default=ATTEMPTS,
                        help="a cell passes if one of this many does (default: %(default)s)")
    args = parser.parse_args()
    matrix = {cell.name: cell for cell in cells() if cell.short or not args.short}
    names = choose(args, matrix)
    directory = Path(tempfile.mkdtemp(prefix="hopwright-underlay-"))
    results = {"passed": 0, "failed": 0, "skipped": 0}

    def test() -> bool:
        try:
            for name in names:
                results[try_cell(matrix[name], args.router, directory, args.attempts)] += 1
        finally:
            remove_all(PREFIX)
            shutil.rmtree(directory, ignore_errors=True)
        print(f"underlay, {args.router}: " + ", ".join(f"{count} {what}" for what, count in results.items()))
        return results["failed"] > 0
    return status_of("underlay", test)


if __name__ == "__main__":
    sys.exit(main())
