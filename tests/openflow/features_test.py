"""What a controller may ask for beside matching and forwarding: labels, meters, groups that fail over, queues, NORMAL. The controller is
os-ken's own REST application; each test says what packets must come out, and what os-ken must read back. Open vSwitch runs those tests
whose features it has."""

import json
import struct
import time
import unittest
import urllib.error
import urllib.request

from lab.cases import unittest_main
from lab.command import wait_until
from lab.frames import checksum
from lab.openflow import REST, Hopwright, Lab, OpenVSwitch, ethernet, ipv4, mac, udp

A, B, C = (f"02:00:00:00:00:{n:02x}" for n in (1, 2, 3))
ONE, TWO = "10.0.0.1", "10.0.0.2"
IP, IPV6, MPLS, PBB = 0x0800, 0x86DD, 0x8847, 0x88E7


def packet(sport=1000, dport=2000, src=A, dst=B, data=b"some data here", **ip):
    """UDP from the first host to the second."""
    return ethernet(dst, src, IP, ipv4(ONE, TWO, 17, udp(ONE, TWO, sport, dport, data), **ip))


def label(number, bottom=1, ttl=64, traffic_class=0):
    return struct.pack("!I", number << 12 | traffic_class << 9 | bottom << 8 | ttl)


def solicitation(target, station):
    """A neighbour solicitation (RFC 4861) for a host of fd00::/64."""
    src, dst = (b"\xfd" + bytes(14) + bytes([n]) for n in (1, 2))
    body = struct.pack("!BBHI", 135, 0, 0, 0) + b"\xfd" + bytes(14) + bytes([target]) + b"\1\1" + mac(station)
    total = checksum(src + dst + struct.pack("!II", len(body), 58) + body)
    body = body[:2] + struct.pack("!H", total) + body[4:]
    return ethernet(B, A, IPV6, struct.pack("!IHBB", 6 << 28, len(body), 58, 255) + src + dst + body)


def of_type(kind):
    return lambda frame: frame[12:14] == struct.pack("!H", kind)


