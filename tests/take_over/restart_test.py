#!/usr/bin/env python3
"""Processes of `hopwright ip`, `hopwright openflow` and `hopwright switch` that a service manager restarts, and that are killed, under traffic.

    h1 -- router or switch -- h2

A small stand-in of systemd stops a process at a random time and starts another one, to which it gives what the first has left with it:
every packet arrives exactly once, sessions of BGP, OSPF and BFD go on, and so do flows, entries and counters. A process that is killed
leaves nothing but what was kept while it ran; the one that is started in its place begins anew, and forwards again. What cannot be used of
what a process has left is refused with a line in the log.

`--times` and `--kills` give the number of restarts and of kills; with many of them it takes minutes, and prints how long packets were lost.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.cases import carry_out, case_options, choose
from lab.scion import Stream
from take_over_test import (HOPWRIGHT, METRICS, PATIENCE, PREFIX, ROOT, SWITCH, Checks, Lab, LabError, Namespace, Traffic, frr, neighbours,
                            remove_all, streams, vtysh, wait_until, warm_up)

# Packets of each stream in a second: those of a start on a busy machine have room in a ring.
RATE = 50
# BFD's interval in milliseconds and multiplier: a restart on a busy machine takes no longer.
PATIENT_BFD = (500, 120)
# Packets until something happens to the process.
MOST_PACKETS = 40


def bfd(folder) -> tuple[int, bool]:
    """How often the BFD session went down, and whether it is up."""
    down = sum(peer.get("session-down", 0) for peer in vtysh(folder, "show bfd peers counters json"))
    peers = vtysh(folder, "show bfd peers json")
    return down, bool(peers) and all(peer["status"] == "up" for peer in peers)


class Service:
    """A process with the stand-in of a service manager."""

    def __init__(self, lab: Lab, command: list[str]):
        self.lab, self.command = lab, command
        self.process = lab.start(*command)
        lab.wait_ready(self.process)

    def start(self, command: list[str] | None = None) -> None:
        old, self.command = self.process, command or self.command
        self.process = self.lab.start(*self.command, kept=old.left())
        old.forget()
        self.lab.wait_ready(self.process)

    def restart(self, checks: Checks, command: list[str] | None = None) -> None:
        status = self.process.stop(PATIENCE, keep=True)
        if status or "hand-over" not in self.process.left():
            checks.that(f"{self.process.name} leaves what it has", False, f"{status}, {self.process.announced()}\n{self.process.tail()}")
        self.start(command)

    def kill(self, checks: Checks) -> None:
        self.process.kill()
        if "hand-over" in self.process.left():
            checks.that(f"{self.process.name} leaves nothing", False, self.process.announced())
        self.start()


def restarts(lab: Lab, checks: Checks, service: Service, times: int, make: Callable[[], dict[str, Stream]]) -> dict[str, Stream]:
    """Restarts at random times, of which no stream notices anything."""
    waits = []
    with Traffic(lab, checks, f"{times} restarts", make()) as traffic:
        for _ in range(times):
            traffic.wait(random.randint(1, MOST_PACKETS))
            begun = time.monotonic()
            service.restart(checks)
            waits.append(time.monotonic() - begun)
        traffic.wait(10)
    print(f"        from the stop until the next one is ready: {figures(waits)}", flush=True)
    checks.that("the last one has the service manager forget what it kept", "FDSTOREREMOVE=1" in service.process.announced())
    return traffic.streams


def outages(stream: Stream) -> list[float]:
    """The seconds of each time in which packets were lost."""
    lost, found = stream.lost, []
    for before, number in zip([-2, *lost], lost):
        if number > before + 1:
            found.append(0.0)
        found[-1] += 1 / RATE
    return found


def kills(lab: Lab, checks: Checks, service: Service, times: int, make: Callable[[], dict[str, Stream]]) -> None:
    """Kills at random times: the next process forwards, and nothing arrives twice."""
    flowing, waits = make(), []
    for stream in flowing.values():
        stream.start()

    def forwarded() -> None:
        """Waits until a packet of each stream arrives that has not been sent yet."""
        sent = {name: stream.sent for name, stream in flowing.items()}
        wait_until("everything to be forwarded", lambda: all(max(s.received, default=-1) > sent[name] for name, s in flowing.items()),
                   interval=0.02)
    forwarded()
    for _ in range(times):
        before = min(stream.sent for stream in flowing.values())
        count = before + random.randint(1, MOST_PACKETS)
        for stream in flowing.values():
            stream.until(count)
        begun = time.monotonic()
        service.kill(checks)
        waits.append(time.monotonic() - begun)
        forwarded()
    for stream in flowing.values():
        # What arrives still has been sent before the last that has.
        stream.finish(1.0)
        stream.close()
    doubled = sum(stream.doubled for stream in flowing.values())
    checks.that(f"{times} kills: the next one forwards, and nothing arrives twice", not doubled, f"{doubled} twice")
    print(f"        from the kill until the next one is ready: {figures(waits)}", flush=True)
    for name, stream in flowing.items():
        print(f"        {name}: {len(stream.lost)} of {stream.sent} lost, in {len(outages(stream))} outages: {figures(outages(stream))}", flush=True)


def figures(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    return f"{min(seconds):.2f} s at least, {statistics.median(seconds):.2f} s in the middle, {max(seconds):.2f} s at most"


@contextmanager
def laboratory(checks: Checks, what: str) -> Iterator[Lab]:
    print(what, flush=True)
    failed, done, lab = checks.failed, False, Lab()
    try:
        yield lab
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


def router(checks: Checks, times: int, killed: int, workers: int, ports: str, interval: tuple[int, int]) -> None:
    """An IP router whose control plane has routing daemons with BGP, OSPF and BFD."""
    with laboratory(checks, f"hopwright ip, {ports}, {workers} workers") as lab:
        for host in lab.hosts:
            lab.link(host, f"10.0.{host}.2/24")
            lab.hosts[host].ip("route", "add", "10.0.0.0/12", "via", f"10.0.{host}.1")
        lab.hosts[2].ip("addr", "add", "10.9.0.1/24", "dev", "lo")
        plane = Namespace(PREFIX + "cp", ipv6=False)
        command = ["ip", "-i", "1@e1", "-i", "2@e2", "--namespace", plane.name, "--metrics", METRICS, "--ports", ports,
                   "--workers", str(workers)]
        service = Service(lab, command)
        for host in lab.hosts:
            plane.ip("addr", "add", f"10.0.{host}.1/24", "dev", f"e{host}")
        folder = frr(lab, plane, "router", "10.0.2.1", "10.0.2.2", (65001, 65002), interval)
        frr(lab, lab.hosts[2], "peer", "10.0.2.2", "10.0.2.1", (65002, 65001), interval, "10.9.0.0/24")
        h1, h2, cp = (lab.hosts[1], "10.0.1.2"), (lab.hosts[2], "10.0.2.2"), (plane, "10.0.1.1")

        def traffic() -> dict[str, Stream]:
            ends = {"forth": (h1, h2), "back": (h2, h1), "by a route of BGP": (h1, (lab.hosts[2], "10.9.0.1")),
                    "to the control plane": (h1, cp), "from the control plane": (cp, h2)}
            return streams({name: (*of, RATE) for name, of in ends.items()})

        def up() -> bool:
            return neighbours(folder)[2] and bfd(folder)[1]
        wait_until("BGP, OSPF and BFD to be up", up)
        warm_up(lab.processes[0], traffic)
        before = (neighbours(folder), bfd(folder))
        restarts(lab, checks, service, times, traffic)
        wait_until("BGP, OSPF and BFD to be up", up)
        after = (neighbours(folder), bfd(folder))
        checks.that("BGP, OSPF and BFD notice nothing", after == before, f"{before}, then {after}")
        page = lab.switch.run("curl", "-s", f"http://{METRICS}/metrics").stdout
        checks.that("it serves metrics", "hopwright_ip_routes" in page, page[:100])
        wait_until("`hopwright ip show` to ask the last one",
                   lambda: lab.switch.run(str(HOPWRIGHT), "ip", "show", "--namespace", plane.name, "--json").returncode == 0)
        kills(lab, checks, service, killed, traffic)
        wait_until("BGP, OSPF and BFD to be up", up)
        (bgp, ospf, _), (down, _) = neighbours(folder), bfd(folder)
        (bgp_before, ospf_before, _), (down_before, _) = after
        print(f"        sessions lost in {killed} kills: BGP {bgp - bgp_before}, BFD {down - down_before}; changes of OSPF's neighbour: "
              f"{ospf - ospf_before}", flush=True)
        # Other workers need other sockets: the next process says so, and begins anew with these.
        service.restart(checks, [*command[:-1], str(3 - workers)])
        checks.that("another number of workers begins with sockets of its own", "device-anew" in service.process.tail(50),
                    service.process.tail(5))
        warm_up(lab.processes[0], traffic)
        namespace = Namespace(PREFIX + "cp2", ipv6=False)
        service.restart(checks, [*command[:6], namespace.name, *command[7:]])
        checks.that("another namespace begins anew", "left-unused" in service.process.tail(50), service.process.tail(5))
        checks.that("the last one ends with status 0", service.process.stop(PATIENCE) == 0)


def openflow(checks: Checks, times: int) -> None:
    """An OpenFlow switch with flows, a group and a meter."""
    with laboratory(checks, "hopwright openflow, af_xdp") as lab:
        for host in lab.hosts:
            lab.link(host, f"10.0.0.{host}/24")
        service = Service(lab, ["openflow", "-i", "1@e1", "-i", "2@e2", "--listen", "ptcp:6654", "--ports", "af_xdp"])

        def ask(what: str, *words: str) -> str:
            asked = lab.switch.run("ovs-ofctl", "-O", "OpenFlow13", what, "tcp:127.0.0.1:6654", *words)
            if asked.returncode:
                raise LabError(f"ovs-ofctl {what}: {asked.stderr}")
            return asked.stdout

        def flows() -> dict[str, int]:
            """Packets of each flow, by what it does."""
            found = {}
            for line in ask("dump-flows").splitlines():
                if counted := re.search(r"n_packets=(\d+)", line):
                    found[re.sub(r"duration=\S+ |n_packets=\S+ |n_bytes=\S+ ", "", line).strip()] = int(counted[1])
            return found

        def add() -> None:
            ask("add-meter", "meter=3,kbps,band=type=drop,rate=1000000")
            ask("add-group", "group_id=5,type=indirect,bucket=actions=output:2")
            for flow in ("priority=10,in_port=1,udp,cookie=7,actions=meter:3,group:5", "priority=10,in_port=2,udp,actions=goto_table:1",
                         "table=1,idle_timeout=1000,ip,actions=output:1", "priority=0,actions=normal"):
                ask("add-flow", flow)
        add()
        h1, h2 = (lab.hosts[1], "10.0.0.1"), (lab.hosts[2], "10.0.0.2")

        def traffic() -> dict[str, Stream]:
            return streams({"forth": (h1, h2, RATE), "back": (h2, h1, RATE)})
        warm_up(lab.processes[0], traffic)
        before, described = flows(), [ask("dump-groups"), ask("dump-meters")]
        done = restarts(lab, checks, service, times, traffic)
        forth = [(flow, counted) for flow, counted in before.items() if "in_port=1" in flow]
        # The last counts of a process come to the next one a moment after it has begun.
        wait_until("the flows to count every packet", lambda: bool(forth) and all(
            flows().get(flow, 0) >= counted + len(done["forth"].received) for flow, counted in forth))
        after = flows()
        checks.that("flows stay", after.keys() == before.keys(), f"{before}, then {after}")
        checks.that("groups and meters stay", [ask("dump-groups"), ask("dump-meters")] == described, described)
        service.process.kill()
        service.start()
        checks.that("after a kill it begins without flows", not flows(), flows())
        add()
        warm_up(lab.processes[0], traffic)
        checks.that("the last one ends with status 0", service.process.stop(PATIENCE) == 0)


def switch(checks: Checks, times: int) -> None:
    """A switch whose tenants have a P4Runtime controller and an OpenFlow controller."""
    with laboratory(checks, "hopwright switch") as lab:
        lab.hosts |= {host: Namespace(PREFIX + f"h{host}", ipv6=False) for host in (3, 4)}
        for host in lab.hosts:
            lab.link(host, f"10.0.{(host + 1) // 2}.{host}/24")
        file = lab.directory / "switch.toml"
        file.write_text(SWITCH.format(folder=lab.directory, metrics=METRICS, root=ROOT))
        service = Service(lab, ["switch", "--config", str(file)])

        def ask(*words: str, tool: tuple[str, ...] = (str(HOPWRIGHT),)) -> str:
            asked = lab.switch.run(*tool, *words)
            if asked.returncode:
                raise LabError(f"{words}: {asked.stderr}")
            return asked.stdout
        for host in (1, 2):
            mac = json.loads(lab.hosts[host].ip("-j", "link", "show", "eth0"))[0]["address"]
            ask("table", "add", "mac", f"dst={mac} => forward(port={host})")
            lab.hosts[3 - host].ip("neigh", "replace", f"10.0.1.{host}", "lladdr", mac, "nud", "permanent", "dev", "eth0")
        ask("-O", "OpenFlow13", "add-flow", "tcp:127.0.0.1:6654", "priority=0,actions=normal", tool=("ovs-ofctl",))

        def traffic() -> dict[str, Stream]:
            ends = {host: (lab.hosts[host], f"10.0.{(host + 1) // 2}.{host}") for host in lab.hosts}
            return streams({f"{a} to {b}": (ends[a], ends[b], RATE) for a, b in ((1, 2), (2, 1), (3, 4), (4, 3))})

        def served() -> bool:
            return all(lab.switch.run(str(HOPWRIGHT), *words).returncode == 0 for words in
                       (("table", "show", "mac"), ("tenant", "list", "--socket", str(lab.directory / "switch.sock"))))

        def entries() -> list[str]:
            return sorted(re.findall(r"dst=\S+", ask("table", "show", "mac")))

        def counted() -> int:
            return sum(map(int, re.findall(r"(\d+) packets", ask("counter", "show", "by_port"))))
        warm_up(lab.processes[0], traffic)
        before, packets = entries(), counted()
        done = restarts(lab, checks, service, times, traffic)
        wait_until("P4Runtime and the administration socket to be served", served)
        checks.that("entries stay", len(before) == 2 and entries() == before, before)
        received = sum(len(done[name].received) for name in ("1 to 2", "2 to 1"))
        wait_until("the counters to go on", lambda: counted() >= packets + received)
        service.process.kill()
        service.start()
        wait_until("P4Runtime and the administration socket to be served", served)
        checks.that("after a kill it begins without entries", not entries(), entries())
        checks.that("the last one ends with status 0", service.process.stop(PATIENCE) == 0)


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--times", type=int, default=3, help="restarts of each kind (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=2, help="kills of the IP router (default: %(default)s)")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=2, help="of the IP router (default: %(default)s)")
    parser.add_argument("--ports", choices=("af_packet", "af_xdp"), default="af_packet", help="of the IP router (default: %(default)s)")
    parser.add_argument("--bfd", default="x".join(map(str, PATIENT_BFD)), metavar="MSxN", help="BFD's interval and multiplier (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=None, help="of the times (default: by chance, and printed)")
    args = parser.parse_args()
    names = choose(args, ("ip", "openflow", "switch"))
    seed = random.randrange(1 << 16) if args.seed is None else args.seed
    random.seed(seed)
    print(f"seed {seed}", flush=True)

    def test(checks: Checks) -> None:
        try:
            if "ip" in names:
                interval, multiplier = map(int, args.bfd.split("x"))
                router(checks, args.times, args.kills, args.workers, args.ports, (interval, multiplier))
            if "openflow" in names:
                openflow(checks, args.times)
            if "switch" in names:
                switch(checks, args.times)
        finally:
            remove_all(PREFIX)
    return carry_out("restarts", test)


if __name__ == "__main__":
    sys.exit(main())
