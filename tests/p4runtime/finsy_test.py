#!/usr/bin/env python3
"""The P4Runtime server as an unmodified controller library, finsy, sees it."""

import asyncio
import contextlib
import pathlib
import subprocess
import tempfile
import time
import unittest

import finsy as fy
from finsy import pbutil
from finsy.p4entity import P4ValueSetMember
from finsy.p4schema import P4ConfigAction, P4ConfigResponseType
from finsy.proto import p4r, stratum

from lab import patience
from lab.cases import unittest_main
from lab.command import HOPWRIGHT
from lab.netns import ip
from lab.switch import HERE, Switch, ethernet, ipv4, p4info

patience.finsy()
TMP = pathlib.Path(tempfile.mkdtemp())
BASIC = fy.SwitchOptions(p4info=p4info("basic.p4", TMP / "basic.txt"), p4blob=HERE / "basic.p4")
COPIES = fy.SwitchOptions(p4info=p4info("copies.p4", TMP / "copies.txt"), p4blob=HERE / "copies.p4")
TOFINO = HERE.parent / "bfruntime/router.p4"
# The machine may be busy.
PATIENCE = 60


def connect(switch, options):
    return fy.Switch("sw", switch.address, options)


async def refusal(switch, options):
    """What the switch answers to a client that it refuses; empty if it takes the client.

    On a busy machine gRPC's C core may read the switch's answer before it has noted that its own request is written. finsy then
    reports an internal error of the client, without the answer, and has to ask again.
    """
    text, deadline = "Internal error from Core", time.monotonic() + PATIENCE
    while "Internal error from Core" in text and time.monotonic() < deadline:
        try:
            async with connect(switch, options):
                return ""
        except Exception as error:
            text = str(error)
    return text


async def all_of(entities):
    return [e async for e in entities]


async def wait_until(check):
    """Waits until a coroutine function returns something true, and returns its last answer, whatever that is."""
    deadline = time.monotonic() + PATIENCE
    while not (found := await check()) and time.monotonic() < deadline:
        await asyncio.sleep(0.1)
    return found


def match(**fields):
    return fy.P4TableMatch(**fields)


def route(prefix, dst, port):
    return fy.P4TableEntry("ipv4_lpm", match=match(dst=prefix), action=fy.P4TableAction("forward", dst=int(dst, 16), port=port))


class Failing(contextlib.AbstractContextManager):
    """Expects a write to fail, each update with these codes."""

    def __init__(self, case, codes):
        self.case, self.codes = case, codes

    def __exit__(self, kind, error, _):
        self.case.assertIs(kind, fy.P4ClientError, "the write went well")
        found = {at: detail.canonical_code.name for at, detail in error.details.items()}
        self.case.assertEqual(found, self.codes, str(error))
        return True


