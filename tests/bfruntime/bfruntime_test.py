#!/usr/bin/env python3
"""The BfRuntime service as a controller of a Tofino program sees it: with our client, or with Intel's unmodified one
(BFRT_CLIENT names the folder that has its package)."""

import os
import pathlib
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
from lab.command import wait_until
from lab.cases import unittest_main
from lab.netns import ip
from lab.switch import Switch, ethernet, ipv4

if public := os.environ.get("BFRT_CLIENT"):
    sys.path.insert(0, public)
    import bfrt_grpc.client as gc
    PB = gc.bfruntime_pb2
else:
    import client as gc
    PB = gc.pb

import grpc  # noqa: E402

ADDRESS = "127.0.0.1:50052"
PROGRAM = HERE / "router.p4"
ALL = gc.Target(device_id=0, pipe_id=0xffff)
HOST = 0x020000000001
PATIENCE = 60


def address(text):
    return int.from_bytes(bytes(map(int, text.split("."))), "big")


class Refused:
    """Expects a write to fail, each update with these codes, or a read with one code."""

    def __init__(self, case, *codes):
        self.case, self.codes = case, codes

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        self.case.assertTrue(kind is not None and issubclass(kind, gc.BfruntimeReadWriteRpcException), f"{kind}: {error}")
        found = [grpc_code(e.canonical_code) for _, e in error.sub_errors_get()] or [error.grpc_error.code().name]
        self.case.assertEqual(tuple(found), self.codes, str(error.grpc_error.details()))
        return True


def grpc_code(number):
    return next(code.name for code in grpc.StatusCode if code.value[0] == number)


