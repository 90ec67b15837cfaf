#!/usr/bin/env python3
"""The Python package `hopwright`: what it asks the command, its errors, and its descriptions for labs. A script stands in for the command."""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.cases import unittest_main

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging/python"))

import hopwright  # noqa: E402
from hopwright import containerlab, kathara, lab  # noqa: E402
from hopwright.client import Cell, Entry, error  # noqa: E402

# Prints its arguments to a file, then what another file has.
STAND_IN = """#!/bin/sh
for word; do printf '%s\\n' "$word"; done > "$0.arguments"
cat "$0.error" >&2 2>/dev/null
cat "$0.output"
exit "$(cat "$0.status")"
"""


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.command = Path(folder.name) / "hopwright"
        self.command.write_text(STAND_IN)
        self.command.chmod(0o755)
        self.answer()
        environment = mock.patch.dict(os.environ, HOPWRIGHT=str(self.command))
        environment.start()
        self.addCleanup(environment.stop)

    def answer(self, output="", status=0, error=""):
        for name, text in ("output", output), ("status", str(status)), ("error", error):
            Path(f"{self.command}.{name}").write_text(text)

    def asked(self):
        """The arguments of the last command, without the options that name the switch."""
        words = Path(f"{self.command}.arguments").read_text().splitlines()
        self.assertEqual(words[1:5], ["--server", "[::1]:7", "--device-id", "3"])
        return words[:1] + words[5:]


class Client(Case):
    switch = hopwright.Switch("[::1]:7", device_id=3)

    def test_tables_are_changed_by_the_command(self):
        self.switch.table_add("mac", {"dst": "02:00:00:00:00:01"}, "forward", {"port": 1})
        self.assertEqual(self.asked(), ["table", "add", "mac", "dst=02:00:00:00:00:01 => forward(port=1)"])
        self.switch.table_set("acl", {"src": "10.0.0.0/8", "syn": True}, "drop", priority=7)
        self.assertEqual(self.asked(), ["table", "set", "acl", "src=10.0.0.0/8 syn=true priority=7 => drop()"])
        self.switch.table_delete("mac", {"dst": 5})
        self.assertEqual(self.asked(), ["table", "delete", "mac", "dst=5"])
        self.switch.table_default("mac", "forward", {"port": 2})
        self.assertEqual(self.asked(), ["table", "default", "mac", "forward(port=2)"])

    def test_entries_are_read(self):
        self.answer(json.dumps({"default": None, "entries": [
            {"actions": [{"name": "forward", "args": {"port": "1"}}], "match": {"dst": "1"}, "priority": 4,
             "counter": {"packets": 5, "bytes": 6}}]}))
        self.assertEqual(self.switch.table_entries("mac"), [Entry({"dst": "1"}, "forward", {"port": "1"}, 4, 5, 6)])
        self.assertEqual(self.asked(), ["table", "show", "mac", "--json"])

    def test_cells_are_read_and_set(self):
        self.answer('[{"index": 2, "packets": 3, "bytes": 4}]')
        self.assertEqual(self.switch.counter_read("by_port", 2), Cell(2, 3, 4))
        self.assertEqual(self.asked(), ["counter", "show", "by_port", "2", "--json"])
        self.assertEqual(self.switch.counter_read("by_port", 1), Cell(1, 0, 0))
        self.answer('[{"index": 0, "value": "340282366920938463463374607431768211455"}]')
        self.assertEqual(self.switch.register_read("last", 0), 2**128 - 1)
        self.switch.register_write("last", 0, "10.0.0.1")
        self.assertEqual(self.asked(), ["register", "set", "last", "0", "10.0.0.1"])
        self.switch.meter_set("rate", 1, cir=1, cburst=2, pir=3, pburst=4)
        self.assertEqual(self.asked(), ["meter", "set", "rate", "1", "cir=1", "cburst=2", "pir=3", "pburst=4"])

    def test_errors_have_types(self):
        for message, kind, code in [
                ("hopwright: the switch refuses: table `I.t` already has an entry (AlreadyExists)", hopwright.AlreadyExists, "AlreadyExists"),
                ("hopwright: the switch refuses: table `I.t` has no entry (NotFound)", hopwright.NotFound, "NotFound"),
                ("hopwright: the switch refuses: `c` has 4 cells; there is no index 9 (OutOfRange)", hopwright.Refused, "OutOfRange"),
                ("hopwright: cannot reach a switch at 127.0.0.1:1: Connection refused", hopwright.Unreachable, None),
                ("hopwright: there is no table `nope`; there are t", hopwright.InvalidArgument, None)]:
            self.answer(status=1, error=message + "\n")
            with self.subTest(message), self.assertRaises(hopwright.HopwrightError) as raised:
                self.switch.table_add("t", {"dst": 1}, "drop")
            self.assertIs(type(raised.exception), kind)
            self.assertEqual(getattr(raised.exception, "code", None), code)
            self.assertEqual(str(raised.exception), message.removeprefix("hopwright: "))

    def test_a_missing_command_is_an_error(self):
        with mock.patch.dict(os.environ, HOPWRIGHT="/nowhere/hopwright"), self.assertRaises(hopwright.CommandMissing):
            self.switch.tables()

    def test_it_needs_no_other_package(self):
        program = "import sys; sys.modules['mininet'] = None; import hopwright; print(len(hopwright.__all__))"
        subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT / "packaging/python", check=True, stdout=subprocess.DEVNULL)


