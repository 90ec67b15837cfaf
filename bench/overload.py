#!/usr/bin/env python3
"""What border routers forward, and how long it takes them, at loads from little to far more than they can.

Each router runs in turn, round after round, on a core of its own or, with `--share`, on a part of one, so that
one generator can offer many times what it forwards. Packets of one case of the reference's load generator,
brload, are captured once and sent again at exact rates by a process on another core. Per router and load:
packets offered and forwarded per second, packets per second of the router's CPU time, and percentiles of the
time that probes among the packets took from generator to generator. A router that handles overload well draws
a flat line.

Beside routers there is `forwarder:af_xdp` or `forwarder:af_packet` (case br_transit only): the same kind of
port, but nothing is done with a frame save for exchanging its Ethernet addresses.

Offloads, and whose core receives for the generator, are as in brload.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import brload
from brload import CASES, EGRESS, INGRESS, LINKS, Bench
from control_group import ControlGroup
from lab.cases import status_of
from lab.command import LabError, wait_until
from lab.netns import Namespace
from lab.process import Process
from lab.reference import tool
from lab.router import RouterKind, hopwright_binary, read_stats, wait_ready
from replay import Arrivals

STREAMS = 840
# Offered load in units of the router's best rate.
STEPS = "0.1,0.3,0.5,0.8,1,1.5,2,3,5,7,10"
PERCENTILES = (50, 90, 99, 99.9)
# Seconds within which a router has learned what its packets do.
LEARNING = 3


class Forwarder:
    """Our bare forwarder in the place of a router."""

    def __init__(self, choice: str):
        self.name = choice
        self.ports = choice.partition(":")[2]

    def start(self, name: str, namespace: Namespace, _config: Path, log: Path, _stats: Path,
              cpus: str | None = None) -> Process:
        devices = [f"br{ends['br_transit']}" for ends in (INGRESS, EGRESS)]
        process = Process(name, [hopwright_binary(), "bench", "forwarder", *devices, "--ports", self.ports],
                          log, namespace=namespace, cpus=cpus)
        wait_until("the forwarder", lambda: process.check() or devices[1] in process.tail())
        return process


def kind_of(choice: str) -> RouterKind | Forwarder:
    return Forwarder(choice) if choice.startswith("forwarder:") else RouterKind(choice)


@dataclass
class Point:
    """One load for one router. Rates are packets per second, times microseconds."""

    router: str
    size: int
    share: float
    round: int
    offered: float
    forwarded: float
    cpu_share: float
    per_cpu_second: float
    latency: dict[str, float] = field(default_factory=dict)


class Overload(Bench):
    """The network of the load bench with a generator of exact rates."""

    def _replay(self, *arguments: str) -> list[str]:
        return [sys.executable, str(Path(__file__).resolve().with_name("replay.py")), *arguments]

    def prepare(self, case: str, size: int) -> None:
        """Captures the packets of a case on their way to a router, and keeps the neighbours
        that it learns: brload answers for them, and will not be there later."""
        self.size, self.frames = size, self.directory / f"frames-{size}"
        router = RouterKind("reference").start(
            "reference", self.router, self.config, self.directory / "prepare.log",
            self.directory / "stats.json")
        self._processes = [router]
        wait_ready(router)
        device = f"br{INGRESS[case]}"
        taker = Process("capture", self._replay("capture", device, str(STREAMS), str(self.frames)),
                        self.directory / "capture.log", namespace=self.router)
        command = [tool("brload"), "run", "--artifacts", str(self.directory), "--case", case,
                   "--packet-size", str(size), "--num-streams", str(STREAMS), "--duration", "2s"]
        for label, (_, mac, _) in LINKS.items():
            command += ["--interface", f"{label}=gen{label},{mac}"]
        load = Process("brload", command, self.directory / "brload.log", namespace=self.load)
        self._processes += [taker, load]
        if taker.wait(25) != 0:
            raise LabError(f"no packets captured\n{taker.tail()}\n{load.tail()}")
        load.wait(10)
        for neighbour in json.loads(self.router.ip("-j", "neigh", "show")):
            if "lladdr" in neighbour:
                self.router.ip("neigh", "replace", neighbour["dst"], "lladdr", neighbour["lladdr"],
                               "nud", "permanent", "dev", neighbour["dev"])
        router.stop()

    def point(self, router: Process, name: str, case: str, rate: float, number: int,
              warm_up: float = 0) -> Point:
        warm_up = max(warm_up, self.args.warm_up)
        seconds = warm_up + self.args.seconds + 2
        load = Process("replay", self._replay("send", f"gen{INGRESS[case]}", str(self.frames),
                                              str(rate), str(seconds)),
                       self.directory / "replay.log", namespace=self.load, cpus=str(self.args.load_cpu))
        self._processes.append(load)
        sent, received = f"gen{INGRESS[case]}", f"gen{EGRESS[case]}"
        before = self._sent(sent)
        wait_until("the generator to send", lambda: load.check() or
                   self._sent(sent) > before + 100, 15, interval=0.02)
        time.sleep(warm_up)
        arrivals = Arrivals(self.load, received, self.size)

        def sample() -> tuple[float, ...]:
            return (time.monotonic(), self._sent(sent), self._arrived(received, self.size),
                    router.cpu_seconds())

        start = sample()
        time.sleep(self.args.seconds)
        elapsed, offered, forwarded, cpu = (b - a for a, b in zip(start, sample()))
        times = sorted(arrivals.take())
        arrivals.close()
        load.stop()
        latency = {f"p{p}": times[min(len(times) - 1, int(len(times) * p / 100))] for p in PERCENTILES if times}
        return Point(name, self.size, self.args.share, number, offered / elapsed, forwarded / elapsed,
                     cpu / elapsed, forwarded / cpu if cpu else 0.0, latency)

    def curve(self, kind: RouterKind | Forwarder, case: str, number: int) -> list[Point]:
        args = self.args
        share = ControlGroup("overload", args.share) if args.share < 1 else None
        stats = self.directory / "stats.json"
        stats.unlink(missing_ok=True)
        router = kind.start(kind.name, self.router, self.config, self.directory / "router.log",
                            stats, cpus=str(args.router_cpu))
        self._processes = [router]
        try:
            if isinstance(kind, RouterKind):
                wait_ready(router)
            # A router may learn first, which with a part of a core would take so much longer.
            full = self.point(router, kind.name, case, 0, number, LEARNING)
            if share:
                share.add(router.pid)
                full = self.point(router, kind.name, case, 0, number)
            print(f"{kind.name}, {self.size} B: {full.forwarded:,.0f}/s of {full.offered:,.0f}/s", file=sys.stderr)
            rates = [float(r) for r in args.rates.split(",") if r] if args.rates is not None else [
                step * full.forwarded for step in map(float, args.steps.split(",")) if step * full.forwarded < 0.95 * full.offered]
            points = [full] + [self.point(router, kind.name, case, rate, number) for rate in rates]
            router.check()
        finally:
            router.stop()
            if share:
                share.remove()
        if stages := read_stats(stats).get("ns_by_stage"):
            self.stages[kind.name] = stages
        return sorted(points, key=lambda p: p.offered)


def best(points: list[Point], router: str, size: int) -> float:
    return max((p.forwarded for p in points if (p.router, p.size) == (router, size)), default=0.0)


def summary(points: list[Point], stages: dict[str, dict[str, float]]) -> list[str]:
    """Tables for people."""
    lines: list[str] = []
    for size in dict.fromkeys(p.size for p in points):
        names = list(dict.fromkeys(p.router for p in points if p.size == size))
        for name in names:
            own = sorted((p for p in points if (p.router, p.size) == (name, size)), key=lambda p: p.offered)
            most = best(points, name, size)
            lines += ["", f"{name}, {size} bytes",
                      f"{'offered/s':>12}{'forwarded/s':>13}{'of best':>9}{'CPU':>6}{'per CPU s':>12}"
                      + "".join(f"{f'p{p} µs':>10}" for p in PERCENTILES)]
            for p in own:
                lines.append(f"{p.offered:>12,.0f}{p.forwarded:>13,.0f}{p.forwarded / max(most, 1):>9.0%}"
                             f"{p.cpu_share:>6.0%}{p.per_cpu_second:>12,.0f}"
                             + "".join(f"{p.latency.get(f'p{q}', float('nan')):>10,.0f}" for q in PERCENTILES))
        lines += ["", f"{size} bytes, most offered: medians of the rounds' ratios"]
        for name in names:
            for other in names:
                if name != other and not name.startswith(("forwarder", "reference")):
                    lines.append("  " + ratio(points, size, name, other))
    for name, times in stages.items():
        if times:
            lines.append(f"ns per packet by stage, {name}: " + ", ".join(f"{k} {v:.0f}" for k, v in times.items()))
    return lines


def ratio(points: list[Point], size: int, name: str, other: str) -> str:
    """Of one router to another, in the same rounds, at the most offered."""
    def fullest(router: str, number: int) -> Point:
        return max((p for p in points if (p.router, p.size, p.round) == (router, size, number)),
                   key=lambda p: p.offered)

    rounds = sorted({p.round for p in points if p.size == size})
    pairs = [(fullest(name, r), fullest(other, r)) for r in rounds]
    forwarded = statistics.median(a.forwarded / max(b.forwarded, 1) for a, b in pairs)
    per_cpu = statistics.median(a.per_cpu_second / max(b.per_cpu_second, 1) for a, b in pairs)
    return f"{name} / {other}: forwarded {forwarded:.2f}×, per CPU second {per_cpu:.2f}×"


def measure(args: argparse.Namespace) -> int:
    kinds = [kind_of(choice) for choice in args.router or ["reference", "hopwright", "forwarder:af_xdp"]]
    if args.case != "br_transit" and any(isinstance(k, Forwarder) for k in kinds):
        raise LabError("the forwarder can only do br_transit")
    sizes = [int(size) for size in args.size.split(",")]
    bench = Overload(args)
    bench.stages = {}
    points: list[Point] = []
    args.mtu = max(1500, *(size - 14 for size in sizes))
    try:
        bench.build()
        for size in sizes:
            bench.prepare(args.case, size)
            for number in range(args.rounds):
                for kind in kinds:
                    points += bench.curve(kind, args.case, number)
    finally:
        bench.close()
    if args.json:
        print(json.dumps({"points": [asdict(p) for p in points], "stages": bench.stages}, indent=1))
    else:
        print("\n".join(summary(points, bench.stages)))
    return 0


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", action="append", metavar="ROUTER",
                        help="as for brload.py, or forwarder:af_xdp or forwarder:af_packet; may be given several "
                             "times (default: reference, hopwright and forwarder:af_xdp)")
    parser.add_argument("--case", default="br_transit", choices=CASES)
    parser.add_argument("--size", default="172", help="bytes of the whole frame, several with commas (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0,
                        help="part of a core that a router gets (default: %(default)s)")
    parser.add_argument("--steps", default=STEPS, help="loads to offer, as parts of the best rate (default: %(default)s)")
    parser.add_argument("--rates", help="packets a second to offer, instead of parts of the best rate; empty: only "
                                        "as many as there can be")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1,
                        help="measured time of a point (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.3)
    parser.add_argument("--router-cpu", type=int, default=cpus[-1])
    parser.add_argument("--load-cpu", type=int, default=cpus[0])
    brload.add_links(parser)
    parser.add_argument("--json", action="store_true", help="print the points as JSON")
    args = parser.parse_args()
    return status_of("overload", lambda: measure(args))


if __name__ == "__main__":
    sys.exit(main())
