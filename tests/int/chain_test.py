#!/usr/bin/env python3
"""Three routers with INT in a row, between two hosts: a source, a transit node and a sink, each with the program for v1model or with that for
Tofino. The destination gets the datagrams of the source as they were sent, and the collector of `examples/int_collector` their path.

Needs root, in a network namespace of its own (`make test-int`). Exit status: 0 if everything passed."""

import json
import pathlib
import subprocess
import sys
import tempfile

from lab.cases import case_options, choose, status_of
from lab.command import HOPWRIGHT, ROOT, LabError, wait_until
from lab.netns import ip
from lab.process import has_port

PATIENCE = 60
SOURCE, DESTINATION, COLLECTOR = "10.0.0.1", "10.0.1.2", "10.0.255.2"
MACS = {"h1": "02:00:00:00:00:01", "h2": "02:00:00:00:00:02", "c": "02:00:00:00:00:0c"}
ROUTER = "02:00:00:00:00:aa"
PORT = 5000
# Switch id, ports, latency, times.
INSTRUCTIONS, WORDS = 0xec00, 7
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{source}", 4000))
s.sendto(sys.argv[1].encode(), ("{destination}", int(sys.argv[2])))
"""
RECEIVE = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("{destination}", int(sys.argv[1])))
print("listening", flush=True)
while True:
    data, (address, port) = s.recvfrom(9000)
    print(address, port, data.decode(), flush=True)
"""


class Network:
    """Hosts in namespaces, and routers of one architecture."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []

    def begin(self, architecture):
        for name, peer, address in (("h1", "s1p1", SOURCE), ("h2", "s3p2", DESTINATION), ("c", "s3p7", COLLECTOR)):
            ip("netns", "add", name)
            ip("link", "add", peer, "type", "veth", "peer", "name", "eth0", "netns", name, "address", MACS[name])
            ip("link", "set", peer, "up")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "route", "add", "default", "dev", "eth0")
            for other in (SOURCE, DESTINATION):
                if other != address:
                    ip("-n", name, "neigh", "add", other, "lladdr", ROUTER, "dev", "eth0")
        for left, right in (("s1p2", "s2p1"), ("s2p2", "s3p1")):
            ip("link", "add", left, "type", "veth", "peer", "name", right)
            ip("link", "set", left, "up")
            ip("link", "set", right, "up")
        program = ROOT / f"p4/int/int_{architecture}.p4"
        for number in (1, 2, 3):
            commands = self.folder / f"s{number}.txt"
            commands.write_text(self.commands(number))
            ports = ["1", "2"] + (["7"] if number == 3 else [])
            self.start(f"s{number}", [HOPWRIGHT, "run", program, "--entries", commands, "--p4runtime", f"127.0.0.1:{9560 + number}"]
                       + [word for port in ports for word in ("-i", f"{port}@s{number}p{port}")])
        python = ["ip", "netns", "exec"]
        collector = ROOT / "examples/int_collector/collector.py"
        collecting = self.start("reports", [*python, "c", sys.executable, collector, "--json", "--listen", f"{COLLECTOR}:54321"])
        self.start("received", [*python, "h2", sys.executable, "-c", RECEIVE.format(destination=DESTINATION), str(PORT)])
        for number in (1, 2, 3):
            wait_until(f"router {number}", lambda n=number: "stop with Ctrl-C" in self.said(f"s{n}"), 5 * PATIENCE)
        wait_until("the receiver", lambda: "listening" in self.said("received"), PATIENCE)
        wait_until("the collector", lambda: has_port(collecting.pid, 54321), PATIENCE)

    @staticmethod
    def commands(number):
        """Tables of a router: the first one watches a flow, the third one is where it leaves the domain."""
        to_h2 = MACS["h2"] if number == 3 else ROUTER
        lines = [f"table_set_default Out.Node.identity set_switch_id {number * 0x11}",
                 f"table_add In.routes send {DESTINATION}/32 => {ROUTER} {to_h2} 2"]
        if number == 1:
            lines.append(f"table_add Out.Node.flows watch {SOURCE}&&&255.255.255.255 {DESTINATION}&&&255.255.255.255 17&&&255 0&&&0 "
                         f"{PORT}&&&65535 => 8 {INSTRUCTIONS} {WORDS} 1")
        if number == 3:
            lines += ["mirroring_add 5 7", "table_add In.sinks leave_domain 2 => 5",
                      f"table_set_default Out.Report.collector to_collector {ROUTER} {MACS['c']} 10.0.255.1 {COLLECTOR} 54321"]
        return "\n".join(lines) + "\n"

    def start(self, name, command):
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def said(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def send(self, text, port=PORT):
        subprocess.run(["ip", "netns", "exec", "h1", sys.executable, "-c", SEND.format(source=SOURCE, destination=DESTINATION), text, str(port)],
                       check=True)

    def reports(self):
        return [json.loads(line) for line in self.said("reports").splitlines() if line.startswith("{")]

    def stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(PATIENCE)
        for name in ("h1", "h2", "c"):
            ip("netns", "del", name)
        for link in ("s1p2", "s2p2"):
            ip("link", "del", link)


def run(architecture):
    with tempfile.TemporaryDirectory() as folder:
        network = Network(pathlib.Path(folder))
        try:
            network.begin(architecture)
            for text in ("first", "second"):
                network.send(text)
                wait_until(f"{architecture}: the datagram", lambda t=text: f"{SOURCE} 4000 {t}\n" in network.said("received"), PATIENCE)
            # Another flow is not reported: its answer is that of the port that nobody listens at, so only the reports' number can tell.
            network.send("other", port=PORT + 1)
            network.send("last")
            wait_until(f"{architecture}: the last datagram", lambda: "last\n" in network.said("received"), PATIENCE)
            wait_until(f"{architecture}: three reports", lambda: len(network.reports()) >= 3, PATIENCE)
            reports = network.reports()
            assert [report["sequence"] for report in reports] == [0, 1, 2], reports
            for report in reports:
                assert report["source"] == [SOURCE, 4000] and report["destination"] == [DESTINATION, PORT], report
                assert [hop["switch_id"] for hop in report["hops"]] == [0x11, 0x22, 0x33], report
                assert all(hop["ports"] == {"ingress": 1, "egress": 2} for hop in report["hops"]), report
                assert all(hop["egress_ns"] - hop["ingress_ns"] == hop["latency_ns"] for hop in report["hops"]), report
                assert report["hops_left"] == 5 and not report["exceeded"], report
            print(f"{architecture}: passed")
        except (AssertionError, LabError):
            for log in sorted(network.folder.glob("*.log")):
                print(f"== {log.stem}\n{network.said(log.stem)}", file=sys.stderr)
            raise
        finally:
            network.stop()


def main() -> int:
    names = choose(case_options(__doc__).parse_args(), ("v1model", "tna"))
    return status_of("INT", lambda: any([run(name) for name in names]))


if __name__ == "__main__":
    sys.exit(main())
