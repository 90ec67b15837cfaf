#!/usr/bin/env python3
"""ID-INT between two ASes: a switch in front of a host, one between the border routers, and one in front of the other host, all with the program
for v1model or that for Tofino 2. Border routers are ours and the reference's, on either side.

A stream of SCION packets with hop fields that verify arrives as it was sent, and the collector of `examples/int_collector` prints the path of each.
Needs root, in a network namespace of its own, and the reference's router (`make test-int`).
Exit status: 0 if everything passed, 1 if something failed."""

import base64
import json
import os
import pathlib
import struct
import sys
import tempfile
import time

from lab.cases import case_options, choose, status_of
from lab.command import HOPWRIGHT, PATIENCE, ROOT, LabError, wait_until
from lab.netns import End, Namespace, veth
from lab.process import Process, has_port
from lab.router import RouterKind, wait_ready
from lab.scion import cmac, hop_key, isd_as, udp_socket
from scion_stf import HALVES, INSTRUCTIONS, PRESENT, WORDS

assert sum(HALVES) == 10
AS = {"a": "1-ff00:0:110", "b": "1-ff00:0:111"}
HOSTS = {"a": "10.0.0.2", "b": "10.3.0.2"}
SWITCH, COLLECTOR_MAC = "02:00:00:00:00:aa", "02:00:00:00:00:0c"
# Ends of the three links by namespace, device, address and Ethernet address: port 1 and port 2 of a switch lead there.
LINKS = [(("ha", "eth0", HOSTS["a"], "02:00:00:00:00:01"), ("a", "in", "10.0.0.1", "02:00:00:00:00:02")),
         (("a", "out", "10.1.0.1", "02:00:00:00:00:03"), ("b", "out", "10.1.0.2", "02:00:00:00:00:04")),
         (("b", "in", "10.3.0.1", "02:00:00:00:00:05"), ("hb", "eth0", HOSTS["b"], "02:00:00:00:00:06"))]
# Of which AS each switch is.
NODES = ["a", "b", "b"]
INTERNAL, LINK, DISPATCHER, PORT = 30042, 50000, 30041, 31000
COUNT = 20


