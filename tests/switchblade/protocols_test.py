#!/usr/bin/env python3
"""Four protocols at the same time on the SwitchBlade platform, and a fifth that comes while it runs."""

import re
import shlex
import subprocess
import sys
import unittest

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, ROOT
from lab.frames import ethernet, labelled
from lab.switch import Switch
from protocols import FourProtocols, to, vdp

DESTINATION = 0x1122334455667788


class Protocols(FourProtocols, unittest.TestCase):
    def setUp(self):
        entries = str(ROOT / "p4/switchblade/four_protocols.stf")
        switch = self.enterContext(Switch(ROOT / "p4/switchblade/platform.p4", "--entries", entries))
        self.send, self.receive = switch.send, switch.receive

    def test_four_protocols_side_by_side(self):
        self.check_four_protocols()

    def test_a_new_protocol_while_others_run(self):
        self.send(0, ethernet(vdp(5), 0x88B5, labelled(100, DESTINATION)))
        self.check_four_protocols()
        subprocess.run([sys.executable, ROOT / "examples/new_protocol/configure.py"], check=True, timeout=60)
        for label, port, new in ((100, 1, 200), (101, 2, 300)):
            self.check_label(label, port, new)
        self.check_four_protocols()

    def test_the_commands_of_the_documentation(self):
        section = (ROOT / "docs/switchblade.md").read_text().split("## A new protocol")[1].split("```")[1]
        commands = re.findall(r"^# hopwright (.*)$", section, re.MULTILINE)
        self.assertEqual(len(commands), 7)
        for command in commands:
            subprocess.run([HOPWRIGHT, *shlex.split(command, comments=True)], check=True, timeout=60)
        self.check_label(100, 1, 200)

    def check_label(self, label, port, new):
        leaving = to(port, 5, 0x88B5, labelled(new, DESTINATION, hops=8))
        self.forwards(ethernet(vdp(5), 0x88B5, labelled(label, DESTINATION)), port, leaving)


if __name__ == "__main__":
    unittest_main()
