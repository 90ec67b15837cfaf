#!/usr/bin/env python3
"""Action profiles, selectors and meters as an unmodified controller library, finsy, sees them."""

import pathlib
import tempfile
import unittest

import finsy as fy
from finsy.p4entity import P4Member
from finsy.p4schema import P4ConfigAction, P4ConfigResponseType
from finsy.proto import p4r

from lab import patience
from lab.cases import unittest_main
from lab.switch import HERE, Switch, ethernet, p4info

patience.finsy()
TMP = pathlib.Path(tempfile.mkdtemp())
BALANCE = fy.SwitchOptions(p4info=p4info("balance.p4", TMP / "balance.txt"), p4blob=HERE / "balance.p4")


async def all_of(entities):
    return [e async for e in entities]


def match(**fields):
    return fy.P4TableMatch(**fields)


def send(port):
    return fy.P4TableAction("send", port=port)


def member(number, action=None, profile="ports"):
    return fy.P4ActionProfileMember(profile, member_id=number, action=action)


def group(number, weights, max_size=0):
    members = [P4Member(m, weight=w) for m, w in weights.items()]
    return fy.P4ActionProfileGroup("ports", group_id=number, members=members, max_size=max_size)


def spread(dst, *actions, **target):
    return fy.P4TableEntry("spread", match=match(dst=dst), action=fy.P4IndirectAction(list(actions) or None, **target))


def frame(flow, kind=0x0800, dst="0a0000000001"):
    return ethernet(dst, f"0200000000{flow:02x}", kind, bytes(46))


