#!/usr/bin/env python3
"""How long packets take through border routers while these keep up, and what CPU time that costs.

Each router runs in turn, round after round, on a core of its own. A process on another core sends packets one by one, at
random times (a Poisson process), at each of some rates; some carry the time when they were sent, and the kernel notes when
they arrive at the far end. Per router and rate: the median over the rounds of the latency's percentiles, and of the CPU time
of the router's threads per second. Latency is from before the sender's system call to the arrival at the far device: some
microseconds of it are the sender's, the same for each router.

With `--hogs 3` the router shares its core with three processes that use all the time they get, as another service may: each of
them, and the router, in a control group of its own, all with the same weight.

Packets, offloads, and whose core receives for the generator, are as in overload.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import socket
import statistics
import struct
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import brload
from brload import CASES, EGRESS, INGRESS
from control_group import ControlGroup, Hogs
from lab.cases import status_of
from lab.command import LabError, wait_until
from lab.process import Process
from lab.router import RouterKind, wait_ready
from overload import LEARNING, Overload
from replay import MARK, PACKET_QDISC_BYPASS, SOL_PACKET, Arrivals, stored

ROUTERS = ["reference", "hopwright+ports=af_xdp", "hopwright+ports=af_packet"]
RATES = "100,1000,20000,60000"
PERCENTILES = (50, 99)
# What a router learns from.
LEARNING_RATE = 20_000
# Packets a second that carry a time, and the fewest in all.
PROBES_PER_SECOND = 1000
PROBES = 300
# A sender that was interrupted for longer does not make up for it.
PATIENCE = 0.001


def send(device: str, file: Path, rate: float, seconds: float) -> None:
    """Sends the stored frames in turn, `rate` a second at random times."""
    frames = stored(file)
    probes = [frame[:-12] for frame in frames]
    every = max(1, round(rate / PROBES_PER_SECOND))
    gaps = [random.expovariate(rate) for _ in range(int(rate * seconds * 1.1) + 100)]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
        s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        s.bind((device, 0))
        clock, now_ns, pack, emit = time.perf_counter, time.clock_gettime_ns, struct.Struct("!IQ").pack, s.send
        at = clock()
        end = at + seconds
        for number, gap in enumerate(gaps):
            at += gap
            while (now := clock()) < at:
                pass
            if now > end:
                break
            if now - at > PATIENCE:
                at = now
            which = number % len(frames)
            if number % every == 0:
                emit(probes[which] + pack(MARK, now_ns(time.CLOCK_REALTIME)))
            else:
                emit(frames[which])


@dataclass
class Point:
    """One rate for one router: packets per second, microseconds, seconds of CPU time per second."""

    router: str
    round: int
    rate: float
    offered: float
    forwarded: float
    p50: float
    p99: float
    cpu: float


def cpu_ns(process: Process) -> int:
    """CPU time of all threads. /proc/PID/stat has it in hundredths of a second."""
    if not Path("/proc/self/schedstat").exists():
        return round(process.cpu_seconds() * 1e9)
    tasks = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)


class Latency(Overload):
    """The network of the load bench with a generator of single packets."""

    def sender(self, case: str, rate: float, seconds: float) -> Process:
        command = [sys.executable, str(Path(__file__).resolve()), "--send", f"gen{INGRESS[case]}", str(self.frames),
                   str(rate), str(seconds)]
        sender = Process("sender", command, self.directory / "sender.log", namespace=self.load,
                       cpus=str(self.args.load_cpu))
        self._processes.append(sender)
        return sender

    def measure(self, router: Process, name: str, case: str, rate: float, number: int) -> Point:
        seconds = max(self.args.seconds, PROBES / rate)
        sent, received = f"gen{INGRESS[case]}", f"gen{EGRESS[case]}"
        before = self._sent(sent)
        sender = self.sender(case, rate, seconds + self.args.warm_up + 2)
        wait_until("the sender to send", lambda: sender.check() or self._sent(sent) > before, interval=0.02)
        time.sleep(self.args.warm_up)
        arrivals = Arrivals(self.load, received, self.size)

        def sample() -> tuple[float, ...]:
            return time.monotonic(), self._sent(sent), self._arrived(received, self.size), cpu_ns(router) / 1e9

        start = sample()
        time.sleep(seconds)
        elapsed, offered, forwarded, cpu = (b - a for a, b in zip(start, sample()))
        times = sorted(arrivals.take())
        arrivals.close()
        sender.stop()
        if not times:
            raise LabError(f"{name}, {rate:.0f}/s: nothing arrived\n{router.tail()}\n{sender.tail()}")
        p50, p99 = (times[min(len(times) - 1, int(len(times) * p / 100))] for p in PERCENTILES)
        return Point(name, number, rate, offered / elapsed, forwarded / elapsed, p50, p99, cpu / elapsed)

    def run_router(self, kind: RouterKind, case: str, number: int) -> list[Point]:
        router = kind.start(kind.name, self.router, self.config, self.directory / "router.log",
                            self.directory / "stats.json", cpus=str(self.args.router_cpu))
        self._processes = [router]
        hogs, group = Hogs(self.args.hogs, self.args.router_cpu), ControlGroup("router") if self.args.hogs else None
        try:
            wait_ready(router)
            if group:
                group.add(router.pid)
            self.sender(case, LEARNING_RATE, LEARNING).wait(LEARNING + 10)
            return [self.measure(router, kind.name, case, rate, number) for rate in map(float, self.args.rates.split(","))]
        finally:
            router.stop()
            hogs.stop()
            if group:
                group.remove()


def medians(points: list[Point]) -> dict[tuple[str, float], dict[str, float]]:
    """By router and rate: the medians of the rounds."""
    keys = list(dict.fromkeys((p.router, p.rate) for p in points))
    return {key: {what: statistics.median(getattr(p, what) for p in points if (p.router, p.rate) == key)
                  for what in ("offered", "forwarded", "p50", "p99", "cpu")} for key in keys}


def summary(points: list[Point]) -> list[str]:
    """A table for people: microseconds, and percent of a core."""
    found, rates = medians(points), sorted({p.rate for p in points})
    names = list(dict.fromkeys(p.router for p in points))
    width = max(map(len, names))
    lines = [" " * width + "".join(f"{f'{rate:,.0f}/s':>26}" for rate in rates),
             " " * width + f"{'p50 µs':>12}{'p99 µs':>8}{'CPU':>6}" * len(rates)]
    for name in names:
        rows = [found[name, rate] for rate in rates]
        lines.append(f"{name:<{width}}" + "".join(f"{r['p50']:>12,.0f}{r['p99']:>8,.0f}{r['cpu']:>6.1%}" for r in rows))
        for row, rate in zip(rows, rates):
            if row["forwarded"] < 0.98 * row["offered"]:
                lines.append(f"  only {row['forwarded']:,.0f}/s of {row['offered']:,.0f}/s were forwarded")
    if "reference" in names:
        for name in names:
            if name != "reference":
                lines.append(f"{name} / reference: " + "; ".join(
                    f"{rate:,.0f}/s p50 {ratio(points, name, rate, 'p50'):.2f}, p99 {ratio(points, name, rate, 'p99'):.2f}, "
                    f"CPU {ratio(points, name, rate, 'cpu'):.2f}" for rate in rates))
    return lines


def ratio(points: list[Point], name: str, rate: float, what: str) -> float:
    """The median of the rounds' ratios to the reference: the machine may be slower in one of them."""
    own, of = ({p.round: getattr(p, what) for p in points if (p.router, p.rate) == (router, rate)}
               for router in (name, "reference"))
    return statistics.median(own[n] / of[n] for n in own if n in of)