class BfRuntime(unittest.TestCase):
    def setUp(self):
        options = ("--cpu-port", "64", "--engine", "jit")
        self.switch = self.enterContext(Switch(PROGRAM, *options, address=ADDRESS))
        self.interface = gc.ClientInterface(ADDRESS, client_id=1, device_id=0)
        self.addCleanup(self.interface.tear_down_stream)
        self.info = self.interface.bfrt_info_get()
        self.interface.bind_pipeline_config(self.info.p4_name_get())

    def table(self, name):
        return self.info.table_get(name)

    def test_the_program_and_its_tables(self):
        self.assertEqual(self.info.p4_name_get(), "router")
        for name in ("pipe.In.routes", "In.next_hops", "In.choice", "In.by_port", "In.rate", "In.numbers", "In.pairs",
                     "$pre.node", "$pre.mgid", "$mirror.cfg", "$PORT"):
            self.assertIsNotNone(self.table(name))
        with self.assertRaises(Exception):
            self.interface.bind_pipeline_config("another")

    def switched(self):
        table = self.table("In.switched")
        key = table.make_key([gc.KeyTuple("hdr.ethernet.dst", HOST)])
        return table, key

    def send(self, table, port, dst=0x020000000099, action="In.send"):
        return table.make_data([gc.DataTuple("port", port), gc.DataTuple("dst", dst)], action)

    def test_an_exact_entry(self):
        table, key = self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(2)[:6].hex(), "020000000099")
        ((data, found),) = table.entry_get(ALL, [key], {"from_hw": True})
        self.assertEqual((data.to_dict()["port"], data.to_dict()["dst"]), (2, 0x020000000099))
        self.assertEqual(data.to_dict()["action_name"], "In.send")
        self.assertEqual(found.to_dict()["hdr.ethernet.dst"]["value"], HOST)
        self.assertEqual(next(table.usage_get(ALL)), 1)

        # Entries with an action, and some of their data.
        named = lambda action: table.make_data([gc.DataTuple("port")] if action == "In.send" else [], action, get=True)
        ((data, _),) = table.entry_get(ALL, [key], {"from_hw": True}, named("In.send"))
        self.assertNotIn("dst", data.to_dict())
        with Refused(self, "INVALID_ARGUMENT"):
            list(table.entry_get(ALL, [key], {"from_hw": True}, named("In.drop")))
        self.assertEqual(list(table.entry_get(ALL, None, {"from_hw": True}, named("In.drop"))), [])

        with Refused(self, "ALREADY_EXISTS"):
            table.entry_add(ALL, [key], [self.send(table, 2)])
        table.entry_mod(ALL, [key], [self.send(table, 3)])
        self.switch.send(0, frame)
        self.assertIsNotNone(self.switch.receive(3))
        table.entry_add_or_mod(ALL, [key], [self.send(table, 1)])
        self.switch.send(0, frame)
        self.assertIsNotNone(self.switch.receive(1))
        table.entry_del(ALL, [key])
        with Refused(self, "NOT_FOUND"):
            table.entry_del(ALL, [key])
        with Refused(self, "NOT_FOUND"):
            list(table.entry_get(ALL, [key], {"from_hw": True}))
        self.switch.send(0, frame)
        self.assertIsNone(self.switch.receive(1, timeout=0.3))

    def test_handles_of_entries(self):
        table, key = self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        handle = table.handle_get(ALL, [key])
        self.assertEqual(table.handle_get(ALL, [key]), handle)
        ((data, found),) = table.entry_get(ALL, flags={"from_hw": False}, handle=handle)
        self.assertEqual((data.to_dict()["port"], found.to_dict()["hdr.ethernet.dst"]["value"]), (2, HOST))
        with Refused(self, "INVALID_ARGUMENT"):
            list(table.entry_get(ALL, flags={"from_hw": False}, handle=handle + 1))
        ((data, _),) = table.entry_get(ALL, flags={"from_hw": False}, handle=1)
        self.assertEqual(data.to_dict()["action_name"], "In.drop")
        with Refused(self, "NOT_FOUND"):
            table.handle_get(ALL, [table.make_key([gc.KeyTuple("hdr.ethernet.dst", 5)])])

    def test_entries_of_one_pipe(self):
        table, key = self.switched()
        (scope,) = table.attribute_get(ALL, "EntryScope")
        self.assertIn("pipe_scope", scope)
        pipe = lambda number: gc.Target(device_id=0, pipe_id=number)
        table.attribute_entry_scope_set(ALL, predefined_pipe_scope_val=PB.Mode.SINGLE)
        table.entry_add(pipe(0), [key], [self.send(table, 2)])
        self.switch.send(0, ethernet("020000000001", "020000000002", 0x88b5, bytes(50)))
        self.assertIsNotNone(self.switch.receive(2))
        # There is no other pipe.
        with Refused(self, "INVALID_ARGUMENT"):
            table.entry_add(pipe(1), [key], [self.send(table, 2)])
        # Entries that are there keep their scope.
        with Refused(self, "INVALID_ARGUMENT"):
            table.attribute_entry_scope_set(ALL)
        table.entry_del(pipe(0), [key])
        table.attribute_entry_scope_set(ALL)

    def test_entries_become_idle(self):
        table = self.table("In.refused")
        key = lambda source: table.make_key([gc.KeyTuple("hdr.ethernet.src", source)])
        table.attribute_idle_time_set(ALL, True, PB.IdleTable.IDLE_TABLE_NOTIFY_MODE, 100, 10000, 100)
        table.entry_add(ALL, [key(1), key(2)], [table.make_data([gc.DataTuple("$ENTRY_TTL", ttl)], "In.drop") for ttl in (0, 200)])
        notice = self.interface.idletime_notification_get(timeout=PATIENCE)
        self.assertEqual(int.from_bytes(notice.table_entry.key.fields[0].exact.value, "big"), 2)
        self.assertEqual(notice.table_entry.table_id, table.info.id_get() if public else table.id)
        (found,) = table.attribute_get(ALL, "IdleTimeout")
        self.assertEqual((found["ttl_query_interval"], found["max_ttl"]), (100, 10000))

    def test_port_metadata(self):
        ports, (table, key) = self.table("InParser.$PORT_METADATA"), self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        at = ports.make_key([gc.KeyTuple("ig_intr_md.ingress_port", 1)])
        ports.entry_add(ALL, [at], [ports.make_data([gc.DataTuple("class", 7), gc.DataTuple("unused", 9)])])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))

        self.switch.send(0, frame)
        self.assertIsNotNone(self.switch.receive(2))
        self.switch.send(1, frame)
        self.assertIsNone(self.switch.receive(2, 0.5))
        ((data, _),) = ports.entry_get(ALL, [at], {"from_hw": False})
        self.assertEqual((data.to_dict()["class"], data.to_dict()["unused"]), (7, 9))
        ports.entry_del(ALL, [at])
        self.switch.send(1, frame)
        self.assertIsNotNone(self.switch.receive(2))

    def test_a_parameter_of_register_actions(self):
        step, numbers = self.table("In.step"), self.table("In.numbers")
        at = numbers.make_key([gc.KeyTuple("$REGISTER_INDEX", 1)])
        number = lambda: next(numbers.entry_get(ALL, [at], {"from_hw": True}))[0].to_dict()["In.numbers.f1"]
        ((data, _),) = step.default_entry_get(ALL)
        self.assertEqual(data.to_dict()["value"], 1)
        step.default_entry_set(ALL, step.make_data([gc.DataTuple("value", 100)]))
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        wait_until("it happens", lambda: number() == [107])
        step.default_entry_reset(ALL)
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        wait_until("it happens", lambda: number() == [108])

    def test_bytes_that_meters_count(self):
        meter = self.table("In.rate")
        (found,) = meter.attribute_get(ALL, "MeterByteCountAdjust")
        self.assertEqual(found["byte_count_adjust"], 0)
        meter.attribute_meter_bytecount_adjust_set(ALL, 20)
        (found,) = meter.attribute_get(ALL, "MeterByteCountAdjust")
        self.assertEqual(found["byte_count_adjust"], 20)

    def test_default_entries(self):
        table, _ = self.switched()
        table.default_entry_set(ALL, self.send(table, 3))
        self.switch.send(0, ethernet("02000000aaaa", "020000000002", 0x88b5, bytes(50)))
        self.assertIsNotNone(self.switch.receive(3))
        ((data, _),) = table.default_entry_get(ALL)
        self.assertEqual((data.to_dict()["action_name"], data.to_dict()["port"]), ("In.send", 3))
        table.default_entry_reset(ALL)
        ((data, _),) = table.default_entry_get(ALL)
        self.assertEqual(data.to_dict()["action_name"], "In.drop")

    def test_routes_and_a_selector(self):
        members, groups, next_hops, routes = map(self.table, ("In.members", "In.choice", "In.next_hops", "In.routes"))
        member = lambda n: members.make_key([gc.KeyTuple("$ACTION_MEMBER_ID", n)])
        group = groups.make_key([gc.KeyTuple("$SELECTOR_GROUP_ID", 1)])
        members.entry_add(ALL, [member(1), member(2)], [self.send(members, 1), self.send(members, 2)])
        groups.entry_add(ALL, [group], [groups.make_data([
            gc.DataTuple("$ACTION_MEMBER_ID", int_arr_val=[1, 2]),
            gc.DataTuple("$ACTION_MEMBER_STATUS", bool_arr_val=[True, False]),
            gc.DataTuple("$MAX_GROUP_SIZE", 8),
        ])])
        next_hops.entry_add(ALL, [next_hops.make_key([gc.KeyTuple("md.next_hop", 5)])],
                            [next_hops.make_data([gc.DataTuple("$SELECTOR_GROUP_ID", 1)])])
        prefix = routes.make_key([gc.KeyTuple("hdr.ipv4.dst", address("10.0.0.0"), prefix_len=8)])
        routes.entry_add(ALL, [prefix], [routes.make_data([gc.DataTuple("next_hop", 5)], "In.route")])

        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        frame = self.switch.receive(1)
        self.assertEqual((frame[:6].hex(), frame[22]), ("020000000099", 63))
        # The other member takes its place, and both do.
        groups.entry_mod(ALL, [group], [groups.make_data([
            gc.DataTuple("$ACTION_MEMBER_ID", int_arr_val=[1, 2]),
            gc.DataTuple("$ACTION_MEMBER_STATUS", bool_arr_val=[False, True]),
        ])])
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertIsNotNone(self.switch.receive(2))
        ((data, _),) = groups.entry_get(ALL, [group], {"from_hw": False})
        self.assertEqual(data.to_dict()["$ACTION_MEMBER_ID"], [1, 2])
        self.assertEqual(data.to_dict()["$ACTION_MEMBER_STATUS"], [False, True])
        # A member has the weight of as many as it is there, active or not.
        ids, active = [2, 1, 2, 1, 2], [True, False, True, False, False]
        groups.entry_mod(ALL, [group], [groups.make_data([gc.DataTuple("$ACTION_MEMBER_ID", int_arr_val=ids),
                                                         gc.DataTuple("$ACTION_MEMBER_STATUS", bool_arr_val=active)])])
        ((data, _),) = groups.entry_get(ALL, [group], {"from_hw": False})
        shown = zip(data.to_dict()["$ACTION_MEMBER_ID"], data.to_dict()["$ACTION_MEMBER_STATUS"])
        self.assertEqual(sorted(shown), sorted(zip(ids, active)))
        # The group of an entry has an active member, and no entry leads to one without.
        none = groups.make_data([gc.DataTuple("$ACTION_MEMBER_ID", int_arr_val=[1]), gc.DataTuple("$ACTION_MEMBER_STATUS", bool_arr_val=[False])])
        with Refused(self, "INVALID_ARGUMENT"):
            groups.entry_mod(ALL, [group], [none])
        other = groups.make_key([gc.KeyTuple("$SELECTOR_GROUP_ID", 2)])
        groups.entry_add(ALL, [other], [none])
        with Refused(self, "INVALID_ARGUMENT"):
            next_hops.entry_add(ALL, [next_hops.make_key([gc.KeyTuple("md.next_hop", 6)])],
                                [next_hops.make_data([gc.DataTuple("$SELECTOR_GROUP_ID", 2)])])

        ((data, key),) = routes.entry_get(ALL, None, {"from_hw": True})
        self.assertEqual(data.to_dict()["$COUNTER_SPEC_PKTS"], 2)
        self.assertEqual(key.to_dict()["hdr.ipv4.dst"]["prefix_len"], 8)
        routes.operations_execute(ALL, "SyncCounters")
        routes.entry_mod(ALL, [prefix], [routes.make_data([gc.DataTuple("$COUNTER_SPEC_PKTS", 100)])])
        ((data, _),) = routes.entry_get(ALL, [prefix], {"from_hw": True})
        self.assertEqual((data.to_dict()["$COUNTER_SPEC_PKTS"], data.to_dict()["next_hop"]), (100, 5))
        with Refused(self, "FAILED_PRECONDITION"):
            members.entry_del(ALL, [member(2)])
        routes.entry_del(ALL)
        self.assertEqual(list(routes.entry_get(ALL, None, {"from_hw": True})), [])

    def test_priorities_of_ternary_and_range_entries(self):
        table = self.table("In.filter")

        def key(source, mask, low, high, priority):
            return table.make_key([
                gc.KeyTuple("hdr.ipv4.src", address(source), mask=address(mask)),
                gc.KeyTuple("hdr.ipv4.ttl", low=low, high=high),
                gc.KeyTuple("$MATCH_PRIORITY", priority),
            ])

        drop, nothing = table.make_data([], "In.drop"), table.make_data([], "NoAction")
        # Zero wins.
        table.entry_add(ALL, [key("10.0.0.0", "255.0.0.0", 0, 255, 9), key("10.9.0.0", "255.255.0.0", 60, 64, 0)],
                        [drop, nothing])
        self.switch.send(0, ipv4("10.8.0.1", "10.1.2.3"))
        self.assertEqual(self.interface_packets(), [])
        ((data, found),) = table.entry_get(ALL, [key("10.9.0.0", "255.255.0.0", 60, 64, 0)], {"from_hw": True})
        self.assertEqual(data.to_dict()["action_name"], "NoAction")
        shown = [k.to_dict() for _, k in table.entry_get(ALL, None, {"from_hw": True})]
        self.assertEqual(sorted(k["$MATCH_PRIORITY"].get("value", 0) for k in shown), [0, 9])
        self.assertEqual(len(shown), 2)

    def interface_packets(self):
        """Frames that leave within a moment, at any port."""
        return [f for port in range(4) if (f := self.switch.receive(port, timeout=0.2)) is not None]

    def test_counters_meters_and_registers(self):
        counter, meter = self.table("In.by_port"), self.table("In.rate")
        index = lambda table, name, n: table.make_key([gc.KeyTuple(name, n)])
        self.switch.send(3, ipv4("10.9.9.9", "10.1.2.3"))
        at = index(counter, "$COUNTER_INDEX", 3)
        wait_until("it happens", lambda: next(counter.entry_get(ALL, [at], {"from_hw": True}))[0].to_dict()["$COUNTER_SPEC_PKTS"] == 1)
        # With the frame check sequence.
        ((data, _),) = counter.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual(data.to_dict()["$COUNTER_SPEC_BYTES"], len(ipv4("10.9.9.9", "10.1.2.3")) + 4)
        counter.entry_mod(ALL, [at], [counter.make_data([gc.DataTuple("$COUNTER_SPEC_BYTES", 7),
                                                        gc.DataTuple("$COUNTER_SPEC_PKTS", 5)])])
        ((data, _),) = counter.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual((data.to_dict()["$COUNTER_SPEC_PKTS"], data.to_dict()["$COUNTER_SPEC_BYTES"]), (5, 7))
        self.assertEqual(len(list(counter.entry_get(ALL, None, {"from_hw": True}))), 512)
        with Refused(self, "OUT_OF_RANGE"):
            counter.entry_mod(ALL, [index(counter, "$COUNTER_INDEX", 512)],
                              [counter.make_data([gc.DataTuple("$COUNTER_SPEC_PKTS", 5)])])

        at = index(meter, "$METER_INDEX", 2)
        fields = ("$METER_SPEC_CIR_KBPS", "$METER_SPEC_PIR_KBPS", "$METER_SPEC_CBS_KBITS", "$METER_SPEC_PBS_KBITS")
        ((data, _),) = meter.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual([data.to_dict()[f] for f in fields], [5195848221] * 2 + [4380866642] * 2)
        rates = (1000, 2000, 80, 160)
        meter.entry_add(ALL, [at], [meter.make_data([gc.DataTuple(f, n) for f, n in zip(fields, rates)])])
        ((data, _),) = meter.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual(tuple(data.to_dict()[f] for f in fields), rates)

        numbers, pairs = self.table("In.numbers"), self.table("In.pairs")
        at = index(numbers, "$REGISTER_INDEX", 1)
        wait_until("it happens", lambda: next(numbers.entry_get(ALL, [at], {"from_hw": True}))[0].to_dict()["In.numbers.f1"] == [8])
        numbers.entry_add(ALL, [at], [numbers.make_data([gc.DataTuple("In.numbers.f1", 0xCAFE)])])
        ((data, _),) = numbers.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual(data.to_dict()["In.numbers.f1"], [0xCAFE])
        at = index(pairs, "$REGISTER_INDEX", 3)
        pairs.entry_mod(ALL, [at], [pairs.make_data([gc.DataTuple("In.pairs.first", 0x12345678),
                                                    gc.DataTuple("In.pairs.second", 0x9ABC)])])
        ((data, _),) = pairs.entry_get(ALL, [at], {"from_hw": True})
        self.assertEqual((data.to_dict()["In.pairs.first"], data.to_dict()["In.pairs.second"]), ([0x12345678], [0x9ABC]))

    def test_a_direct_register(self):
        table = self.table("In.filter")

        def key(source):
            return table.make_key([gc.KeyTuple("hdr.ipv4.src", address(source), mask=2**32 - 1),
                                   gc.KeyTuple("hdr.ipv4.ttl", low=0, high=255), gc.KeyTuple("$MATCH_PRIORITY", 1)])

        def cell(first, second):
            return [gc.DataTuple("In.watched.first", first), gc.DataTuple("In.watched.second", second)]

        def found(source):
            ((data, _),) = table.entry_get(ALL, [key(source)], {"from_hw": True})
            data = data.to_dict()
            return data["action_name"], data["In.watched.first"], data["In.watched.second"]

        # An entry has what it is given, or the initial value.
        table.entry_add(ALL, [key("10.0.0.1"), key("10.0.0.2")],
                        [table.make_data([gc.DataTuple("mark", 9)], "In.watch"),
                         table.make_data([gc.DataTuple("mark", 9), *cell(0x01020304, 0xAB)], "In.watch")])
        self.assertEqual(found("10.0.0.1"), ("In.watch", [0], [3]))
        self.assertEqual(found("10.0.0.2"), ("In.watch", [0x01020304], [0xAB]))
        for source in ("10.0.0.2", "10.0.0.1", "10.0.0.2"):
            self.switch.send(0, ipv4(source, "10.1.2.3"))
        to = address("10.1.2.3")
        wait_until("it happens", lambda: found("10.0.0.2") == ("In.watch", [to], [0xAD]))
        wait_until("it happens", lambda: found("10.0.0.1") == ("In.watch", [to], [4]))
        table.operations_execute(ALL, "SyncRegisters")
        # Written without an action, it keeps that; an action keeps the cell.
        table.entry_mod(ALL, [key("10.0.0.1")], [table.make_data(cell(1, 2))])
        self.assertEqual(found("10.0.0.1"), ("In.watch", [1], [2]))
        table.entry_mod(ALL, [key("10.0.0.1")], [table.make_data([], "In.drop")])
        self.assertEqual(found("10.0.0.1"), ("In.drop", [1], [2]))
        with Refused(self, "INVALID_ARGUMENT"):
            table.entry_mod(ALL, [key("10.0.0.1")], [table.make_data(cell(1, 2)[:1])])
        # A new entry takes its place, not its value.
        table.entry_del(ALL, [key("10.0.0.2")])
        table.entry_add(ALL, [key("10.0.0.7")], [table.make_data([], "In.drop")])
        self.assertEqual(found("10.0.0.7"), ("In.drop", [0], [3]))

    def test_filters(self):
        lpf, wred, table = self.table("In.smoothed"), self.table("In.early"), self.table("In.filter")
        settings = [gc.DataTuple("$LPF_SPEC_TYPE", str_val="SAMPLE"),
                    gc.DataTuple("$LPF_SPEC_GAIN_TIME_CONSTANT_NS", float_val=1e12),
                    gc.DataTuple("$LPF_SPEC_DECAY_TIME_CONSTANT_NS", float_val=2e12),
                    gc.DataTuple("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", 1)]
        at = lpf.make_key([gc.KeyTuple("$LPF_INDEX", 3)])
        lpf.entry_add(ALL, [at], [lpf.make_data(settings)])
        lpf.entry_mod(ALL, [at], [lpf.make_data([gc.DataTuple("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", 4)])])
        ((data, key),) = lpf.entry_get(ALL, None, {"from_hw": False})
        self.assertEqual(key.to_dict()["$LPF_INDEX"].get("value"), 3)
        self.assertEqual((data.to_dict()["$LPF_SPEC_TYPE"], data.to_dict()["$LPF_SPEC_OUT_SCALE_DOWN_FACTOR"]), ("SAMPLE", 4))
        self.assertAlmostEqual(data.to_dict()["$LPF_SPEC_GAIN_TIME_CONSTANT_NS"] / 1e12, 1, places=5)
        lpf.entry_del(ALL, [at])
        self.assertEqual(list(lpf.entry_get(ALL, None, {"from_hw": False})), [])
        with Refused(self, "INVALID_ARGUMENT"):
            lpf.entry_add(ALL, [lpf.make_key([gc.KeyTuple("$LPF_INDEX", 16)])], [lpf.make_data(settings)])
        with Refused(self, "INVALID_ARGUMENT"):
            lpf.entry_add(ALL, [at], [lpf.make_data(settings[:1])])
        # A request that is refused for its second cell changes none.
        other = lpf.make_key([gc.KeyTuple("$LPF_INDEX", 2)])
        wrong = settings[:3] + [gc.DataTuple("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", 33)]
        with Refused(self, "INVALID_ARGUMENT"):
            lpf.entry_add(ALL, [other, at], [lpf.make_data(settings), lpf.make_data(wrong)],
                          atomicity=PB.WriteRequest.ROLLBACK_ON_ERROR)
        self.assertEqual(list(lpf.entry_get(ALL, None, {"from_hw": False})), [])

        early = [gc.DataTuple("$WRED_SPEC_TIME_CONSTANT_NS", float_val=1000.0), gc.DataTuple("$WRED_SPEC_MIN_THRESH_CELLS", 10),
                 gc.DataTuple("$WRED_SPEC_MAX_THRESH_CELLS", 20), gc.DataTuple("$WRED_SPEC_MAX_PROBABILITY", float_val=0.5)]
        at = wred.make_key([gc.KeyTuple("$WRED_INDEX", 0)])
        wred.entry_add(ALL, [at], [wred.make_data(early)])
        ((data, _),) = wred.entry_get(ALL, [at], {"from_hw": False})
        self.assertEqual(data.to_dict()["$WRED_SPEC_MAX_THRESH_CELLS"], 20)
        with Refused(self, "INVALID_ARGUMENT"):
            wred.entry_mod(ALL, [at], [wred.make_data([gc.DataTuple("$WRED_SPEC_MIN_THRESH_CELLS", 30)])])

        # An entry's filter: its output is an eighth of the length that the first packet has.
        entry = table.make_key([gc.KeyTuple("hdr.ipv4.src", address("10.0.0.1"), mask=2**32 - 1),
                                gc.KeyTuple("hdr.ipv4.ttl", low=0, high=255), gc.KeyTuple("$MATCH_PRIORITY", 1)])
        eighth = settings[:3] + [gc.DataTuple("$LPF_SPEC_OUT_SCALE_DOWN_FACTOR", 3)]
        table.entry_add(ALL, [entry], [table.make_data([gc.DataTuple("mark", 9), *eighth], "In.watch")])
        ((data, _),) = table.entry_get(ALL, [entry], {"from_hw": False})
        self.assertEqual(data.to_dict()["$LPF_SPEC_OUT_SCALE_DOWN_FACTOR"], 3)
        members, next_hops, routes = map(self.table, ("In.members", "In.next_hops", "In.routes"))
        members.entry_add(ALL, [members.make_key([gc.KeyTuple("$ACTION_MEMBER_ID", 1)])], [self.send(members, 1)])
        next_hops.entry_add(ALL, [next_hops.make_key([gc.KeyTuple("md.next_hop", 5)])],
                            [next_hops.make_data([gc.DataTuple("$ACTION_MEMBER_ID", 1)])])
        routes.entry_add(ALL, [routes.make_key([gc.KeyTuple("hdr.ipv4.dst", address("10.0.0.0"), prefix_len=8)])],
                         [routes.make_data([gc.DataTuple("next_hop", 5)], "In.route")])
        frame = ipv4("10.0.0.1", "10.1.2.3")
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(1)[15], int.from_bytes(frame[16:18], "big") // 8)
        table.entry_del(ALL, [entry])
        table.entry_add(ALL, [entry], [table.make_data([gc.DataTuple("mark", 9)], "In.watch")])
        ((data, _),) = table.entry_get(ALL, [entry], {"from_hw": False})
        self.assertNotIn("$LPF_SPEC_TYPE", data.to_dict())

    def nodes(self, *nodes):
        table = self.table("$pre.node")
        for number, rid, ports in nodes:
            table.entry_add(ALL, [table.make_key([gc.KeyTuple("$MULTICAST_NODE_ID", number)])], [table.make_data([
                gc.DataTuple("$MULTICAST_RID", rid), gc.DataTuple("$MULTICAST_LAG_ID", int_arr_val=[]),
                gc.DataTuple("$DEV_PORT", int_arr_val=ports),
            ])])
        return table

    def group(self, number, nodes):
        table = self.table("$pre.mgid")
        key = table.make_key([gc.KeyTuple("$MGID", number)])
        table.entry_add(ALL, [key], [table.make_data([
            gc.DataTuple("$MULTICAST_NODE_ID", int_arr_val=nodes),
            gc.DataTuple("$MULTICAST_NODE_L1_XID_VALID", bool_arr_val=[False] * len(nodes)),
            gc.DataTuple("$MULTICAST_NODE_L1_XID", int_arr_val=[0] * len(nodes)),
        ])])
        return table, key

    def test_multicast(self):
        nodes = self.nodes((1, 10, [1, 2]), (2, 20, [3]))
        groups, group = self.group(7, [1, 2])
        table, key = self.switched()
        table.entry_add(ALL, [key], [table.make_data([gc.DataTuple("group", 7)], "In.flood")])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        self.switch.send(0, frame)
        for port in (1, 2, 3):
            self.assertIsNotNone(self.switch.receive(port), port)
        # A node changes for its groups; one of a group's nodes goes.
        at = nodes.make_key([gc.KeyTuple("$MULTICAST_NODE_ID", 1)])
        nodes.entry_mod(ALL, [at], [nodes.make_data([gc.DataTuple("$MULTICAST_RID", 10),
                                                    gc.DataTuple("$MULTICAST_LAG_ID", int_arr_val=[]),
                                                    gc.DataTuple("$DEV_PORT", int_arr_val=[2])])])
        one = groups.make_data([gc.DataTuple("$MULTICAST_NODE_ID", int_arr_val=[2]),
                                gc.DataTuple("$MULTICAST_NODE_L1_XID_VALID", bool_arr_val=[False]),
                                gc.DataTuple("$MULTICAST_NODE_L1_XID", int_arr_val=[0])])
        groups.entry_mod_inc(ALL, [group], [one], PB.TableModIncFlag.MOD_INC_DELETE)
        self.switch.send(0, frame)
        self.assertIsNotNone(self.switch.receive(2))
        self.assertIsNone(self.switch.receive(1, timeout=0.3))
        self.assertIsNone(self.switch.receive(3, timeout=0.3))
        ((data, _),) = groups.entry_get(ALL, [group], {"from_hw": False})
        self.assertEqual(data.to_dict()["$MULTICAST_NODE_ID"], [1])
        # A node that is deleted leaves its groups.
        nodes.entry_del(ALL, [at])
        ((data, _),) = groups.entry_get(ALL, [group], {"from_hw": False})
        self.assertEqual(data.to_dict()["$MULTICAST_NODE_ID"], [])
        groups.entry_del(ALL, [group])

    def test_the_multicast_group_0(self):
        self.nodes((1, 10, [1, 2]))
        groups, group = self.group(0, [1])
        table, key = self.switched()
        table.entry_add(ALL, [key], [table.make_data([gc.DataTuple("group", 0)], "In.flood")])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        self.switch.send(0, frame)
        for port in (1, 2):
            self.assertIsNotNone(self.switch.receive(port), port)
        ((data, found),) = groups.entry_get(ALL, None, {"from_hw": False})
        self.assertEqual((data.to_dict()["$MULTICAST_NODE_ID"], found.to_dict()["$MGID"]["value"]), ([1], 0))
        # The other group that has its place cannot be there, too.
        with Refused(self, "RESOURCE_EXHAUSTED"):
            self.group(0x8000 + 1025, [1])
        groups.entry_del(ALL, [group])
        self.group(0x8000 + 1025, [1])
        with Refused(self, "RESOURCE_EXHAUSTED"):
            self.group(0, [1])

    def list_entry(self, name, number, members):
        """An entry of a table whose data are a list of ports or nodes."""
        table = self.table(name)
        key, field = {"$pre.lag": ("$MULTICAST_LAG_ID", "$DEV_PORT"), "$pre.ecmp": ("$MULTICAST_ECMP_ID", "$MULTICAST_NODE_ID"),
                      "$pre.prune": ("$MULTICAST_L2_XID", "$DEV_PORT")}[name]
        return table, table.make_key([gc.KeyTuple(key, number)]), table.make_data([gc.DataTuple(field, int_arr_val=members)])

    def floods(self, frame, *ports):
        """Copies of a frame leave by these ports, and by no others."""
        self.switch.send(0, frame)
        for port in ports:
            self.assertIsNotNone(self.switch.receive(port), port)
        for port in {1, 2, 3}.difference(ports):
            self.assertIsNone(self.switch.receive(port, timeout=0.5), port)

    def test_link_aggregation_sets_of_nodes_and_pruned_ports(self):
        lags, lag, ports = self.list_entry("$pre.lag", 5, [2, 3])
        lags.entry_add(ALL, [lag], [ports])
        nodes = self.table("$pre.node")
        for number, rid, own, of_lag in ((1, 10, [1], [5]), (2, 20, [1], []), (3, 30, [3], [])):
            nodes.entry_add(ALL, [nodes.make_key([gc.KeyTuple("$MULTICAST_NODE_ID", number)])], [nodes.make_data([
                gc.DataTuple("$MULTICAST_RID", rid), gc.DataTuple("$MULTICAST_LAG_ID", int_arr_val=of_lag),
                gc.DataTuple("$DEV_PORT", int_arr_val=own)])])
        groups, group = self.group(7, [1])
        table, key = self.switched()
        args = [gc.DataTuple("group", 7), gc.DataTuple("rid", 10), gc.DataTuple("exclusion_id", 9)]
        table.entry_add(ALL, [key], [table.make_data(args, "In.flood_pruned")])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        # One copy for the node's port, and one for its link aggregation group.
        self.floods(frame, 1, 2)
        lags.entry_mod(ALL, [lag], [self.list_entry("$pre.lag", 5, [3])[2]])
        self.floods(frame, 1, 3)
        ((data, _),) = lags.entry_get(ALL, [lag], {"from_hw": False})
        self.assertEqual(data.to_dict()["$DEV_PORT"], [3])

        # Ports with the packet's exclusion id, of nodes with its replication id.
        prune, at, pruned = self.list_entry("$pre.prune", 9, [1])
        prune.entry_add(ALL, [at], [pruned])
        self.floods(frame, 3)
        prune.entry_mod(ALL, [at], [self.list_entry("$pre.prune", 9, [3])[2]])
        self.floods(frame, 1)
        prune.entry_del(ALL, [at])
        self.floods(frame, 1, 3)

        # One of two nodes.
        ecmps, ecmp, members = self.list_entry("$pre.ecmp", 4, [2, 3])
        ecmps.entry_add(ALL, [ecmp], [members])
        groups.entry_mod(ALL, [group], [groups.make_data([
            gc.DataTuple("$MULTICAST_NODE_ID", int_arr_val=[]), gc.DataTuple("$MULTICAST_NODE_L1_XID_VALID", bool_arr_val=[]),
            gc.DataTuple("$MULTICAST_NODE_L1_XID", int_arr_val=[]), gc.DataTuple("$MULTICAST_ECMP_ID", int_arr_val=[4]),
            gc.DataTuple("$MULTICAST_ECMP_L1_XID_VALID", bool_arr_val=[False]), gc.DataTuple("$MULTICAST_ECMP_L1_XID", int_arr_val=[0]),
        ])])
        self.switch.send(0, frame)
        out = []
        wait_until("it happens", lambda: out.extend(port for port in (1, 2, 3) if self.switch.receive(port, timeout=0.2) is not None) or out)
        self.assertEqual((len(out), self.interface_packets()), (1, []))
        with Refused(self, "INVALID_ARGUMENT"):
            ecmps.entry_del(ALL, [ecmp])
        with Refused(self, "NOT_FOUND"):
            ecmps.entry_mod(ALL, [ecmp], [self.list_entry("$pre.ecmp", 4, [77])[2]])
        groups.entry_del(ALL, [group])
        ecmps.entry_del(ALL, [ecmp])

    def test_a_mirror_session(self):
        sessions, table = self.table("$mirror.cfg"), self.table("In.filter")
        key = sessions.make_key([gc.KeyTuple("$sid", 12)])
        sessions.entry_add(ALL, [key], [sessions.make_data([
            gc.DataTuple("$direction", str_val="INGRESS"), gc.DataTuple("$session_enable", bool_val=True),
            gc.DataTuple("$ucast_egress_port", 3), gc.DataTuple("$ucast_egress_port_valid", bool_val=True),
            gc.DataTuple("$max_pkt_len", 40),
        ], "$normal")])
        every = table.make_key([gc.KeyTuple("hdr.ipv4.src", 0, mask=0), gc.KeyTuple("hdr.ipv4.ttl", low=0, high=255),
                                gc.KeyTuple("$MATCH_PRIORITY", 1)])
        table.entry_add(ALL, [every], [table.make_data([gc.DataTuple("session", 12)], "In.mirror")])
        frame = ipv4("10.9.9.9", "10.1.2.3")
        self.switch.send(0, frame)
        # As it was received, cut off.
        self.assertEqual(self.switch.receive(3), frame[:40])
        ((data, _),) = sessions.entry_get(ALL, [key], {"from_hw": False})
        self.assertEqual(data.to_dict()["$ucast_egress_port"], 3)

    def test_ports(self):
        ports = self.table("$PORT")
        at = ports.make_key([gc.KeyTuple("$DEV_PORT", 2)])
        ports.entry_add(ALL, [at], [ports.make_data([
            gc.DataTuple("$SPEED", str_val="BF_SPEED_100G"), gc.DataTuple("$FEC", str_val="BF_FEC_TYP_NONE"),
            gc.DataTuple("$PORT_ENABLE", bool_val=True),
        ])])
        ((data, _),) = ports.entry_get(ALL, [at], {"from_hw": False})
        shown = data.to_dict()
        self.assertEqual((shown["$PORT_NAME"], shown["$SPEED"], shown["$TX_MTU"]), ("1/2", "BF_SPEED_100G", 10240))
        self.assertEqual((shown["$CONN_ID"], shown["$CHNL_ID"], shown["$PORT_UP"]), (1, 2, True))
        # A port that is not enabled has no link, and one of the device that no device of the machine stands for has none either.
        ports.entry_mod(ALL, [at], [ports.make_data([gc.DataTuple("$PORT_ENABLE", bool_val=False)])])
        other = ports.make_key([gc.KeyTuple("$DEV_PORT", 260)])
        ports.entry_add(ALL, [other], [ports.make_data([gc.DataTuple("$PORT_ENABLE", bool_val=True)])])
        found = {key.to_dict()["$DEV_PORT"]["value"]: data.to_dict()["$PORT_UP"] for data, key in ports.entry_get(ALL, None, {"from_hw": False})}
        self.assertEqual(found, {2: False, 260: False})
        ports.entry_mod(ALL, [other], [ports.make_data([gc.DataTuple("$LOOPBACK_MODE", str_val="BF_LPBK_MAC_NEAR")])])
        ((data, _),) = ports.entry_get(ALL, [other], {"from_hw": False})
        self.assertTrue(data.to_dict()["$PORT_UP"])
        ports.entry_del(ALL, [other])
        with Refused(self, "NOT_FOUND"):
            list(ports.entry_get(ALL, [other], {"from_hw": False}))
        with Refused(self, "NOT_FOUND"):
            ports.entry_add(ALL, [ports.make_key([gc.KeyTuple("$DEV_PORT", 99)])],
                            [ports.make_data([gc.DataTuple("$PORT_ENABLE", bool_val=True)])])
        with Refused(self, "INVALID_ARGUMENT"):
            ports.entry_mod(ALL, [at], [ports.make_data([gc.DataTuple("$SPEED", str_val="BF_SPEED_7G")])])
        # What leaves at a port in loopback comes back there: the second time the entry sends it on.
        ports.entry_mod(ALL, [at], [ports.make_data([gc.DataTuple("$LOOPBACK_MODE", str_val="BF_LPBK_MAC_NEAR")])])
        table, key = self.switched()
        other = table.make_key([gc.KeyTuple("hdr.ethernet.dst", 0x020000000099)])
        table.entry_add(ALL, [key, other], [self.send(table, 2), self.send(table, 3, dst=0x020000000077)])
        self.switch.send(0, ethernet("020000000001", "020000000002", 0x88b5, bytes(50)))
        self.assertEqual(self.switch.receive(3)[:6].hex(), "020000000077")

    def test_a_port_without_a_device_is_notified_of(self):
        ports = self.table("$PORT")
        at = ports.make_key([gc.KeyTuple("$DEV_PORT", 260)])

        def data(mode):
            return [ports.make_data([gc.DataTuple("$PORT_ENABLE", bool_val=True), gc.DataTuple("$LOOPBACK_MODE", str_val=mode)])]

        def link():
            while True:
                notice = self.interface.portstatus_notification_get(timeout=PATIENCE)
                if int.from_bytes(notice.table_entry.key.fields[0].exact.value, "big") == 260:
                    return notice.port_up

        # A port is added before it is changed.
        with Refused(self, "NOT_FOUND"):
            ports.entry_mod(ALL, [at], data("BF_LPBK_MAC_NEAR"))
        with Refused(self, "NOT_FOUND"):
            list(ports.entry_get(ALL, [at], {"from_hw": False}))
        ports.entry_add(ALL, [at], data("BF_LPBK_MAC_NEAR"))
        self.assertTrue(link())
        ports.entry_mod(ALL, [at], data("BF_LPBK_NONE"))
        self.assertFalse(link())
        ports.entry_mod(ALL, [at], data("BF_LPBK_MAC_NEAR"))
        self.assertTrue(link())
        ports.entry_del(ALL, [at])
        self.assertFalse(link())

    def test_counts_of_ports(self):
        counts, (table, key) = self.table("$PORT_STAT"), self.switched()
        at = lambda port: counts.make_key([gc.KeyTuple("$DEV_PORT", port)])

        def found(port):
            ((data, _),) = counts.entry_get(ALL, [at(port)], {"from_hw": True})
            return data.to_dict()

        sent, received = found(2)["$FramesTransmittedOK"], found(0)["$FramesReceivedOK"]
        octets = found(2)["$OctetsTransmittedTotal"]
        table.entry_add(ALL, [key], [self.send(table, 2)])
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        for _ in range(3):
            self.switch.send(0, frame)
        wait_until("it happens", lambda: found(2)["$FramesTransmittedOK"] == sent + 3)
        self.assertGreaterEqual(found(0)["$FramesReceivedOK"], received + 3)
        self.assertEqual(found(2)["$OctetsTransmittedTotal"], octets + 3 * len(frame))
        self.assertEqual(len(list(counts.entry_get(ALL, None, {"from_hw": True}))), 4)
        # Counts are set, and cleared, of one port or of all.
        counts.entry_mod(ALL, [at(2)], [counts.make_data([gc.DataTuple("$FramesTransmittedOK", 7)])])
        self.assertEqual((found(2)["$FramesTransmittedOK"], found(2)["$OctetsTransmittedTotal"]), (7, octets + 3 * len(frame)))
        counts.entry_del(ALL, [at(2)])
        self.assertEqual((found(2)["$FramesTransmittedOK"], found(2)["$OctetsTransmittedTotal"]), (0, 0))
        self.assertGreaterEqual(found(0)["$FramesReceivedOK"], 3)
        counts.entry_del(ALL)
        self.switch.send(0, frame)
        wait_until("it happens", lambda: found(2)["$FramesTransmittedOK"] == 1)
        self.assertEqual(found(0)["$FramesReceivedOK"], 1)
        with Refused(self, "NOT_FOUND"):
            counts.entry_del(ALL, [at(99)])

    def test_ports_are_found_by_their_names(self):
        def port(table, *key):
            table = self.table(table)
            ((data, _),) = table.entry_get(ALL, [table.make_key([gc.KeyTuple(*field) for field in key])], {"from_hw": False})
            return data.to_dict()["$DEV_PORT"]

        self.assertEqual(port("$PORT_HDL_INFO", ("$CONN_ID", 3), ("$CHNL_ID", 1)), 9)
        self.assertEqual(port("$PORT_FP_IDX_INFO", ("$FP_IDX", 8)), 8)
        self.assertEqual(port("$PORT_STR_INFO", ("$PORT_NAME", "17/0")), 128)
        with Refused(self, "NOT_FOUND"):
            port("$PORT_STR_INFO", ("$PORT_NAME", "99/0"))
        names = self.table("$PORT_STR_INFO").entry_get(ALL, None, {"from_hw": False})
        found = {key.to_dict()["$PORT_NAME"]["value"]: data.to_dict()["$DEV_PORT"] for data, key in names}
        self.assertEqual((len(found), found["1/0"], found["65/0"]), (260, 0, 64))

    def test_digests(self):
        learn = self.info.learn_get("InDeparser.seen")
        self.switch.send(3, ethernet("02000000aaaa", "020000000042", 0x88b5, bytes(50)))
        digest = self.interface.digest_get(timeout=PATIENCE)
        self.assertEqual(digest.target.device_id, 0)
        (data,) = learn.make_data_list(digest)
        shown = data.to_dict()
        self.assertEqual((shown["src"], shown["port"]), (0x020000000042, 3))

    def test_the_only_action_need_not_be_named(self):
        table, key = self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        frame = ethernet("020000000001", "020000000042", 0x88b5, bytes(50))
        self.switch.send(0, frame)
        self.assertIsNotNone(self.switch.receive(2))
        refused = self.table("In.refused")
        source = refused.make_key([gc.KeyTuple("hdr.ethernet.src", 0x020000000042)])
        refused.entry_add(ALL, [source])
        ((data, _),) = refused.entry_get(ALL)
        self.assertEqual(data.to_dict()["action_name"], "In.drop")
        self.switch.send(0, frame)
        self.assertIsNone(self.switch.receive(2, 0.3))
        # Of several actions, one must be named.
        table.entry_del(ALL, [key])
        with Refused(self, "INVALID_ARGUMENT"):
            table.entry_add(ALL, [key])

    def test_members_of_a_value_set(self):
        table, key = self.switched()
        table.default_entry_set(ALL, self.send(table, 2))
        table = self.table("untrusted")
        port = lambda value, mask=0x1ff: table.make_key([gc.KeyTuple("f1", value, mask=mask)])
        frame = ethernet("02000000aaaa", "020000000002", 0x88b5, bytes(50))

        def loses(*ports):
            for number in (0, 1, 3):
                self.switch.send(number, frame)
                if number in ports:
                    self.assertIsNone(self.switch.receive(2, 0.3), number)
                else:
                    self.assertIsNotNone(self.switch.receive(2), number)

        loses()
        table.entry_add(ALL, [port(0), port(1)])
        loses(0, 1)
        with Refused(self, "ALREADY_EXISTS"):
            table.entry_add(ALL, [port(1)])
        found = sorted(key.to_dict()["f1"]["value"] for _, key in table.entry_get(ALL))
        self.assertEqual(found, [0, 1])
        # In one batch, of which each update sees the ones before; with a mask.
        table.entry_del(ALL, [port(0)])
        table.entry_add(ALL, [port(4, 0x1fc), port(2, 0x1fe)], atomicity=PB.WriteRequest.ROLLBACK_ON_ERROR)
        loses(1, 3)
        with Refused(self, "NOT_FOUND"):
            table.entry_del(ALL, [port(0)])
        table.entry_add(ALL, [port(0)])
        with Refused(self, "RESOURCE_EXHAUSTED"):
            table.entry_add(ALL, [port(8)])
        table.entry_del(ALL)
        self.assertEqual(list(table.entry_get(ALL)), [])
        loses()

    def test_copies_to_the_cpu(self):
        table = self.table("In.filter")
        key = table.make_key([gc.KeyTuple("$MATCH_PRIORITY", 1)])
        table.entry_add(ALL, [key], [table.make_data([], "In.copy")])
        table = self.table("$pre.port")
        at = lambda port: table.make_key([gc.KeyTuple("$DEV_PORT", port)])
        enabled = lambda value: table.make_data([gc.DataTuple("$COPY_TO_CPU_PORT_ENABLE", bool_val=value)])
        packet = ethernet("02000000aaaa", "020000000042", 0x0800, ipv4("10.0.0.1", "10.0.0.2"))

        def copied(port):
            # The packet goes to the CPU, so that ingress puts two bytes in front of it.
            self.switch.send(0, packet)
            return self.switch.receive(port)[2:]

        def enabled_at():
            shown = {key.to_dict()["$DEV_PORT"]["value"]: data.to_dict() for data, key in table.entry_get(ALL)}
            return [port for port, data in sorted(shown.items()) if data["$COPY_TO_CPU_PORT_ENABLE"]]

        table.entry_add(ALL, [at(2)], [enabled(True)])
        self.assertEqual(copied(2)[14:], packet[14:])
        self.assertEqual(enabled_at(), [2])
        # Another port takes its place.
        table.entry_mod(ALL, [at(3)], [enabled(True)])
        self.assertEqual(copied(3)[14:], packet[14:])
        self.assertIsNone(self.switch.receive(2, 0.3))
        self.assertEqual(enabled_at(), [3])
        table.entry_mod(ALL, [at(2)], [enabled(False)])
        self.assertEqual(copied(3)[14:], packet[14:])
        table.entry_mod(ALL, [at(3)], [enabled(False)])
        self.switch.send(0, packet)
        self.assertIsNone(self.switch.receive(3, 0.3))
        self.assertEqual(enabled_at(), [])

    def generator(self, frame, **settings):
        """Application 3 sends a frame by the generators' port of pipe 0."""
        table, key = self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        table = self.table("pktgen.pkt_buffer")
        key = table.make_key([gc.KeyTuple("pkt_buffer_offset", 144), gc.KeyTuple("pkt_buffer_size", len(frame))])
        table.entry_mod(ALL, [key], [table.make_data([gc.DataTuple("buffer", bytearray(frame))])])
        table = self.table("pktgen.port_cfg")
        enabled = table.make_data([gc.DataTuple("pktgen_enable", bool_val=True)])
        table.entry_mod(ALL, [table.make_key([gc.KeyTuple("dev_port", 68)])], [enabled])
        settings = {"pkt_len": len(frame), "pkt_buffer_offset": 144, "pipe_local_source_port": 68, **settings}
        return [gc.DataTuple(name, value) for name, value in settings.items()]

    def application(self, fields, trigger, enable=None):
        table = self.table("pktgen.app_cfg")
        given = fields + ([gc.DataTuple("app_enable", bool_val=enable)] if enable is not None else [])
        key = table.make_key([gc.KeyTuple("app_id", 3)])
        table.entry_mod(ALL, [key], [table.make_data(given, trigger)])

    def counts(self):
        table = self.table("pktgen.app_cfg")
        ((data, _),) = table.entry_get(ALL, [table.make_key([gc.KeyTuple("app_id", 3)])], {"from_hw": True})
        return [data.to_dict()[name] for name in ("trigger_counter", "batch_counter", "pkt_counter")]

    def test_a_packet_generator_is_triggered_once(self):
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        fields = self.generator(frame, timer_nanosec=1000, batch_count_cfg=1, packets_per_batch_cfg=2, ibg=1000, ipg=10)
        self.application(fields, "trigger_timer_one_shot", enable=False)
        self.assertIsNone(self.switch.receive(2, 0.2))
        expected = [f"0003{batch:04x}{packet:04x}" for batch in range(2) for packet in range(3)]
        for turn in (1, 2):
            self.application([], "trigger_timer_one_shot", enable=True)
            packets = [self.switch.receive(2) for _ in expected]
            self.assertEqual([packet[6:12].hex() for packet in packets], expected)
            self.assertEqual(packets[0][12:], frame[12:])
            self.assertIsNone(self.switch.receive(2, 0.2))
            self.assertEqual(self.counts(), [turn, 2 * turn, 6 * turn])
            self.application([], "trigger_timer_one_shot", enable=False)
        table = self.table("pktgen.app_cfg")
        table.entry_del(ALL, [table.make_key([gc.KeyTuple("app_id", 3)])])
        self.assertEqual(list(table.entry_get(ALL)), [])

    def test_a_packet_generator_is_triggered_again_and_again(self):
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        fields = self.generator(frame, timer_nanosec=20_000_000)
        begin = time.monotonic()
        self.application(fields, "trigger_timer_periodic", enable=True)
        for _ in range(20):
            self.assertEqual(self.switch.receive(2)[6:12].hex(), "000300000000")
        # A worker may be late, and then is faster, but not for long.
        self.assertGreater(time.monotonic() - begin, 0.3)
        self.application([], "trigger_timer_periodic", enable=False)
        wait_until("it happens", lambda: self.switch.receive(2, 0.2) is None)
        self.assertGreaterEqual(self.counts()[2], 20)
        with Refused(self, "INVALID_ARGUMENT"):
            self.application([gc.DataTuple("pkt_len", 16384)], "trigger_timer_periodic", enable=True)

    def test_a_packet_generator_is_triggered_by_a_port_that_loses_its_link(self):
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        fields = self.generator(frame, packets_per_batch_cfg=1)
        self.application(fields, "trigger_port_down", enable=True)
        ports, configuration = self.table("$PORT"), self.table("pktgen.port_cfg")
        at = ports.make_key([gc.KeyTuple("$DEV_PORT", 1)])
        ports.entry_add(ALL, [at], [ports.make_data([gc.DataTuple("$PORT_ENABLE", bool_val=True)])])

        def is_up():
            ((data, _),) = ports.entry_get(ALL, [at], {"from_hw": False})
            return data.to_dict()["$PORT_UP"]

        def set_link(state):
            ip("link", "set", "host1", state)
            wait_until("it happens", lambda: is_up() == (state == "up"))

        def interrupt(*expected):
            set_link("down")
            self.assertEqual([self.switch.receive(2)[6:12].hex() for _ in expected], list(expected))
            self.assertIsNone(self.switch.receive(2, 1.0))
            set_link("up")

        interrupt("000300010000", "000300010001")
        self.assertEqual(self.counts(), [1, 1, 2])
        # Once, until it is told so.
        interrupt()
        key = configuration.make_key([gc.KeyTuple("dev_port", 1)])
        configuration.entry_mod(ALL, [key], [configuration.make_data([gc.DataTuple("clear_port_down_enable", bool_val=True)])])
        interrupt("000300010000", "000300010001")
        self.assertEqual(self.counts(), [2, 2, 4])

    def test_pipes_have_packet_generators_of_their_own(self):
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        fields = self.generator(frame, timer_nanosec=1000)
        table, buffer = self.table("pktgen.app_cfg"), self.table("pktgen.pkt_buffer")
        key = table.make_key([gc.KeyTuple("app_id", 3)])
        pipe = lambda number: gc.Target(device_id=0, pipe_id=number)
        enabled = lambda value: table.make_data([*fields, gc.DataTuple("app_enable", bool_val=value)], "trigger_timer_one_shot")

        def counts(target):
            ((data, _),) = table.entry_get(target, [key], {"from_hw": True})
            return data.to_dict()["app_enable"], data.to_dict()["pkt_counter"]

        table.entry_mod(pipe(1), [key], [enabled(True)])
        self.assertIsNone(self.switch.receive(2, 0.2))
        table.entry_mod(pipe(0), [key], [enabled(True)])
        self.assertEqual(self.switch.receive(2)[6:12].hex(), "000300000000")
        table.entry_mod(pipe(1), [key], [enabled(False)])
        self.assertEqual([counts(pipe(0)), counts(pipe(1)), counts(ALL)], [(True, 1), (False, 0), (True, 1)])
        with Refused(self, "NOT_FOUND"):
            list(table.entry_get(pipe(2), [key]))
        # The buffer of another pipe has other bytes.
        at = buffer.make_key([gc.KeyTuple("pkt_buffer_offset", 144), gc.KeyTuple("pkt_buffer_size", len(frame))])
        buffer.entry_mod(pipe(1), [at], [buffer.make_data([gc.DataTuple("buffer", bytearray(64))])])
        table.entry_mod(pipe(0), [key], [enabled(True)])
        self.assertEqual(self.switch.receive(2)[12:], frame[12:])
        with Refused(self, "INVALID_ARGUMENT"):
            table.entry_mod(pipe(4), [key], [enabled(True)])

    def test_batches(self):
        table, key = self.switched()
        missing = table.make_key([gc.KeyTuple("hdr.ethernet.dst", 5)])
        table.entry_add(ALL, [key], [self.send(table, 2)])
        rollback = PB.WriteRequest.ROLLBACK_ON_ERROR
        for atomicity in (rollback, PB.WriteRequest.DATAPLANE_ATOMIC):
            with Refused(self, "ALREADY_EXISTS"):
                table.entry_add(ALL, [missing, key], [self.send(table, 2), self.send(table, 2)], atomicity=atomicity)
            self.assertEqual(next(table.usage_get(ALL)), 1)
        with Refused(self, "ALREADY_EXISTS"):
            table.entry_add(ALL, [missing, key], [self.send(table, 2), self.send(table, 2)])
        self.assertEqual(next(table.usage_get(ALL)), 2)

    def test_an_answer_is_one_message(self):
        """As Intel's server sends it: some clients read no further one, and expect one where nothing is found."""
        table_id = lambda name: self.table(name).info.id_get() if public else self.table(name).id
        entry = lambda name: PB.Entity(table_entry=PB.TableEntry(table_id=table_id(name)))
        target = PB.TargetDevice(pipe_id=0xffff)
        asks = lambda names: PB.ReadRequest(target=target, client_id=1, entities=[entry(name) for name in names])
        read = lambda *names: list(self.interface.stub.Read(asks(names)))
        everywhere = [len(answer.entities) for answer in read("$PORT_STR_INFO", "$PORT_HDL_INFO")]
        self.assertEqual((everywhere, [len(answer.entities) for answer in read("$pre.mgid")]), ([2 * 260], [0]))

    def test_a_program_that_starts_again_is_empty(self):
        table, key = self.switched()
        table.entry_add(ALL, [key], [self.send(table, 2)])
        self.interface.clear_all_tables()
        self.assertEqual(next(table.usage_get(ALL)), 0)

    def test_a_client_id_is_taken_once(self):
        with self.assertRaises(Exception):
            gc.ClientInterface(ADDRESS, client_id=1, device_id=0, **({"num_tries": 1} if public else {}))
        other = gc.ClientInterface(ADDRESS, client_id=2, device_id=0)
        other.tear_down_stream()

    def test_requests_that_make_no_sense(self):
        """Every kind of damage is refused, and the switch goes on."""
        stub = self.interface.stub
        routes = self.table("pipe.In.routes")
        table_id = routes.info.id_get() if public else routes.id

        def write(**entry):
            request = PB.WriteRequest(client_id=1)
            request.updates.add(type=PB.Update.INSERT).entity.table_entry.CopyFrom(PB.TableEntry(**entry))
            with self.assertRaises(grpc.RpcError) as caught:
                stub.Write(request)
            return caught.exception.code().name

        key = lambda **field: PB.TableKey(fields=[PB.KeyField(field_id=1, **field)])
        lpm = lambda value, length: key(lpm=PB.KeyField.LPM(value=value, prefix_len=length))
        self.assertEqual(write(table_id=0), "UNKNOWN")
        self.assertEqual(write(table_id=table_id), "UNKNOWN")
        self.assertEqual(write(table_id=table_id, handle_id=3), "UNKNOWN")
        for bad in (lpm(b"", 8), lpm(b"\xff" * 500, 8), lpm(b"\0\0\0\0", 33), lpm(b"\0\0\0\0", -1), key(),
                    key(exact=PB.KeyField.Exact(value=b"\1")), PB.TableKey(fields=[PB.KeyField(field_id=77)] * 5)):
            self.assertEqual(write(table_id=table_id, key=bad), "UNKNOWN")
        with self.assertRaises(grpc.RpcError):
            stub.Write(PB.WriteRequest(client_id=1, updates=[PB.Update()]))
        with self.assertRaises(grpc.RpcError):
            list(stub.Read(PB.ReadRequest(client_id=1, entities=[PB.Entity()])))
        with self.assertRaises(grpc.RpcError) as caught:
            stub.Write(PB.WriteRequest(target=PB.TargetDevice(device_id=9)))
        self.assertEqual(caught.exception.code().name, "NOT_FOUND")
        with self.assertRaises(grpc.RpcError):
            stub.SetForwardingPipelineConfig(PB.SetForwardingPipelineConfigRequest(action=5))
        self.assertEqual(next(self.table("In.routes").usage_get(ALL)), 0)


if __name__ == "__main__":
    unittest_main()