class Basic(unittest.IsolatedAsyncioTestCase):
    """With machine code."""

    program, options, arguments = "basic.p4", BASIC, ("--engine", "jit")

    def setUp(self):
        self.switch = self.enterContext(Switch(self.program, *self.arguments))

    async def asyncSetUp(self):
        self.sw = await self.enterAsyncContext(connect(self.switch, self.options))

    async def test_pipeline(self):
        self.assertTrue(self.sw.is_primary)
        reply = await self.sw._get_pipeline_config_request(response_type=P4ConfigResponseType.ALL)
        self.assertEqual(reply.config.p4_device_config, (HERE / "basic.p4").read_bytes())
        self.assertEqual(reply.config.cookie.cookie, self.sw.p4info.p4cookie)
        broken = p4r.ForwardingPipelineConfig(p4info=reply.config.p4info, p4_device_config=b"control {")
        with self.assertRaises(fy.P4ClientError) as caught:
            await self.sw._set_pipeline_config_request(config=broken)
        self.assertEqual(caught.exception.code.name, "INVALID_ARGUMENT")
        self.assertIn("program.p4:1:9", caught.exception.message)

    async def test_ports(self):
        """By gNMI, which finsy looks for at the same address."""
        self.assertEqual([(n, f"sw{n}", True) for n in range(4)], [(port.id, port.name, port.up) for port in self.sw.ports])

        async def becomes(up):
            while self.sw.ports["sw2"].up != up:
                await asyncio.sleep(0.05)
        for state in ("down", "up"):
            ip("link", "set", "host2", state)
            await asyncio.wait_for(becomes(state == "up"), PATIENCE)

    async def test_a_program_with_50000_constant_entries(self):
        entries = "".join(f"{i}: permit();\n" for i in range(50_000))
        table = f"table many {{ key = {{ hdr.ethernet.src: exact; }} actions = {{ permit; }} const entries = {{\n{entries}}} size = 50000; }}\n"
        text = (HERE / "basic.p4").read_text()
        before, after = text.split("    table ipv4_lpm", 1)
        text = before + table + "    table ipv4_lpm" + after.replace("fixed.apply();", "fixed.apply(); many.apply();", 1)
        config = p4r.ForwardingPipelineConfig(p4_device_config=text.encode())
        begin = time.monotonic()
        await self.sw._set_pipeline_config_request(config=config)
        pushed = time.monotonic() - begin
        reply = await self.sw._get_pipeline_config_request(response_type=P4ConfigResponseType.ALL)
        table = next(t for t in reply.config.p4info.tables if t.preamble.alias == "many")
        wanted = p4r.Entity(table_entry=p4r.TableEntry(table_id=table.preamble.id))
        found = 0
        async for part in self.sw._p4client.request_iter(p4r.ReadRequest(device_id=1, entities=[wanted])):
            found += len(part.entities)
        self.assertEqual(found, 50_000)
        # One and a half seconds on a machine that does nothing else.
        self.assertLess(pushed, 30)

    async def test_a_batch_of_which_everything_fails(self):
        # gRPC's own library refuses trailers beyond some size, and then shows neither code nor details.
        entity = p4r.Entity(table_entry=p4r.TableEntry(table_id=0x02FFFFFF))
        for count in (1, 100, 10_000):
            updates = [p4r.Update(type=p4r.Update.INSERT, entity=entity)] * count
            with self.assertRaises(fy.P4ClientError) as caught:
                await self.sw._p4client.request(p4r.WriteRequest(device_id=1, updates=updates))
            self.assertEqual(caught.exception.code.name, "UNKNOWN")
            self.assertIn(f"{count} of {count} updates failed", caught.exception.message)
            self.assertGreaterEqual(len(caught.exception.details), min(count, 30))
            self.assertIn("NOT_FOUND", {d.canonical_code.name for d in caught.exception.details.values()})

    async def test_entries_that_fit_survive_reconcile(self):
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
        reply = await self.sw._get_pipeline_config_request(response_type=P4ConfigResponseType.ALL)
        text = reply.config.p4_device_config.replace(b"register<bit<32>>(8)", b"register<bit<32>>(9)")
        config = p4r.ForwardingPipelineConfig(p4_device_config=text)
        await self.sw._set_pipeline_config_request(action=P4ConfigAction.RECONCILE_AND_COMMIT, config=config)
        entries = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))
        self.assertEqual(len(entries), 1)
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertIsNotNone(self.switch.receive(1))
        await self.sw._set_pipeline_config_request(config=config)
        self.assertEqual(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm"))), [])

    async def test_lpm_and_exact_entries_forward(self):
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1), +route("10.1.0.0/16", "020000000012", 2)])
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        frame = self.switch.receive(2)
        self.assertEqual(frame[:12].hex(), "020000000012020000000001")
        self.assertEqual(frame[22], 63)
        self.switch.send(0, ipv4("10.9.9.9", "10.2.2.3"))
        self.assertEqual(self.switch.receive(1)[:6].hex(), "020000000011")

        await self.sw.write([-route("10.1.0.0/16", "020000000012", 2)])
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(self.switch.receive(1)[:6].hex(), "020000000011")
        await self.sw.write([~route("10.0.0.0/8", "020000000013", 3)])
        self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
        self.assertEqual(self.switch.receive(3)[:6].hex(), "020000000013")

        l2 = match(dst=0x020000000001, ingress_port=0)
        forward = fy.P4TableAction("forward", dst=0x020000000099, port=2)
        await self.sw.write([+fy.P4TableEntry("l2", match=l2, action=forward)])
        self.switch.send(0, ethernet("020000000001", "020000000002", 0x0806, bytes(50)))
        self.assertEqual(self.switch.receive(2)[:6].hex(), "020000000099")

    async def test_ternary_range_and_optional_entries(self):
        def acl(priority, action, **fields):
            return fy.P4TableEntry("acl", match=match(**fields), priority=priority, action=fy.P4TableAction(action))

        await self.sw.write([
            +route("10.0.0.0/8", "020000000011", 1),
            +acl(1, "drop", src=(0x0A000000, 0xFF000000)),
            +acl(2, "permit", src=(0x0A000000, 0xFF000000), protocol=17, ttl=(10, 20)),
        ])
        self.switch.send(0, ipv4("10.0.0.1", "10.1.2.3", ttl=9))
        self.switch.send(0, ipv4("10.0.0.1", "10.1.2.3", ttl=15, protocol=6))
        self.switch.send(0, ipv4("10.0.0.1", "10.1.2.3", ttl=20))
        self.assertEqual(self.switch.receive(1)[22], 19)
        self.assertIsNone(self.switch.receive(1, timeout=0.5))
        entries = await all_of(self.sw.read(fy.P4TableEntry("acl")))
        self.assertEqual([e.priority for e in entries], [1, 2])
        self.assertEqual(dict(entries[1].match), {"src": (0x0A000000, 0xFF000000), "protocol": 17, "ttl": (10, 20)})
        # The table has room for four.
        full = [+acl(3, "drop"), +acl(4, "drop"), +acl(5, "drop")]
        with Failing(self, {2: "RESOURCE_EXHAUSTED"}):
            await self.sw.write(full)

    async def test_errors_name_each_update(self):
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
        wrong = p4r.Update(type=p4r.Update.INSERT, entity=route("10.0.1.0/24", "020000000011", 1).encode(self.sw.p4info))
        wrong.entity.table_entry.action.action.params[1].value = b"\x02\x00"
        updates = [
            +route("10.0.0.0/8", "020000000011", 1),
            +route("10.2.0.0/16", "020000000011", 1),
            -route("10.3.0.0/16", "020000000011", 1),
            wrong,
            p4r.Update(type=p4r.Update.INSERT),
            +fy.P4TableEntry("fixed", match=match(type=5), action=fy.P4TableAction("drop")),
            +fy.P4TableEntry("l2", match=match(dst=1, ingress_port=1), action=fy.P4TableAction("drop")),
            ~fy.P4TableEntry("l2", is_default_action=True, action=fy.P4TableAction("drop")),
            +fy.P4TableEntry("acl", match=match(protocol=1), action=fy.P4TableAction("drop")),
        ]
        with Failing(self, {
            0: "ALREADY_EXISTS", 2: "NOT_FOUND", 3: "OUT_OF_RANGE", 4: "INVALID_ARGUMENT", 5: "PERMISSION_DENIED",
            6: "PERMISSION_DENIED", 7: "PERMISSION_DENIED", 8: "INVALID_ARGUMENT",
        }):
            await self.sw.write(updates)
        self.assertEqual(len(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))), 2)

    async def test_batches_of_all_or_nothing(self):
        for atomicity in (p4r.WriteRequest.ROLLBACK_ON_ERROR, p4r.WriteRequest.DATAPLANE_ATOMIC):
            def request(*updates):
                encoded = [u.encode_update(self.sw.p4info) for u in updates]
                return p4r.WriteRequest(device_id=1, updates=encoded, atomicity=atomicity)

            await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
            updates = [~route("10.0.0.0/8", "020000000099", 3), +route("10.1.0.0/16", "020000000012", 2),
                       ~fy.P4RegisterEntry("last_source", index=1, data=7), -route("10.7.0.0/16", "020000000012", 2)]
            with Failing(self, {0: "ABORTED", 1: "ABORTED", 2: "ABORTED", 3: "NOT_FOUND"}):
                await self.sw._p4client.request(request(*updates))
            (entry,) = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))
            self.assertEqual(entry.action.args["port"], 1)
            (register,) = await all_of(self.sw.read(fy.P4RegisterEntry("last_source", index=1)))
            self.assertEqual(register.data, 0)
            await self.sw._p4client.request(request(*updates[:3]))
            self.assertEqual(len(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))), 2)
            await self.sw.delete_all()
            await self.sw.write([~fy.P4RegisterEntry("last_source", data=0)])

    async def test_default_entries(self):
        default = fy.P4TableEntry("ipv4_lpm", is_default_action=True, action=fy.P4TableAction("punt", reason=3))
        await self.sw.write([~default])
        (entry,) = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm", is_default_action=True)))
        self.assertEqual(entry.action.args, {"reason": 3})
        await self.sw.write([~fy.P4TableEntry("ipv4_lpm", is_default_action=True)])
        (entry,) = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm", is_default_action=True)))
        self.assertEqual(entry.action.name, "drop")
        (fixed, _) = await all_of(self.sw.read(fy.P4TableEntry("fixed")))
        self.assertEqual(fixed.match["type"], 0x0800)
        self.assertTrue(fixed.is_const)

    async def test_counters(self):
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
        frame = ipv4("10.9.9.9", "10.1.2.3")
        for _ in range(3):
            self.switch.send(2, frame)
            self.switch.receive(1)
        (counter,) = await all_of(self.sw.read(fy.P4CounterEntry("by_port", index=2)))
        self.assertEqual((counter.packet_count, counter.byte_count), (3, 3 * len(frame)))
        self.assertEqual(len(await all_of(self.sw.read(fy.P4CounterEntry()))), 16)
        (direct,) = await all_of(self.sw.read(fy.P4DirectCounterEntry("routed")))
        self.assertEqual((direct.packet_count, direct.byte_count), (3, 3 * len(frame)))
        (entry,) = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm", counter_data=fy.P4CounterData())))
        self.assertEqual(entry.counter_data.packet_count, 3)
        # All cells at once.
        await self.sw.write([~fy.P4CounterEntry("by_port", data=fy.P4CounterData(packet_count=5, byte_count=6))])
        counters = await all_of(self.sw.read(fy.P4CounterEntry("by_port")))
        self.assertEqual({(c.packet_count, c.byte_count) for c in counters}, {(5, 6)})
        with Failing(self, {0: "OUT_OF_RANGE"}):
            await self.sw.write([~fy.P4CounterEntry("by_port", index=16, data=fy.P4CounterData())])

    async def test_registers(self):
        await self.sw.write([~fy.P4RegisterEntry("last_source", index=3, data=0xCAFE)])
        self.switch.send(0, ipv4("10.9.9.8", "10.1.2.3"))

        async def cells():
            return [c.data for c in await all_of(self.sw.read(fy.P4RegisterEntry("last_source")))]

        async def written():
            return (await cells())[0]

        await wait_until(written)
        self.assertEqual(await cells(), [0x0A090908, 0, 0, 0xCAFE, 0, 0, 0, 0])

    async def test_packets_in_and_out(self):
        default = fy.P4TableEntry("ipv4_lpm", is_default_action=True, action=fy.P4TableAction("punt", reason=5))
        await self.sw.write([~default])
        packets = self.sw.read_packets()
        first = asyncio.ensure_future(anext(packets))
        await asyncio.sleep(0.1)
        frame = ipv4("10.9.9.9", "10.1.2.3")
        self.switch.send(3, frame)
        packet = await asyncio.wait_for(first, PATIENCE)
        self.assertEqual(packet.payload, frame)
        self.assertEqual(packet.metadata, {"ingress_port": 3, "reason": 5})
        await packets.aclose()

        await self.sw.write([fy.P4PacketOut(frame, egress_port=2, pad=0)])
        self.assertEqual(self.switch.receive(2), frame)
        errors = []
        self.sw.ee.add_listener(fy.SwitchEvent.STREAM_ERROR, lambda _, message: errors.append(message))
        incomplete = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=frame))
        await self.sw.write([incomplete])

        async def reported():
            return errors

        await wait_until(reported)
        self.assertEqual(errors[0].error.canonical_code, 3)
        self.assertEqual(errors[0].error.packet_out.packet_out.payload, frame)

    async def test_two_controllers(self):
        async with connect(self.switch, self.options(initial_election_id=20)) as other:
            self.assertTrue(other.is_primary)

            async def replaced():
                return not self.sw.is_primary

            self.assertTrue(await wait_until(replaced))
            with self.assertRaises(fy.P4ClientError) as caught:
                await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
            self.assertEqual(caught.exception.code.name, "PERMISSION_DENIED")
            await other.write([+route("10.0.0.0/8", "020000000011", 1)])
            self.assertEqual(len(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))), 1)
        # The other has gone: finsy asks again, with its election id.
        async def primary():
            return self.sw.is_primary

        self.assertTrue(await wait_until(primary))
        await self.sw.write([-route("10.0.0.0/8", "020000000011", 1)])

    async def command(self, *args):
        """Our own command next to this controller: exit status and errors."""
        process = await asyncio.create_subprocess_exec(HOPWRIGHT, *args, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = (await process.communicate())[1].decode()
        return process.returncode, errors

    async def test_our_command_does_not_take_a_controllers_place(self):
        add = ("table", "add", "ipv4_lpm", "dst=10.0.0.0/8 => drop")
        status, errors = await self.command(*add)
        self.assertEqual(status, 1)
        self.assertIn("a controller is primary (election id 10); --force writes beside it", errors)
        self.assertEqual((await self.command("table", "show", "ipv4_lpm"))[0], 0)
        # Several at once wait for each other.
        deny = [("table", "add", "ipv4_lpm", f"dst=10.{n}.0.0/16 => drop", "--force") for n in range(8)]
        self.assertEqual(await asyncio.gather(*[self.command(*d) for d in deny]), [(0, "")] * 8)
        self.assertTrue(self.sw.is_primary)
        self.assertEqual(len(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))), 8)
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])

    async def test_roles_with_a_configuration(self):
        ids = {name: self.sw.p4info.tables[name].id for name in ("acl", "ipv4_lpm", "l2")}
        config = stratum.P4RoleConfig(exclusive_p4_ids=[ids["acl"]], shared_p4_ids=[ids["l2"]])

        def acl():
            return fy.P4TableEntry("acl", match=match(protocol=6), priority=1, action=fy.P4TableAction("drop"))

        def l2():
            return fy.P4TableEntry("l2", match=match(dst=1, ingress_port=1), action=fy.P4TableAction("permit"))

        denied = {0: "PERMISSION_DENIED"}
        await self.sw.write([+route("10.0.0.0/8", "020000000011", 1)])
        async with connect(self.switch, fy.SwitchOptions(role_name="acl", role_config=config)) as other:
            self.assertTrue(other.is_primary and self.sw.is_primary)
            await other.write([+acl(), +l2()])
            with Failing(self, denied):
                await other.write([-route("10.0.0.0/8", "020000000011", 1)])
            with Failing(self, denied):
                await other.write([~fy.P4RegisterEntry("last_source", index=1, data=7)])
            with Failing(self, denied):
                await self.sw.write([-acl()])
            await self.sw.write([-l2()])
            # It sees what is its own.
            self.assertEqual([e.table_id for e in await all_of(other.read(fy.P4TableEntry()))], ["acl"])
            with self.assertRaises(fy.P4ClientError) as caught:
                await all_of(other.read(fy.P4TableEntry("ipv4_lpm")))
            self.assertEqual(caught.exception.code.name, "PERMISSION_DENIED")
            self.assertEqual(len(await all_of(self.sw.read(fy.P4TableEntry("acl")))), 1)
            # It may not set the program.
            with self.assertRaises(fy.P4ClientError) as caught:
                await other._set_pipeline_config_request(config=p4r.ForwardingPipelineConfig(p4_device_config=b"x"))
            self.assertEqual(caught.exception.code.name, "PERMISSION_DENIED")
        # Its controller has gone.
        async def deleted():
            try:
                await self.sw.write([-acl()])
                return True
            except fy.P4ClientError:
                return False

        self.assertTrue(await wait_until(deleted))
        self.assertEqual(await all_of(self.sw.read(fy.P4TableEntry("acl"))), [])

    async def test_roles_and_packets(self):
        await self.sw.write([~fy.P4TableEntry("ipv4_lpm", is_default_action=True, action=fy.P4TableAction("punt", reason=5))])
        field = self.sw.p4info.controller_packet_metadata["packet_in"].metadata["ingress_port"]
        only_port_2 = stratum.P4RoleConfig.PacketFilter(metadata_id=field.id, value=b"\x02")
        configs = {
            "none": stratum.P4RoleConfig(),
            "all": stratum.P4RoleConfig(receives_packet_ins=True),
            "some": stratum.P4RoleConfig(receives_packet_ins=True, packet_in_filter=only_port_2),
        }
        got = {name: [] for name in (*configs, "default")}

        async def collect(name, sw):
            async for packet in sw.read_packets():
                got[name].append(packet["ingress_port"])

        async with contextlib.AsyncExitStack() as stack:
            switches = {"default": self.sw}
            for name, config in configs.items():
                options = fy.SwitchOptions(role_name=name, role_config=config)
                switches[name] = await stack.enter_async_context(connect(self.switch, options))
            tasks = [asyncio.ensure_future(collect(name, sw)) for name, sw in switches.items()]
            await asyncio.sleep(0.2)
            for port in (1, 2, 3):
                self.switch.send(port, ipv4("10.9.9.9", "10.1.2.3"))

            async def arrived():
                return len(got["default"]) == len(got["all"]) == 3 and got["some"]

            await wait_until(arrived)
            for task in tasks:
                task.cancel()
        self.assertEqual({name: sorted(ports) for name, ports in got.items()},
                         {"none": [], "some": [2], "all": [1, 2, 3], "default": [1, 2, 3]})

    async def test_the_same_election_id(self):
        async with connect(self.switch, self.options) as other:
            self.assertFalse(other.is_primary)
            self.assertTrue(self.sw.is_primary)

    async def test_everything_can_be_deleted(self):
        await self.sw.write([+route(f"10.{n}.0.0/16", "020000000011", 1) for n in range(200)])
        await self.sw.delete_all()
        self.assertEqual(await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm"))), [])

    async def test_metadata_of_entries_is_kept(self):
        entry = route("10.0.0.0/8", "020000000011", 1)
        entry.metadata, entry.controller_metadata = b"mine", 77
        await self.sw.write([+entry])
        (found,) = await all_of(self.sw.read(fy.P4TableEntry("ipv4_lpm")))
        self.assertEqual((found.metadata, found.controller_metadata), (b"mine", 77))


class Interpreted(Basic):
    """The same with the interpreter."""

    arguments = ("--engine", "interp")


class Copies(unittest.IsolatedAsyncioTestCase):
    """Copies of packets, value sets, digests."""

    arguments = ()

    def setUp(self):
        self.switch = self.enterContext(Switch("copies.p4", *self.arguments))

    async def asyncSetUp(self):
        self.sw = await self.enterAsyncContext(connect(self.switch, COPIES))
        await self.sw.write([~fy.P4ValueSetEntry("known_types", members=[P4ValueSetMember(0x1234)])])

    @staticmethod
    def where(dst, action, **args):
        return fy.P4TableEntry("where", match=match(dst=dst), action=fy.P4TableAction(action, **args))

    async def test_multicast(self):
        group = fy.P4MulticastGroupEntry(7, replicas=[1, 2, (3, 5)])
        await self.sw.write([+group, +self.where(1, "flood", group=7)])
        frame = ethernet("000000000001", "020000000002", 0x1234, bytes(50))
        self.switch.send(0, frame)
        for port in (1, 2, 3):
            self.assertEqual(self.switch.receive(port), frame)
        (found,) = await all_of(self.sw.read(fy.P4MulticastGroupEntry()))
        self.assertEqual((found.multicast_group_id, len(found.replicas)), (7, 3))
        await self.sw.write([~fy.P4MulticastGroupEntry(7, replicas=[2])])
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(2), frame)
        self.assertIsNone(self.switch.receive(1, timeout=0.5))
        with Failing(self, {0: "ALREADY_EXISTS", 1: "INVALID_ARGUMENT", 2: "NOT_FOUND", 3: "INVALID_ARGUMENT"}):
            await self.sw.write([
                +fy.P4MulticastGroupEntry(7, replicas=[1]), +fy.P4MulticastGroupEntry(8, replicas=[1, 1]),
                -fy.P4MulticastGroupEntry(9), +fy.P4MulticastGroupEntry(0, replicas=[1]),
            ])

    async def test_clone_sessions(self):
        await self.sw.write([
            +fy.P4CloneSessionEntry(5, replicas=[2, 3], packet_length_bytes=20),
            +self.where(1, "mirror", port=1, session=5),
        ])
        frame = ethernet("000000000001", "020000000002", 0x1234, bytes(range(50)))
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(1), frame)
        self.assertEqual(self.switch.receive(2), frame[:20])
        self.assertEqual(self.switch.receive(3), frame[:20])
        (found,) = await all_of(self.sw.read(fy.P4CloneSessionEntry()))
        self.assertEqual((found.session_id, found.packet_length_bytes), (5, 20))
        await self.sw.delete_all()
        self.assertEqual(await all_of(self.sw.read(fy.P4CloneSessionEntry())), [])

    async def test_value_sets(self):
        await self.sw.write([+self.where(1, "forward", port=1)])
        frame = ethernet("000000000001", "020000000002", 0x5678, bytes(50))
        self.switch.send(0, frame)
        self.assertIsNone(self.switch.receive(1, timeout=0.5))
        members = [P4ValueSetMember(0x1234), P4ValueSetMember(0x5678)]
        await self.sw.write([~fy.P4ValueSetEntry("known_types", members=members)])
        self.switch.send(0, frame)
        self.assertEqual(self.switch.receive(1), frame)
        (found,) = await all_of(self.sw.read(fy.P4ValueSetEntry("known_types", members=[])))
        self.assertEqual(len(found.members), 2)

    async def test_digests(self):
        def digest(max_timeout_ns):
            return fy.P4DigestEntry("station_t", max_list_size=2, max_timeout_ns=max_timeout_ns, ack_timeout_ns=60_000_000_000)

        # A list with both stations, however late the second one is.
        await self.sw.write([+digest(60_000_000_000)])
        digests = self.sw.read_digests("station_t")
        first = asyncio.ensure_future(anext(digests))
        await asyncio.sleep(0.1)
        for src in ("020000000011", "020000000011", "020000000022"):
            self.switch.send(2, ethernet("000000000001", src, 0x1234, bytes(50)))
        found = await asyncio.wait_for(first, PATIENCE)
        self.assertEqual([dict(d) for d in found.data],
                         [{"address": 0x020000000011, "port": 2}, {"address": 0x020000000022, "port": 2}])
        await self.sw.write([found.ack()])
        # A list with one of them.
        await self.sw.write([~digest(300_000_000)])
        second = asyncio.ensure_future(anext(digests))

        async def digested():
            # Nothing is told of this one until the acknowledgement has been read.
            self.switch.send(1, ethernet("000000000001", "020000000011", 0x1234, bytes(50)))
            return second.done()

        await wait_until(digested)
        self.assertEqual([dict(d) for d in (await asyncio.wait_for(second, PATIENCE)).data],
                         [{"address": 0x020000000011, "port": 1}])
        await digests.aclose()

    async def test_idle_timeouts(self):
        entry = fy.P4TableEntry("stations", match=match(src=0x020000000011), action=fy.P4TableAction("learned"))
        entry.idle_timeout_ns = 1_000_000_000
        timeouts = self.sw.read_idle_timeouts()
        first = asyncio.ensure_future(anext(timeouts))
        await asyncio.sleep(0.1)
        await self.sw.write([+entry])
        found = await asyncio.wait_for(first, PATIENCE)
        self.assertEqual(found.table_entry[0].match["src"], 0x020000000011)
        # The entry stays idle.
        again = await asyncio.wait_for(anext(timeouts), PATIENCE)
        self.assertEqual(again.table_entry[0].match["src"], 0x020000000011)
        await timeouts.aclose()