class Labs(unittest.TestCase):
    def test_the_switch_waits_for_its_interfaces(self):
        line = lab.run("/p/l2.p4", {2: "eth2", 1: "eth1"}, entries="/p/l2.stf", options=["--batch", "8"])
        self.assertTrue(line.endswith("; exec hopwright run /p/l2.p4 -i 1@eth1 -i 2@eth2 --entries /p/l2.stf --p4runtime 0.0.0.0:9559 --batch 8"))
        self.assertLess(line.index("ip link set eth2 up"), line.index("exec"))
        subprocess.run(["sh", "-n", "-c", line], check=True)
        with self.assertRaises(ValueError):
            lab.run("l2.p4", {})

    def test_containerlab_gets_a_topology(self):
        nodes = {"s1": containerlab.switch("/p/l2.p4", {1: "eth1"}, binds=["p:/p"]), "h1": {"kind": "linux", "image": "alpine"}}
        with tempfile.TemporaryDirectory() as folder:
            containerlab.write_topology(f"{folder}/a.clab.yml", "a", nodes, [("h1:eth1", "s1:eth1")])
            read = json.loads(Path(f"{folder}/a.clab.yml").read_text())
        self.assertEqual((read["name"], read["topology"]["links"]), ("a", [{"endpoints": ["h1:eth1", "s1:eth1"]}]))
        node = read["topology"]["nodes"]["s1"]
        self.assertEqual((node["kind"], node["binds"]), ("linux", ["p:/p"]))
        # containerlab splits both as a shell does; then the shell gets one script.
        words = shlex.split(node["entrypoint"]) + shlex.split(node["cmd"])
        self.assertEqual(words, ["sh", "-c", lab.run("/p/l2.p4", {1: "eth1"})])
        with self.assertRaisesRegex(ValueError, "s2:eth1"):
            containerlab.topology("a", nodes, [("h1:eth1", "s2:eth1")])

    def test_kathara_gets_a_device(self):
        device = kathara.Device("s1", "/p/l2.p4", ["A", "B"])
        with tempfile.TemporaryDirectory() as folder:
            kathara.write_lab(folder, [device])
            conf, startup = Path(f"{folder}/lab.conf").read_text(), Path(f"{folder}/s1.startup").read_text()
        self.assertIn('s1[0]="A"\ns1[1]="B"\n', conf)
        self.assertIn('s1[entrypoint]="sh"', conf)
        self.assertIn("-i 0@eth0 -i 1@eth1", startup)
        subprocess.run(["sh", "-n", "-c", startup], check=True)

    def test_messages_of_usage_errors_are_arguments(self):
        self.assertIsInstance(error("error: unrecognized subcommand 'x'"), hopwright.InvalidArgument)


if __name__ == "__main__":
    unittest_main()
