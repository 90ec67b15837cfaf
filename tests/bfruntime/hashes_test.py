#!/usr/bin/env python3
"""Hashes that a controller changes while the program runs: what packets carry is what the controller computes, with both engines."""

import random
import select
import struct
import unittest

from bfruntime_test import ADDRESS, ALL, HERE, Refused, Switch, gc
from lab.command import wait_until
from lab.cases import unittest_main

PROGRAM = HERE / "hashes.p4"
FLOW = struct.Struct(">IIH")
HASHES = struct.Struct(">QIH")
ETHERNET = bytes(12) + b"\x88\xb5"


def crc(width, polynomial, initial, xor, reverse, data):
    """A CRC, bit by bit."""
    mask, rest = (1 << width) - 1, initial
    for byte in data:
        for bit in (range(8) if reverse else reversed(range(8))):
            out = rest >> (width - 1) ^ byte >> bit & 1
            rest = (rest << 1 & mask) ^ (polynomial if out & 1 else 0)
    if reverse:
        rest = int(f"{rest:0{width}b}"[::-1], 2)
    return rest ^ xor


class Hashes:
    """The tests, for an engine."""

    def setUp(self):
        self.switch = self.enterContext(Switch(PROGRAM, "--engine", self.engine, address=ADDRESS))
        self.interface = gc.ClientInterface(ADDRESS, client_id=1, device_id=0)
        self.addCleanup(self.interface.tear_down_stream)
        self.info = self.interface.bfrt_info_get()
        self.interface.bind_pipeline_config(self.info.p4_name_get())
        self.wide, self.part = ({name: self.info.table_get(f"{hash}.{name}") for name in ("configure", "algorithm", "compute")}
                                for hash in ("In.wide", "In.part"))
        self.random = random.Random(1)
        members, groups, forward = (self.info.table_get(n) for n in ("In.members", "In.choice", "In.forward"))
        for port in (1, 2, 3):
            members.entry_add(ALL, [members.make_key([gc.KeyTuple("$ACTION_MEMBER_ID", port)])],
                              [members.make_data([gc.DataTuple("port", port)], "In.send")])
        groups.entry_add(ALL, [groups.make_key([gc.KeyTuple("$SELECTOR_GROUP_ID", 1)])], [groups.make_data([
            gc.DataTuple("$MAX_GROUP_SIZE", 8), gc.DataTuple("$ACTION_MEMBER_ID", int_arr_val=[1, 2, 3]),
            gc.DataTuple("$ACTION_MEMBER_STATUS", bool_arr_val=[True] * 3)])])
        forward.entry_add(ALL, [forward.make_key([gc.KeyTuple("ig_intr_md.ingress_port", 0)])],
                          [forward.make_data([gc.DataTuple("$SELECTOR_GROUP_ID", 1)])])

    def flow(self):
        return self.random.getrandbits(32), self.random.getrandbits(32), self.random.getrandbits(16)

    def sent(self, flow):
        """The hashes that a packet has when it comes back, and where it does."""
        self.switch.sockets[0].send(ETHERNET + FLOW.pack(*flow) + bytes(HASHES.size) + bytes(40))

        def back():
            ready, _, _ = select.select(self.switch.sockets[1:], [], [], 1)
            frames = [(at, self.switch.receive(at, 0.1)) for at, it in enumerate(self.switch.sockets) if it in ready]
            return [self.parts(at, frame) for at, frame in frames if frame is not None]
        return wait_until("a packet that comes back", back, interval=0)[0]

    @staticmethod
    def parts(at, frame):
        return at, *HASHES.unpack_from(frame, len(ETHERNET) + FLOW.size)

    def computed(self, hash, flow):
        names = ("hdr.flow.src", "hdr.flow.dst", "hdr.flow.port")
        key = hash["compute"].make_key([gc.KeyTuple(name, value) for name, value in zip(names, flow)])
        ((data, _),) = hash["compute"].entry_get(ALL, [key])
        return data.to_dict()["hash_value"]

    def check(self, wide=None, part=None):
        """What packets carry is what the controller computes, and what is expected if something is."""
        selected = self.info.table_get("In.choice_get_member")
        for _ in range(4):
            flow = self.flow()
            at, found, found_part, _ = self.sent(flow)
            self.assertEqual((found, found_part), (self.computed(self.wide, flow), self.computed(self.part, flow)))
            data = FLOW.pack(*flow)
            if wide:
                self.assertEqual(found, wide(data))
            if part:
                self.assertEqual(found_part, part(data))
            key = selected.make_key([gc.KeyTuple("$SELECTOR_GROUP_ID", 1), gc.KeyTuple("hash_value", found_part)])
            ((member, _),) = selected.entry_get(ALL, [key])
            self.assertEqual(member.to_dict()["$ACTION_MEMBER_ID"], at)

    def configure(self, hash, *slices):
        """Slices: name of the field, lowest bit, length, order."""
        fields = {}
        for name, start, length, order in slices:
            parts = {"start_bit": start, "length": length, "order": order}
            fields.setdefault(name, []).append({part: gc.DataTuple(part, value) for part, value in parts.items() if value is not None})
        table = hash["configure"]
        table.default_entry_set(ALL, table.make_data([gc.DataTuple(name, container_arr_val=all) for name, all in fields.items()]))

    def define(self, hash, **fields):
        numbers = [gc.DataTuple(name, value) for name, value in fields.items() if not isinstance(value, bool)]
        truths = [gc.DataTuple(name, bool_val=value) for name, value in fields.items() if isinstance(value, bool)]
        hash["algorithm"].default_entry_set(ALL, hash["algorithm"].make_data(numbers + truths, "user_defined"))

    def name(self, hash, name, **fields):
        more = [gc.DataTuple(key, bool_val=value) if isinstance(value, bool) else gc.DataTuple(key, value)
                for key, value in fields.items()]
        named = hash["algorithm"].make_data([gc.DataTuple("algorithm_name", str_val=name), *more], "pre_defined")
        hash["algorithm"].default_entry_set(ALL, named)

    def only(self, table):
        ((data, _),) = table.default_entry_get(ALL)
        return data.to_dict()

    def test_as_declared(self):
        self.check(lambda data: crc(64, 0x42f0e1eba9ea3693, 0, 0, False, data + b"\x07"),
                   lambda data: crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, data))
        found = self.only(self.part["configure"])
        self.assertEqual([found[f"hdr.flow.{name}"] for name in ("src", "dst", "port")], [
            [{"start_bit": 0, "length": width, "order": order}] for width, order in ((32, 1), (32, 2), (16, 3))])
        self.assertIn("constant0_8_7", self.only(self.wide["configure"]))
        found = self.only(self.part["algorithm"])
        self.assertEqual({name: found[name] for name in ("action_name", "algorithm_name", "rotate", "msb", "extend", "seed")}, {
            "action_name": "pre_defined", "algorithm_name": "CRC_32", "rotate": 0, "msb": False, "extend": True,
            "seed": crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, bytes(10))})
        with self.assertRaises(Exception):
            self.info.table_get("In.twice.configure")

    def test_other_fields(self):
        src, dst, port = "hdr.flow.src", "hdr.flow.dst", "hdr.flow.port"
        self.configure(self.part, (port, None, None, 1), (src, 8, None, 2), (dst, 0, 8, 3))
        reference = lambda data: crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, data[8:] + data[:3] + data[7:8])  # noqa: E731
        self.check(part=reference)
        found = self.only(self.part["configure"])
        self.assertEqual(found[src], [{"start_bit": 8, "length": 24, "order": 2}])
        # Symmetric fields, and slices of one field.
        self.configure(self.part, (src, None, None, 1), (dst, None, None, 1))
        for a, b, port_number in (self.flow() for _ in range(4)):
            (_, _, one, _), (_, _, other, _) = self.sent((a, b, port_number)), self.sent((b, a, 7))
            self.assertEqual(one, other)
        self.configure(self.wide, (src, 0, 4, 1), (src, 4, 4, 1), (dst, None, None, 9), (port, 3, 5, 4))
        self.check()
        self.assertEqual(self.sent((0x12, 5, 6))[1], self.sent((0x21, 5, 6))[1])
        # What is not given is not hashed.
        self.assertEqual(self.only(self.wide["configure"])["constant0_8_7"], [{"start_bit": 0, "length": 8, "order": 0}])
        for hash in (self.part, self.wide):
            hash["configure"].default_entry_reset(ALL)
        self.check(lambda data: crc(64, 0x42f0e1eba9ea3693, 0, 0, False, data + b"\x07"),
                   lambda data: crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, data))

    def test_other_algorithms(self):
        for width, polynomial, initial, xor, reverse in (
                (64, 0xad93d23594c935a9, 0xffffffffffffffff, 0, True), (32, 0x04c11db7, 0xffffffff, 0xffffffff, False),
                (16, 0x1021, 0xffff, 0xffff, True), (8, 0x07, 0x55, 0x55, False), (12, 0x80f, 0, 0, False)):
            self.define(self.part, polynomial=polynomial, init=initial, final_xor=xor, hash_bit_width=width, reverse=reverse)
            self.check(part=lambda data: crc(width, polynomial, initial, xor, reverse, data) & 0xffffffff)
            found = self.only(self.part["algorithm"])
            self.assertEqual((found["action_name"], found["polynomial"], found["reverse"]), ("user_defined", polynomial, reverse))
        self.name(self.part, "crc_16", extend=True)
        self.check(part=lambda data: crc(16, 0x8005, 0, 0, True, data) * 0x10001)
        self.name(self.part, "CRC_8")
        self.check(part=lambda data: crc(8, 7, 0, 0, False, data))
        self.name(self.part, "IDENTITY")
        self.check(part=lambda data: int.from_bytes(data[6:], "big"))
        for name in ("RANDOM", "XOR"):
            self.name(self.part, name)
            self.check()
        self.part["algorithm"].default_entry_reset(ALL)
        self.assertEqual(self.only(self.part["algorithm"])["algorithm_name"], "CRC_32")

    def test_rotation_and_seed(self):
        reference = lambda data: crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, data)  # noqa: E731
        rotated = lambda value, by: value << by & 0xffffffff | value >> 32 - by  # noqa: E731
        self.name(self.part, "crc_32", rotate=2, extend=True)
        self.check(part=lambda data: rotated(reference(data), 2))
        self.name(self.part, "crc_32", rotate=34, seed=5)
        zeros = reference(bytes(10))
        self.check(part=lambda data: rotated(reference(data) ^ zeros ^ 5, 2))
        found = self.only(self.part["algorithm"])
        self.assertEqual((found["rotate"], found["seed"]), (34, 5))
        table = self.part["algorithm"]
        table.default_entry_set(ALL, table.make_data([gc.DataTuple("seed", 0)]))
        self.check(part=lambda data: rotated(reference(data) ^ zeros, 2))

    def test_entries_counters_and_registers_stay(self):
        counter, register = self.info.table_get("In.received"), self.info.table_get("In.seen")
        for changes in range(3):
            self.name(self.part, ("crc_8", "crc_16", "crc_32c")[changes])
            self.check()
        key = counter.make_key([gc.KeyTuple("$COUNTER_INDEX", 0)])
        ((data, _),) = counter.entry_get(ALL, [key])
        self.assertEqual(data.to_dict()["$COUNTER_SPEC_PKTS"], 12)
        ((data, _),) = register.entry_get(ALL, [register.make_key([gc.KeyTuple("$REGISTER_INDEX", 0)])])
        self.assertEqual(data.to_dict()["In.seen.f1"], [12])

    def test_what_cannot_be(self):
        src, dst = "hdr.flow.src", "hdr.flow.dst"
        for slices in (((src, 3, 4, 1), (src, 1, 9, 2)), ((src, 37, 4, 1),), ((src, 0, 3, 1), (src, 5, 5, 1)),
                       ((src, 0, 4, 1), (src, 4, 4, 1), (dst, 0, 4, 1)), ((src, 0, 4, None),), ((src, 0, 0, 1),)):
            with Refused(self, "INVALID_ARGUMENT"):
                self.configure(self.part, *slices)
        for fields in ({"polynomial": 6, "hash_bit_width": 8}, {"polynomial": 7, "hash_bit_width": 65},
                       {"polynomial": 7, "hash_bit_width": 8, "init": 256}, {"polynomial": 0x307, "hash_bit_width": 8}):
            with Refused(self, "INVALID_ARGUMENT"):
                self.define(self.part, **fields)
        with Refused(self, "INVALID_ARGUMENT"):
            self.name(self.part, "md5")
        self.check(part=lambda data: crc(32, 0x04c11db7, 0xffffffff, 0xffffffff, True, data))


class MachineCode(Hashes, unittest.TestCase):
    engine = "jit"


class Interpreter(Hashes, unittest.TestCase):
    engine = "interp"


if __name__ == "__main__":
    unittest_main()