class CopiesInterpreted(Copies):
    """The same with the interpreter."""

    arguments = ("--engine", "interp")


class Tofino(unittest.IsolatedAsyncioTestCase):
    """A program for Tofino, which is pushed: its tables, and packets from and to the controller."""

    async def asyncSetUp(self):
        self.switch = self.enterContext(Switch(TOFINO, "--cpu-port", "64"))
        options = fy.SwitchOptions(p4info=p4info(TOFINO, TMP / "tofino.txt"), p4blob=TOFINO)
        self.sw = await self.enterAsyncContext(connect(self.switch, options))

    async def test_tables(self):
        send = fy.P4TableAction("send", port=2, dst=0x020000000099)
        entry = fy.P4TableEntry("switched", match=match(dst=0x020000000001), action=send)
        await self.sw.write([+entry])
        self.switch.send(0, ethernet("020000000001", "020000000002", 0x88B5, bytes(50)))
        self.assertEqual(self.switch.receive(2)[:6].hex(), "020000000099")
        (found,) = await all_of(self.sw.read(fy.P4TableEntry("switched")))
        self.assertEqual(found.action.args, {"port": 2, "dst": 0x020000000099})
        (cell,) = await all_of(self.sw.read(fy.P4RegisterEntry("numbers", index=5)))
        self.assertEqual(cell.data, 7)
        (counter,) = await all_of(self.sw.read(fy.P4CounterEntry("by_port", index=0)))
        self.assertEqual(counter.packet_count, 1)

    async def test_packets_in_and_out(self):
        packets = self.sw.read_packets()
        first = asyncio.ensure_future(anext(packets))
        await asyncio.sleep(0.1)
        frame = ipv4("10.9.9.9", "10.1.2.3")
        self.switch.send(3, frame)
        packet = await asyncio.wait_for(first, PATIENCE)
        self.assertEqual(packet.payload, frame)
        self.assertEqual(packet.metadata["ingress_port"], 3)
        await packets.aclose()
        await self.sw.write([fy.P4PacketOut(frame, egress_port=2, padding=0)])
        self.assertEqual(self.switch.receive(2), frame)


