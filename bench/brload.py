#!/usr/bin/env python3
"""Measures border routers under the reference's load generator, brload.

For each case and packet size every router runs in turn, round after round, on
the same machine: the router pinned to one core, the generator to another,
joined by veth pairs. Reported per router, as the median of the rounds, and as
the median of the rounds' ratios to the first router's:

  forwarded/s   packets per second that left the router, the generator sending
                as fast as it can
  per CPU s     packets forwarded per second of the router process's CPU time
                (user and system, from /proc/PID/stat)
  per core s    packets forwarded per second in which the router's core was not
                idle (from /proc/stat)

Receiving on a veth is work that the sending core does, so with nothing else
said the router's core would also receive for the generator: IP, and the copies
into the generator's rings. On a wire another machine does that. The generator's
ends therefore pass what they receive to the generator's core (receive packet
steering); the router pays for handing it over, about what a driver would cost.
With `--far-end router` the router's core does it, which adds the same to each
packet of each router and so brings their figures closer to each other.

The other way nothing is passed on: the generator's core runs the receive
softirq of the router's ends (IP and UDP for a router that uses UDP sockets, the
copy into the ring for one that uses packet sockets), more for the former, and
nothing here charges a router with it.

A packet is forwarded when the generator's end has taken it; what finds that
end's queue full is not counted there, but as lost by the router's end, and
told. The router's ends of the links have the offloads of a network card, UDP
checksums and UDP segmentation, for each router to use: a veth leaves that work
to whoever reads with a socket, so nobody is charged for it. Datagrams that a
router sent as one frame for the device to take apart are told from the frame's
length and counted each. With `--no-offloads` there are none. The process's CPU time contains softirqs that ran inside its system calls,
unless the kernel accounts interrupt time apart. The core's busy time contains
them always, but where the kernel counts it by ticks it misses most of what a
router does that sleeps and wakes by timers: then look at the process's. A
router that polls is always busy: its figures per CPU second are then lower
bounds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.cases import status_of
from lab.command import LabError, wait_until
from lab.netns import End, Namespace, Offloads, remove_all, veth
from lab.process import Process
from lab.reference import copy_tree, module_dir, tool
from lab.router import RouterKind, wait_ready
from replay import HEADERS

CASES = ("in", "out", "in_transit", "out_transit", "br_transit")
# The generator's label of a link, the router's address, the made-up MAC address
# that the generator plays a neighbour with (with the device's own, veth pairs
# are slow: brload's own advice), and an address for its ARP requests, which must
# not be a neighbour's.
LINKS = {
    "1_0": ("10.123.10.1/24", "f0:0d:ca:fe:10:02", "10.123.10.200/24"),
    "1_2": ("10.123.2.1/24", "f0:0d:ca:fe:02:02", "10.123.2.200/24"),
    "1_3": ("10.123.3.1/24", "f0:0d:ca:fe:03:03", "10.123.3.200/24"),
}
INGRESS = {"in": "1_2", "out": "1_0", "in_transit": "1_2", "out_transit": "1_0",
           "br_transit": "1_2"}
EGRESS = {"in": "1_0", "out": "1_2", "in_transit": "1_0", "out_transit": "1_2",
          "br_transit": "1_3"}
MTU = 9000
# Whose core does the receive work of the generator's ends.
FAR_ENDS = {"load": "generator's core", "router": "router's core"}


@dataclass
class Record:
    """One run of one router. Rates are packets per second."""

    case: str
    size: int  # bytes of the whole frame
    router: str
    round: int
    far_end: str  # whose core receives for the generator
    offered: float
    forwarded: float
    lost: float  # frames: the generator's end had no room
    cpu_share: float  # the process's CPU time per second
    core_share: float  # the router's core's busy time per second
    per_cpu_second: float
    per_core_second: float


def _counters(namespace: Namespace, device: str) -> dict:
    link, = json.loads(namespace.ip("-j", "-s", "link", "show", "dev", device))
    return link["stats64"]


class Bench:
    """The two namespaces, and one run after another in them."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-brload-"))
        self._prefix = f"hw{os.getpid()}-"
        self._processes: list[Process] = []

    def build(self) -> None:
        conf = self.directory / "conf"
        copy_tree(module_dir() / "acceptance" / "router_benchmark" / "conf", conf)
        self.config = conf / "router.toml"
        self.config.write_text(self.config.read_text().replace('"/etc/scion"', f'"{conf}"'))
        # Our router refuses what is longer than a link's MTU.
        topology = json.loads((conf / "topology.json").read_text())
        for router in topology["border_routers"].values():
            for interface in router["interfaces"].values():
                interface["mtu"] = self.args.mtu
        (conf / "topology.json").write_text(json.dumps(topology))
        self.router, self.load = (Namespace(self._prefix + role, ipv6=False)
                                  for role in ("router", "load"))
        for label, (address, _, own) in LINKS.items():
            veth(End(self.router, f"br{label}", (address,), offloads=self.args.offloads),
                 End(self.load, f"gen{label}", (own,), offloads=Offloads.NONE), self.args.mtu)
        if self.args.far_end == "load":
            self._steer(self.args.load_cpu)

    def _steer(self, cpu: int) -> None:
        """Has a CPU do the receive work of the generator's ends."""
        mask = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
        for label in LINKS:
            queue = f"/sys/class/net/gen{label}/queues/rx-0/rps_cpus"
            done = self.load.run("sh", "-c", f"echo {mask} > {queue}")
            if done.returncode != 0:
                raise LabError(f"cannot have CPU {cpu} receive for gen{label}: "
                               f"{done.stderr.strip()} (a kernel without receive packet steering? "
                               "Then --far-end router)")

    def close(self) -> None:
        for process in self._processes:
            process.stop()
        remove_all(self._prefix)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _sent(self, device: str) -> int:
        return _counters(self.load, device)["tx"]["packets"]

    def _arrived(self, device: str, size: int) -> float:
        """Packets of one size, of which several may have come as one frame with their headers in common."""
        count = _counters(self.load, device)["rx"]
        return (count["bytes"] - HEADERS * count["packets"]) / (size - HEADERS)

    def _core_busy(self) -> float:
        """Busy seconds of the router's core so far."""
        for line in Path("/proc/stat").read_text().splitlines():
            name, *ticks = line.split()
            if name == f"cpu{self.args.router_cpu}":
                idle = int(ticks[3]) + int(ticks[4])
                return (sum(map(int, ticks[:8])) - idle) / os.sysconf("SC_CLK_TCK")
        raise LabError(f"there is no CPU {self.args.router_cpu}")

    def _sample(self, case: str, size: int, router: Process) -> tuple[float, ...]:
        return (time.monotonic(), self._sent(f"gen{INGRESS[case]}"),
                self._arrived(f"gen{EGRESS[case]}", size),
                _counters(self.router, f"br{EGRESS[case]}")["tx"]["dropped"],
                router.cpu_seconds(), self._core_busy())

    def run(self, kind: RouterKind, case: str, size: int, number: int) -> Record:
        log = self.directory / f"{kind.name}.log"
        router = kind.start(kind.name, self.router, self.config, log,
                            self.directory / "stats.json", cpus=str(self.args.router_cpu))
        self._processes = [router]
        wait_ready(router)
        command = [tool("brload"), "run", "--artifacts", str(self.directory), "--case", case,
                   "--packet-size", str(size), "--num-streams", "840",
                   "--duration", f"{self.args.warm_up + self.args.seconds + 1}s"]
        for label, (_, mac, _) in LINKS.items():
            command += ["--interface", f"{label}=gen{label},{mac}"]
        load = Process("brload", command, self.directory / "brload.log", namespace=self.load,
                       cpus=str(self.args.load_cpu))
        self._processes.append(load)
        before = self._sent(f"gen{INGRESS[case]}")
        wait_until("brload to send", lambda: load.check() or
                   self._sent(f"gen{INGRESS[case]}") > before + 1000, 15)
        time.sleep(self.args.warm_up)
        start = self._sample(case, size, router)
        time.sleep(self.args.seconds)
        end = self._sample(case, size, router)
        router.check()
        if load.wait(20) != 0:
            raise LabError(f"{case}, {size} bytes, {kind.name}: the generator saw no packet "
                           f"forwarded\n{load.tail()}\n{router.tail()}")
        router.stop()
        elapsed, offered, forwarded, lost, cpu, core = (b - a for a, b in zip(start, end))
        return Record(case, size, kind.name, number, self.args.far_end, offered / elapsed,
                      forwarded / elapsed, lost / elapsed, cpu / elapsed, core / elapsed,
                      forwarded / cpu if cpu else 0.0, forwarded / core if core else 0.0)