def run(args: argparse.Namespace) -> int:
    kinds = [RouterKind(choice) for choice in args.router or ROUTERS]
    bench = Latency(args)
    points: list[Point] = []
    try:
        bench.build()
        bench.prepare(args.case, args.size)
        for number in range(args.rounds):
            for kind in kinds:
                points += bench.run_router(kind, args.case, number)
                print(f"round {number + 1}, {kind.name}: " + ", ".join(
                    f"{p.p50:.0f}/{p.p99:.0f} µs {p.cpu:.1%}" for p in points[-len(args.rates.split(",")):]), file=sys.stderr)
    finally:
        bench.close()
    print(json.dumps([asdict(p) for p in points], indent=1) if args.json else "\n".join(summary(points)))
    return 0


def main() -> int:
    if sys.argv[1:2] == ["--send"]:
        send(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
        return 0
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", action="append", metavar="ROUTER",
                        help=f"as for brload.py; may be given several times (default: {', '.join(ROUTERS)})")
    parser.add_argument("--case", default="br_transit", choices=CASES)
    parser.add_argument("--size", type=int, default=172, help="bytes of the whole frame (default: %(default)s)")
    parser.add_argument("--rates", default=RATES, help="packets a second to offer (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=2,
                        help=f"measured time of a point, longer where fewer than {PROBES} packets would come (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.3)
    parser.add_argument("--hogs", type=int, default=0, help="busy processes on the router's core (default: none)")
    parser.add_argument("--router-cpu", type=int, default=cpus[-1], help="default: %(default)s")
    parser.add_argument("--load-cpu", type=int, default=cpus[0], help="default: %(default)s")
    brload.add_links(parser)
    parser.add_argument("--json", action="store_true", help="print the points as JSON")
    args = parser.parse_args()
    args.share, args.mtu = 1.0, brload.MTU
    return status_of("latency", lambda: run(args))


if __name__ == "__main__":
    sys.exit(main())
