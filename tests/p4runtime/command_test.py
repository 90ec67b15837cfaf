#!/usr/bin/env python3
"""`hopwright table`, `counter`, `register` and `meter` on a running switch, as a person without a controller types them."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, hopwright, wait_until
from lab.netns import ip
from lab.switch import HERE, Switch, ethernet, ipv4

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

    def load(self, text):
        """What is said of a file of entries that cannot be added."""
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(text)
            file.flush()
            return hopwright("table", "load", "ipv4_lpm", file.name, ok=False).replace(file.name, "FILE").splitlines()

    def test_mistakes_in_files_of_entries(self):
        expected = "expected a number of 32 bits or an IPv4 address (such as 7, 0x1f, 10.0.0.1)"
        self.assertEqual(self.load("\ndst=x => drop\ndst=10.0.0.0/8 => drop\n# nothing\ndst=10.0.0.0/8 => dorp"), [
            f"hopwright: FILE:2: `hdr.ipv4.dst`: `x`: {expected}",
            "FILE:5: there is no action of `ipv4_lpm` `dorp`: did you mean `drop`?"])
        # What the switch refuses: entries that are there.
        hopwright("table", "add", "ipv4_lpm", ROUTE)
        lines = [f"dst=10.{n >> 8}.{n & 255}.0/24 => drop" for n in range(1200)]
        lines[1100:1100] = ["# this one is there", ROUTE]
        refused, added = self.load("\n".join(lines))
        self.assertRegex(refused, r"^hopwright: FILE:1102: .*\(AlreadyExists\)$")
        self.assertEqual(added, "1200 of 1201 entries were added")
        # What follows the write of 1000 entries that has it is not sent.
        refused, added = self.load("\n".join([ROUTE] + [f"dst=11.{n >> 8}.{n & 255}.0/24 => drop" for n in range(1200)]))
        self.assertRegex(refused, r"^hopwright: FILE:1: .*\(AlreadyExists\)$")
        self.assertEqual(added, "999 of 1201 entries were added")
        many = self.load("dst=x => drop\n" * 12)
        self.assertEqual((len(many), many[-1]), (11, "2 more lines are wrong"))

    def test_mistakes(self):
        for args, message in [
            (("table", "show", "ipv4_lmp"), "there is no table `ipv4_lmp`: did you mean `ipv4_lpm`?"),
            (("table", "add", "ipv4_lpm", "dst=10.0.0.1/8", "drop"), "did you mean 10.0.0.0 with the same mask?"),
            (("table", "add", "ipv4_lpm", "dst=10.0.0.0/8"), "the action is missing"),
            (("table", "add", "ipv4_lpm", "dst=10.0.0.0/8", "forward", "dst=10.0.0.1", "port=1"),
             "`dst`: `10.0.0.1` has 32 bits: expected a number of 48 bits or a MAC address (such as 7, 0x1f, 02:00:00:00:00:01)"),
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
        # Those of another port may come later.
        wait_until("the packets of port 2", lambda: "2: 3 packets" in hopwright("counter", "show", "by_port"))
        self.assertIn("MyIngress.by_port: 16 cells", hopwright("counter"))
        self.assertIn("MyIngress.routed: of the entries of MyIngress.ipv4_lpm", hopwright("counter"))
        self.assertEqual(hopwright("counter", "show", "by_port"), "2: 3 packets, 192 bytes\n3: 1 packets, 60 bytes\n# 14 more are zero\n")
        self.assertEqual(json.loads(hopwright("counter", "show", "by_port", "3", "--json")), [{"index": 3, "packets": 1, "bytes": 60}])
        self.assertEqual(hopwright("counter", "show", "routed"), "hdr.ipv4.dst=10.0.0.0/8: 1 packets, 60 bytes\n")
        hopwright("counter", "reset", "by_port", "2")
        self.assertEqual(hopwright("counter", "show", "by_port"), "3: 1 packets, 60 bytes\n# 15 more are zero\n")
        hopwright("counter", "reset", "by_port")
        hopwright("counter", "reset", "routed")
        self.assertEqual(hopwright("counter", "show", "by_port"), "# 16 are zero\n")
        self.assertEqual(hopwright("counter", "show", "routed"), "# 1 are zero\n")

    def test_registers(self):
        self.assertEqual(hopwright("register"), "MyIngress.last_source: 8 cells of 32 bits\n")
        hopwright("register", "set", "last_source", "3", "10.0.0.1")
        self.assertEqual(hopwright("register", "show", "last_source"), "3: 167772161\n# 7 more are zero\n")
        hopwright("register", "set", "last_source", "--all", "7")
        cells = json.loads(hopwright("register", "show", "last_source", "--json"))
        self.assertEqual([c["value"] for c in cells], ["7"] * 8)

    def test_certificates(self):
        # Without the right authority there is no connection.
        self.assertIn("cannot reach a switch", hopwright("table", "--tls-ca", __file__, ok=False))


    def complete(self, *words):
        """What bash proposes for the last of these words, which it has divided at `=` and `:`."""
        script = subprocess.run([HOPWRIGHT, "completion", "bash"], capture_output=True, text=True, check=True).stdout
        # A sign at the end is the word at the cursor, but not what is to be completed.
        script += """
            cur=${@: -1}
            [[ $cur == [=:] ]] && cur=
            COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
            _clap_complete_hopwright hopwright "$cur" "${@: -2:1}"
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        path = f"{pathlib.Path(HOPWRIGHT).parent}:{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", script, "bash", "hopwright", *words], env={**os.environ, "PATH": path}, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [word for word in done.stdout.splitlines() if word and not word.startswith("-")]

    def proposed(self, expected, *words):
        """Asks until bash proposes this: on a loaded machine, the switch may answer later than a shell waits."""
        end = time.monotonic() + PATIENCE
        while (found := self.complete(*words)) != expected and time.monotonic() < end:
            pass
        self.assertEqual(found, expected)

    def test_shells_propose_names_of_the_program(self):
        self.proposed(["show"], "table", "sho")
        self.proposed(["ipv4_lpm"], "table", "show", "ipv")
        self.proposed(["by_port", "routed"], "counter", "show", "")
        self.proposed(["last_source"], "register", "set", "l")
        self.proposed(["dst=", "forward", "punt", "drop", "NoAction"], "table", "add", "ipv4_lpm", "")
        self.assertEqual(self.complete("table", "add", "ipv4_lpm", "dst", "=", ""), [])
        self.assertEqual(self.complete("table", "add", "ipv4_lpm", "dst", "="), [])
        self.assertEqual(self.complete("table", "add", "ipv4_lpm", "dst=10.0.0.0/8", "forward", "port", "="), [])
        self.assertEqual(self.complete("table", "default", "ipv4_lpm", "punt", "reason", "="), [])
        self.proposed(["forward"], "table", "add", "ipv4_lpm", "dst", "=", "10.0.0.0/8", "f")
        self.proposed(["dst="], "table", "add", "ipv4_lpm", "dst=10.0.0.0/8", "forward", "port", "=", "1", "")
        self.proposed(["protocol=", "ttl=", "priority="], "table", "delete", "acl", "src", "=", "10.0.0.1", "")
        self.proposed(["punt"], "table", "default", "ipv4_lpm", "p")
        self.proposed(["ipv4_lpm"], "table", "--server", "127.0.0.1", ":", "9559", "show", "ipv")
        # There is no such switch, and no such table.
        self.assertEqual(self.complete("table", "--server", "127.0.0.1", ":", "1", "show", "ipv"), [])
        self.assertEqual(self.complete("table", "add", "none", "d"), [])