def medians(records: list[Record], case: str, size: int, router: str) -> dict[str, float]:
    chosen = [r for r in records if (r.case, r.size, r.router) == (case, size, router)]
    return {key: statistics.median(getattr(r, key) for r in chosen)
            for key in ("offered", "forwarded", "lost", "per_cpu_second", "per_core_second",
                        "cpu_share", "core_share")}


def print_table(records: list[Record], kinds: list[RouterKind]) -> None:
    print(f"{'case':<12}{'bytes':>6}  {'router':<30}{'offered/s':>12}{'forwarded/s':>13}"
          f"{'CPU':>6}{'core':>6}{'per CPU s':>13}{'per core s':>13}")
    for case, size in dict.fromkeys((r.case, r.size) for r in records):
        rows = {k.name: medians(records, case, size, k.name) for k in kinds}
        for name, row in rows.items():
            print(f"{case:<12}{size:>6}  {name:<30}{row['offered']:>12,.0f}"
                  f"{row['forwarded']:>13,.0f}{row['cpu_share']:>6.0%}{row['core_share']:>6.0%}"
                  f"{row['per_cpu_second']:>13,.0f}{row['per_core_second']:>13,.0f}")
            if row["lost"] > row["forwarded"] / 1000:
                print(f"{'':<20}the generator's end had no room for {row['lost']:,.0f}/s more "
                      "(net.core.netdev_max_backlog)")
        base, *others = rows
        for name in others:

            def ratio(key: str) -> str:
                """The median of the rounds' ratios: the machine may be slower in one of them."""
                own, of = ({r.round: getattr(r, key) for r in records
                            if (r.case, r.size, r.router) == (case, size, router)}
                           for router in (name, base))
                ratios = [own[n] / of[n] for n in own if of.get(n)]
                return f"{statistics.median(ratios):.2f}×" if ratios else "–"

            print(f"{'':<20}{name} / {base}: forwarded {ratio('forwarded')}, "
                  f"per CPU second {ratio('per_cpu_second')}, "
                  f"per core second {ratio('per_core_second')}")


