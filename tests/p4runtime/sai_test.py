#!/usr/bin/env python3
"""Names, constraints and references as in SAI's P4 programs, as an unmodified controller library, finsy, sees them."""

import asyncio
import pathlib
import tempfile
import unittest
from copy import copy

import finsy as fy
from finsy.proto import p4r

from lab import patience
from lab.cases import unittest_main
from lab.switch import HERE, Switch, ethernet, ipv4, p4info

patience.finsy()
TMP = pathlib.Path(tempfile.mkdtemp())
SAI = fy.SwitchOptions(p4info=p4info("sai.p4", TMP / "sai.txt"), p4blob=HERE / "sai.p4")
# The machine may be busy.
PATIENCE = 60


def entry(table, action=None, priority=0, args=None, **fields):
    action = fy.P4TableAction(action, **(args or {})) if action else None
    return fy.P4TableEntry(table, match=fy.P4TableMatch(fields), action=action, priority=priority)


VRF = entry("vrf_table", "no_action", vrf_id="vrf-red")
ACL = entry("acl_table", "set_vrf", priority=1, args={"vrf_id": "vrf-red"}, in_port="sw0")
INTERFACE = entry("router_interface_table", "set_port_and_src_mac", args={"port": "sw2", "src_mac": 0x020000000011},
                  router_interface_id="rif-1")
NEIGHBOR = entry("neighbor_table", "set_dst_mac", args={"dst_mac": 0x020000000022}, router_interface_id="rif-1", neighbor_id=7)
HOP = entry("nexthop_table", "set_ip_nexthop", args={"router_interface_id": "rif-1", "neighbor_id": 7}, nexthop_id="hop-1")
ROUTE = entry("ipv4_table", "set_nexthop_id", args={"nexthop_id": "hop-1"}, vrf_id="vrf-red", ipv4_dst="10.0.0.0/8")
# Each refers to those before it.
ENTRIES = [VRF, ACL, INTERFACE, NEIGHBOR, HOP, ROUTE]


def group(*ports):
    replicas = [p4r.Replica(port=port.encode(), instance=at) for at, port in enumerate(ports)]
    entry = p4r.MulticastGroupEntry(multicast_group_id=7, replicas=replicas)
    return p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=entry))


