#!/usr/bin/env python3
"""Throughput by packet length and loss by time between packets of the RINA interior router: EFCP and IPv4, untagged and in VLANs.

The measurements of Gimenez, Grasa and Bunch (ICIN 2020), whose router runs on BMv2. Their figures, of a large machine: 400 Mbit/s of
EFCP and 1 Gbit/s of IPv4 at best, typically 60 Mbit/s on a small one, and losses from 100,000 packets a second on.

Two ways:

  in memory   `hopwright bench programs`: whole frame to whole frame on one core, 1,000 destinations; no devices
  on veth     `hopwright run p4/rina/interior.p4` between two veth pairs, a core for the generator and one for the router; the kernel
              does its part of the work on both. `linux` is the kernel's own IPv4 forwarding in the same place

Reported: Gbit/s of frames by their length, the ratio to the paper's best, and of EFCP to IPv4 in the same run; and the share of frames
lost by the time between two of 250 bytes (0: as fast as they can be sent). Medians of the rounds. On veth the generator may be
what limits: then EFCP and IPv4 are equally fast.

--check fails if EFCP is slower than IPv4 by more than a tenth on average, or in memory less than 20 times as fast as the paper's best. Needs root.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import struct
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from forwarding import MAC, NEXT_HOP, ROOT, Lab, Linux, frame
from lab.command import LabError, wait_until
from lab.frames import checksum
from lab.netns import require_root
from lab.process import unwind_on_signals
from lab.router import hopwright_binary

LENGTHS = (250, 494, 738, 982, 1226, 1470)
INTERVALS = (0, 10, 20, 40, 60, 80, 100)
SHORT = 250
VLAN = 10
KINDS = ("efcp", "efcp-vlan", "ipv4", "ipv4-vlan")
# Bits a second.
PAPER_BEST = {"efcp": 400e6, "ipv4": 1e9}
PAPER_TYPICAL = 60e6
TIMES = 20
# Destinations of each kind: EFCP addresses, and IPv4 networks of 256 addresses.
DESTINATIONS = 100
NETWORKS = 0x14000000


@dataclass
class Point:
    way: str
    kind: str
    length: int
    # Microseconds between two frames.
    interval: float
    offered: float
    forwarded: float

    @property
    def bits(self) -> float:
        return self.forwarded * self.length * 8

    @property
    def lost(self) -> float:
        return max(0.0, 1 - self.forwarded / self.offered) if self.offered else 0.0


def efcp_frame(destination: int, cep: int, length: int) -> bytes:
    pdu = struct.pack("!BHHBHHBBHI", 1, destination, 9, 1, 77, cep, 0x80, 0, length - 14, 5)
    ethernet = bytes.fromhex(MAC["in"].replace(":", "") + MAC["from"].replace(":", "") + "d1f0")
    return (ethernet + pdu + checksum(pdu).to_bytes(2, "big")).ljust(length, b"\0")


def tagged(untagged: bytes) -> bytes:
    return untagged[:12] + struct.pack("!HH", 0x8100, VLAN) + untagged[12:]


class RinaLab(Lab):
    """Generator and router. `case` is the kind of frames."""

    def frames(self, flows: int, length: int) -> list[bytes]:
        in_vlan = self.case.endswith("-vlan")
        untagged = length - 4 if in_vlan else length
        base = DESTINATIONS if in_vlan else 0

        def one(number: int) -> bytes:
            to = base + number % DESTINATIONS
            if self.case.startswith("efcp"):
                return efcp_frame(1 + to, number & 0xFFFF, untagged)
            return frame(MAC["in"], NETWORKS + (to << 8) + 7, 1024 + number % 60_000, untagged)

        return [tagged(one(n)) if in_vlan else one(n) for n in range(flows)]


def entries() -> str:
    mac = lambda name: f"0x{MAC[name].replace(':', '')}"
    lines = []
    for hop, vlan in ((1, 0), (2, VLAN)):
        lines.append(f"add links port:1 vlan:{vlan} receive(mac:{mac('in')}, dif:1, hash_seed:7)")
        lines.append(f"add next_hops next_hop:{hop} forward(port:2, vlan:{vlan}, src:{mac('out')}, dst:{mac('to')}, mtu:1500, ttl:0, crc:0)")
        for to in range((hop - 1) * DESTINATIONS, hop * DESTINATIONS):
            lines.append(f"add destinations dif:1 dst:{1 + to} via(next_hop:{hop})")
            lines.append(f"add routes_ipv4 hdr.ipv4.dst:0x{NETWORKS + (to << 8):08x}/24 via(next_hop:{hop}, route:0)")
    return "\n".join(lines) + "\n"


class Router:
    """The interior router on the two devices."""

    def __init__(self, ports: str):
        self.ports = ports

    def start(self, lab: Lab) -> None:
        file, stats = lab.directory / "entries.stf", lab.directory / "stats.json"
        file.write_text(entries())
        stats.unlink(missing_ok=True)
        for device in ("in", "out"):
            lab.router.ip("address", "flush", "dev", device)
        command = [hopwright_binary(), "run", str(ROOT / "p4/rina/interior.p4"), "-I", str(ROOT / "p4/include"), "--no-p4runtime",
                   "--entries", str(file), "--stats", str(stats), "--ports", self.ports, "-i", "1@in", "-i", "2@out"]
        process = lab.spawn("hopwright", command, lab.router, lab.args.router_cpu)
        wait_until("hopwright", lambda: process.check() or stats.exists())
        lab.steer(lab.router, "in", lab.args.router_cpu)


class Kernel(Linux):
    """The kernel with the same IPv4 networks."""

    def start(self, lab: Lab) -> None:
        lab.router.set("net/ipv4/ip_forward", "1")
        for to in range(DESTINATIONS):
            address = NETWORKS + (to << 8)
            lab.router.ip("route", "add", f"{'.'.join(map(str, address.to_bytes(4, 'big')))}/24", "via", NEXT_HOP)
        lab.steer(lab.router, "in", lab.args.router_cpu)


def on_veth(args: argparse.Namespace) -> list[Point]:
    require_root("The RINA bench")
    points = []
    lab = RinaLab(args)
    try:
        for _ in range(args.rounds):
            for forwarder, kinds in ((Router(args.ports), KINDS), (Kernel(), ("ipv4",))):
                lab.build("rina", [])
                try:
                    forwarder.start(lab)
                    for kind in kinds:
                        lab.case = kind
                        name = "linux" if isinstance(forwarder, Kernel) else kind
                        loads = [(length, 0) for length in args.lengths] + [(SHORT, interval) for interval in args.intervals if interval]
                        for length, interval in loads:
                            offered, forwarded, _ = lab.load_with(DESTINATIONS, length, 1e6 / interval if interval else 0)
                            points.append(Point("veth", name, length, interval, offered, forwarded))
                            print(points[-1], file=sys.stderr)
                    for process in lab.processes:
                        process.check()
                finally:
                    lab.close()
    finally:
        lab.remove()
    return points


def in_memory(args: argparse.Namespace) -> list[Point]:
    points = []
    names = {f"rina-{kind}": kind for kind in KINDS}
    for length in args.lengths:
        for _ in range(args.rounds):
            command = [hopwright_binary(), "bench", "programs", "--program", ",".join(names), "--entries", "1000", "--flows", "all",
                       "--size", str(length), "--duration", str(args.seconds / 5), "--json"]
            for row in json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout):
                rate = 1e9 / row["ns_median"]
                points.append(Point("memory", names[row["program"]], length, 0, rate, rate))
    return points


def median(points: list[Point], value: str, **wanted: object) -> float | None:
    found = [getattr(p, value) for p in points if all(getattr(p, key) == wanted[key] for key in wanted)]
    return statistics.median(found) if found else None


def ratio(points: list[Point], way: str, suffix: str, length: int) -> float | None:
    """Of EFCP to IPv4."""
    efcp, ipv4 = (median(points, "bits", way=way, kind=kind + suffix, length=length, interval=0) for kind in ("efcp", "ipv4"))
    return efcp / ipv4 if efcp and ipv4 else None


def summary(points: list[Point]) -> list[str]:
    """Tables for people."""
    lines = []
    for way in ("memory", "veth"):
        own = [p for p in points if p.way == way]
        if not own:
            continue
        kinds = [kind for kind in (*KINDS, "linux") if any(p.kind == kind for p in own)]
        lengths = sorted({p.length for p in own})
        lines.append(f"{'Gbit/s, ' + way:<16}" + "".join(f"{kind:>12}" for kind in kinds) + f"{'efcp/ipv4':>12}{'in VLANs':>12}")
        for length in lengths:
            row = [median(own, "bits", kind=kind, length=length, interval=0) for kind in kinds]
            ratios = [ratio(own, way, suffix, length) for suffix in ("", "-vlan")]
            lines.append(f"{length:>10} bytes" + "".join(f"{(bits or 0) / 1e9:>12.2f}" for bits in row)
                         + "".join(f"{value:>12.2f}" if value else f"{'-':>12}" for value in ratios))
        best = {kind: max(p.bits for p in own if p.kind == kind) / PAPER_BEST[kind] for kind in PAPER_BEST}
        lines.append(f"best rate / the paper's: EFCP {best['efcp']:.1f}, IPv4 {best['ipv4']:.1f}")
        if any(p.interval for p in own):
            lines.append(f"{'lost, ' + way:<16}" + "".join(f"{kind:>12}" for kind in kinds))
            for interval in sorted({p.interval for p in own}):
                row = [median(own, "lost", kind=kind, length=SHORT, interval=interval) for kind in kinds]
                lines.append(f"{interval:>13} µs" + "".join(f"{value:>12.2%}" if value is not None else f"{'-':>12}" for value in row))
    return lines


def problems(points: list[Point]) -> list[str]:
    """Where the figures are not what they have to be."""
    found = []
    for way, suffix in itertools.product(("memory", "veth"), ("", "-vlan")):
        ratios = [ratio(points, way, suffix, length) for length in sorted({p.length for p in points if p.way == way})]
        mean = statistics.geometric_mean(ratios) if ratios and all(ratios) else 1.0
        if mean < 0.9:
            found.append(f"{way}: EFCP{suffix} is {mean:.2f} times as fast as IPv4")
    for kind, paper in PAPER_BEST.items():
        best = max((p.bits for p in points if p.way == "memory" and p.kind == kind), default=None)
        if best is not None and best < TIMES * paper:
            found.append(f"memory: {kind} is {best / paper:.1f} times as fast as the paper's best")
    return found


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    numbers = lambda text: [int(number) for number in text.split(",") if number]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=("memory", "veth", "both"), default="both")
    parser.add_argument("--lengths", type=numbers, default=list(LENGTHS), help="bytes of frames without check sequence")
    parser.add_argument("--intervals", type=numbers, default=list(INTERVALS), help="microseconds between frames")
    parser.add_argument("--ports", default="auto", help="kind of ports (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--router-cpu", type=int, default=cpus[-1])
    parser.add_argument("--load-cpu", type=int, default=cpus[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--check", action="store_true", help="fail if EFCP is too slow")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw them, by the Python of bench/.venv")
    args = parser.parse_args()
    unwind_on_signals()
    try:
        points = in_memory(args) if args.way != "veth" else []
        points += on_veth(args) if args.way != "memory" else []
    except LabError as error:
        print(f"rina: {error}", file=sys.stderr)
        return 2
    result = [asdict(p) for p in points]
    print(json.dumps(result, indent=1) if args.json else "\n".join(summary(points)))
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        (args.plot / "rina.json").write_text(json.dumps({"command": sys.argv, "busy": None, "result": result}))
        subprocess.run([ROOT / "bench/.venv/bin/python", ROOT / "bench/plots.py", args.plot], check=True)
    found = problems(points) if args.check else []
    for problem in found:
        print(f"rina: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