class Hostile(unittest.IsolatedAsyncioTestCase):
    """What no well-meaning client sends."""

    def setUp(self):
        self.switch = self.enterContext(Switch("basic.p4"))

    async def test_nonsense_is_answered(self):
        async with connect(self.switch, BASIC) as sw:
            big = 2**31
            entities = [
                p4r.Entity(),
                p4r.Entity(table_entry=p4r.TableEntry(table_id=big)),
                p4r.Entity(table_entry=p4r.TableEntry(is_default_action=True)),
                p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=big)),
                p4r.Entity(register_entry=p4r.RegisterEntry(register_id=0)),
                p4r.Entity(meter_entry=p4r.MeterEntry()),
                p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry()),
                p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry()),
                p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=5)),
                p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=big)),
                p4r.Entity(extern_entry=p4r.ExternEntry(extern_id=7)),
                p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
            ]
            for name, index in (("by_port", -1), ("by_port", 2**62)):
                counter = fy.P4CounterEntry(name, index=0).encode(sw.p4info)
                counter.counter_entry.index.index = index
                entities.append(counter)
            lpm = route("10.0.0.0/8", "020000000011", 1).encode(sw.p4info)
            for change in ("prefix", "value", "empty", "field", "twice", "parameter"):
                entity = p4r.Entity()
                entity.CopyFrom(lpm)
                entry = entity.table_entry
                if change == "prefix":
                    entry.match[0].lpm.prefix_len = -1
                elif change == "value":
                    entry.match[0].lpm.value = bytes(100_000) + b"\x01" * 100_000
                elif change == "empty":
                    entry.match[0].lpm.value = b""
                elif change == "field":
                    entry.match[0].field_id = big
                elif change == "twice":
                    entry.match.append(entry.match[0])
                else:
                    entry.action.action.params[0].param_id = big
                entities.append(entity)
            updates = [p4r.Update(type=kind, entity=e) for e in entities for kind in (1, 2, 3)]
            with self.assertRaises(fy.P4ClientError) as caught:
                await sw._p4client.request(p4r.WriteRequest(device_id=1, updates=updates))
            self.assertEqual(len(caught.exception.details), len(updates))
            for entity in entities:
                with contextlib.suppress(fy.P4ClientError):
                    async for _ in sw._p4client.request_iter(p4r.ReadRequest(device_id=1, entities=[entity])):
                        pass
            for message in (p4r.StreamMessageRequest(other=pbutil.to_any(p4r.DigestEntry())),
                            p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=big))):
                await sw.write([message])
            await sw.write([+route("10.0.0.0/8", "020000000011", 1)])
            self.switch.send(0, ipv4("10.9.9.9", "10.1.2.3"))
            self.assertIsNotNone(self.switch.receive(1))

    async def test_too_many_streams(self):
        async with contextlib.AsyncExitStack() as stack:
            for n in range(64):
                await stack.enter_async_context(connect(self.switch, BASIC(initial_election_id=1000 + n)))
            self.assertIn("RESOURCE_EXHAUSTED", await refusal(self.switch, BASIC(initial_election_id=9000)))

    async def test_other_devices(self):
        self.assertIn("NOT_FOUND", await refusal(self.switch, BASIC(device_id=5)))