class Network:
    """The namespaces with what runs in them; switches are in the first one's."""

    def __init__(self, folder, architecture, kinds):
        self.folder, self.architecture = folder, architecture
        self.kinds, self.processes = kinds, {}
        self.prefix = f"hwi{os.getpid()}-"
        self.namespaces = {name: Namespace(self.prefix + name, ipv6=False) for name in ("ha", "a", "b", "hb", "c", "s")}

    def close(self):
        for process in self.processes.values():
            process.stop()
        for namespace in self.namespaces.values():
            namespace.remove()

    def begin(self):
        switches = self.namespaces["s"]
        for number, ends in enumerate(LINKS, 1):
            for port, (name, device, address, mac) in enumerate(ends, 1):
                other = ends[2 - port][2]
                neighbours = ((other, SWITCH),)
                veth(End(self.namespaces[name], device, (f"{address}/24",), mac, neighbours), End(switches, f"s{number}p{port}"), 1500)
        veth(End(self.namespaces["c"], "eth0", ("10.9.0.2/24",), COLLECTOR_MAC), End(switches, "s3p3"), 1500)
        for number in range(1, 4):
            entries = self.folder / f"s{number}.stf"
            entries.write_text(self.entries(number))
            ports = [word for port in ([1, 2, 3] if number == 3 else [1, 2]) for word in ("-i", f"{port}@s{number}p{port}")]
            program = ROOT / f"p4/int/scion_{self.architecture}.p4"
            self.start(f"s{number}", "s", [HOPWRIGHT, "run", program, "--entries", entries, "--no-p4runtime", *ports])
        # It compiles its program, which takes minutes on a busy machine.
        for number in range(1, 4):
            wait_until(f"switch {number}", lambda n=number: "stop with Ctrl-C" in self.said(f"s{n}"), 5 * PATIENCE)
        self.start("reports", "c", [sys.executable, ROOT / "examples/int_collector/collector.py", "--json", "--listen", "10.9.0.2:54321"])
        wait_until("the collector", lambda: has_port(self.processes["reports"].pid, 54321), PATIENCE)
        for side in ("a", "b"):
            self.router(side)

    def start(self, name, namespace, command):
        self.processes[name] = Process(name, [str(word) for word in command], self.folder / f"{name}.log", namespace=self.namespaces[namespace])

    def said(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def reports(self):
        return [json.loads(line) for line in self.said("reports").splitlines() if line.startswith("{")]

    def entries(self, number):
        """A switch: the first one watches packets for the other AS, the last one is where they leave the domain."""
        node = AS[NODES[number - 1]]
        lines = [f"setdefault Out.ScionNode.identity set_node(node_id:{number}, isd_as:0x{isd_as(node).hex()}, ipv4:10.9.0.{number})"]
        parsers = ["InParser.headers.underlay", "OutParser.headers.underlay"] if self.architecture == "tna" else ["underlay"]
        lines += [f"value_set_write {name} {INTERNAL} {LINK} {DISPATCHER} {PORT}" for name in parsers]
        for port, (_, _, address, mac) in enumerate(LINKS[number - 1], 1):
            lines.append(f"add In.routes hdr.ipv4.dst:{address}/32 send(src:{SWITCH}, dst:{mac}, port:{port})")
        if number == 1:
            codes = ", ".join(f"instruction{n}:{code:#04x}" for n, code in enumerate(INSTRUCTIONS, 1))
            lines.append(f"add Out.ScionNode.flows 1 hdr.scion.dst_ia:0x{isd_as(AS['b']).hex()} watch(flags:{PRESENT}, {codes}, "
                         f"stack_words:{4 * WORDS}, entry_words:{WORDS}, fill_words:{3 * WORDS}, bytes:{24 + 16 * WORDS})")
        if number == 3:
            egress = "tm.ucast_egress_port" if self.architecture == "tna" else "std.egress_spec"
            lines += ["mirroring_add 5 3", f"add In.sinks {egress}:2 leave_domain(session:5)",
                      f"setdefault Out.Report.collector to_collector(src:{SWITCH}, dst:{COLLECTOR_MAC}, from:10.9.0.1, to:10.9.0.2, port:54321)"]
        return "\n".join(lines) + "\n"

    def router(self, side):
        """A border router. Its AS's other services are in front of nobody."""
        conf = self.folder / side
        (conf / "keys").mkdir(parents=True)
        for number in (0, 1):
            (conf / "keys" / f"master{number}.key").write_text(base64.b64encode(f"master of AS {side}..".encode()).decode())
        local, remote = ("10.1.0.1", "10.1.0.2") if side == "a" else ("10.1.0.2", "10.1.0.1")
        (conf / "topology.json").write_text(json.dumps({
            "isd_as": AS[side], "mtu": 1400, "attributes": [], "dispatched_ports": "31000-32767",
            "border_routers": {"r": {"internal_addr": f"{'10.0.0.1' if side == 'a' else '10.3.0.1'}:{INTERNAL}", "interfaces": {"1": {
                "isd_as": AS["b" if side == "a" else "a"], "link_to": "child" if side == "a" else "parent", "mtu": 1400,
                "underlay": {"local": f"{local}:{LINK}", "remote": f"{remote}:{LINK}"}}}}},
            "control_service": {"cs": {"addr": f"{HOSTS[side]}:30252"}}}))
        (conf / "router.toml").write_text(f'[general]\nid = "r"\nconfig_dir = "{conf}"\n[router.bfd]\ndisable = true\n')
        kind = RouterKind(self.kinds[side])
        self.processes[side] = kind.start(side, self.namespaces[side], conf / "router.toml", self.folder / f"{side}.log",
                                          self.folder / f"{side}.json")
        wait_ready(self.processes[side])

    def packet(self, payload):
        """From one host to the other: a segment of two hops down."""
        begin, seg_id, hops = int(time.time()) - 10, 0x1234, b""
        chain = seg_id
        for side, (ingress, egress) in (("a", (0, 1)), ("b", (1, 0))):
            key = hop_key(self.folder / side / "keys/master0.key")
            mac = cmac(key, struct.pack("!HHIBBHHH", 0, chain, begin, 0, 63, ingress, egress, 0))[:6]
            hops += struct.pack("!BBHH", 0, 63, ingress, egress) + mac
            chain ^= struct.unpack("!H", mac[:2])[0]
        path = struct.pack("!I", 2 << 12) + struct.pack("!BBHI", 1, 0, seg_id, begin) + hops
        hosts = bytes(int(part) for side in ("b", "a") for part in HOSTS[side].split("."))
        addresses = isd_as(AS["b"]) + isd_as(AS["a"]) + hosts
        udp = struct.pack("!HHHH", 40000, PORT, 8 + len(payload), 0) + payload
        return struct.pack("!IBBHBBH", 1, 17, (12 + len(addresses) + len(path)) // 4, len(udp), 1, 0, 0) + addresses + path + udp

    def check(self):
        out = udp_socket(self.namespaces["ha"], HOSTS["a"], INTERNAL)
        inlet = udp_socket(self.namespaces["hb"], HOSTS["b"], PORT)
        inlet.settimeout(PATIENCE)
        for number in range(COUNT):
            payload = f"packet {number} of a stream".encode()
            sent = self.packet(payload)
            out.sendto(sent, ("10.0.0.1", INTERNAL))
            came = inlet.recv(9000)
            # The routers move the path on; everything else is as it was sent.
            at = 28 + 8
            assert came[:at] == sent[:at] and came[-len(payload) - 8:] == sent[-len(payload) - 8:] and len(came) == len(sent), (sent, came)
        wait_until("the reports", lambda: len(self.reports()) >= COUNT, PATIENCE)
        reports = self.reports()
        assert [report["sequence"] for report in reports] == list(range(COUNT)), reports
        for report in reports:
            assert report["source"] == [AS["a"], HOSTS["a"]] and report["destination"] == [AS["b"], HOSTS["b"]], report
            hops = report["hops"]
            assert [(hop["as"], hop["node_id"], hop["hop"]) for hop in hops] == [(AS["a"], 1, 0), (AS["b"], 2, 1), (AS["b"], 3, 1)], report
            assert [hop["source"] for hop in hops] == [True, False, False] and all((hop["ingress"], hop["egress"]) == (1, 2) for hop in hops), report
            assert all(0 <= hop["latency_ns"] < PATIENCE * 10**9 for hop in hops), report
            assert report["words_left"] == WORDS and not report["exceeded"], report


def run(architecture, kinds):
    with tempfile.TemporaryDirectory() as folder:
        network = Network(pathlib.Path(folder), architecture, kinds)
        try:
            network.begin()
            network.check()
            print(f"{architecture}, border routers {kinds['a']} and {kinds['b']}: passed", flush=True)
        except (AssertionError, LabError, TimeoutError):
            for log in sorted(network.folder.glob("*.log")):
                print(f"== {log.stem}\n{log.read_text(errors='replace')}", file=sys.stderr)
            raise
        finally:
            network.close()


def main() -> int:
    kinds = {"v1model": {"a": "hopwright", "b": "reference"}, "tna": {"a": "reference", "b": "hopwright"}}
    names = choose(case_options(__doc__).parse_args(), kinds)
    return status_of("ID-INT", lambda: any([run(name, kinds[name]) for name in names]))


if __name__ == "__main__":
    sys.exit(main())
