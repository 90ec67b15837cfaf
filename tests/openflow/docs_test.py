"""The commands of docs/openflow.md work as they are typed."""

import os
import pathlib
import shlex
import sys
import tempfile
import unittest

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, ROOT, run, wait_until
from lab.openflow import HERE, Host, Process

sys.path.insert(0, str(ROOT / "tests/docs"))
from pages import commands  # noqa: E402


class Commands(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="openflow-docs-")))
        # Where a user types them: the repository, with the command in the path.
        (self.folder / "bin").mkdir()
        (self.folder / "bin/hopwright").symlink_to(HOPWRIGHT)
        (self.folder / "tests").symlink_to(ROOT / "tests")
        self.environment = dict(os.environ, PATH=f"{self.folder}/bin:{os.environ['PATH']}")
        self.typed = [command for _, command in commands((ROOT / "docs/openflow.md").read_text())]

    def command(self, start):
        """The only command that begins like this."""
        found, = [command for command in self.typed if command.startswith(start)]
        return shlex.split(found)

    def start(self, name, words):
        process = Process(self.folder, name, *words, cwd=self.folder, env=self.environment)
        self.addCleanup(process.stop)
        return process

    def test_the_page(self):
        # The tests' own environment is what these commands make; they need a network.
        self.assertEqual(self.command("python3 -m venv"), ["python3", "-m", "venv", "osken"])
        pip, install, *packages = self.command("osken/bin/pip")
        self.assertEqual((pip, install), ("osken/bin/pip", "install"))
        self.assertEqual(packages, (HERE / "requirements.txt").read_text().split())
        (self.folder / "osken").symlink_to(HERE / ".venv")

        hosts = [Host(number) for number in (1, 2)]
        for host in hosts:
            self.addCleanup(host.stop)
            run("ip", "link", "set", host.device, "down")
            run("ip", "link", "set", host.device, "name", f"eth{host.number}", "up")
        controller = self.start("controller", self.command("osken/bin/python"))
        switch = self.start("switch", self.command("hopwright openflow -i 1@eth1 -i 2@eth2 --controller tcp:127.0.0.1:6653 --listen"))
        logs = lambda: controller.log.read_text() + switch.log.read_text()
        wait_until(logs, lambda: hosts[0].ping(hosts[1], check=False))

        ofctl = lambda command: run(*self.command(f"ovs-ofctl -O OpenFlow13 {command}"))
        ofctl("add-flow")
        dump = ofctl("dump-flows")
        self.assertRegex(dump, r"priority=10,udp,tp_dst=53 actions=output:2")
        self.assertRegex(dump, r"priority=0 actions=CONTROLLER:65535")
        self.assertTrue(switch.alive() and controller.alive(), logs())


if __name__ == "__main__":
    unittest_main(verbosity=2)
