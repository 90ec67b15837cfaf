#!/usr/bin/env python3
"""`hopwright table`, `counter`, `register` and `meter` on a running switch, as a person without a controller types them."""

import json
import subprocess
import unittest

from switch import HOPWRIGHT, Switch, ethernet, ipv4


def hopwright(*args, ok=True):
    """What a command prints; it must go well, or with ok=False badly."""
    done = subprocess.run([HOPWRIGHT, *args], capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == ok, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout if ok else done.stderr


ROUTE = "hdr.ipv4.dst=10.0.0.0/8 => forward(dst=02:00:00:00:00:11, port=1)"


class Command(unittest.TestCase):
    def setUp(self):
        self.switch = self.enterContext(Switch("basic.p4"))

    def test_tables_are_listed(self):
        text = hopwright("table")
        self.assertIn("MyIngress.ipv4_lpm: 300000 entries at most", text)
        self.assertIn("hdr.ipv4.dst lpm, 32 bits", text)
        self.assertIn("forward(dst: 48 bits, port: 9 bits)", text)
        tables = {t["alias"]: t for t in json.loads(hopwright("table", "--json"))}
        self.assertEqual([k["match"] for k in tables["acl"]["keys"]], ["ternary", "optional", "range"])
        self.assertEqual(tables["l2"]["actions"][-1], {"name": "drop", "params": [], "scope": "default_only"})

    def test_entries_forward(self):
        hopwright("table", "add", "ipv4_lpm", ROUTE)
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(self.switch.receive(1)[:6].hex(), "020000000011")
        shown = hopwright("table", "show", "ipv4_lpm")
        (line,) = [line for line in shown.splitlines() if not line.startswith("#")]
        self.assertEqual(line.split("  # ")[0], ROUTE)
        self.assertIn("1 packets, 60 bytes", line)
        self.assertIn("# default: drop()", shown)

        # What is shown can be typed again; without quotes a shell leaves this form alone.
        hopwright("table", "set", "ipv4_lpm", "dst=10.0.0.0/8", "forward", "port=2", "dst=0x22")
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(self.switch.receive(2)[:6].hex(), "000000000022")
        hopwright("table", "delete", "ipv4_lpm", "dst=10.0.0.0/8")
        self.assertEqual(json.loads(hopwright("table", "show", "ipv4_lpm", "--json"))["entries"], [])

    def test_priorities_and_defaults(self):
        hopwright("table", "add", "acl", "src=10.0.0.0/255.0.0.0 ttl=1..30 priority=10 => drop")
        hopwright("table", "add", "acl", "src=10.0.0.0&&&0xff000000", "protocol=17", "priority=20", "permit")
        entries = json.loads(hopwright("table", "show", "acl", "--json"))["entries"]
        self.assertEqual(entries[0]["match"], {"hdr.ipv4.src": "10.0.0.0/8", "hdr.ipv4.ttl": "1..30"})
        self.assertEqual([(e["priority"], e["actions"][0]["name"]) for e in entries], [(10, "drop"), (20, "permit")])
        hopwright("table", "delete", "acl", "--all")
        self.assertEqual(json.loads(hopwright("table", "show", "acl", "--json"))["entries"], [])

        self.assertEqual(hopwright("table", "default", "ipv4_lpm"), "drop()\n")
        hopwright("table", "default", "ipv4_lpm", "punt(reason=3)")
        self.assertEqual(hopwright("table", "default", "ipv4_lpm"), "punt(reason=3)\n")
        hopwright("table", "default", "ipv4_lpm", "--reset")
        self.assertEqual(hopwright("table", "default", "ipv4_lpm"), "drop()\n")

    def test_files_of_entries(self):
        lines = "\n".join(f"dst=10.{n >> 8}.{n & 255}.0/24 => forward(dst=0x11, port=1)  # one of many" for n in range(2500))
        done = subprocess.run([HOPWRIGHT, "table", "load", "ipv4_lpm", "-"], input=lines, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        entries = json.loads(hopwright("table", "show", "ipv4_lpm", "--json"))["entries"]
        self.assertEqual(len(entries), 2500)
        done = subprocess.run([HOPWRIGHT, "table", "load", "ipv4_lpm", "-"], input="\ndst=x => drop", text=True, capture_output=True)
        self.assertIn("-:2: `hdr.ipv4.dst`: `x` is no number", done.stderr)

    def test_mistakes(self):
        for args, message in [
            (("table", "show", "ipv4_lmp"), "there is no table `ipv4_lmp`: did you mean `ipv4_lpm`?"),
            (("table", "add", "ipv4_lpm", "dst=10.0.0.1/8", "drop"), "did you mean 10.0.0.0 with the same mask?"),
            (("table", "add", "ipv4_lpm", "dst=10.0.0.0/8"), "the action is missing"),
            (("table", "delete", "ipv4_lpm", "dst=10.0.0.0/8"), "has no entry with these keys and priority (NotFound)"),
            (("table", "add", "fixed", "type=7", "drop"), "are constant (PermissionDenied)"),
            (("table", "--device-id", "7"), "there is no device 7 (NotFound)"),
            (("table", "--server", "127.0.0.1:1"), "cannot reach a switch at 127.0.0.1:1: Connection refused"),
            (("counter", "show", "by_prot"), "did you mean `by_port`?"),
            (("counter", "show", "by_port", "16"), "there is no index 16"),
            (("register", "set", "last_source", "0", "0x100000000"), "does not fit 32 bits"),
            (("register", "set", "last_source", "8", "1"), "there is no index 8"),
            (("meter", "show", "m"), "there is no meter `m`: the program has none"),
        ]:
            self.assertIn(message, hopwright(*args, ok=False))

    def test_counters(self):
        for _ in range(3):
            self.switch.send(2, ethernet("020000000001", "020000000002", 0x0806, bytes(50)))
        hopwright("table", "add", "ipv4_lpm", ROUTE)
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertIsNotNone(self.switch.receive(1))
        self.assertIn("MyIngress.by_port: 16 cells", hopwright("counter"))
        self.assertIn("MyIngress.routed: of the entries of MyIngress.ipv4_lpm", hopwright("counter"))
        self.assertEqual(hopwright("counter", "show", "by_port"), "2: 3 packets, 192 bytes\n3: 1 packets, 60 bytes\n# 14 more are zero\n")
        self.assertEqual(json.loads(hopwright("counter", "show", "by_port", "3", "--json")), [{"index": 3, "packets": 1, "bytes": 60}])
        self.assertEqual(hopwright("counter", "show", "routed"), "hdr.ipv4.dst=10.0.0.0/8: 1 packets, 60 bytes\n")
        hopwright("counter", "reset", "by_port", "2")
        self.assertEqual(hopwright("counter", "show", "by_port"), "3: 1 packets, 60 bytes\n# 15 more are zero\n")
        hopwright("counter", "reset", "by_port")
        hopwright("counter", "reset", "routed")
        self.assertEqual(hopwright("counter", "show", "by_port"), "# 16 more are zero\n")
        self.assertEqual(hopwright("counter", "show", "routed"), "# 1 more are zero\n")

    def test_registers(self):
        self.assertEqual(hopwright("register"), "MyIngress.last_source: 8 cells of 32 bits\n")
        hopwright("register", "set", "last_source", "3", "10.0.0.1")
        self.assertEqual(hopwright("register", "show", "last_source"), "3: 167772161\n# 7 more are zero\n")
        hopwright("register", "set", "last_source", "--all", "7")
        cells = json.loads(hopwright("register", "show", "last_source", "--json"))
        self.assertEqual([c["value"] for c in cells], ["7"] * 8)


if __name__ == "__main__":
    unittest.main()
