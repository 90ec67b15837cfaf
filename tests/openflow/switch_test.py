"""The same controllers and the same expectations for our switch and for Open vSwitch."""

import json
import re
import signal
import time
import unittest
import urllib.request

from lab.cases import unittest_main
from lab.command import wait_until
from lab.openflow import REST, Hopwright, Lab, OpenVSwitch, ethernet, ipv4, udp

A, B, C = (f"02:00:00:00:00:{n:02x}" for n in (1, 2, 3))
ONE, TWO, THREE = (f"10.0.0.{n}" for n in (1, 2, 3))


def packet(sport=1000, dport=2000, tags=(), src=A, dst=B, **ip):
    """UDP from the first host to the second."""
    return ethernet(dst, src, 0x0800, ipv4(ONE, TWO, 17, udp(ONE, TWO, sport, dport), **ip), tags)


def flows(text):
    """Flows of a dump as sets of fields, without what depends on the moment."""
    found = []
    for line in text.splitlines():
        if "actions=" not in line:
            continue
        head, actions = line.strip().split(" actions=")
        fields = [f for f in re.split(r",\s*|\s+", head) if f and not re.match(r"(duration|idle_age|hard_age)=", f)]
        # What both leave out or write: defaults.
        fields = [f for f in fields if f not in ("table=0", "priority=32768", "cookie=0x0")]
        found.append((tuple(sorted(fields)), actions))
    return sorted(found)


