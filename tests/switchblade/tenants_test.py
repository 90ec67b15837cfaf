#!/usr/bin/env python3
"""The platform and the Path Splicing router as tenants of one switch, and tenants whose flows handlers decide."""

import time
import unittest

from handler import Handler
from lab.cases import unittest_main
from lab.command import ROOT, hopwright
from lab.frames import ethernet, ipv4, splicing, udp
from lab.tenants import P4RUNTIME, Certificates, Lab
from protocols import FourProtocols

PORTS = 'ports = { 0 = "sw0", 1 = "sw1", 2 = "sw2", 3 = "sw3" }'
ROUTER = "020000000101"
VDP = 10
NEW_FLOWS = 20_000

SPLICING = f"""
add ports std.ingress_port:0 receive(mac:0x{ROUTER}, hash_seed:0)
add next_hops meta.next_hop:1 forward(port:1, src:0x{ROUTER}, dst:0x060000000001, mtu:1500)
add next_hops meta.next_hop:2 forward(port:2, src:0x{ROUTER}, dst:0x060000000002, mtu:1500)
add routes_ipv4 hdr.ipv4.dst:0x0a000000/8 via(next_hop:1, route:1)
add routes_spliced meta.slice:1 hdr.ipv4.dst:0x0a000000/8 via(next_hop:2, route:2)
"""
DECIDED = """
add vdps mac:0x{mac} select_vdp(vdp:10, mode:4, modules:0, preprocessor:0)
add neighbours vdp:10 neighbour:1 resolve(src:0x{mac}, dst:0x060000000001)
"""


def tenant(name, number, program, macs, more=""):
    matches = ", ".join(f'{{ mac = "{mac}" }}' for mac in (":".join(m[i : i + 2] for i in range(0, 12, 2)) for m in macs))
    return f"""
[[tenant]]
name = "{name}"
program = "{{root}}/p4/{program}"
entries = "{name}.stf"
{PORTS}
match = [{matches}]
device_id = {number}
{more}
"""


def flow(mac, number):
    """The first packet of a flow."""
    return ethernet(mac, 0x0800, ipv4(f"192.{number >> 16}.{number >> 8 & 255}.{number & 255}", "10.1.0.1", udp(1000, 2000)))


class Tenants(FourProtocols, unittest.TestCase):
    def setUp(self):
        protocols = [f"0200000000{n:02x}" for n in range(1, 5)]
        lab = Lab(
            tenant("protocols", 1, "switchblade/platform.p4", protocols)
            + tenant("splicing", 2, "router/path_splicing.p4", [ROUTER])
            + tenant("left", 3, "switchblade/platform.p4", ["02000000000a"], "cpu_queue = 256")
            + tenant("right", 4, "switchblade/platform.p4", ["02000000000b"])
            + f'[p4runtime]\naddress = "{P4RUNTIME}"\n[metrics]\naddress = "127.0.0.1:9090"\n',
            devices=4,
        )
        four = (ROOT / "p4/switchblade/four_protocols.stf").read_text()
        decided = {name: DECIDED.format(mac=mac) for name, mac in (("left", "02000000000a"), ("right", "02000000000b"))}
        for name, text in {"protocols": four, "splicing": SPLICING, **decided}.items():
            (lab.folder / f"{name}.stf").write_text(text)
        self.lab = self.enterContext(lab)
        self.send, self.receive = lab.send, lab.receive

    def check_splicing(self):
        """Slice 0 by port 1, slice 1 by port 2."""
        for indices, port in ((0, 1), (0b01, 2), (0b0101, 2), (0b0110, 1)):
            packet = lambda indices, ttl: ipv4("192.0.2.1", "10.1.0.1", splicing(indices, udp(1, 2)), protocol=253, ttl=ttl)
            expected = ethernet(f"06000000000{port}", 0x0800, packet(indices >> 2, 63), src=ROUTER)
            self.forwards(ethernet(ROUTER, 0x0800, packet(indices, 64)), port, expected)

    def decisions(self, number):
        shown = hopwright("table", "--server", P4RUNTIME, "--device-id", number, "show", "exact_key")
        return sum("=>" in line and "key=" in line for line in shown.splitlines())

    def test_protocols_of_several_tenants(self):
        for _ in range(2):
            self.check_four_protocols()
            self.check_splicing()

    def test_each_handler_decides_for_its_tenant(self):
        with Handler(P4RUNTIME, VDP, "--device-id", "3") as left, Handler(P4RUNTIME, VDP, "--device-id", "4") as right:
            for number in range(50):
                self.send(0, flow("02000000000a", number))
                self.assertIsNotNone(self.receive(1))
            for number in range(20):
                self.send(0, flow("02000000000b", number))
                self.assertIsNotNone(self.receive(1))
            self.assertEqual((self.decisions(3), self.decisions(4)), (50, 20))
        self.assertEqual((left.counts["decisions"], right.counts["decisions"]), (50, 20))
        self.check_splicing()

    def test_a_flood_of_new_flows_disturbs_no_other_tenant(self):
        with Handler(P4RUNTIME, VDP, "--device-id", "3", "--waiting", "1024"), Handler(P4RUNTIME, VDP, "--device-id", "4"):
            known = flow("02000000000b", 1)
            self.send(0, known)
            self.assertIsNotNone(self.receive(1))
            sent = arrived = 0
            for number in range(NEW_FLOWS):
                self.send(0, flow("02000000000a", number))
                if number % 100 == 0:
                    # One packet of a flow that is decided, and one of a new one.
                    self.send(0, known)
                    self.send(0, flow("02000000000b", 2 + number))
                    sent += 2
                time.sleep(0.0001)
            while (frame := self.receive(1, 2 if arrived == sent else 20)) is not None:
                arrived += frame[6:12].hex() == "02000000000b"
            self.assertEqual(arrived, sent)
            self.assertEqual(self.decisions(4), 1 + NEW_FLOWS // 100)
            left = self.lab.show("left")["counts"]
            beside = f"{left['received_packets']} packets of new flows of another tenant, {left['sent_packets']} of them forwarded"
            print(f"beside {beside}: {sent} packets sent, {arrived} arrived")
        self.check_four_protocols()


class Encrypted(unittest.TestCase):
    """A handler shows a certificate, by which it reaches its own tenant and no other."""

    def test_a_handler_reaches_its_tenant_only(self):
        mac = "02000000000a"
        lab = Lab(
            tenant("left", 3, "switchblade/platform.p4", [mac])
            + tenant("right", 4, "switchblade/platform.p4", ["02000000000b"])
            + f'[p4runtime]\naddress = "{P4RUNTIME}"\ncertificate = "switch.pem"\nkey = "switch.key"\nclient_ca = "ca.pem"\n'
            + '[[p4runtime.client]]\nname = "left-handler"\ntenants = ["left"]\n',
            devices=4,
        )
        for name in ("left", "right"):
            (lab.folder / f"{name}.stf").write_text(DECIDED.format(mac=mac))
        certificates = Certificates(lab.folder)
        certificates.make("left-handler")
        client = [str(option) for option in certificates.options("left-handler")]
        server, client = client[1], client[2:]
        with lab:
            with Handler(server, VDP, "--device-id", "3", *client):
                lab.send(0, flow(mac, 1))
                self.assertIsNotNone(lab.receive(1))
            with self.assertRaises(AssertionError):
                self.enterContext(Handler(server, VDP, "--device-id", "4", *client))


if __name__ == "__main__":
    unittest_main()
