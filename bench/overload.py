#!/usr/bin/env python3
"""Draws what border routers forward when they are offered more than they can.

Each router gets a part of a core (`--share`), so that one generator can offer
many times what it forwards. Packets of one case of the reference's load
generator, brload, are captured once and sent again at exact rates by this
script, from a core of its own. Printed and drawn per router: packets forwarded
per second against packets offered per second, both relative to the router's
best rate. A router that handles overload well draws a flat line.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import socket
import struct
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import brload  # noqa: E402
from brload import CASES, EGRESS, INGRESS, LINKS, Bench  # noqa: E402
from lab.netns import LabError, require_root  # noqa: E402
from lab.process import Process, unwind_on_signals, wait_until  # noqa: E402
from lab.reference import tool  # noqa: E402
from lab.router import RouterKind, wait_ready  # noqa: E402

ETH_P_ALL = 3
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20
STREAMS = 840
BURST = 32
# Offered load in units of the router's rate when it is given all there is.
STEPS = (0.5, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)


def capture(device: str, count: int, file: Path) -> None:
    """Stores `count` frames that arrive at a device of this namespace."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as s:
        s.bind((device, ETH_P_ALL))
        s.settimeout(20)
        frames = []
        while len(frames) < count:
            frame, (_, _, kind, *_) = s.recvfrom(9100)
            if kind != socket.PACKET_OUTGOING and frame[12:14] == b"\x08\x00" and frame[23] == 17:
                frames.append(frame)
    file.write_bytes(b"".join(struct.pack("!H", len(f)) + f for f in frames))


def replay(device: str, file: Path, rate: float, seconds: float) -> None:
    """Sends the stored frames in turn, `rate` a second; 0: as fast as it goes."""
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    class Header(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32),
                    ("vectors", ctypes.POINTER(Vector)), ("count", ctypes.c_size_t),
                    ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                    ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]

    data, frames, at = file.read_bytes(), [], 0
    while at < len(data):
        size, = struct.unpack_from("!H", data, at)
        frames.append(data[at + 2:at + 2 + size])
        at += 2 + size
    # Twice, so that a burst may begin anywhere.
    buffers = [ctypes.create_string_buffer(f, len(f)) for f in frames] * 2
    headers = (Header * len(buffers))()
    vectors = [Vector(ctypes.addressof(b), len(b)) for b in buffers]
    for header, vector in zip(headers, vectors):
        header.vectors, header.count = ctypes.pointer(vector), 1
    send = ctypes.CDLL(None, use_errno=True).sendmmsg
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
        s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        s.bind((device, 0))
        number, step, sent, start = s.fileno(), ctypes.sizeof(Header), 0, time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            due = BURST if rate == 0 else min(BURST, int(rate * elapsed) - sent)
            if due <= 0:
                time.sleep(0.0002)
                continue
            begin = ctypes.byref(headers, sent % len(frames) * step)
            sent += max(0, send(number, begin, due, 0))


class Share:
    """A control group that gives processes a part of a core."""

    def __init__(self, part: float):
        # The kernel gives a millisecond at least.
        period = max(10_000, int(1_000 / part))
        quota = int(part * period)
        name = f"hopwright-overload-{os.getpid()}"
        old, new = Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")
        if (old / "cpu.cfs_quota_us").exists():
            self.path = old / name
            self.path.mkdir()
            (self.path / "cpu.cfs_period_us").write_text(str(period))
            (self.path / "cpu.cfs_quota_us").write_text(str(quota))
        elif (new / "cgroup.controllers").exists():
            (new / "cgroup.subtree_control").write_text("+cpu")
            self.path = new / name
            self.path.mkdir()
            (self.path / "cpu.max").write_text(f"{quota} {period}")
        else:
            raise LabError("there is no control group for CPU time")

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        try:
            self.path.rmdir()
        except OSError as error:
            print(f"overload: {self.path}: {error}", file=sys.stderr)


@dataclass
class Point:
    """One load for one router; packets per second."""

    router: str
    offered: float
    forwarded: float


class Overload(Bench):
    """The network of the load bench with a generator of exact rates."""

    def _self(self, *arguments: str) -> list[str]:
        return [sys.executable, str(Path(__file__).resolve()), *arguments]

    def prepare(self, case: str, size: int) -> None:
        """Captures the packets of a case on their way to a router, and keeps the neighbours
        that it learns: brload answers for them, and will not be there later."""
        self.frames = self.directory / "frames"
        router = RouterKind("reference").start(
            "reference", self.router, self.config, self.directory / "prepare.log",
            self.directory / "stats.json")
        self._processes = [router]
        wait_ready(router)
        device = f"br{INGRESS[case]}"
        taker = Process("capture", self._self("--capture", device, str(self.frames)),
                        self.directory / "capture.log", namespace=self.router)
        command = [tool("brload"), "run", "--artifacts", str(self.directory), "--case", case,
                   "--packet-size", str(size), "--num-streams", str(STREAMS), "--duration", "3s"]
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

    def point(self, kind: RouterKind, case: str, rate: float) -> Point:
        seconds = self.args.warm_up + self.args.seconds + 1
        load = Process("replay", self._self("--replay", f"gen{INGRESS[case]}", str(self.frames),
                                            str(rate), str(seconds)),
                       self.directory / "replay.log", namespace=self.load,
                       cpus=str(self.args.load_cpu))
        self._processes.append(load)
        sent, received = f"gen{INGRESS[case]}", f"gen{EGRESS[case]}"
        before = self._counter(sent, "tx")
        wait_until("the generator to send", lambda: load.check() or
                   self._counter(sent, "tx") > before + 100, 15, interval=0.02)
        time.sleep(self.args.warm_up)
        start = time.monotonic(), self._counter(sent, "tx"), self._counter(received, "rx")
        time.sleep(self.args.seconds)
        end = time.monotonic(), self._counter(sent, "tx"), self._counter(received, "rx")
        load.stop()
        elapsed = end[0] - start[0]
        return Point(kind.name, (end[1] - start[1]) / elapsed, (end[2] - start[2]) / elapsed)

    def curve(self, kind: RouterKind, case: str, share: Share) -> list[Point]:
        router = kind.start(kind.name, self.router, self.config, self.directory / f"{kind.name}.log",
                            self.directory / "stats.json", cpus=str(self.args.router_cpu))
        self._processes = [router]
        wait_ready(router)
        share.add(router.pid)
        full = self.point(kind, case, 0)
        print(f"{kind.name}: {full.forwarded:,.0f}/s of {full.offered:,.0f}/s", file=sys.stderr)
        points = [full]
        for step in STEPS:
            if step * full.forwarded < 0.95 * full.offered:
                points.append(self.point(kind, case, step * full.forwarded))
        router.check()
        router.stop()
        return sorted(points, key=lambda p: p.offered)