class Balance(unittest.IsolatedAsyncioTestCase):
    """With machine code."""

    arguments = ("--engine", "jit")

    def setUp(self):
        self.switch = self.enterContext(Switch("balance.p4", *self.arguments))

    async def asyncSetUp(self):
        self.sw = await self.enterAsyncContext(fy.Switch("sw", self.switch.address, BALANCE))

    async def fails(self, codes, updates):
        with self.assertRaises(fy.P4ClientError) as caught:
            await self.sw.write(updates)
        found = {at: detail.canonical_code.name for at, detail in caught.exception.details.items()}
        self.assertEqual(found, codes, str(caught.exception))

    def goes(self, sent, port, mark=0x02):
        """A packet leaves by a port, marked so."""
        self.switch.send(0, sent)
        found = self.switch.receive(port)
        self.assertIsNotNone(found)
        self.assertEqual(found, sent[:6] + bytes([mark]) + sent[7:])

    async def test_p4info(self):
        profile = self.sw.p4info.action_profiles["ports"]
        self.assertTrue(profile.with_selector)
        self.assertEqual((profile.size, profile.max_group_size), (64, 10))
        self.assertEqual(len(self.sw.p4info.action_profiles["marks"].table_names), 2)

    async def test_a_set_of_actions(self):
        await self.sw.write([+spread((0x0A0000000000, 8), 1 * send(1), 2 * send(2))])
        for flow, port in ((0, 1), (1, 2), (2, 2), (3, 1)):
            self.goes(frame(flow), port)
        (found,) = await all_of(self.sw.read(fy.P4TableEntry("spread")))
        self.assertEqual(found.action, fy.P4IndirectAction([1 * send(1), 2 * send(2)]))
        # Sets have no members that others see.
        self.assertEqual(await all_of(self.sw.read(fy.P4ActionProfileMember())), [])
        await self.sw.write([~spread((0x0A0000000000, 8), 1 * send(3))])
        self.goes(frame(1), 3)
        (entry,) = await all_of(self.sw.read(fy.P4TableEntry("spread", counter_data=fy.P4CounterData())))
        self.assertEqual(entry.counter_data.packet_count, 5)

    async def test_groups(self):
        everything = (0x0A0000000000, 8)
        await self.sw.write([
            +member(1, send(1)), +member(2, send(2)), +member(3, send(3)),
            +group(5, {3: 1, 1: 2}), +group(6, {}, max_size=4), +spread(everything, group_id=5),
        ])
        # In the order of their numbers, as often as their weights say.
        for flow, port in ((0, 1), (1, 1), (2, 3), (3, 1)):
            self.goes(frame(flow), port)
        await self.sw.write([~member(3, send(2)), ~group(6, {2: 4}, max_size=4)])
        self.goes(frame(2), 2)
        await self.sw.write([~spread(everything, member_id=2)])
        self.goes(frame(0), 2)
        await self.sw.write([~spread(everything, group_id=6), ~group(6, {}, max_size=4)])
        self.switch.send(0, frame(0))
        self.assertIsNone(self.switch.receive(2, timeout=0.5))
        members = await all_of(self.sw.read(fy.P4ActionProfileMember()))
        self.assertEqual([(m.member_id, m.action) for m in members], [(1, send(1)), (2, send(2)), (3, send(2))])
        self.assertEqual(await all_of(self.sw.read(member(2))), [members[1]])
        groups = await all_of(self.sw.read(fy.P4ActionProfileGroup()))
        self.assertEqual([(g.group_id, g.max_size) for g in groups], [(5, 0), (6, 4)])
        self.assertEqual([(m.member_id, m.weight) for m in groups[0].members], [(1, 2), (3, 1)])
        (entry,) = await all_of(self.sw.read(fy.P4TableEntry("spread")))
        self.assertEqual(entry.action, fy.P4IndirectAction(group_id=6))

        await self.fails({
            0: "FAILED_PRECONDITION", 1: "FAILED_PRECONDITION", 2: "ALREADY_EXISTS", 3: "NOT_FOUND", 4: "NOT_FOUND",
            5: "ALREADY_EXISTS", 6: "RESOURCE_EXHAUSTED", 7: "RESOURCE_EXHAUSTED", 8: "INVALID_ARGUMENT",
            9: "INVALID_ARGUMENT", 10: "NOT_FOUND", 11: "NOT_FOUND", 12: "UNIMPLEMENTED", 13: "OUT_OF_RANGE",
        }, [
            -member(1), -group(6, {}), +member(1, send(1)), ~member(9, send(1)), -group(9, {}),
            +group(5, {}), ~group(6, {1: 5}, max_size=4), +group(8, {1: 11}), +group(8, {1: 0}),
            ~group(6, {1: 1}, max_size=5), +group(8, {99: 1}), +spread((0x0B0000000000, 8), member_id=99),
            +group(8, {1: (1, 2)}),
            p4r.Update(type=p4r.Update.INSERT, entity=wide_member(self.sw.p4info)),
        ])
        # Nothing leads to the first group any more.
        await self.sw.write([-group(5, {}), -member(3), -member(1)])
        await self.sw.delete_all()
        self.assertEqual(await all_of(self.sw.read(fy.P4ActionProfileMember())), [])

    async def test_all_or_nothing(self):
        await self.sw.write([+member(1, send(1)), +member(2, send(2)), +group(5, {1: 1}),
                             +spread((0x0A0000000000, 8), group_id=5)])
        updates = [~member(1, send(3)), ~group(5, {2: 1}), ~spread((0x0A0000000000, 8), member_id=2), -group(5, {}),
                   +member(7, send(1)), -member(7), ~fy.P4MeterEntry("by_type", config=METER), -member(99)]
        encoded = [u.encode_update(self.sw.p4info) for u in updates]
        request = p4r.WriteRequest(device_id=1, updates=encoded, atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR)
        with self.assertRaises(fy.P4ClientError):
            await self.sw._p4client.request(request)
        self.goes(frame(0), 1)
        (found,) = await all_of(self.sw.read(fy.P4TableEntry("spread")))
        self.assertEqual(found.action, fy.P4IndirectAction(group_id=5))
        self.assertEqual(len(await all_of(self.sw.read(fy.P4ActionProfileMember("ports")))), 2)
        self.assertIsNone((await all_of(self.sw.read(fy.P4MeterEntry("by_type", index=0))))[0].config)

    async def test_two_tables_share_a_profile(self):
        mark = fy.P4TableAction("mark", **{"as": 0x77})
        def entries():
            to = fy.P4IndirectAction(member_id=4)
            return [fy.P4TableEntry("marking", match=match(type=0x1234), action=to),
                    fy.P4TableEntry("marking_too", match=match(port=3), action=to)]

        await self.sw.write([+spread((0x0A0000000000, 8), 1 * send(1)), +member(4, mark, "marks"),
                             *[+e for e in entries()]])
        self.goes(frame(0, 0x1234), 1, 0x77)
        self.switch.send(3, frame(0))
        self.assertEqual(self.switch.receive(1)[6], 0x77)
        await self.sw.write([~member(4, fy.P4TableAction("mark", **{"as": 0x78}), "marks")])
        self.goes(frame(0, 0x1234), 1, 0x78)
        self.switch.send(3, frame(0))
        self.assertEqual(self.switch.receive(1)[6], 0x78)
        grouped = fy.P4TableEntry("marking", match=match(type=1), action=fy.P4IndirectAction(group_id=1))
        await self.fails({0: "FAILED_PRECONDITION", 1: "INVALID_ARGUMENT", 2: "INVALID_ARGUMENT"}, [
            -member(4, profile="marks"), +grouped, +member(5, send(1), "marks"),
        ])
        # Without a selector an entry may still have one action of its own.
        own = fy.P4TableEntry("marking", match=match(type=0x1235), action=fy.P4IndirectAction([1 * mark]))
        await self.sw.write([+own])
        self.goes(frame(0, 0x1235), 1, 0x77)
        await self.sw.write([*[-e for e in entries()], -member(4, profile="marks")])

    async def test_profiles_survive_reconcile(self):
        await self.sw.write([
            +member(1, send(1)), +member(2, send(2)), +group(5, {1: 1, 2: 1}), +spread((0x0A0000000000, 8), group_id=5),
            +spread((0x0B0000000000, 8), 1 * send(3)), ~fy.P4MeterEntry("by_type", index=3, config=METER),
        ])
        reply = await self.sw._get_pipeline_config_request(response_type=P4ConfigResponseType.ALL)
        text = reply.config.p4_device_config.replace(b"meter(8,", b"meter(9,")
        config = p4r.ForwardingPipelineConfig(p4_device_config=text)
        await self.sw._set_pipeline_config_request(action=P4ConfigAction.RECONCILE_AND_COMMIT, config=config)
        self.goes(frame(1), 2)
        self.goes(frame(0, dst="0b0000000001"), 3)
        meters = await all_of(self.sw.read(fy.P4MeterEntry("by_type")))
        self.assertEqual([m.config for m in meters], [None] * 3 + [METER] + [None] * 5)
        await self.fails({0: "FAILED_PRECONDITION"}, [-group(5, {})])

    async def test_meters(self):
        await self.sw.write([+spread((0x0A0000000000, 8), 1 * send(1))])
        cells = await all_of(self.sw.read(fy.P4MeterEntry()))
        self.assertEqual([c.config for c in cells], [None] * 8)
        # Without rates all is green. With these, the third of three packets at once finds both buckets empty.
        self.goes(frame(0, 0xFF02), 1, 0)
        await self.sw.write([~fy.P4MeterEntry("by_type", index=2, config=METER)])
        for color in (0, 1, 2):
            self.goes(frame(0, 0xFF02), 1, color)
        self.goes(frame(0, 0xFF03), 1, 0)
        (cell,) = await all_of(self.sw.read(fy.P4MeterEntry("by_type", index=2)))
        self.assertEqual(cell.config, METER)
        # All of them, and back.
        await self.sw.write([~fy.P4MeterEntry("by_type", config=METER)])
        self.assertEqual([c.config for c in await all_of(self.sw.read(fy.P4MeterEntry("by_type")))], [METER] * 8)
        await self.sw.write([~fy.P4MeterEntry("by_type", index=2)])
        for _ in range(4):
            self.goes(frame(0, 0xFF02), 1, 0)
        await self.fails({0: "OUT_OF_RANGE", 1: "INVALID_ARGUMENT", 2: "INVALID_ARGUMENT", 3: "INVALID_ARGUMENT"}, [
            ~fy.P4MeterEntry("by_type", index=8, config=METER), ~fy.P4MeterEntry("by_type", index=-1, config=METER),
            ~fy.P4MeterEntry("by_type", index=0, config=fy.P4MeterConfig(cir=2, cburst=1, pir=1, pburst=1)),
            ~fy.P4MeterEntry("by_type", index=0, config=fy.P4MeterConfig(cir=-2, cburst=1, pir=1, pburst=1)),
        ])

    async def test_direct_meters(self):
        def flow(number, **more):
            return fy.P4TableEntry("flows", match=match(src=number), action=fy.P4TableAction("color"), **more)

        size = len(frame(1))
        two = fy.P4MeterConfig(cir=0, cburst=size, pir=0, pburst=2 * size)
        await self.sw.write([+spread((0x0A0000000000, 8), 1 * send(1)), +flow(1), +flow(2, meter_config=two)])
        self.goes(frame(1), 1, 0)
        for color in (0, 1, 2):
            self.goes(frame(2), 1, color)
        found = await all_of(self.sw.read(fy.P4DirectMeterEntry()))
        self.assertEqual([m.config for m in found], [None, two])
        found = await all_of(self.sw.read(fy.P4TableEntry("flows", meter_config=two)))
        self.assertEqual([e.meter_config for e in found], [None, two])
        found = await all_of(self.sw.read(fy.P4TableEntry("flows")))
        self.assertEqual([e.meter_config for e in found], [None, None])
        # A write of the meter alone, one of the entry that mentions it, and one that does not.
        await self.sw.write([~fy.P4DirectMeterEntry(table_entry=flow(1), config=two)])
        for color in (0, 1, 2):
            self.goes(frame(1), 1, color)
        await self.sw.write([~flow(2, meter_config=two)])
        self.goes(frame(2), 1, 0)
        await self.sw.write([~flow(1), ~fy.P4DirectMeterEntry(table_entry=flow(2))])
        for number in (1, 2):
            for _ in range(3):
                self.goes(frame(number), 1, 0)
        mark = fy.P4TableEntry("marking", match=match(type=1), action=fy.P4IndirectAction(member_id=1), meter_config=two)
        await self.fails({0: "INVALID_ARGUMENT", 1: "NOT_FOUND"},
                         [+mark, ~fy.P4DirectMeterEntry(table_entry=flow(9), config=two)])


# Nothing comes back in the time a test takes.
METER = fy.P4MeterConfig(cir=0, cburst=1, pir=0, pburst=2)


def wide_member(schema):
    entity = member(8, send(1)).encode(schema)
    entity.action_profile_member.action.params[0].value = b"\x02\x00"
    return entity


class Interpreted(Balance):
    """The same with the interpreter."""

    arguments = ("--engine", "interp")


if __name__ == "__main__":
    unittest_main()
