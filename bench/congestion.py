#!/usr/bin/env python3
"""Eight senders of EFCP PDUs into one slow port of the RINA interior router, with and without congestion marks. Needs root.

Each sender has a window of PDUs. With marks it follows the share of marked PDUs, as DCTCP does (RFC 8257): each window of
acknowledged PDUs makes an estimate of that share, and a window with a mark shrinks by half of the estimate. Otherwise the window grows by
one PDU. A lost PDU halves it. Without marks only losses tell of congestion. Acknowledgements are immediate and cost nothing, so
that what is on the way is what waits in the router's egress queue.

Reported: goodput as a part of the port's rate, PDUs lost of those sent, the queue (median, 99 %, longest), and Jain's index of fairness, 1
if all senders got the same. The port's rate is that of frames without preamble, check sequence and gap, and goodput counts the
same bytes. --plot draws the queue over time. --check fails if marks did not keep the queue below twice the threshold without a loss, or if
it did not fill without them; on a busy machine, too, where goodput says little: there senders do not run in time. --goodput says
how much of the rate must be used with marks.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from lab.command import HOPWRIGHT, ROOT, alive, wait_until
from lab.frames import checksum

SENDERS, OUT = 8, 9
RINA, DATA, CONGESTION = 0xD1F0, 0x80, 0x01
FRAME = 1000
# Weight of the newest window in the estimate.
GAIN = 1 / 16
ROUTER = bytes.fromhex("0200000001")
HOST = bytes.fromhex("0200000000")
# A sender that hears nothing for so long sends again.
TIMEOUT = 2.0
# --check passes if one run of this many does: on a busy machine a router or a sender may not run for seconds.
ATTEMPTS = 3


@dataclass
class Sender:
    number: int
    socket: socket.socket
    marks: bool
    window: float = 2.0
    share: float = 0.0
    sent: int = 0
    # The sequence number that is expected next, and PDUs that arrived.
    expected: int = 0
    arrived: int = 0
    lost: int = 0
    # Of this window of acknowledgements.
    acknowledged: int = 0
    marked: int = 0
    halved_at: int = 0
    heard: float = 0.0

    @property
    def on_the_way(self) -> int:
        return self.sent - self.expected

    def send(self, now: float) -> None:
        if now - self.heard > TIMEOUT and self.on_the_way:
            # All of it is lost.
            self.lost += self.on_the_way
            self.expected, self.window, self.heard = self.sent, 1.0, now
        while self.on_the_way < int(self.window):
            head = struct.pack("!BHHBHHBBHI", 1, 99, self.number, 1, 1, self.number, DATA, 0, FRAME - 14, self.sent)
            head += checksum(head).to_bytes(2, "big")
            frame = ROUTER + bytes([self.number]) + HOST + bytes([self.number]) + struct.pack("!H", RINA) + head
            self.socket.send(frame + bytes(FRAME - len(frame)))
            self.sent += 1

    def acknowledge(self, sequence: int, marked: bool, now: float) -> None:
        if sequence < self.expected:
            return
        gap, self.expected, self.heard = sequence - self.expected, sequence + 1, now
        self.arrived += 1
        self.lost += gap
        self.acknowledged += 1
        self.marked += marked and self.marks
        if gap and sequence >= self.halved_at:
            # Once for all that was on the way then.
            self.window, self.halved_at = max(1.0, self.window / 2), self.sent
        if self.acknowledged >= int(self.window):
            self.share += GAIN * (self.marked / self.acknowledged - self.share)
            self.window = max(1.0, self.window * (1 - self.share / 2)) if self.marked else self.window + 1
            self.acknowledged = self.marked = 0


def entries(threshold: int | None) -> str:
    lines = []
    for port in (*range(1, SENDERS + 1), OUT):
        lines.append(f"add links port:{port} vlan:0 receive(mac:0x{ROUTER.hex()}{port:02x}, dif:1, hash_seed:7)")
    lines.append(f"add next_hops next_hop:1 forward(port:{OUT}, vlan:0, src:0x{ROUTER.hex()}09, dst:0x{HOST.hex()}09, mtu:1500, ttl:0, crc:0)")
    lines.append("add destinations dif:1 dst:99 via(next_hop:1)")
    if threshold is not None:
        lines.append(f"add thresholds port:{OUT} priority:0 mark_from(packets:{threshold})")
    return "\n".join(lines) + "\n"


def packet_socket(device: str) -> socket.socket:
    found = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(RINA))
    found.bind((device, 0))
    found.setblocking(False)
    return found


def run(args: argparse.Namespace, folder: Path, marks: bool) -> dict[str, object]:
    """One run; the router is new."""
    file, log = folder / "entries.stf", folder / "log"
    file.write_text(entries(args.threshold if marks else None))
    command = [HOPWRIGHT, "run", ROOT / "p4/rina/interior.p4", "-I", ROOT / "p4/include", "--no-p4runtime", "--entries", file]
    command += ["--queue", f"{OUT}={args.rate},packets={args.queue}", "--stats", folder / "stats.json"]
    for port in (*range(1, SENDERS + 1), OUT):
        command += ["-i", f"{port}@sw{port}"]
    (folder / "stats.json").unlink(missing_ok=True)
    with log.open("w") as output:
        router = subprocess.Popen(list(map(str, command)), stdout=output, stderr=output)
    try:
        wait_until(log.read_text, lambda: alive(router, log.read_text) and (folder / "stats.json").exists())
        return measure(args, marks)
    finally:
        router.terminate()
        router.wait(20)


def measure(args: argparse.Namespace, marks: bool) -> dict[str, object]:
    senders = [Sender(number, packet_socket(f"host{number}"), marks) for number in range(1, SENDERS + 1)]
    receiver = packet_socket(f"host{OUT}")
    receiver.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
    selector = selectors.DefaultSelector()
    selector.register(receiver, selectors.EVENT_READ)
    begun = time.monotonic()
    # The first seconds are the windows' way up.
    counted, end = begun + args.warm_up, begun + args.warm_up + args.seconds
    before, depths, now = None, [], begun
    for sender in senders:
        sender.heard = now
    while now < end:
        for sender in senders:
            sender.send(now)
        selector.select(0.002)
        while True:
            try:
                frame, address = receiver.recvfrom(2048)
            except BlockingIOError:
                break
            now = time.monotonic()
            if address[2] != socket.PACKET_OUTGOING and len(frame) == FRAME:
                number, flags, sequence = struct.unpack_from("!H", frame, 17)[0], frame[25], struct.unpack_from("!I", frame, 28)[0]
                senders[number - 1].acknowledge(sequence, bool(flags & CONGESTION), now)
        now = time.monotonic()
        depths.append((now - begun, sum(sender.on_the_way for sender in senders)))
        if before is None and now >= counted:
            before = now, [sender.arrived for sender in senders], [sender.lost for sender in senders]
    since, arrived, lost = before
    goodputs = [(s.arrived - a) * FRAME * 8 / (now - since) for s, a in zip(senders, arrived)]
    steady = sorted(depth for at, depth in depths if at > args.warm_up)
    for one in (receiver, *(sender.socket for sender in senders)):
        one.close()
    return {
        "marks": marks,
        "goodput": sum(goodputs) / bits(args.rate),
        "lost": sum(s.lost - l for s, l in zip(senders, lost)),
        "arrived": sum(s.arrived - a for s, a in zip(senders, arrived)),
        "queue_median": statistics.median(steady),
        "queue_p99": steady[len(steady) * 99 // 100],
        "queue_longest": steady[-1],
        "fairness": sum(goodputs) ** 2 / (len(goodputs) * sum(g * g for g in goodputs)),
        "queue": depths,
    }


def bits(rate: str) -> float:
    return float(rate[:-1]) * {"k": 1e3, "M": 1e6, "G": 1e9}[rate[-1]] if rate[-1].isalpha() else float(rate)


def summary(rows: list[dict]) -> list[str]:
    """A table for people."""
    lines = [f"{'':<14}{'goodput':>9}{'lost':>8}{'of sent':>9}{'arrived':>9}{'queue':>7}{'p99':>6}{'longest':>9}{'fairness':>10}"]
    for r in rows:
        of_sent = r["lost"] / max(r["lost"] + r["arrived"], 1)
        lines.append(f"{'with marks' if r['marks'] else 'without marks':<14}{r['goodput']:>9.1%}{r['lost']:>8}{of_sent:>9.2%}{r['arrived']:>9}{r['queue_median']:>7.0f}"
                     f"{r['queue_p99']:>6}{r['queue_longest']:>9}{r['fairness']:>10.3f}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", default="20M", help="of the port, bits a second (default: %(default)s)")
    parser.add_argument("--queue", type=int, default=128, help="PDUs that it holds (default: %(default)s)")
    parser.add_argument("--threshold", type=int, default=32, help="PDUs in the queue from which on they are marked (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--check", action="store_true", help="fail if marks do not do what they are for")
    parser.add_argument("--goodput", type=float, default=0.0, metavar="SHARE", help="with --check: of the port's rate, with marks, at least")
    parser.add_argument("--plot", type=Path, metavar="FOLDER", help="draw the queue over time, by the Python of bench/.venv")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("congestion.py needs root: it creates network devices", file=sys.stderr)
        return 2
    if os.environ.get("HOPWRIGHT_OWN_NETWORK") is None:
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "run", sys.executable, *sys.argv]
        return subprocess.run(command, env={**os.environ, "HOPWRIGHT_OWN_NETWORK": "1"}).returncode
    for port in (*range(1, SENDERS + 1), OUT):
        subprocess.run(["ip", "link", "add", f"sw{port}", "type", "veth", "peer", "name", f"host{port}"], check=True)
        for name in (f"sw{port}", f"host{port}"):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
    for _ in range(ATTEMPTS if args.check else 1):
        with tempfile.TemporaryDirectory() as folder:
            rows = [run(args, Path(folder), marks) for marks in (True, False)]
        wrong = fault(args, *rows)
        if not wrong:
            break
    result = {"rate": args.rate, "queue": args.queue, "threshold": args.threshold, "rows": rows}
    print(json.dumps(result) if args.json else "\n".join(summary(rows)))
    if args.plot:
        args.plot.mkdir(parents=True, exist_ok=True)
        (args.plot / "congestion.json").write_text(json.dumps({"command": sys.argv, "busy": None, "result": result}))
        subprocess.run([ROOT / "bench/.venv/bin/python", ROOT / "bench/plots.py", args.plot], check=True)
    if args.check and wrong:
        print(f"congestion: {wrong}", file=sys.stderr)
        return 1
    return 0


def fault(args: argparse.Namespace, marked: dict, unmarked: dict) -> str:
    """What --check finds wrong."""
    if marked["lost"] or marked["queue_p99"] > 2 * args.threshold or unmarked["lost"] == 0 or unmarked["queue_p99"] < args.queue * 0.9:
        return "marks did not keep the queue short, or it was short without them"
    if marked["goodput"] < args.goodput:
        return f"only {marked['goodput']:.1%} of the port's rate was used"
    return ""


if __name__ == "__main__":
    sys.exit(main())
