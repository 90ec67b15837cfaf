#!/usr/bin/env python3
"""Four protocols at the same time on the SwitchBlade platform, and a fifth that comes while it runs."""

import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/p4runtime"))

from frames import ethernet, ipv4, ipv6, labelled, splicing, udp
from switch import HOPWRIGHT, Switch

PLATFORM = ROOT / "p4/switchblade/platform.p4"


def vdp(number):
    return f"0200000000{number:02x}"


def to(neighbour, number, kind, payload):
    """A frame from a VDP to a neighbour."""
    return ethernet(f"0600000000{neighbour:02x}", kind, payload, src=vdp(number))


class Protocols(unittest.TestCase):
    def setUp(self):
        entries = str(ROOT / "p4/switchblade/four_protocols.stf")
        self.switch = self.enterContext(Switch(PLATFORM, "--entries", entries))

    def forwards(self, frame, port, expected):
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(port), expected)

    def four(self):
        data = udp(1000, 2000)
        source = "192.0.2.1"
        for net in (1, 2):
            dst = f"10.{net}.0.1"
            expected = to(net, 1, 0x0800, ipv4(source, dst, data, ttl=63))
            self.forwards(ethernet(vdp(1), 0x0800, ipv4(source, dst, data)), net, expected)
            dst = f"2001:db8:{net}::1"
            expected = to(net, 2, 0x86DD, ipv6("2001:db8::1", dst, data, hop_limit=63))
            self.forwards(ethernet(vdp(2), 0x86DD, ipv6("2001:db8::1", dst, data)), net, expected)
        for indices in range(16):
            slice_ = indices & 3
            port, neighbour = (slice_ + 1, slice_ + 1) if slice_ < 3 else (0, 4)
            packet = lambda indices, ttl: ipv4(source, "10.9.9.9", splicing(indices, data), protocol=253, ttl=ttl)
            self.forwards(ethernet(vdp(3), 0x0800, packet(indices, 64)), port, to(neighbour, 3, 0x0800, packet(indices >> 2, 63)))
        frame = ethernet(vdp(4), 0x0800, ipv4(source, "10.1.0.1", data))
        self.forwards(frame, 3, frame)

    def test_four_protocols_side_by_side(self):
        self.four()

    def test_a_new_protocol_while_others_run(self):
        packet = ethernet(vdp(5), 0x88B5, labelled(100, 0x1122334455667788))
        self.switch.send(0, packet)
        self.four()
        subprocess.run([sys.executable, ROOT / "examples/new_protocol/configure.py"], check=True, timeout=60)
        for label, port, new in ((100, 1, 200), (101, 2, 300)):
            self.swaps(label, port, new)
        self.four()

    def test_the_commands_of_the_documentation(self):
        section = (ROOT / "docs/switchblade.md").read_text().split("## A new protocol")[1].split("```")[1]
        commands = re.findall(r"^# hopwright (.*)$", section, re.MULTILINE)
        self.assertEqual(len(commands), 7)
        for command in commands:
            subprocess.run([HOPWRIGHT, *shlex.split(command, comments=True)], check=True, timeout=60)
        self.swaps(100, 1, 200)

    def swaps(self, label, port, new):
        arriving = labelled(label, 0x1122334455667788)
        leaving = labelled(new, 0x1122334455667788, hops=8)
        self.forwards(ethernet(vdp(5), 0x88B5, arriving), port, to(port, 5, 0x88B5, leaving))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
