#!/usr/bin/env python3
"""The exercises of p4lang/tutorials: their Makefiles, run_exercise.py, topologies and controllers, unchanged. Only `p4c-bm2-ss` and
`simple_switch_grpc` in PATH are ours.

Needs root, Mininet and a checkout of the tutorials (setup.sh). `Tutorials.test_basic` and the like as arguments run these alone."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from lab.cases import unittest_main
from names import Links

HERE = pathlib.Path(__file__).resolve().parent
TUTORIALS = HERE / ".tutorials"
PYTHON = HERE / ".venv/bin"
# A network is up after some seconds; the machine may be busy.
PATIENCE = 300.0


def until(condition: str, command: str = "", seconds: int = 60) -> str:
    """Shell commands that repeat one, once a second, until a condition holds."""
    return f"for i in $(seq {seconds}); do {command + '; ' if command else ''}if {condition}; then break; fi; sleep 1; done"


# Commands of Mininet's command line.
RECEIVE = "h2 ./receive.py > h2.log 2>&1 &"
# Traffic from h11 to h22 fills the link between their switches, to which the topologies give 0.5 Mbit/s.
CONGESTION = [RECEIVE, "h22 iperf -s -u > iperf.log 2>&1 &", "h11 iperf -c 10.0.2.22 -t 300 -u > client.log 2>&1 &"]
EXERCISES = {
    "basic": ["h1 ping -c1 -W20 h2", "pingall"],
    # To h2's address, through the tunnel to h3.
    "basic_tunnel": [
        RECEIVE, RECEIVE.replace("h2", "h3"),
        "h1 " + until("grep -q dst_id h3.log", "./send.py 10.0.2.2 hello --dst_id 3 > send.log 2>&1")],
    "calc": [r"h1 printf '2+3\n9-4\n12&10\n12|3\n6^3\nquit\n' | python3 calc.py"],
    "ecn": [*CONGESTION, "h1 " + until('grep -q "tos  *= 0x3" h2.log', './send.py 10.0.2.2 "P4 is cool" 1 > send.log 2>&1')],
    "firewall": [
        "h3 iperf -s > h3.log 2>&1 &", "h1 iperf -s > h1.log 2>&1 &",
        "h1 " + until("grep -q bits/sec out.log", "timeout -s KILL 20 iperf -c 10.0.3.3 -t 1 > out.log 2>&1"),
        "h3 timeout -s KILL 15 iperf -c 10.0.1.1 -t 1 > in.log 2>&1"],
    "flowcache": ["sh ./mycontroller.py > controller.log 2>&1 &", "h1 " + until("ping -c1 -W1 10.0.2.2")],
    "link_monitor": [
        "h1 ./receive.py > probes.log 2>&1 &", "h1 ./send.py > send.log 2>&1 &", "h4 iperf -s -u > iperf.log 2>&1 &",
        "h1 iperf -c 10.0.4.4 -t 120 -u > client.log 2>&1 &",
        "h1 " + until('grep -qE "Switch 1 - Port 4: [0-9.]*[1-9]" probes.log')],
    "load_balance": [
        RECEIVE, RECEIVE.replace("h2", "h3"),
        "h1 " + until("grep -q got h2.log && grep -q got h3.log", "./send.py 10.0.0.1 hello > send.log 2>&1")],
    "mri": [*CONGESTION, "h1 " + until('grep -qE "qdepth *= [1-9][0-9]" h2.log', './send.py 10.0.2.2 "P4 is cool" 1 > send.log 2>&1')],
    "multicast": ["h1 ping -c1 -W20 h2", "pingall"],
    # The controller pushes the program.
    "p4runtime": ["sh ./mycontroller.py > controller.log 2>&1 &", "h1 " + until("ping -c1 -W1 10.0.2.2")],
    "qos": [RECEIVE] + [
        "h1 " + until(f'grep -q "tos  *= {tos}" h2.log', f"./send.py --p={protocol} --des=10.0.2.2 --m=hello --dur=1 > send.log 2>&1")
        for protocol, tos in (("UDP", "0xb9"), ("TCP", "0xb1"))],
    "source_routing": [RECEIVE, "h1 " + until("grep -q got h2.log", r"printf '2 3 2 2 1\nq\n' | ./send.py 10.0.2.2 > send.log 2>&1")],
}


class Tutorials(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.links = Links()
        cls.addClassCleanup(cls.links.cleanup)
        # The tests are root already; sudo of distributions would look for Python elsewhere.
        sudo = cls.links.folder / "sudo"
        sudo.write_text('#!/bin/sh\nexec env "$@"\n')
        sudo.chmod(0o755)

    def folder_of(self, name):
        """A copy of an exercise, with its solution."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for part in ("bin", "utils", f"exercises/{name}"):
            shutil.copytree(TUTORIALS / part, root / part)
        here = root / "exercises" / name
        for solution in (here / "solution").iterdir():
            shutil.copy(solution, here)
        return here

    def make(self, here, target, commands=""):
        """Runs a target of the exercise's Makefile."""
        path = f"{self.links.folder}:{PYTHON}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONUNBUFFERED": "1"}
        # A process namespace of its own: switches end with it.
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
                   "sh", "-c", f"ip link set lo up && exec make {target}"]
        return subprocess.run(command, cwd=here, env=environment, input=commands, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=PATIENCE)

    def exercise(self, name):
        """Runs an exercise in Mininet. Returns what it printed, and the files that it leaves, by name."""
        here = self.folder_of(name)
        if name == "multicast":
            shutil.copy(here / "s1-runtime.json", here / "sig-topo")
        done = self.make(here, "run", "\n".join([*EXERCISES[name], "exit\n"]))
        files = {str(file.relative_to(here)): file.read_text(errors="replace") for file in here.rglob("*.log")}
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{files}")
        self.files = files
        return done.stdout, files

    def assertFound(self, pattern, text):
        self.assertTrue(re.search(pattern, text), f"no {pattern} in:\n{text[-4000:]}\n{ {n: t[-2000:] for n, t in self.files.items()} }")

    def test_basic(self):
        out, files = self.exercise("basic")
        self.assertFound(r"0% dropped \(12/12 received\)", out)
        self.assertFound(r"Table 'MyIngress\.ipv4_lpm': hit with handle \d", files["logs/s1.log"])

    def test_p4runtime(self):
        out, files = self.exercise("p4runtime")
        self.assertFound(r"64 bytes from 10\.0\.2\.2", out)
        self.assertIn("Action entry is MyIngress.myTunnel_ingress - 64,", files["logs/s1.log"])

    def test_basic_tunnel(self):
        _, files = self.exercise("basic_tunnel")
        self.assertFound(r"dst_id *= 3", files["h3.log"])
        self.assertNotIn("dst_id", files["h2.log"])

    def test_calc(self):
        out, _ = self.exercise("calc")
        self.assertEqual(re.findall(r"^(\d+)\r?$", out, re.MULTILINE), ["5", "5", "8", "15", "5"], out)

    def test_ecn(self):
        _, files = self.exercise("ecn")
        self.assertFound(r"tos *= 0x3", files["h2.log"])

    def test_firewall(self):
        _, files = self.exercise("firewall")
        self.assertFound(r"bits/sec", files["out.log"])
        self.assertNotIn("bits/sec", files["in.log"])

    def test_flowcache(self):
        out, files = self.exercise("flowcache")
        self.assertFound(r"64 bytes from 10\.0\.2\.2", out)
        self.assertFound(r"hit with handle", files["logs/s1.log"])

    def test_link_monitor(self):
        _, files = self.exercise("link_monitor")
        self.assertFound(r"Switch 1 - Port 4: [0-9.]*[1-9]", files["probes.log"])

    def test_load_balance(self):
        _, files = self.exercise("load_balance")
        for host in ("h2", "h3"):
            self.assertFound("got a packet", files[f"{host}.log"])

    def test_mri(self):
        _, files = self.exercise("mri")
        # The last switch comes first; s1 is the one before the slow link.
        queues = [int(depth) for depth in re.findall(r"swid *= 1\s+qdepth *= (\d+)", files["h2.log"].replace("|", " "))]
        self.assertGreaterEqual(max(queues, default=0), 10, files["h2.log"])
        self.assertRegex(files["h2.log"], r"swid *= 2")

    def test_multicast(self):
        out, _ = self.exercise("multicast")
        self.assertFound(r"0% dropped \(12/12 received\)", out)

    def test_qos(self):
        _, files = self.exercise("qos")
        for tos in ("0xb9", "0xb1"):
            self.assertFound(f"tos *= {tos}", files["h2.log"])

    def test_source_routing(self):
        _, files = self.exercise("source_routing")
        # Five switches have counted it down from 64.
        self.assertFound(r"ttl *= 59", files["h2.log"])

    def test_ptf(self):
        """The tests of exercises, with PTF."""
        for name in ("basic", "basic_tunnel"):
            with self.subTest(name):
                # The status is that of a `ps | grep` at the end, which may find itself or nothing.
                done = self.make(self.folder_of(name), "test")
                self.assertRegex(done.stdout, r"(?m)^OK", done.stdout)


if __name__ == "__main__":
    if os.geteuid() or not (TUTORIALS / "utils/run_exercise.py").exists() or not PYTHON.exists():
        why = "this needs root" if os.geteuid() else "there is no checkout of p4lang/tutorials (tests/bmv2/setup.sh clones it)"
        print(f"SKIPPED: exercises of p4lang/tutorials: {why}", file=sys.stderr)
        sys.exit(0)
    unittest_main()
