#!/usr/bin/env python3
"""Flows that a handler process decides: the first packet of each goes through it, the second one does not.

Prints the latency of first and second packets, and where the packets of a flood of new flows ended. `--flows NUMBER` says how many
flows there are, 10,000 otherwise.
"""

import argparse
import asyncio
import json
import pathlib
import select
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import finsy as fy

from handler import Handler
from lab import patience
from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, ROOT, wait_until
from lab.frames import ethernet, ipv4, udp
from lab.switch import Switch

patience.finsy()
PLATFORM = ROOT / "p4/switchblade/platform.p4"
VDP, MAC, MODE_KEY, IPV4 = 10, "02000000000a", 4, 0
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
FLOWS = 10_000


def flow(number, dst="10.1.0.1"):
    """A packet of a flow, and what the receiver knows it by."""
    return ethernet(MAC, 0x0800, ipv4(f"192.0.{number >> 8 & 255}.{number & 255}", dst, udp(1000 + (number >> 16), 2000)))


class Receiver:
    """A socket at the other end of a port that says when frames came."""

    def __init__(self, sock):
        self.sock = sock
        sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)

    def next(self, timeout):
        """When the next frame came, in nanoseconds since 1970, and the frame; or None."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0 and select.select([self.sock], [], [], left)[0]:
            frame, control, _, address = self.sock.recvmsg(2048, 64)
            if address[2] != socket.PACKET_OUTGOING:
                seconds, nanoseconds = struct.unpack("qq", control[0][2][:16])
                return seconds * 1_000_000_000 + nanoseconds, frame
        return None


class Exceptions(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.stats = tempfile.NamedTemporaryFile("r", suffix=".json")
        self.switch = self.enterContext(Switch(PLATFORM, "--stats", self.stats.name))
        self.receiver = Receiver(self.switch.sockets[1])

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)
        vdp = fy.P4TableAction("select_vdp", vdp=VDP, mode=MODE_KEY, modules=0, preprocessor=IPV4)
        neighbour = fy.P4TableAction("resolve", src=int(MAC, 16), dst=0x060000000001)
        async with self.controller() as sw:
            await sw.write([
                +fy.P4TableEntry("vdps", match=fy.P4TableMatch(mac=int(MAC, 16)), action=vdp),
                +fy.P4TableEntry("neighbours", match=fy.P4TableMatch(vdp=VDP, neighbour=1), action=neighbour),
            ])

    def controller(self):
        """One that stays for a moment: it gets packets, too, as long as it is there."""
        return fy.Switch("sw", self.switch.address)

    def handler(self, *options):
        """Starts the handler, and returns when it handles."""
        self.process = self.enterContext(Handler(self.switch.address, VDP, *options))

    def entries(self):
        command = [HOPWRIGHT, "table", "--server", self.switch.address, "show", "exact_key"]
        shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
        return sum("=>" in line and "key=" in line for line in shown.stdout.splitlines())

    def latency(self, frame):
        """Nanoseconds from one end to the other, through the switch."""
        sent = time.clock_gettime_ns(time.CLOCK_REALTIME)
        self.switch.send(0, frame)
        found = self.receiver.next(PATIENCE)
        self.assertIsNotNone(found, "a packet is lost")
        self.assertEqual(found[1][26:34], frame[26:34])
        return found[0] - sent

    async def test_the_second_packet_of_a_flow_is_fast(self):
        self.handler("--idle-timeout", "0")
        first, second = [], []
        for number in range(ARGS.flows):
            frame = flow(number)
            first.append(self.latency(frame))
            second.append(self.latency(frame))
        for name, values in (("first", first), ("second", second)):
            q = statistics.quantiles(values, n=100)
            print(f"{name:>6} packet of {len(values)} flows: median {q[49] / 1000:.0f} us, p99 {q[98] / 1000:.0f} us")
        self.assertEqual(self.entries(), ARGS.flows)
        counts = self.process.end()
        self.assertEqual(counts["packets_in"], ARGS.flows)
        self.assertEqual(counts["decisions"], ARGS.flows)
        self.assertEqual(self.switch_stats()["packets_punted"], ARGS.flows)

    def switch_stats(self):
        """The statistics that the switch writes every second, once they are up to date: those that it began to write from now on."""
        path = pathlib.Path(self.stats.name)
        for _ in range(2):
            written = path.stat().st_mtime_ns
            wait_until("statistics", lambda: path.stat().st_mtime_ns != written)
        return json.loads(path.read_text())

    async def test_a_flood_of_new_flows_loses_what_queues_count(self):
        self.handler("--idle-timeout", "0", "--waiting", "4096")
        arrived = 0
        for number in range(ARGS.flows):
            self.switch.send(0, flow(number))
        while self.receiver.next(30):
            arrived += 1
        counts = self.process.end()
        stats = self.switch_stats()
        received = next(p["rx_packets"] for p in stats["ports"].values() if p["number"] == 0)
        ledger = {
            "sent": ARGS.flows,
            "before the switch": ARGS.flows - received,
            "in the CPU queue": stats["packets_dropped"]["cpu_queue"],
            "in the stream to the handler": stats["p4runtime"]["messages_lost"],
            "in the handler's queue": counts["lost"] + counts["undecided"],
            "on the way back": stats["p4runtime"]["packets_out_refused"] - counts.get("refused", 0),
            "arrived": arrived,
        }
        print(f"a flood of new flows, lost: {ledger}; handler: {counts}")
        self.assertEqual(ledger.pop("sent"), sum(ledger.values()))
        self.assertGreater(arrived, 0)
        self.assertEqual(self.entries(), counts["decisions"])

    async def test_decisions_are_forgotten(self):
        self.handler("--idle-timeout", "1")
        for number in range(100):
            self.latency(flow(number))
        self.switch.send(0, flow(1, dst="10.2.0.1"))
        self.assertIsNone(self.receiver.next(0.5))
        await asyncio.to_thread(wait_until, "the end of the entries", lambda: not self.entries())
        self.latency(flow(7))
        counts = self.process.end()
        self.assertEqual(counts["decisions"], 102)
        # On a busy machine the last one has been forgotten, too.
        self.assertIn(counts["expired"], (101, 102))

    async def test_entries_that_somebody_deletes_come_again(self):
        self.handler("--idle-timeout", "0")
        self.latency(flow(1))
        async with self.controller() as sw:
            await sw.delete([e async for e in sw.read(fy.P4TableEntry("exact_key"))])
        self.latency(flow(1))
        self.assertEqual(self.entries(), 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=FLOWS)
    ARGS, others = parser.parse_known_args()
    unittest_main(argv=[sys.argv[0], *others])