class Balance(unittest.TestCase):
    """Meters, and tables with action profiles."""

    def setUp(self):
        self.switch = self.enterContext(Switch("balance.p4"))

    def test_meters(self):
        self.assertEqual(hopwright("meter"), "MyIngress.by_type: 8 cells\nMyIngress.by_flow: of the entries of MyIngress.flows\n")
        rates = ("cir=1000", "cburst=100", "pir=2000", "pburst=200")
        hopwright("meter", "set", "by_type", "3", *rates)
        self.assertEqual(hopwright("meter", "show", "by_type", "3"), f"3: {' '.join(rates)}\n")
        (cell,) = json.loads(hopwright("meter", "show", "by_type", "--json"))
        self.assertEqual(cell, {"index": 3, "rates": {"cir": 1000, "cburst": 100, "pir": 2000, "pburst": 200}})
        hopwright("meter", "set", "by_type", "3", "off")
        self.assertEqual(hopwright("meter", "show", "by_type"), "# 8 are off: every packet is green\n")
        hopwright("table", "add", "flows", "src=5", "color")
        hopwright("meter", "set", "by_flow", "src=5", *rates)
        self.assertIn(" ".join(rates), hopwright("meter", "show", "by_flow"))
        self.assertIn("each once, or off", hopwright("meter", "set", "by_type", "3", "cir=1", ok=False))

    def test_sets_of_actions(self):
        spread = "hdr.ethernet.dst=02:00:00:00:00:00/8 => send(port=1)*2 | send(port=3)*1"
        hopwright("table", "add", "spread", spread)
        self.assertIn(spread, hopwright("table", "show", "spread"))
        actions = json.loads(hopwright("table", "show", "spread", "--json"))["entries"][0]["actions"]
        self.assertEqual([(a["args"], a["weight"]) for a in actions], [({"port": "1"}, 2), ({"port": "3"}, 1)])
        self.assertIn("there is no member 7 (NotFound)", hopwright("table", "add", "marking", "type=0x800 => member(7)", ok=False))


