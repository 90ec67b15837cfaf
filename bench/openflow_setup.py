#!/usr/bin/env python3
"""Measures how an OpenFlow switch and a controller set up flows: ours and Open vSwitch with its userspace data path, each with
os-ken's unmodified `simple_switch_13`. Needs root, and tests/openflow/setup.sh.

That application adds a flow for each pair of Ethernet addresses when the switch sends it the pair's first packet, and sends the packet
on itself. So a source address is a flow here. Each flow has two packets: the first goes through the controller, the second finds the
flow. Reported by switch:

  first, second   latency of the two packets, from the sender's call to the receiver's kernel: median and 99th percentile, in us
  lost            packets that did not arrive
  flows           flows that the switch has in the end
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import time

from lab.command import wait_until
from lab.openflow import Hopwright, Lab, OpenVSwitch, ethernet, ipv4, mac, udp

SWITCHES = {"hopwright": Hopwright, "openvswitch": OpenVSwitch}
TARGET = "02:00:00:00:00:02"
PATIENCE = 2.0
SO_TIMESTAMPNS = 35


def station(number: int) -> str:
    return ":".join(f"{byte:02x}" for byte in (0x06, 0, *number.to_bytes(4, "big")))


class Receiver:
    """Says when frames came."""

    def __init__(self, host):
        self.socket = host.socket
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.settimeout(PATIENCE)

    def arrival(self, source: bytes) -> int | None:
        """Nanoseconds since 1970 of the next frame of a source; None if there is none."""
        try:
            while True:
                frame, control, _, address = self.socket.recvmsg(2048, 256)
                if frame[6:12] != source or address[2] == socket.PACKET_OUTGOING:
                    continue
                for level, kind, data in control:
                    if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
                        seconds, nanoseconds = struct.unpack("qq", data[:16])
                        return seconds * 1_000_000_000 + nanoseconds
        except TimeoutError:
            return None


def measure(name: str, flows: int) -> dict[str, object]:
    with Lab(SWITCHES[name], versions="1.3", applications=["simple_switch_13"]) as lab:
        one, two, _ = lab.hosts
        # The application learns where the target is.
        wait_until(lab.logs, lambda: two.ping(one, check=False))
        receiver = Receiver(two)
        times: tuple[list[int], list[int]] = ([], [])
        lost = 0
        for number in range(flows):
            source = station(number)
            frame = ethernet(TARGET, source, 0x0800, ipv4("10.0.0.1", "10.0.0.2", 17, udp("10.0.0.1", "10.0.0.2", 1, 2)))
            for own in times:
                sent = time.clock_gettime_ns(time.CLOCK_REALTIME)
                one.send(frame)
                arrived = receiver.arrival(mac(source))
                if arrived is None:
                    lost += 1
                else:
                    own.append(arrived - sent)
        there = lab.ofctl("dump-flows", f"in_port=1,dl_dst={TARGET}").count("dl_src=06:")
    row: dict[str, object] = {"switch": name, "flows": there, "lost": lost}
    for packet, own in zip(("first", "second"), times):
        cuts = statistics.quantiles(own, n=100)
        row[f"{packet}_median_us"], row[f"{packet}_p99_us"] = cuts[49] / 1000, cuts[98] / 1000
    return row


def summary(rows: list[dict]) -> list[str]:
    """A table for people."""
    lines = [f"{'switch':<14}{'first, us':>10}{'p99':>8}{'second, us':>12}{'p99':>8}{'lost':>7}{'flows':>8}"]
    for r in rows:
        lines.append(f"{r['switch']:<14}{r['first_median_us']:>10.0f}{r['first_p99_us']:>8.0f}{r['second_median_us']:>12.0f}"
                     f"{r['second_p99_us']:>8.0f}{r['lost']:>7}{r['flows']:>8}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--switch", action="append", choices=list(SWITCHES), help="default: both")
    parser.add_argument("--flows", type=int, default=10_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("openflow_setup.py needs root: it creates network namespaces", file=sys.stderr)
        return 2
    if os.environ.get("HOPWRIGHT_OWN_NETWORK") is None:
        # The switch and its controller have a network of their own, which ends with this process.
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "run", sys.executable, *sys.argv]
        return subprocess.run(command, env={**os.environ, "HOPWRIGHT_OWN_NETWORK": "1"}).returncode
    rows = [measure(name, args.flows) for name in args.switch or SWITCHES]
    print(json.dumps(rows, indent=1) if args.json else "\n".join(summary(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