class Cases:
    """Run for each switch by the classes below, in one lab."""

    switch = None
    options = ()

    @classmethod
    def setUpClass(cls):
        cls.lab = Lab(cls.switch, versions="1.3", applications=["ofctl_rest"], options=cls.options)
        cls.lab.__enter__()
        cls.addClassCleanup(cls.lab.__exit__, None)
        cls.dpid, = wait_until(cls.lab.logs, cls.switches)

    @classmethod
    def switches(cls):
        try:
            return cls.rest("switches")
        except OSError:
            return None

    @staticmethod
    def rest(path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{REST}/stats/{path}", data, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def read(self, path):
        return self.rest(f"{path}/{self.dpid}")[str(self.dpid)]

    def tell(self, path, **body):
        self.rest(path, {"dpid": self.dpid, **body})

    def flow(self, actions, table=0, priority=5, **match):
        actions = [{"type": kind, **dict(more)} for kind, *more in actions]
        self.tell("flowentry/add", table_id=table, priority=priority, match=match, actions=actions)

    def settle(self):
        """The switch has carried out what it was told: it answers a request that came later."""
        self.read("flow")
        time.sleep(self.lab.switch.settles)

    def setUp(self):
        self.lab.ofctl("del-flows")
        self.lab.ofctl("del-groups")
        self.lab.ofctl("del-meters")
        for host in self.lab.hosts:
            host.received()

    def tearDown(self):
        self.assertTrue(self.lab.switch is None or "panicked" not in self.lab.logs(), self.lab.logs())

    def passes(self, sent, received, wanted=None, at=1, by=0):
        self.lab.hosts[by].send(sent)
        self.assertEqual(self.lab.hosts[at].received(1, wanted=wanted), [received])

    def test_labels(self):
        push = [("PUSH_MPLS", ("ethertype", MPLS)), ("SET_FIELD", ("field", "mpls_label"), ("value", 100))]
        to = lambda port: ("OUTPUT", ("port", port))
        self.flow([*push, ("SET_FIELD", ("field", "eth_dst"), ("value", C)), to(2)], in_port=1, eth_type=IP)
        pop = [("POP_MPLS", ("ethertype", IP)), ("DEC_NW_TTL",), to(1)]
        self.flow(pop, in_port=2, eth_type=MPLS, mpls_label=100, mpls_bos=1, mpls_tc=5)
        swap = [("DEC_MPLS_TTL",), ("SET_FIELD", ("field", "mpls_label"), ("value", 7)), *push, ("SET_MPLS_TTL", ("mpls_ttl", 9)), to(1)]
        self.flow(swap, in_port=3, eth_type=MPLS)
        self.settle()
        inside = packet()[14:]
        self.passes(packet(), ethernet(C, A, MPLS, label(100) + inside), of_type(MPLS))
        self.passes(ethernet(B, A, MPLS, label(100, traffic_class=5) + inside), packet(ttl=63), at=0, by=1)
        below = ethernet(A, C, MPLS, label(300, ttl=30) + inside)
        swapped = ethernet(A, C, MPLS, label(100, bottom=0, ttl=9) + label(7, ttl=29) + inside)
        self.passes(below, swapped, of_type(MPLS), at=0, by=2)

    def test_tables_see_what_is_below_a_label(self):
        self.flow([("POP_MPLS", ("ethertype", IP)), ("GOTO_TABLE", ("table_id", 1))], in_port=1, eth_type=MPLS)
        self.flow([("OUTPUT", ("port", 2))], table=1, eth_type=IP, ip_proto=17, udp_dst=2000)
        self.settle()
        self.passes(ethernet(B, A, MPLS, label(5) + packet()[14:]), packet())

    def test_tunnel_identifiers_are_matched_by_later_tables(self):
        tunnel = ("SET_FIELD", ("field", "tunnel_id"), ("value", 0x123456789ABCDEF))
        self.flow([tunnel, ("GOTO_TABLE", ("table_id", 1))], in_port=1)
        self.flow([("OUTPUT", ("port", 2))], table=1, tunnel_id="0x0120000000000000/0xfff0000000000000")
        self.flow([("OUTPUT", ("port", 3))], table=1, priority=4)
        self.settle()
        self.passes(packet(), packet())

    def test_neighbour_discovery_is_rewritten(self):
        target = ("SET_FIELD", ("field", "ipv6_nd_target"), ("value", "fd00::9"))
        station = ("SET_FIELD", ("field", "ipv6_nd_sll"), ("value", C))
        self.flow([target, station, ("OUTPUT", ("port", 2))], in_port=1, eth_type=IPV6, ip_proto=58, icmpv6_type=135, ipv6_nd_sll=A)
        self.settle()
        self.passes(solicitation(2, A), solicitation(9, C), of_type(IPV6))

    def test_a_part_of_a_vlan_identifier_is_matched(self):
        tagged = lambda vid: ethernet(B, A, 0x8100, struct.pack("!HH", vid, IP) + packet()[14:])
        self.flow([("OUTPUT", ("port", 2))], in_port=1, dl_vlan="0x0060/0x00f0")
        self.settle()
        self.lab.hosts[0].send(tagged(0x123))
        self.lab.hosts[0].send(packet())
        self.passes(tagged(0x165), tagged(0x165))

    def test_a_meter_drops_what_is_too_much(self):
        self.tell("meterentry/add", flags=["PKTPS", "BURST", "STATS"], meter_id=4, bands=[{"type": "DROP", "rate": 1, "burst_size": 5}])
        self.flow([("METER", ("meter_id", 4)), ("OUTPUT", ("port", 2))], in_port=1)
        self.settle()
        started = time.monotonic()
        for _ in range(40):
            self.lab.hosts[0].send(packet())
        wait_until("40 packets of the meter", lambda: self.read("meter")[0]["packet_in_count"] == 40)
        meter, = self.read("meter")
        passed = len(self.lab.hosts[1].received(40 - meter["band_stats"][0]["packet_band_count"]))
        # The burst, and a packet for each second.
        self.assertLessEqual(passed, 5 + 1 + time.monotonic() - started)
        self.assertGreaterEqual(passed, 5)
        self.assertEqual((meter["flow_count"], meter["byte_in_count"]), (1, 40 * len(packet())))
        self.assertEqual(meter["band_stats"][0]["packet_band_count"], 40 - passed)
        config, = self.read("meterconfig")
        self.assertEqual(config["bands"], [{"type": "DROP", "rate": 1, "burst_size": 5}])
        self.tell("meterentry/modify", flags=["KBPS"], meter_id=4, bands=[{"type": "DROP", "rate": 1_000_000}])
        self.settle()
        for _ in range(40):
            self.lab.hosts[0].send(packet())
        self.assertEqual(len(self.lab.hosts[1].received(40)), 40)
        # Its flows go with it.
        self.tell("meterentry/delete", meter_id=4)
        self.assertEqual(self.read("flow"), [])

    def test_the_first_port_that_is_up_is_used(self):
        one, two, three = self.lab.hosts
        buckets = [{"watch_port": port, "actions": [{"type": "OUTPUT", "port": port}]} for port in (2, 3)]
        self.tell("groupentry/add", type="FF", group_id=6, buckets=buckets)
        self.flow([("GROUP", ("group_id", 6))], in_port=1)
        self.settle()
        self.passes(packet(), packet())
        two("ip", "link", "set", "eth0", "down")
        self.addCleanup(two, "ip", "link", "set", "eth0", "up")
        self.sees(three, packet(1001))
        two("ip", "link", "set", "eth0", "up")
        self.sees(two, packet(1002))

        def counted():
            # The counts are read one after the other, and packets may still come.
            group, = self.read("group")
            packets = [bucket["packet_count"] for bucket in group["bucket_stats"]]
            return group["packet_count"] == sum(packets) and packets[1] >= 1
        wait_until(lambda: self.read("group"), counted)
        described, = self.read("groupdesc")
        self.assertEqual([bucket["watch_port"] for bucket in described["buckets"]], [2, 3])

    def sees(self, host, frame):
        """Packets of the first host get to a host, at some time."""
        def arrives():
            self.lab.hosts[0].send(frame)
            return frame in host.received()
        wait_until(self.lab.logs, arrives)

    def test_a_group_leads_to_another_one(self):
        self.tell("groupentry/add", type="ALL", group_id=1, buckets=[{"actions": [{"type": "OUTPUT", "port": n}]} for n in (2, 3)])
        rewritten = [{"type": "SET_FIELD", "field": "eth_dst", "value": C}, {"type": "GROUP", "group_id": 1}]
        self.tell("groupentry/add", type="INDIRECT", group_id=2, buckets=[{"actions": rewritten}])
        self.flow([("GROUP", ("group_id", 2))], in_port=1)
        self.settle()
        self.passes(packet(), packet(dst=C))
        self.assertEqual(self.lab.hosts[2].received(1), [packet(dst=C)])
        counts = {group["group_id"]: (group["packet_count"], group["byte_count"]) for group in self.read("group")}
        self.assertEqual(counts[2], (1, len(packet())))

    def test_normal_is_a_bridge(self):
        one, two, three = self.lab.hosts
        self.flow([("OUTPUT", ("port", "NORMAL"))], priority=0)
        self.settle()
        for src in self.lab.hosts:
            for dst in self.lab.hosts:
                if src is not dst:
                    wait_until(self.lab.logs, lambda src=src, dst=dst: src.ping(dst, check=False))
        for host in self.lab.hosts:
            host.received()
        self.passes(packet(), packet())
        self.assertEqual(three.received(), [])
        # What is not known goes to all others, and a station that moves is found again.
        self.passes(packet(dst="02:00:00:00:00:09"), packet(dst="02:00:00:00:00:09"))
        self.assertEqual(three.received(1), [packet(dst="02:00:00:00:00:09")])
        three.send(packet(src=A, dst=B))
        self.assertEqual(two.received(1), [packet()])
        self.passes(packet(src=B, dst=A), packet(src=B, dst=A), at=2, by=1)


class OurSwitch(Cases, unittest.TestCase):
    switch = Hopwright
    options = ("--queue", "3=400k")

    def test_backbone_tags(self):
        self.flow([("PUSH_PBB", ("ethertype", PBB)), ("SET_FIELD", ("field", "pbb_isid"), ("value", 0xABCDE)), ("OUTPUT", ("port", 2))], in_port=1)
        self.flow([("POP_PBB",), ("OUTPUT", ("port", 1))], in_port=2, eth_type=PBB, pbb_isid=7)
        self.settle()
        self.passes(packet(), ethernet(B, A, PBB, struct.pack("!I", 0xABCDE) + packet()), of_type(PBB))
        self.passes(ethernet(C, B, PBB, struct.pack("!I", 7) + packet()), packet(), at=0, by=1)

    def test_a_meter_marks_what_is_too_much(self):
        band = {"type": "DSCP_REMARK", "rate": 1, "burst_size": 3, "prec_level": 1}
        self.tell("meterentry/add", flags=["PKTPS", "BURST"], meter_id=5, bands=[band])
        self.flow([("METER", ("meter_id", 5)), ("OUTPUT", ("port", 2))], in_port=1)
        self.settle()
        for _ in range(30):
            self.lab.hosts[0].send(packet(tos=18 << 2))
        frames = self.lab.hosts[1].received(30)
        # AF21 becomes AF22.
        self.assertEqual(set(frames), {packet(tos=18 << 2), packet(tos=20 << 2)})
        marked, = self.read("meter")
        self.assertEqual(marked["band_stats"][0]["packet_band_count"], frames.count(packet(tos=20 << 2)))

    def test_urgent_packets_overtake(self):
        queue = lambda number: ("SET_QUEUE", ("queue_id", number))
        self.flow([queue(7), ("OUTPUT", ("port", 3))], priority=9, in_port=1, eth_type=IP, ip_proto=17, udp_dst=7)
        self.flow([("OUTPUT", ("port", 3))], in_port=1)
        self.settle()
        # Again, if this test was late with the urgent packet: the others take 1.6 seconds.
        for turn in range(1, 20):
            begun = time.monotonic()
            for _ in range(80):
                self.lab.hosts[0].send(packet(data=bytes(958)))
            self.lab.hosts[0].send(packet(dport=7))
            took = time.monotonic() - begun
            frames = self.lab.hosts[2].received(81)
            if took < 1:
                break
        self.assertLess(frames.index(packet(dport=7)), 80)
        counts = {queue["queue_id"]: queue["tx_packets"] for queue in self.read("queue") if queue["port_no"] == 3}
        self.assertEqual((counts[7], counts[6]), (turn, 0))
        self.assertGreaterEqual(counts[0], 80)
        configured, = self.read("queueconfig")
        self.assertEqual([queue["queue_id"] for queue in configured["queues"]], list(range(8)))

    def test_roles(self):
        self.tell("role", role="MASTER", generation_id=5)
        role, = self.read("role")
        self.assertEqual(role["role"], "MASTER")


class Peer(Cases, unittest.TestCase):
    switch = OpenVSwitch


if __name__ == "__main__":
    unittest_main(verbosity=2)