class Trace(unittest.TestCase):
    """What a switch does to packets, while it forwards them."""

    engine = "jit"

    def setUp(self):
        self.switch = self.enterContext(Switch("basic.p4", "--engine", self.engine))

    def watch(self, *args):
        process = subprocess.Popen([HOPWRIGHT, "trace", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.kill)
        self.assertEqual(process.stderr.readline(), "looking at packets; stop with Ctrl-C\n")
        return process

    def test_a_packet_is_told(self):
        hopwright("table", "add", "ipv4_lpm", ROUTE)
        hopwright("table", "add", "ipv4_lpm", "dst=10.1.2.0/24 => forward(dst=0x22, port=2)")
        watch = self.watch("-n", "1")
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertIsNotNone(self.switch.receive(2))
        text = watch.communicate(timeout=PATIENCE)[0]
        self.assertEqual(watch.returncode, 0)
        for part in [
            "packet 1: 60 bytes at port 3", "extract hdr.ipv4 [14..34]", "table MyIngress.ipv4_lpm (hdr.ipv4.dst=10.1.2.3)",
            "hit (10.1.2.0/24) -> MyIngress.forward(dst=00:00:00:00:00:22, port=0x2)", "hdr.ipv4.ttl = 0x3f  (was 0x40)", "basic.p4:",
            "=> sent to port 2, 60 bytes", "out of port 2: changed bytes 0..1 5..6 11..12 22..23",
        ]:
            self.assertIn(part, text)
        self.assertNotIn("the switch itself", text)
        # The switch's own state is as one packet left it.
        self.assertEqual(hopwright("counter", "show", "by_port").splitlines()[0], "3: 1 packets, 60 bytes")
        self.assertEqual(hopwright("counter", "show", "routed"), "hdr.ipv4.dst=10.1.2.0/24: 1 packets, 60 bytes\n# 1 more are zero\n")

    def test_a_port_that_is_not_there(self):
        hopwright("table", "add", "ipv4_lpm", "dst=10.0.0.0/8 => forward(dst=0x11, port=70)")
        watch = self.watch("-n", "1")
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        text = watch.communicate(timeout=PATIENCE)[0]
        self.assertIn("=> dropped: there is no port 70 (counted as no_such_port)", text)
        self.assertNotIn("sent to port", text)
        self.assertNotIn("out of port", text)
        watch = self.watch("-n", "1", "--json")
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        packet = json.loads(watch.communicate(timeout=PATIENCE)[0])
        self.assertEqual(packet["sent"], [])
        self.assertEqual(packet["passes"][0]["copies"][0]["events"][-1], {"event": "decision", "to": "drop", "reason": "no_such_port", "port": 70})

    def test_filters(self):
        watch = self.watch("-n", "2", "--json", "--port", "1", "--where", "ipv4.dst=10.0.0.0/8", "-w", "hdr.ipv4.ttl=7")
        for port, dst, ttl in [(0, "10.0.0.1", 7), (1, "11.0.0.1", 7), (1, "10.0.0.1", 8), (1, "10.0.0.1", 7), (1, "10.2.0.1", 7)]:
            self.switch.send(port, ipv4("10.9.9.9", dst, ttl=ttl))
        self.switch.send(1, ethernet("020000000001", "020000000002", 0x0806, bytes(50)))
        packets = [json.loads(line) for line in watch.communicate(timeout=PATIENCE)[0].splitlines()]
        self.assertEqual([p["bytes"][60:68] for p in packets], ["0a000001", "0a020001"])
        self.assertEqual([p["sent"] for p in packets], [[], []])
        self.assertIn("there is no device 7", hopwright("trace", "--device-id", "7", ok=False))
        self.assertIn("the program has no header field `ipv4.dts`", hopwright("trace", "--where", "ipv4.dts=1", ok=False))

    def test_new_entries_and_registers_are_seen(self):
        watch = self.watch("-n", "2", "--json")
        self.switch.send(1, ipv4("10.9.9.9", "10.1.2.3"))
        first = json.loads(watch.stdout.readline())
        self.assertIn("miss -> MyIngress.drop()", "".join(first["trace"]))
        hopwright("table", "add", "ipv4_lpm", ROUTE)
        self.switch.send(1, ipv4("10.9.9.9", "10.1.2.3"))
        second = json.loads(watch.stdout.readline())
        self.assertEqual([s["port"] for s in second["sent"]], [1])
        # As `replay --trace --json` has it.
        tables = [[e for e in packet["passes"][0]["events"] if e["event"] == "table"][-1] for packet in (first, second)]
        self.assertEqual([(t["table"], t["hit"], t["action"]) for t in tables],
                         [("MyIngress.ipv4_lpm", False, "MyIngress.drop"), ("MyIngress.ipv4_lpm", True, "MyIngress.forward")])
        key = {"name": "hdr.ipv4.dst", "match": "lpm", "value": "10.1.2.3", "entry": "10.0.0.0/8"}
        self.assertEqual(tables[1]["keys"], [key])
        self.assertEqual(hopwright("register", "show", "last_source", "0"), "0: 168364297\n")

    def test_many_packets(self):
        watch = self.watch("--json")
        frame = ipv4("10.9.9.9", "10.1.2.3")
        for _ in range(5000):
            self.switch.send(1, frame)
        for _ in range(100):
            self.assertEqual(json.loads(watch.stdout.readline())["length"], 60)
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=PATIENCE)
        # Nobody looks any more, and somebody else may.
        for _ in range(5):
            watch = self.watch("-n", "1")
            self.switch.send(1, frame)
            self.assertIn("packet 1: 60 bytes", watch.communicate(timeout=PATIENCE)[0])


