#!/usr/bin/env python3
"""The examples of agents, as tenants and alone: the kernel resolves addresses that one answers for, and pings that of the other."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, wait_until
from lab.netns import ip
from lab.switch import veth
from lab.tenants import Lab

EXAMPLES = pathlib.Path(HOPWRIGHT).parent / "examples"
RESPONDER, ECHO = EXAMPLES / "arp_responder", EXAMPLES / "echo_responder"
FIRST, SECOND = ("10.9.0.1", "02:00:00:00:00:01"), ("10.9.0.3", "02:00:00:00:00:03")
TENANT = """
[[tenant]]
name = "arp"
ports = { 1 = "sw0" }
agent = { kind = "arp", hosts = "hosts" }
[metrics]
address = "127.0.0.1:9090"
"""


def resolved(address):
    """The neighbour's MAC address as the kernel learnt it by host0, if it did."""
    with_socket = f"import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('{address}', 9))"
    subprocess.run(["python3", "-c", with_socket], check=True)
    found = subprocess.run(["ip", "-json", "neigh", "show", "to", address, "dev", "host0"], capture_output=True, text=True, check=True)
    return next((n.get("lladdr") for n in json.loads(found.stdout or "[]")), None)


def ping():
    """The address answers requests of several sizes; the kernel checks the checksums."""
    for size in (0, 57, 1472):
        command = ["ping", "-q", "-c", "1", "-W", "10", "-s", str(size), "10.9.0.1"]
        wait_until(f"10.9.0.1 answers {size} bytes", lambda: subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0)


class Agent(unittest.TestCase):
    def expect(self, host):
        address, mac = host
        wait_until(f"{address} is resolved", lambda: resolved(address) == mac)

    def counts(self, lab, what, least):
        """Agents are counted a moment after they have answered."""
        wait_until(f"{least} {what}", lambda: float(lab.metrics().get(f'hopwright_{what}_total{{tenant="arp"}}', 0)) >= least)

    def test_as_a_tenant(self):
        lab = Lab(TENANT, devices=1, command=(RESPONDER, "switch"))
        hosts = lab.folder / "hosts"
        hosts.write_text(" ".join(FIRST) + "\n")
        with lab:
            ip("addr", "add", "10.9.0.2/24", "dev", "host0")
            self.expect(FIRST)
            # A file with an error changes nothing.
            hosts.write_text("10.9.0.3 nowhere\n")
            lab.reload()
            wait_until("the file is refused", lambda: "expected an address and a MAC address" in lab.output())
            hosts.write_text(" ".join(SECOND) + "\n")
            lab.reload()
            self.expect(SECOND)
            self.counts(lab, "arp_answers", 2)

    def test_settings_are_checked(self):
        lab = Lab(TENANT.replace('hosts = "hosts"', 'host = "hosts"'), command=(RESPONDER, "switch"))
        done = subprocess.run([*lab.command, lab.file], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("expected one setting, `hosts`", done.stderr)

    def test_alone(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-agent-"))
        hosts, log = folder / "hosts", folder / "log"
        hosts.write_text(" ".join(FIRST) + "\n")
        veth("sw0", "host0").close()
        ip("addr", "add", "10.9.0.2/24", "dev", "host0")
        with log.open("w") as out:
            process = subprocess.Popen([RESPONDER, "alone", hosts, "1@sw0"], stdout=out, stderr=out, env=os.environ)
        try:
            self.expect(FIRST)
            hosts.write_text(" ".join(SECOND) + "\n")
            process.send_signal(signal.SIGHUP)
            self.expect(SECOND)
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0, log.read_text())
            self.assertIn("hopwright_arp_answers_total", log.read_text())
        finally:
            process.kill()
            process.wait()
            ip("link", "del", "sw0")

    def test_echo_as_a_tenant(self):
        agent = 'agent = { kind = "echo", address = "10.9.0.1" }'
        lab = Lab(TENANT.replace('agent = { kind = "arp", hosts = "hosts" }', agent), devices=1, command=(ECHO, "switch"))
        with lab:
            ip("addr", "add", "10.9.0.2/24", "dev", "host0")
            ping()
            self.counts(lab, "echo_requests", 3)

    def test_echo_alone(self):
        veth("sw0", "host0").close()
        ip("addr", "add", "10.9.0.2/24", "dev", "host0")
        process = subprocess.Popen([ECHO, "alone", "10.9.0.1", "sw0"])
        try:
            ping()
            process.terminate()
            self.assertEqual(process.wait(PATIENCE), 0)
        finally:
            process.kill()
            process.wait()
            ip("link", "del", "sw0")


if __name__ == "__main__":
    unittest_main()
