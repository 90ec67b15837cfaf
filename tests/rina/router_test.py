#!/usr/bin/env python3
"""The RINA interior router from outside: Scapy sends and receives, p4runtime-shell fills the tables and is the control plane."""

import itertools
import logging
import pathlib
import subprocess
import tempfile
import time
import unittest

logging.getLogger("scapy.runtime").setLevel(logging.ERROR)

import p4runtime_sh.shell as sh
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether
from scapy.packet import Raw

from efcp import CONGESTION, DATA, MANAGEMENT, RINA, TYPES, Efcp, Irati, Protected
from lab import patience
from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, ROOT, wait_until
from lab.switch import Switch, p4info

patience.shell()
PROGRAM = ROOT / "p4/rina/interior.p4"
TMP = pathlib.Path(tempfile.mkdtemp())
subprocess.run([HOPWRIGHT, "bundle", str(PROGRAM), "-o", str(TMP / "interior.bundle")], check=True)
CONFIG = sh.FwdPipeConfig(str(p4info(PROGRAM, TMP / "interior.txt")), str(TMP / "interior.bundle"))
ROUTER = [f"02:00:00:00:01:{port:02x}" for port in range(4)]
HOST = [f"02:00:00:00:00:{port:02x}" for port in range(4)]
SDU = Raw(bytes(range(100)))
# A next hop by egress port and VLAN.
HOPS = {(port, vlan): 1 + 10 * port + vlan // 10 for port in range(4) for vlan in (0, 10)}
IRATI_PORTS = (2, 3)


def add(table, match, action, **arguments):
    known = sh.context.p4info
    (found,) = (t for t in known.tables if t.preamble.name.endswith(f".{table}"))
    own = {reference.id for reference in found.action_refs}
    # Several tables have an action of this name.
    (action,) = (a.preamble.name for a in known.actions if a.preamble.id in own and a.preamble.name.endswith(f".{action}"))
    it = sh.TableEntry(found.preamble.name)(action=action)
    for key, value in match.items():
        it.match[key] = str(value)
    for name, value in arguments.items():
        it.action[name] = str(value)
    it.insert()


def add_links(value_set, links):
    """Members of a parser value set, which p4runtime-shell has no command for."""
    known = sh.context.p4info.value_sets
    (found,) = (vs for vs in known if vs.preamble.name.endswith(value_set))
    request = sh.p4runtime_pb2.WriteRequest(device_id=1)
    request.election_id.low = 1
    update = request.updates.add()
    update.type = sh.p4runtime_pb2.Update.MODIFY
    update.entity.value_set_entry.value_set_id = found.preamble.id
    for link in links:
        member = update.entity.value_set_entry.members.add()
        for at, value in enumerate(link, 1):
            field = member.match.add(field_id=at)
            field.exact.value = value.to_bytes(2, "big").lstrip(b"\0") or b"\0"
    sh.client.stub.Write(request)


class RinaRouter(Switch):
    """`hopwright rina` without IPC processes: the program is there, a controller fills the tables."""

    def command(self, _):
        (TMP / "lab.key").write_text("a credential that nobody needs here\n")
        links = "".join(f'[[ipcp.link]]\ndevice = "sw{port}"\n' for port in range(4))
        (TMP / "rina.toml").write_text(f'[[ipcp]]\nname = "r"\ndif = "lab"\naddress = 1\ncredential = "lab.key"\n{links}')
        return [HOPWRIGHT, "rina", "--config", str(TMP / "rina.toml"), "--p4runtime", self.address]


class Router(unittest.TestCase):
    """Ports 0 and 1 carry PDUs with a header checksum, ports 2 and 3 in IRATI's syntax. All have a VLAN 10, too, and IPv4."""

    protected = False
    switch_class, config = Switch, CONFIG

    def setUp(self):
        self.switch = self.enterContext(self.switch_class(PROGRAM, *self.options()))
        sh.setup(device_id=1, grpc_addr=self.switch.address, election_id=(0, 1), config=self.config, verbose=False)
        self.addCleanup(sh.teardown)
        links = list(itertools.product(range(4), (0, 10)))
        irati = [link for link in links if link[0] in IRATI_PORTS]
        add_links("irati_links", irati)
        if self.protected:
            add_links("ttl_links", irati)
            add_links("crc_links", irati)
        for port, vlan in links:
            add("links", {"port": port, "vlan": vlan}, "receive",
                mac=ROUTER[port], dif=1, hash_seed=7)
            hop = HOPS[port, vlan]
            protection = int(self.protected and port in IRATI_PORTS)
            add("next_hops", {"next_hop": hop}, "forward", port=port, vlan=vlan, src=ROUTER[port], dst=HOST[port],
                mtu=1500, ttl=protection, crc=protection)
            add("destinations", {"dif": 1, "dst": hop}, "via", next_hop=hop)
            add("routes_ipv4", {"hdr.ipv4.dst": f"10.{port}.{vlan}.0/24"}, "via", next_hop=hop, route=0)
        add("destinations", {"dif": 1, "dst": 99}, "local")

    def options(self):
        return ()

    def frame(self, port, vlan, type, payload):
        tag = Dot1Q(vlan=vlan, type=type) if vlan else None
        head = Ether(dst=ROUTER[port], src=HOST[port], type=0x8100 if vlan else type)
        return head / tag / payload if vlan else head / payload

    def expected(self, port, vlan, type, payload):
        frame = self.frame(port, vlan, type, payload)
        frame[Ether].dst, frame[Ether].src = HOST[port], ROUTER[port]
        return frame

    def passes(self, came, left):
        """A frame that comes in by a port leaves by another as another."""
        (from_port, sent), (to_port, wanted) = came, left
        self.switch.send(from_port, bytes(sent))
        got = self.switch.receive(to_port)
        self.assertIsNotNone(got, f"{sent.summary()} does not leave by port {to_port}")
        self.assertEqual(got.hex(), bytes(wanted).hex(), f"{sent.summary()} becomes {Ether(got).summary()}")

    def count(self, reason):
        counter = sh.CounterEntry("reasons")
        counter.index = reason
        return next(iter(counter.read())).packet_count


class Plain(Router):
    def test_every_combination(self):
        """EFCP and IPv4, each untagged and in a VLAN, in and out: sixteen pairs of a packet there and another kind back.

        The pair of ports that has the paper's syntax, then the one that has IRATI's.
        """
        kinds = list(itertools.product(("EFCP", "IP"), (0, 10)))
        for left, right in ((0, 1), (2, 3)):
            combinations = set()
            for (there, vlan_in), (back, vlan_out) in itertools.product(kinds, repeat=2):
                with self.subTest(ports=(left, right), there=there, vlan_in=vlan_in, back=back, vlan_out=vlan_out):
                    self.crosses(there, (left, vlan_in), (right, vlan_out))
                    self.crosses(back, (right, vlan_out), (left, vlan_in))
                combinations.add((there, vlan_in, back, vlan_out))
            self.assertEqual(len(combinations), 16)
        self.assertEqual(self.count(0), 2 * 2 * 16)

    def crosses(self, protocol, came, left):
        """A PDU or an IPv4 packet, from a link (port and VLAN) to another."""
        (from_port, vlan_in), (to_port, vlan_out) = came, left
        if protocol == "EFCP":
            syntax = Irati if from_port in IRATI_PORTS else Efcp
            pdu = syntax(dst=HOPS[to_port, vlan_out], src=5, dst_cep=3, src_cep=4, sequence=9) / SDU
            sent, wanted, type = pdu, pdu, RINA
        else:
            packet = lambda ttl: IP(src="10.200.0.1", dst=f"10.{to_port}.{vlan_out}.1", ttl=ttl) / UDP(sport=1, dport=2) / SDU
            sent, wanted, type = packet(9), packet(8), 0x800
        self.passes((from_port, self.frame(from_port, vlan_in, type, sent)), (to_port, self.expected(to_port, vlan_out, type, wanted)))

    def test_types_and_checksums(self):
        hop = HOPS[1, 0]
        for type in range(256):
            pdu = Efcp(dst=hop, src=5, type=type) / SDU
            frame = self.frame(0, 0, RINA, pdu)
            if type in TYPES:
                self.passes((0, frame), (1, self.expected(1, 0, RINA, pdu)))
            else:
                self.switch.send(0, bytes(frame))
        self.switch.send(0, bytes(self.frame(0, 0, RINA, Efcp(dst=hop, checksum=1) / SDU)))
        self.passes((0, self.frame(0, 0, RINA, Efcp(dst=hop) / SDU)), (1, self.expected(1, 0, RINA, Efcp(dst=hop) / SDU)))
        self.assertEqual(self.count(8), 256 - len(TYPES))
        self.assertEqual(self.count(5), 1)

    def test_layer_management(self):
        """To address 0, which is whoever receives it, and to the router; ARP; and an answer of the control plane."""
        packets = sh.PacketIn()
        management = lambda dst: Efcp(dst=dst, src=5, type=MANAGEMENT) / Raw(b"CDAP")
        arp = Ether(dst="ff:ff:ff:ff:ff:ff", src=HOST[0], type=0x806) / ARP(pdst="10.0.0.1")
        cases = (
            (self.frame(0, 0, RINA, management(0)), 32),
            (self.frame(0, 10, RINA, management(99)), 32),
            (self.frame(0, 0, RINA, management(4242)), 33),
            (self.frame(0, 0, RINA, Efcp(dst=99, type=DATA) / SDU), 34),
            (arp, 35),
        )
        got = []
        for frame, _ in cases:
            self.switch.send(0, bytes(frame))
            packets.sniff(lambda packet: got.append(packet.packet), timeout=1)
        wait_until("all packets", lambda: packets.sniff(lambda packet: got.append(packet.packet), timeout=1) or len(got) == len(cases), interval=0)
        for (frame, reason), packet in zip(cases, got):
            self.assertEqual(packet.payload, bytes(frame))
            self.assertEqual([int.from_bytes(m.value, "big") for m in packet.metadata], [0, reason])
        answer = bytes(self.expected(1, 10, RINA, management(0)))
        out = sh.PacketOut(answer)
        out.metadata["egress_port"] = "1"
        out.metadata["priority"] = "7"
        out.send()
        self.assertEqual(self.switch.receive(1), answer)


class OfTheAgent(Plain):
    """The same with `hopwright rina --p4runtime`. The controller finds the program there."""

    switch_class, config = RinaRouter, None


class UnderProtection(Router):
    protected = True

    def test_every_combination(self):
        for vlan_in, vlan_out in itertools.product((0, 10), repeat=2):
            hop = HOPS[3, vlan_out]
            pdu = lambda ttl: Protected(ttl=ttl) / Irati(dst=hop, src=5, dst_cep=3, src_cep=4, sequence=9) / SDU
            self.passes((2, self.frame(2, vlan_in, RINA, pdu(64))), (3, self.expected(3, vlan_out, RINA, pdu(63))))

    def test_damage_and_age(self):
        pdu = lambda ttl: Protected(ttl=ttl) / Irati(dst=HOPS[3, 0]) / SDU
        good = bytes(self.frame(2, 0, RINA, pdu(64)))
        for at in range(14, len(good)):
            damaged = bytearray(good)
            damaged[at] ^= 0x10
            self.switch.send(2, bytes(damaged))
        self.switch.send(2, bytes(self.frame(2, 0, RINA, pdu(1))))
        self.passes((2, self.frame(2, 0, RINA, pdu(2))), (3, self.expected(3, 0, RINA, pdu(1))))
        self.assertEqual(self.count(10), 1)
        # A length that is damaged may be one that is too long.
        self.assertEqual(self.count(6) + self.count(4), len(good) - 14)
        self.assertGreaterEqual(self.count(6), len(good) - 14 - 2)


class Congested(Router):
    """Port 1 sends 500 kbit/s, a PDU each 16 ms: what comes at once waits."""

    def options(self):
        return "--queue", "1=500k,packets=50"

    def test_marks_and_losses(self):
        add("thresholds", {"port": 1, "priority": 0}, "mark_from", packets=20)
        add("qos_queues", {"dif": 1, "qos_id": 9}, "queue", priority=7)
        pdu = lambda number, qos=1: Efcp(dst=HOPS[1, 0], src=5, qos_id=qos, sequence=number) / Raw(bytes(1000))
        burst = [bytes(self.frame(0, 0, RINA, pdu(number))) for number in range(100)]
        # The other class.
        burst.append(bytes(self.frame(0, 0, RINA, pdu(1000, 9))))
        # Again, if this test was so late that many left meanwhile.
        for _ in range(20):
            begun, got = time.monotonic(), []
            for frame in burst:
                self.switch.send(0, frame)
            took = time.monotonic() - begun
            # Those that have room for certain come some time, and others soon after them.
            while (frame := self.switch.receive(1, timeout=PATIENCE if len(got) <= 50 else 5)) is not None:
                got.append(Ether(frame)[Efcp])
            if took < 0.1:
                break
        data = [pdu for pdu in got if pdu.qos_id == 1]
        # Fifty, and those that had room because others left meanwhile.
        self.assertTrue(50 <= len(data) < 75, len(data))
        numbers = [pdu.sequence for pdu in data]
        self.assertEqual(numbers, sorted(numbers))
        self.assertEqual(numbers[:50], list(range(50)))
        marked = [pdu.flags & CONGESTION for pdu in data]
        self.assertEqual(marked, sorted(marked), "those behind twenty others are marked")
        self.assertTrue(20 <= marked.index(1) <= 30, marked)
        for pdu in data:
            self.assertEqual(bytes(pdu), bytes(Efcp(dst=pdu.dst, src=5, flags=pdu.flags, sequence=pdu.sequence) / Raw(bytes(1000))))
        # The other class does not wait behind them.
        at = [pdu.qos_id for pdu in got].index(9)
        self.assertLess(at, 15)
        self.assertEqual(got[at].flags, 0)


if __name__ == "__main__":
    unittest_main()
