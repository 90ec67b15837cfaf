#!/usr/bin/env python3
"""Exercises of p4lang/tutorials: their Makefiles, run_exercise.py, topologies and controllers, unchanged. Only `p4c-bm2-ss` and
`simple_switch_grpc` in PATH are ours.

Needs root, Mininet and a checkout of the tutorials (setup.sh). Names of exercises as arguments run these alone."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from names import Links

HERE = pathlib.Path(__file__).resolve().parent
TUTORIALS = HERE / ".tutorials"
PYTHON = HERE / ".venv/bin"
# A network is up after some seconds; the machine may be busy.
PATIENCE = 180.0
# Commands of Mininet's command line, and what must come.
EXERCISES = {
    "basic": ("h1 ping -c1 -W20 h2\npingall\n", r"0% dropped \(12/12 received\)"),
    # The controller pushes the program.
    "p4runtime": ("sh ./mycontroller.py > controller.log 2>&1 &\n"
                  "h1 for i in $(seq 60); do ping -c1 -W1 10.0.2.2 && break; done\n", r"64 bytes from 10\.0\.2\.2"),
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

    def exercise(self, name):
        commands, expected = EXERCISES[name]
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        shutil.copytree(TUTORIALS / "utils", root / "utils")
        shutil.copytree(TUTORIALS / "exercises" / name, root / "exercises" / name)
        here = root / "exercises" / name
        for solution in (here / "solution").iterdir():
            shutil.copy(solution, here)
        path = f"{self.links.folder}:{PYTHON}:{os.environ['PATH']}"
        # A process namespace of its own: switches end with it.
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child",
                   "sh", "-c", "ip link set lo up && exec make run"]
        done = subprocess.run(command, cwd=here, env={**os.environ, "PATH": path}, input=f"{commands}exit\n", text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
        logs = {file.name: file.read_text(errors="replace") for file in (here / "logs").glob("s*.log")}
        self.assertEqual(done.returncode, 0, f"{done.stdout}\n{logs}")
        self.assertRegex(done.stdout, expected, logs)
        return here, logs

    def test_basic(self):
        here, logs = self.exercise("basic")
        self.assertEqual(len(logs), 4)
        self.assertTrue(re.search(r"Table 'MyIngress\.ipv4_lpm': hit with handle \d", logs["s1.log"]))
        self.assertGreater((here / "pcaps/s1-eth1_in.pcap").stat().st_size, 24)

    def test_p4runtime(self):
        _, logs = self.exercise("p4runtime")
        self.assertIn("Action entry is MyIngress.myTunnel_ingress - 64,", logs["s1.log"])


if __name__ == "__main__":
    if os.geteuid() or not (TUTORIALS / "utils/run_exercise.py").exists() or not PYTHON.exists():
        why = "this needs root" if os.geteuid() else "there is no checkout of p4lang/tutorials (tests/bmv2/setup.sh clones it)"
        print(f"SKIPPED: exercises of p4lang/tutorials: {why}", file=sys.stderr)
        sys.exit(0)
    unittest.main()