def measure(args: argparse.Namespace) -> int:
    kinds = [RouterKind(choice) for choice in args.router or ["reference", "hopwright"]]
    bench = Bench(args)
    records: list[Record] = []
    try:
        bench.build()
        for case in args.cases.split(","):
            for size in map(int, args.sizes.split(",")):
                for number in range(args.rounds):
                    for kind in kinds:
                        records.append(bench.run(kind, case, size, number))
                        print(f"{case} {size} B {kind.name}: "
                              f"{records[-1].forwarded:,.0f}/s", file=sys.stderr)
    finally:
        bench.close()
    if args.json:
        print(json.dumps([asdict(r) for r in records], indent=2))
    else:
        print(f"The generator's ends receive on the {FAR_ENDS[args.far_end]}.")
        print_table(records, kinds)
    return 0


def add_links(parser: argparse.ArgumentParser) -> None:
    """Options of how the router's and the generator's ends of the links work."""
    parser.add_argument("--far-end", choices=FAR_ENDS, default="load",
                        help="whose core receives for the generator (default: %(default)s)")
    parser.add_argument("--no-offloads", dest="offloads", action="store_const", const=Offloads.NONE, default=Offloads.CARD,
                        help="the router's ends of the links do neither UDP checksums nor UDP segmentation")


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", action="append", metavar="ROUTER",
                        help="reference, hopwright, hopwright+ports=af_packet (or other settings), "
                             "or a command with {config}; may be given several times, the first "
                             "is the base of the ratios "
                             "(default: reference, then hopwright)")
    parser.add_argument("--cases", default=",".join(CASES), help="default: %(default)s")
    parser.add_argument("--sizes", default="172,512,1500",
                        help="bytes of the whole frame (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--seconds", type=float, default=3,
                        help="measured time of a run (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=3,
                        help="seconds before that, in which a router may learn (default: %(default)s)")
    parser.add_argument("--router-cpu", type=int, default=cpus[-1], help="default: %(default)s")
    parser.add_argument("--load-cpu", type=int, default=cpus[0], help="default: %(default)s")
    parser.add_argument("--mtu", type=int, default=MTU, metavar="BYTES",
                        help="of all links (default: %(default)s); a router that uses AF_XDP may not support so much")
    add_links(parser)
    parser.add_argument("--json", action="store_true", help="print all runs as a JSON list")
    args = parser.parse_args()
    if args.router_cpu == args.load_cpu:
        parser.error("the router and the generator need a core each")
    unknown = set(args.cases.split(",")) - set(CASES)
    if unknown:
        parser.error(f"unknown case {', '.join(unknown)}; there are {', '.join(CASES)}")
    return status_of("brload", lambda: measure(args))


if __name__ == "__main__":
    sys.exit(main())