class Sai(unittest.IsolatedAsyncioTestCase):
    """With machine code."""

    arguments = ("--engine", "jit")

    def setUp(self):
        self.switch = self.enterContext(Switch("sai.p4", *self.arguments))

    async def asyncSetUp(self):
        self.sw = await self.enterAsyncContext(fy.Switch("sw", self.switch.address, SAI))

    async def fails(self, code, says, update):
        with self.assertRaises(fy.P4ClientError) as caught:
            await self.sw.write([update])
        (detail,) = caught.exception.details.values()
        self.assertEqual(detail.canonical_code.name, code, str(caught.exception))
        self.assertIn(says, detail.message)

    async def entries(self, table):
        return [e async for e in self.sw.read(fy.P4TableEntry(table))]

    async def test_names_route_packets(self):
        await self.sw.write([+copy(e) for e in ENTRIES])
        for wanted in ENTRIES:
            (found,) = await self.entries(wanted.table_id)
            self.assertEqual(found.encode(self.sw.p4info), wanted.encode(self.sw.p4info))
        frame = ipv4("10.9.9.9", "10.1.2.3")
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(2)[:12].hex(), "020000000022020000000011")
        # Not from another port: the default VRF has no routes.
        self.switch.send(1, frame)
        self.assertIsNone(self.switch.receive(2, timeout=0.5))
        # The default VRF is "", and its routes refer to no entry.
        default = entry("ipv4_table", "set_nexthop_id", args={"nexthop_id": "hop-1"}, vrf_id="", ipv4_dst="10.0.0.0/8")
        await self.sw.write([+copy(default)])
        self.switch.send(1, frame)
        self.assertIsNotNone(self.switch.receive(2))

    async def test_packets_have_names(self):
        await self.sw.write([+entry("acl_table", "trap", priority=1, ether_type=0x1234)])
        packets = self.sw.read_packets()
        first = asyncio.ensure_future(anext(packets))
        await asyncio.sleep(0.1)
        self.switch.send(3, ethernet("020000000001", "020000000002", 0x1234, bytes(46)))
        packet = await asyncio.wait_for(first, PATIENCE)
        self.assertEqual((packet["ingress_port"], packet["vrf_id"]), ("sw3", ""))
        frame = ipv4("10.9.9.9", "10.1.2.3")
        for port in ("sw1", "1"):
            await self.sw.write([fy.P4PacketOut(frame, egress_port=port, unused_pad=0)])
            self.assertEqual(self.switch.receive(1), frame)

    async def test_groups_of_named_ports(self):
        route = entry("ipv4_table", "set_multicast_group_id", args={"multicast_group_id": 7}, vrf_id="", ipv4_dst="224.0.0.0/8")
        await self.fails("INVALID_ARGUMENT", "there is no multicast group 7", +copy(route))
        await self.sw.write([p4r.Update(type=p4r.Update.INSERT, entity=group("sw1", "sw2")), +copy(route)])
        self.switch.send(0, ipv4("10.9.9.9", "224.0.0.1"))
        self.assertIsNotNone(self.switch.receive(1))
        self.assertIsNotNone(self.switch.receive(2))
        request = p4r.ReadRequest(device_id=1, entities=[group()])
        found = [e async for part in self.sw._p4client.request_iter(request) for e in part.entities]
        self.assertEqual(found, [group("sw1", "sw2")])
        await self.fails("FAILED_PRECONDITION", "in use", p4r.Update(type=p4r.Update.DELETE, entity=group()))

    async def test_constraints(self):
        await self.fails("INVALID_ARGUMENT", "`vrf_id != 0` is false", +entry("vrf_table", "no_action", vrf_id=""))
        await self.fails("INVALID_ARGUMENT", "dst_ip::mask != 0 -> ether_type == 0x0800",
                         +entry("acl_table", "drop", priority=1, dst_ip="10.0.0.1"))
        await self.fails("INVALID_ARGUMENT", "there are sw0, sw1", +entry("acl_table", "drop", priority=1, in_port="Ethernet0"))
        none = entry("ipv4_table", "set_multicast_group_id", args={"multicast_group_id": 0}, vrf_id="", ipv4_dst="224.0.0.0/8")
        await self.fails("INVALID_ARGUMENT", "@action_restriction forbids this: `multicast_group_id != 0` is false", +copy(none))
        self.assertEqual(await self.entries("acl_table"), [])

    async def test_references(self):
        await self.fails("INVALID_ARGUMENT", 'vrf_id = "vrf-red"', +copy(ROUTE))
        await self.sw.write([+copy(e) for e in ENTRIES])
        for used in (VRF, INTERFACE, NEIGHBOR, HOP):
            await self.fails("FAILED_PRECONDITION", "this entry is in use", -copy(used))
        await self.sw.write([-copy(e) for e in reversed(ENTRIES)])
        self.assertEqual(await self.entries("vrf_table"), [])

    async def test_a_wrong_constraint_names_its_place(self):
        text = (HERE / "sai.p4").read_text().replace("vrf_id != 0;", "vrf_id ! 0;", 1)
        config = p4r.ForwardingPipelineConfig(p4_device_config=text.encode())
        with self.assertRaises(fy.P4ClientError) as caught:
            await self.sw._set_pipeline_config_request(config=config)
        self.assertEqual(caught.exception.code.name, "INVALID_ARGUMENT")
        self.assertIn("table `Routing.vrf_table`: @entry_restriction, line 3, column 16", caught.exception.message)


class Interpreted(Sai):
    """The same with the interpreter."""

    arguments = ("--engine", "interp")


if __name__ == "__main__":
    unittest_main()
