#!/usr/bin/env python3
"""The P4Runtime server as an unmodified p4runtime-shell sees it."""

import pathlib
import tempfile
import unittest

import p4runtime_sh.shell as sh
from p4runtime_sh.p4runtime import P4RuntimeException, P4RuntimeWriteException

from lab import patience
from lab.cases import unittest_main
from lab.command import wait_until
from lab.switch import HERE, Switch, ethernet, ipv4, p4info

patience.shell()
TMP = pathlib.Path(tempfile.mkdtemp())
BALANCE = sh.FwdPipeConfig(str(p4info("balance.p4", TMP / "balance.txt")), str(HERE / "balance.p4"))
CONFIG = sh.FwdPipeConfig(str(p4info("basic.p4", TMP / "basic.txt")), str(HERE / "basic.p4"))


class Shell(unittest.TestCase):
    def setUp(self):
        self.switch = self.enterContext(Switch("basic.p4"))
        sh.setup(device_id=1, grpc_addr=self.switch.address, election_id=(0, 1), config=CONFIG, verbose=False)
        self.addCleanup(sh.teardown)

    @staticmethod
    def route(prefix, port):
        entry = sh.TableEntry("ipv4_lpm")(action="MyIngress.forward")
        entry.match["hdr.ipv4.dst"] = prefix
        entry.action["dst"] = "02:00:00:00:00:11"
        entry.action["port"] = str(port)
        return entry

    def test_entries(self):
        self.route("10.0.0.0/8", 1).insert()
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(self.switch.receive(1)[:6].hex(), "020000000011")
        self.route("10.0.0.0/8", 2).modify()
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertIsNotNone(self.switch.receive(2))
        entries = list(sh.TableEntry("ipv4_lpm").read())
        self.assertEqual(len(entries), 1)
        with self.assertRaises(P4RuntimeWriteException) as caught:
            self.route("10.0.0.0/8", 1).insert()
        self.assertIn("ALREADY_EXISTS", str(caught.exception))
        entries[0].delete()
        self.assertEqual(list(sh.TableEntry("ipv4_lpm").read()), [])

    def test_ternary_range_and_optional(self):
        entry = sh.TableEntry("acl")(action="drop")
        entry.match["hdr.ipv4.src"] = "10.0.0.0&&&255.0.0.0"
        entry.match["hdr.ipv4.protocol"] = "17"
        entry.match["hdr.ipv4.ttl"] = "1..30"
        entry.priority = 7
        entry.insert()
        (found,) = sh.TableEntry("acl").read()
        self.assertEqual(found.priority, 7)
        default = sh.TableEntry("acl")(action="drop", is_default=True)
        default.modify()

    def test_counters_and_registers(self):
        self.route("10.0.0.0/8", 1).insert()
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        self.switch.receive(1)
        counter = sh.CounterEntry("by_port")
        counter.index = 3
        self.assertEqual([c.packet_count for c in counter.read()], [1])
        direct = sh.DirectCounterEntry("routed")
        self.assertEqual([c.packet_count for c in direct.read()], [1])
        counter.packet_count = 9
        counter.modify()
        self.assertEqual([c.packet_count for c in counter.read()], [9])

    def test_packets(self):
        default = sh.TableEntry("ipv4_lpm")(action="punt", is_default=True)
        default.action["reason"] = "5"
        default.modify()
        packets = sh.PacketIn()
        got = []
        frame = ipv4("10.9.9.9", "10.1.2.3")
        self.switch.send(3, frame)
        wait_until("the packet", lambda: packets.sniff(got.append, timeout=1) or got, interval=0)
        self.assertEqual(got[0].packet.payload, frame)
        out = sh.PacketOut(frame)
        out.metadata["egress_port"] = "2"
        out.metadata["pad"] = "0"
        out.send()
        self.assertEqual(self.switch.receive(2), frame)

    def test_a_backup_may_only_read(self):
        client = sh.client
        other = sh.P4RuntimeClient(1, self.switch.address, (0, 0))
        try:
            self.assertEqual(other.get_p4info(), client.get_p4info())
            request = sh.p4runtime_pb2.WriteRequest()
            with self.assertRaises(Exception) as caught:
                other.write(request)
            self.assertIn("PERMISSION_DENIED", str(caught.exception))
        finally:
            other.tear_down()

    def test_wrong_programs(self):
        broken = TMP / "broken.p4"
        broken.write_text("control {")
        with self.assertRaises(P4RuntimeException) as caught:
            sh.client.set_fwd_pipe_config(CONFIG.p4info, str(broken))
        self.assertIn("does not compile", str(caught.exception))


class Indirect(unittest.TestCase):
    """Action profiles and meters."""

    def setUp(self):
        self.switch = self.enterContext(Switch("balance.p4"))
        sh.setup(device_id=1, grpc_addr=self.switch.address, election_id=(0, 1), config=BALANCE, verbose=False)
        self.addCleanup(sh.teardown)

    @staticmethod
    def send(port):
        action = sh.Action("send")
        action["port"] = str(port)
        return action

    def test_members_groups_and_sets(self):
        for number in (1, 2):
            sh.ActionProfileMember("ports")(member_id=number, action=self.send(number)).insert()
        group = sh.ActionProfileGroup("ports")(group_id=1)
        group.add(1).add(2, weight=2)
        group.insert()
        entry = sh.TableEntry("spread")(group_id=1)
        entry.match["hdr.ethernet.dst"] = "02:00:00:00:00:00/8"
        entry.insert()
        for flow, port in ((0, 1), (1, 2), (2, 2)):
            self.switch.send(0, ethernet("020000000001", f"0200000000{flow:02x}", 0x0800, bytes(46)))
            self.assertIsNotNone(self.switch.receive(port))
        with self.assertRaises(P4RuntimeWriteException) as caught:
            sh.ActionProfileMember("ports")(member_id=1).delete()
        self.assertIn("FAILED_PRECONDITION", str(caught.exception))
        entry.oneshot.add(self.send(3))
        entry.modify()
        self.switch.send(0, ethernet("020000000001", "020000000001", 0x0800, bytes(46)))
        self.assertIsNotNone(self.switch.receive(3))
        (found,) = sh.TableEntry("spread").read()
        self.assertEqual(len(found.oneshot.actions), 1)
        group.delete()
        self.assertEqual(len(list(sh.ActionProfileMember("ports").read())), 2)

    def test_meters(self):
        meter = sh.MeterEntry("by_type")
        meter.index, meter.cir, meter.cburst, meter.pir, meter.pburst = 3, 1, 2, 3, 4
        meter.modify()
        (found,) = meter.read()
        self.assertEqual((found.cir, found.cburst, found.pir, found.pburst), (1, 2, 3, 4))


if __name__ == "__main__":
    unittest_main()