class Cases:
    """Run for each switch by the classes below."""

    switch = None

    def lab(self, **options):
        return Lab(self.switch, **options)

    def learns(self, lab):
        one, two, three = lab.hosts
        wait_until(lab.logs, lambda: one.ping(two, check=False))
        for src in lab.hosts:
            for dst in lab.hosts:
                if src is not dst:
                    src.ping(dst)

    def test_simple_switch(self):
        with self.lab(versions="1.0", applications=["simple_switch"]) as lab:
            if self.switch is OpenVSwitch:
                # It notices only with a change of its flows that there is a controller for unmatched packets.
                wait_until(lab.logs, lambda: "true" in lab.switch.vsctl("--columns=is_connected", "list", "controller"))
                lab.ofctl("add-flow", "in_port=99,actions=drop", version="1.0")
            self.learns(lab)
            one, two, _ = lab.hosts
            dump = lab.ofctl("dump-flows", version="1.0")
            self.assertRegex(dump, r"in_port=1,.*dl_dst=02:00:00:00:00:02 actions=output:2")
            # The decision is cached: packets of the flow reach no controller.
            before = lab.controller.log().count("packet in")
            one.ping(two, count=5)
            self.assertEqual(lab.controller.log().count("packet in"), before)
            self.assertRegex(lab.ofctl("dump-flows", version="1.0"), r"n_packets=[1-9]")

    def test_simple_switch_13(self):
        with self.lab(versions="1.3", applications=["simple_switch_13"]) as lab:
            self.learns(lab)
            dump = lab.ofctl("dump-flows")
            self.assertRegex(dump, r"priority=0 actions=CONTROLLER:65535")
            self.assertRegex(dump, r"priority=1,in_port=1,.*dl_dst=02:00:00:00:00:02 actions=output:2")
            # The controller dies, the flows stay; it comes again, and finds the switch.
            lab.controller.stop(signal.SIGKILL)
            lab.hosts[0].ping(lab.hosts[1])
            time.sleep(1)
            lab.ofctl("del-flows")
            lab.start_controller()
            self.learns(lab)

    def rest(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{REST}/{path}", data, timeout=120) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def test_ofctl_rest(self):
        with self.lab(versions="1.3", applications=["ofctl_rest"]) as lab:
            def switches():
                try:
                    return self.rest("stats/switches")
                except OSError:
                    return None
            dpid, = wait_until(lab.logs, switches)
            self.rest("stats/flowentry/add", {
                "dpid": dpid, "table_id": 0, "priority": 7, "cookie": 5, "idle_timeout": 300,
                "match": {"in_port": 1, "eth_type": 0x0800, "ipv4_dst": "10.0.0.0/24"},
                "actions": [{"type": "SET_FIELD", "field": "eth_dst", "value": C}, {"type": "OUTPUT", "port": 3}]})
            self.rest("stats/groupentry/add", {
                "dpid": dpid, "type": "ALL", "group_id": 9,
                "buckets": [{"actions": [{"type": "OUTPUT", "port": 1}]}, {"actions": [{"type": "OUTPUT", "port": 3}]}]})
            self.rest("stats/flowentry/add", {
                "dpid": dpid, "priority": 8, "match": {"in_port": 2}, "actions": [{"type": "GROUP", "group_id": 9}]})
            one, two, three = lab.hosts
            def there():
                found = self.rest(f"stats/flow/{dpid}")[str(dpid)]
                return found if len(found) == 2 else None
            found = {f["priority"]: f for f in wait_until(lab.logs, there)}
            self.assertEqual(found[7]["actions"], [f"SET_FIELD: {{eth_dst:{C}}}", "OUTPUT:3"])
            self.assertEqual(found[7]["match"],
                             {"in_port": 1, "dl_type": 0x0800, "nw_dst": "10.0.0.0/255.255.255.0"})
            self.assertEqual((found[7]["cookie"], found[7]["idle_timeout"]), (5, 300))
            one.send(packet())
            self.assertEqual(three.received(1), [packet(dst=C)])
            two.send(packet())
            self.assertEqual((one.received(1), three.received(1)), ([packet()], [packet()]))
            counts = {f["priority"]: (f["packet_count"], f["byte_count"]) for f in self.rest(f"stats/flow/{dpid}")[str(dpid)]}
            self.assertEqual(counts, {7: (1, len(packet())), 8: (1, len(packet()))})
            self.assertEqual(self.rest(f"stats/aggregateflow/{dpid}")[str(dpid)][0]["flow_count"], 2)
            self.assertEqual([p["name"] for p in self.rest(f"stats/portdesc/{dpid}")[str(dpid)] if p["port_no"] != "LOCAL"],
                             ["p1", "p2", "p3"])
            for what in ("desc", "table", "tablefeatures", "port", "queue", "queueconfig", "meterfeatures", "meterconfig",
                         "meter", "groupfeatures", "groupdesc", "group", "role"):
                self.assertIn(str(dpid), self.rest(f"stats/{what}/{dpid}"), what)
            group, = self.rest(f"stats/groupdesc/{dpid}")[str(dpid)]
            self.assertEqual([b["actions"] for b in group["buckets"]], [["OUTPUT:1"], ["OUTPUT:3"]])
            self.rest("stats/groupentry/delete", {"dpid": dpid, "group_id": 9})
            wait_until(lab.logs, lambda: len(self.rest(f"stats/flow/{dpid}")[str(dpid)]) == 1)
            lab.ofctl("del-flows")
            self.assertEqual(self.rest(f"stats/flow/{dpid}")[str(dpid)], [])

    def test_ovs_ofctl(self):
        for version in ("1.0", "1.3"):
            with self.subTest(version=version), self.lab(versions=version) as lab:
                def ofctl(*command):
                    return lab.ofctl(*command, version=version)
                def dump(*filters):
                    return flows(ofctl("dump-flows", *filters))
                ofctl("add-flow", "priority=10,in_port=1,actions=output:2")
                ofctl("add-flow", "cookie=0x7,priority=20,in_port=1,udp,nw_dst=10.0.0.0/8,tp_dst=53,actions=output:3")
                ofctl("add-flow", "priority=5,arp,arp_tpa=10.0.0.2,actions=in_port,output:3")
                ofctl("add-flow", "priority=6,dl_vlan=5,dl_vlan_pcp=3,actions=strip_vlan,output:1")
                self.assertEqual(dump(), EXPECTED[version])
                one, two, three = lab.hosts
                one.send(packet())
                one.send(packet(dport=53))
                self.assertEqual((two.received(1), three.received(1)), ([packet()], [packet(dport=53)]))
                text = ofctl("dump-flows", "in_port=1,udp")
                self.assertIn("n_packets=1", text)
                self.assertEqual(len(flows(text)), 1)
                self.assertEqual(len(dump("in_port=1")), 2)
                ofctl("mod-flows", "in_port=1,actions=output:3")
                self.assertEqual([actions for _, actions in dump("in_port=1")], ["output:3", "output:3"])
                self.assertIn("packet_count=2", ofctl("dump-aggregate", "in_port=1"))
                ofctl("del-flows", "udp")
                self.assertEqual(len(dump()), 3)
                ofctl("del-flows", "out_port=1") if version == "1.3" else ofctl("del-flows", "dl_vlan=5")
                self.assertEqual(len(dump()), 2)
                ports = ofctl("dump-ports")
                self.assertRegex(ports, r"port +\"?p?1\"?: rx pkts=[2-9]")
                self.assertIn("p1", ofctl("show"))
                self.assertRegex(ofctl("dump-tables"), r"active=2")
                ofctl("del-flows")
                self.assertEqual(dump(), [])

    def check(self, lab, version, actions, sent, **expected):
        """Sends a frame at port 1 through actions; frames that leave by ports 1, 2 and 3."""
        lab.ofctl("del-flows", version=version)
        for flow in actions if isinstance(actions, list) else [f"in_port=1,actions={actions}"]:
            lab.ofctl("add-flow", flow, version=version)
        time.sleep(lab.switch.settles)
        lab.hosts[0].send(sent)
        # First where something is to arrive.
        hosts = sorted(lab.hosts, key=lambda h: h.device not in expected)
        got = {h.device: h.received(1 if h.device in expected else 0) for h in hosts}
        self.assertEqual({p: f for p, f in got.items() if f}, {p: [f] for p, f in expected.items()}, actions)

    def test_actions_of_1_0(self):
        with self.lab(versions="1.0") as lab:
            def check(actions, sent, **expected):
                self.check(lab, "1.0", actions, sent, **expected)
            tag = [(0x8100, 0x6005)]
            check("output:2", packet(), p2=packet())
            check("output:1", packet())
            check("in_port", packet(), p1=packet())
            check("flood", packet(), p2=packet(), p3=packet())
            check("all", packet(), p2=packet(), p3=packet())
            check("drop", packet())
            check("mod_vlan_vid:7,output:2", packet(), p2=packet(tags=[(0x8100, 7)]))
            check("mod_vlan_pcp:2,output:2", packet(), p2=packet(tags=[(0x8100, 0x4000)]))
            check("mod_vlan_vid:7,output:2", packet(tags=tag), p2=packet(tags=[(0x8100, 0x6007)]))
            check("strip_vlan,output:2", packet(tags=tag), p2=packet())
            check("strip_vlan,output:2", packet(), p2=packet())
            check(f"output:2,mod_dl_src:{C},output:3", packet(), p2=packet(), p3=packet(src=C))
            check(f"mod_dl_dst:{C},mod_dl_src:{B},in_port,output:3", packet(), p1=packet(src=B, dst=C), p3=packet(src=B, dst=C))
            check("mod_nw_tos:32,output:2", packet(tos=3), p2=packet(tos=35))
            check("mod_tp_src:9,mod_tp_dst:10,output:2", packet(), p2=packet(9, 10))
            check("mod_nw_dst:10.0.0.3,mod_nw_src:10.0.0.2,output:2", packet(),
                  p2=ethernet(B, A, 0x0800, ipv4(TWO, THREE, 17, udp(TWO, THREE, 1000, 2000))))
            check("mod_vlan_vid:7,output:2,strip_vlan,output:3,mod_vlan_vid:8,in_port", packet(),
                  p2=packet(tags=[(0x8100, 7)]), p3=packet(), p1=packet(tags=[(0x8100, 8)]))
            # Flows that match everything outrank the others, whatever their priorities say.
            exact = f"in_port=1,dl_src={A},dl_dst={B},dl_vlan=0xffff,udp,nw_src={ONE},nw_dst={TWO},nw_tos=0,tp_src=1000,tp_dst=2000"
            both = [f"priority=1,{exact},actions=output:3", "priority=65534,in_port=1,actions=output:2"]
            check(both, packet(), p3=packet())
            check(both, packet(1001), p2=packet(1001))

    def test_actions_of_1_3(self):
        with self.lab(versions="1.3") as lab:
            def check(actions, sent, **expected):
                self.check(lab, "1.3", actions, sent, **expected)
            inner, outer = (0x8100, 0x6005), (0x88A8, 0x0009)
            check("push_vlan:0x8100,set_field:4103->vlan_vid,output:2", packet(), p2=packet(tags=[(0x8100, 7)]))
            check(["in_port=1,vlan_vid=0x1000/0x1000,actions=pop_vlan,output:2"], packet(tags=[inner]), p2=packet())
            check("push_vlan:0x88a8,set_field:4105->vlan_vid,set_field:0->vlan_pcp,output:2", packet(tags=[inner]),
                  p2=packet(tags=[outer, inner]))
            check(["in_port=1,vlan_vid=0x1009,actions=pop_vlan,output:2"], packet(tags=[outer, inner]), p2=packet(tags=[inner]))
            check(["ip,in_port=1,actions=dec_ttl,output:2"], packet(ttl=9), p2=packet(ttl=8))
            check(["ip,in_port=1,actions=output:3,dec_ttl,output:2"], packet(ttl=1), p3=packet(ttl=1))
            check(["udp,in_port=1,actions=set_field:77->udp_dst,set_field:10->ip_dscp,output:2"], packet(),
                  p2=packet(dport=77, tos=40))
            # Tables, metadata, and what the second sees of the first.
            check([f"table=0,in_port=1,actions=set_field:{C}->eth_dst,write_metadata:0x5/0xff,goto_table:4",
                   f"table=4,metadata=0x5,dl_dst={C},actions=output:3", "table=4,actions=output:2"],
                  packet(), p3=packet(dst=C))
            check(["table=0,in_port=1,actions=output:2,goto_table:1", "table=1,priority=0,actions=output:3"], packet(),
                  p2=packet(), p3=packet())
            check([f"in_port=1,actions=write_actions(output:3,set_field:{C}->eth_dst)"], packet(), p3=packet(dst=C))
            # Packets that no flow matches are dropped.
            check(["in_port=2,actions=output:1"], packet())
            for group, flow, expected in (
                    (f"group_id=1,type=all,bucket=set_field:{C}->eth_src,output:2,bucket=output:3", "in_port=1,actions=group:1",
                     {"p2": packet(src=C), "p3": packet()}),
                    (f"group_id=2,type=indirect,bucket=output:2", f"in_port=1,actions=set_field:{C}->eth_src,group:2,output:3",
                     {"p2": packet(src=C), "p3": packet(src=C)}),
                    (f"group_id=3,type=select,bucket=weight:1,output:2", "in_port=1,actions=group:3", {"p2": packet()})):
                lab.ofctl("add-group", group)
                check([flow], packet(), **expected)
            lab.ofctl("mod-group", "group_id=3,type=select,bucket=weight:1,output:3")
            time.sleep(lab.switch.settles)
            lab.hosts[0].send(packet())
            self.assertEqual(lab.hosts[2].received(1), [packet()])
            # A select group spreads flows, and a flow stays with its bucket.
            lab.ofctl("mod-group", "group_id=3,type=select,bucket=weight:1,output:2,bucket=weight:1,output:3")
            time.sleep(lab.switch.settles)
            # Open vSwitch does not look at the ports of UDP for this.
            for host in range(40):
                flow = ethernet(B, A, 0x0800, ipv4(f"10.0.1.{host}", TWO, 17, udp(f"10.0.1.{host}", TWO, 3000 + host, 2000)))
                for _ in range(2):
                    lab.hosts[0].send(flow)
            two, three = [], []

            def all_there():
                two.extend(lab.hosts[1].received())
                three.extend(lab.hosts[2].received())
                return len(two) + len(three) >= 80
            wait_until(lab.logs, all_there)
            self.assertEqual(len(two) + len(three), 80)
            self.assertTrue(two and three)
            self.assertFalse(set(two) & set(three))

    def test_timeouts(self):
        with self.lab(versions="1.3") as lab:
            monitor = lab.monitor()
            log = lambda: monitor.log.read_text()

            def watched():
                lab.ofctl("add-flow", "cookie=9,in_port=9,send_flow_rem,actions=drop")
                lab.ofctl("del-flows", "in_port=9")
                return "cookie:0x9" in log()
            try:
                wait_until(log, watched)
                # Again, if this test was too late to keep the first flow in use, or the switch to see its packets.
                for _ in range(20):
                    lab.ofctl("add-flow", "cookie=1,in_port=1,idle_timeout=2,send_flow_rem,actions=output:2")
                    lab.ofctl("add-flow", "cookie=2,in_port=2,hard_timeout=2,send_flow_rem,actions=output:1")
                    lab.ofctl("add-flow", "cookie=3,in_port=3,send_flow_rem,actions=CONTROLLER:65535")
                    sent = [time.monotonic()]
                    for _ in range(5):
                        lab.hosts[0].send(packet())
                        lab.hosts[1].send(packet())
                        time.sleep(0.8)
                        sent.append(time.monotonic())
                    left = len(flows(lab.ofctl("dump-flows")))
                    sent.append(time.monotonic())
                    if left == 2 and max(after - before for before, after in zip(sent, sent[1:])) < 1.6:
                        break
                # One that is used stays, whatever its hard timeout says goes.
                self.assertEqual(left, 2)
                wait_until(log, lambda: re.search(r"FLOW_REMOVED.*in_port=2 reason=hard.*cookie:0x2", log()))
                wait_until(log, lambda: re.search(r"FLOW_REMOVED.*in_port=1 reason=idle.*cookie:0x1.*pkts([5-9]|\d\d)", log()))
                lab.hosts[2].send(packet())
                wait_until(log, lambda: re.search(r"PACKET_IN.*cookie=0x3 total_len=56 in_port=3 \(via action\)", log()))
                lab.ofctl("del-flows", "in_port=3")
                wait_until(log, lambda: re.search(r"FLOW_REMOVED.*in_port=3 reason=delete.*cookie:0x3", log()))
                # A link goes down and up again.
                lab.hosts[1]("ip", "link", "set", "eth0", "down")
                wait_until(log, lambda: re.search(r"PORT_STATUS.*MOD: 2\(p2\)(?s:.*?)state: +LINK_DOWN", log()))
            finally:
                monitor.stop()

    def test_standalone(self):
        with self.lab(versions="1.3", options=["--standalone"]) as lab:
            one, two, three = lab.hosts
            wait_until(lab.logs, lambda: one.ping(two, check=False))
            three.ping(one)
            # A controller takes over.
            lab.applications = ["simple_switch_13"]
            lab.start_controller()
            wait_until(lab.logs, lambda: "CONTROLLER:65535" in lab.ofctl("dump-flows"))
            one.ping(two)

    def test_errors(self):
        """What is refused, and how."""
        with self.lab(versions="1.3") as lab:
            def refused(command, *arguments):
                try:
                    lab.ofctl(command, *arguments)
                except AssertionError as error:
                    return re.search(r"OFP[A-Z]+C_[A-Z_]+", str(error)).group(0)
                return None
            lab.ofctl("add-flow", "priority=3,in_port=1,actions=drop")
            self.assertEqual(refused("add-flow", "check_overlap,priority=3,udp,actions=drop"), "OFPFMFC_OVERLAP")
            self.assertEqual(refused("add-flow", "in_port=1,actions=group:77"), "OFPBAC_BAD_OUT_GROUP")
            self.assertEqual(refused("mod-group", "group_id=5,type=all,bucket=output:1"), "OFPGMFC_UNKNOWN_GROUP")
            lab.ofctl("add-group", "group_id=5,type=all,bucket=output:1")
            self.assertEqual(refused("add-group", "group_id=5,type=all,bucket=output:1"), "OFPGMFC_GROUP_EXISTS")


# What `dump-flows` says of the flows of test_ovs_ofctl: the same of both switches.
COUNTS = ("n_bytes=0", "n_packets=0")
EXPECTED = {version: sorted([
    (tuple(sorted((*COUNTS, "priority=10", "in_port=1"))), "output:2"),
    (tuple(sorted((*COUNTS, "priority=20", "cookie=0x7", "udp", "in_port=1", "nw_dst=10.0.0.0/8", "tp_dst=53"))), "output:3"),
    (tuple(sorted((*COUNTS, "priority=5", "arp", "arp_tpa=10.0.0.2"))), "IN_PORT,output:3"),
    (tuple(sorted((*COUNTS, "priority=6", "dl_vlan=5", "dl_vlan_pcp=3"))), strip + ",output:1"),
]) for version, strip in (("1.0", "strip_vlan"), ("1.3", "pop_vlan"))}


class OurSwitch(Cases, unittest.TestCase):
    switch = Hopwright


class Peer(Cases, unittest.TestCase):
    switch = OpenVSwitch


if __name__ == "__main__":
    unittest_main(verbosity=2)