def relative(points: list[Point]) -> list[tuple[float, float]]:
    best = max(p.forwarded for p in points)
    return [(p.offered / best, p.forwarded / best) for p in points]


def print_table(points: list[Point]) -> None:
    for name in dict.fromkeys(p.router for p in points):
        own = [p for p in points if p.router == name]
        print(f"{name}\n{'offered/s':>12}{'forwarded/s':>13}{'offered/best':>14}{'forwarded/best':>16}")
        for point, (x, y) in zip(own, relative(own)):
            print(f"{point.offered:>12,.0f}{point.forwarded:>13,.0f}{x:>14.2f}{y:>16.1%}")


def draw(points: list[Point], title: str, file: Path) -> None:
    """An SVG of the curves."""
    width, height, left, top, right, bottom = 720, 420, 60, 40, 20, 50
    names = list(dict.fromkeys(p.router for p in points))
    curves = {n: relative([p for p in points if p.router == n]) for n in names}
    most = max(10.0, max(x for curve in curves.values() for x, _ in curve))

    def place(x: float, y: float) -> tuple[float, float]:
        return (left + x / most * (width - left - right),
                height - bottom - y / 1.1 * (height - top - bottom))

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="13">',
           f'<rect width="{width}" height="{height}" fill="white"/>',
           f'<text x="{left}" y="24" font-size="15">{title}</text>']
    for i in range(6):
        (x0, y), (x1, _) = place(0, i / 5), place(most, i / 5)
        out.append(f'<path d="M{x0:.1f} {y:.1f}H{x1:.1f}" stroke="#ddd"/>'
                   f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{i * 20} %</text>')
    for x in range(0, int(most) + 1, 1 if most < 12 else 2):
        px, py = place(x, 0)
        out.append(f'<text x="{px:.1f}" y="{py + 18:.1f}" text-anchor="middle">{x}</text>')
    out.append(f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">'
               'offered / best rate</text>')
    colours = ("#888888", "#c0392b", "#2c6fbb", "#2e8b57")
    for i, (name, curve) in enumerate(curves.items()):
        colour = colours[i % len(colours)]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(x, y) for x, y in curve))
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>'
                for px, py in (place(x, y) for x, y in curve)]
        best = max(p.forwarded for p in points if p.router == name)
        out.append(f'<text x="{width - right}" y="{height - bottom - 20 - 18 * i}" '
                   f'text-anchor="end" fill="{colour}">{name}: best {best:,.0f}/s</text>')
    file.write_text("\n".join([*out, "</svg>", ""]))


def measure(args: argparse.Namespace) -> int:
    require_root("The overload bench")
    kinds = [RouterKind(choice) for choice in args.router or ["reference", "hopwright"]]
    bench = Overload(args)
    share = Share(args.share)
    points: list[Point] = []
    brload.MTU = max(1500, args.size - 14)
    try:
        bench.build()
        bench.prepare(args.case, args.size)
        for kind in kinds:
            points += bench.curve(kind, args.case, share)
    finally:
        bench.close()
        share.remove()
    title = f"Overload: {args.case}, {args.size} bytes, {args.share:.0%} of a core"
    draw(points, title, args.svg)
    if args.json:
        print(json.dumps([asdict(p) for p in points], indent=2))
    else:
        print_table(points)
        print(f"drawn: {args.svg}")
    return 0


def main() -> int:
    if sys.argv[1:2] == ["--capture"]:
        capture(sys.argv[2], STREAMS, Path(sys.argv[3]))
        return 0
    if sys.argv[1:2] == ["--replay"]:
        replay(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
        return 0
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", action="append", metavar="ROUTER",
                        help="as for brload.py; may be given several times "
                             "(default: reference, then hopwright)")
    parser.add_argument("--case", default="br_transit", choices=CASES)
    parser.add_argument("--size", type=int, default=172, help="bytes of the whole frame")
    parser.add_argument("--share", type=float, default=0.1,
                        help="part of a core that a router gets (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=2,
                        help="measured time of a point (default: %(default)s)")
    parser.add_argument("--warm-up", type=float, default=0.5)
    parser.add_argument("--router-cpu", type=int, default=cpus[-1])
    parser.add_argument("--load-cpu", type=int, default=cpus[0])
    parser.add_argument("--svg", type=Path, default=Path("overload.svg"), help="where to draw")
    parser.add_argument("--json", action="store_true", help="print the points as a JSON list")
    args = parser.parse_args()
    unwind_on_signals()
    try:
        return measure(args)
    except LabError as error:
        print(f"overload: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