class TraceInterpreted(Trace):
    engine = "interp"


class Run(unittest.TestCase):
    """`hopwright run` says why it cannot start."""

    def setUp(self):
        for n in (0, 1):
            ip("link", "add", f"sw{n}", "type", "veth", "peer", "name", f"host{n}")
            self.addCleanup(ip, "link", "del", f"sw{n}")
        ip("link", "set", "sw0", "up")

    def refused(self, *args, program=HERE / "basic.p4", command=(HOPWRIGHT,)):
        return self.run_for(1, *args, program=program, command=command)

    def run_for(self, status, *args, program=HERE / "basic.p4", command=(HOPWRIGHT,)):
        done = subprocess.run([*command, "run", str(program), *args], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def test_interfaces(self):
        self.assertIn("there is no interface sv0: did you mean sw0?", self.refused("-i", "0@sv0"))
        self.assertIn("there is no interface ethernet0; there are host0, host1, lo, sw0, sw1", self.refused("-i", "0@ethernet0"))
        self.assertIn("sw0 is given twice: as port 0 and as port 1", self.refused("-i", "0@sw0", "-i", "1@sw0"))
        self.assertIn("port 0 is given twice: to sw0 and to sw1", self.refused("-i", "0@sw0", "-i", "0@sw1"))
        self.assertIn("port 510 is the CPU port", self.refused("-i", "510@sw0"))
        self.assertIn("600 is no port number", self.refused("-i", "600@sw0"))
        self.assertIn("expected NUMBER@INTERFACE, for example 0@eth0", self.run_for(2, "-i", "sw0"))
        self.assertIn("sw1 has no link", self.refused("-i", "0@sw1", "--stats", "/nowhere/stats.json"))

    def test_addresses_and_files(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", 9559))
            taken.listen()
            error = self.refused("-i", "0@sw0")
            self.assertIn("cannot serve P4Runtime at 127.0.0.1:9559: Address already in use", error)
            self.assertIn("see --p4runtime", error)
        self.assertIn("cannot read `/nowhere.p4`", self.refused("-i", "0@sw0", program="/nowhere.p4"))
        self.assertIn("/nowhere.pem: No such file", self.refused("-i", "0@sw0", "--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.pem"))
        self.assertIn("/nowhere/stats.json: No such file", self.refused("-i", "0@sw0", "--stats", "/nowhere/stats.json"))

    def test_permission(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            here = pathlib.Path(folder)
            for source in (HOPWRIGHT, HERE / "basic.p4"):
                target = here / pathlib.Path(source).name
                target.write_bytes(pathlib.Path(source).read_bytes())
                target.chmod(0o755)
            nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(here / pathlib.Path(HOPWRIGHT).name))
            error = self.refused("-i", "0@sw0", program=here / "basic.p4", command=nobody)
            self.assertIn("sw0: cannot open a packet socket: Operation not permitted", error)
            self.assertIn("needs root, or CAP_NET_RAW", error)


class Log(unittest.TestCase):
    """`hopwright run --log-packets`."""

    def test_packets_are_logged(self):
        with Switch("basic.p4", "--log-packets", "--cpu-port", "509") as switch:
            hopwright("table", "add", "ipv4_lpm", ROUTE)
            switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
            switch.send(0, ipv4("10.9.9.9", "11.1.2.3"))
            self.assertIsNotNone(switch.receive(1))
            output = ""
            while "dropped" not in output:
                output = switch.output()
        self.assertIn("packet of 60 bytes at port 0: to port 1", output)
        self.assertIn("packet of 60 bytes at port 0: dropped", output)


if __name__ == "__main__":
    # Who runs in the background of a shell ignores it, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest_main()