class Encrypted(unittest.IsolatedAsyncioTestCase):
    """With certificates on both sides."""

    async def test_only_known_clients(self):
        def openssl(*arguments):
            subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=TMP)

        (TMP / "names").write_text("subjectAltName=DNS:localhost\n")
        for ca, names in (("ours", ("server", "client")), ("theirs", ("stranger",))):
            openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", 2, "-subj", f"/CN={ca}",
                    "-keyout", f"{ca}.key", "-out", f"{ca}.pem")
            for name in names:
                openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                        "-keyout", f"{name}.key", "-out", f"{name}.csr")
                openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key",
                        "-CAcreateserial", "-days", 2, "-extfile", "names", "-out", f"{name}.pem")
        arguments = ["--tls-cert", TMP / "server.pem", "--tls-key", TMP / "server.key",
                     "--tls-client-ca", TMP / "ours.pem"]
        with Switch("basic.p4", *arguments) as switch:
            def credentials(name):
                return fy.GRPCCredentialsTLS(
                    cacert=TMP / "ours.pem", cert=TMP / f"{name}.pem", private_key=TMP / f"{name}.key")

            switch.address = "localhost:9559"
            async with connect(switch, BASIC(channel_credentials=credentials("client"))) as sw:
                self.assertTrue(sw.is_primary)
            with self.assertRaises(Exception):
                async with asyncio.timeout(10), connect(switch, BASIC(channel_credentials=credentials("stranger"))):
                    pass


if __name__ == "__main__":
    unittest_main()
