#!/usr/bin/env python3
"""Memory as a tenant's resource: charged, limited, given back; and a thousand small tenants, each a P4Runtime device, on one switch."""

import json
import pathlib
import sys
import time
import unittest

import grpc
from finsy.proto import p4r

from lab.cases import unittest_main
from lab.command import ROOT, hopwright, wait_until
from lab.switch import ethernet
from lab.tenants import P4RUNTIME, Lab

MIB = 1 << 20
TENANTS = 1000
MOST = 2 * MIB
DESTINATION = "02:00:00:00:00:02"
SERVICES = '[p4runtime]\naddress = "127.0.0.1:9559"\n[metrics]\naddress = "127.0.0.1:9090"\n'
REGISTERS = """
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; }
struct headers_t { h_t h; }
struct metadata_t {}
parser P(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start { packet.extract(hdr.h); transition accept; }
}
control None(inout headers_t hdr, inout metadata_t meta) { apply {} }
control I(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    register<bit<64>>(COUNT) cells;
    table keys { key = { hdr.h.a : exact; } actions = { NoAction; } size = ENTRIES; }
    apply { keys.apply(); cells.write(0, (bit<64>)hdr.h.a); standard.egress_spec = 2; }
}
control E(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.h); } }
V1Switch(P(), None(), I(), E(), None(), D()) main;
"""


def program(registers=16, entries=16):
    return REGISTERS.replace("COUNT", str(registers)).replace("ENTRIES", str(entries))


def tenant(number, more="cpu_queue = 16"):
    return f"""
[[tenant]]
name = "t{number}"
program = "{{root}}/tests/switch/small.p4"
ports = {{ 1 = "sw0", 2 = "sw1" }}
match = [{{ vlan = {number} }}]
device_id = {number}
{more}
"""


def frame(vlan, kind):
    """A frame in a VLAN, whose last byte tells it from others."""
    return ethernet(DESTINATION.replace(":", ""), "020000000009", 0x8100, vlan.to_bytes(2, "big") + bytes.fromhex("88b5") + bytes(45) + bytes([kind]))


def rss(process):
    """Memory that the process has in fact, in bytes."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return 1024 * int(line.split()[1])


def settled(process):
    """What it has when it has given no memory back for three seconds, in bytes."""
    samples = [rss(process)]
    while len(samples) < 200 and (len(samples) <= 30 or samples[-30] - samples[-1] >= MIB):
        time.sleep(0.1)
        samples.append(rss(process))
    return samples[-1]


class Controller:
    """The primary controller of a device."""

    def __init__(self, device):
        self.device, self.election = device, p4r.Uint128(low=1)
        self.channel = grpc.insecure_channel(P4RUNTIME, [("grpc.use_local_subchannel_pool", 1)])
        service = "/p4.v1.P4Runtime/"
        method = lambda kind, name, request, answer: getattr(self.channel, kind)(
            service + name, request_serializer=request.SerializeToString, response_deserializer=answer.FromString)
        self.set_pipeline = method("unary_unary", "SetForwardingPipelineConfig",
                                   p4r.SetForwardingPipelineConfigRequest, p4r.SetForwardingPipelineConfigResponse)
        self.get_pipeline = method("unary_unary", "GetForwardingPipelineConfig",
                                   p4r.GetForwardingPipelineConfigRequest, p4r.GetForwardingPipelineConfigResponse)
        self.write = method("unary_unary", "Write", p4r.WriteRequest, p4r.WriteResponse)
        stream = method("stream_stream", "StreamChannel", p4r.StreamMessageRequest, p4r.StreamMessageResponse)
        update = p4r.MasterArbitrationUpdate(device_id=device, election_id=self.election)
        self.stream = stream(self.requests(p4r.StreamMessageRequest(arbitration=update)))
        next(self.stream)

    def requests(self, first):
        yield first
        while not getattr(self, "closed", False):
            time.sleep(0.05)

    def close(self):
        self.closed = True
        self.channel.close()

    def push(self, text, action="VERIFY_AND_COMMIT"):
        config = p4r.ForwardingPipelineConfig(p4_device_config=text.encode())
        action = p4r.SetForwardingPipelineConfigRequest.Action.Value(action)
        self.set_pipeline(p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device, election_id=self.election, action=action, config=config))

    def running(self):
        request = p4r.GetForwardingPipelineConfigRequest(device_id=self.device)
        return self.get_pipeline(request).config.p4_device_config

    def info(self):
        request = p4r.GetForwardingPipelineConfigRequest(device_id=self.device)
        return self.get_pipeline(request).config.p4info

    def update(self, updates):
        self.write(p4r.WriteRequest(device_id=self.device, election_id=self.election, updates=updates))

    def groups(self, numbers, copies=1000, metadata=b""):
        """Adds multicast groups."""
        replicas = [p4r.Replica(egress_port=1, instance=n) for n in range(copies)]
        group = lambda n: p4r.MulticastGroupEntry(multicast_group_id=n, replicas=replicas, metadata=metadata)
        entity = lambda n: p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=group(n)))
        updates = [p4r.Update(type=p4r.Update.INSERT, entity=entity(n)) for n in numbers]
        self.update(updates)


class Limits(unittest.TestCase):
    """Two tenants, of which one has a limit of its own."""

    CONFIG = tenant(1, 'memory = "8M"\ncpu_queue = 64') + tenant(2) + SERVICES

    def lab(self, memory="64M"):
        return Lab(self.CONFIG, sockets=False, settings=f'mtu = 1500\nmemory = "{memory}"\n')

    def refused(self, call, *args):
        with self.assertRaises(grpc.RpcError) as raised:
            call(*args)
        self.assertEqual(raised.exception.code(), grpc.StatusCode.RESOURCE_EXHAUSTED, raised.exception)
        return raised.exception.details()

    def test_a_program_that_needs_too_much_is_refused_before_anything_changes(self):
        with self.lab() as lab:
            controller = Controller(1)
            before, running = lab.show("t1")["memory"], controller.running()
            self.assertEqual(before["limit"], 8 * MIB)
            self.assertLess(before["held"], 8 * MIB)
            self.assertEqual(lab.show("t2")["memory"]["limit"], 56 * MIB)
            for text in (program(registers=12 * MIB), program(registers=(1 << 32) - 1),
                         program(registers=(1 << 32) - 1, entries=(1 << 63) - 1)):
                for action in ("VERIFY_AND_COMMIT", "VERIFY", "VERIFY_AND_SAVE", "RECONCILE_AND_COMMIT"):
                    details = self.refused(controller.push, text, action)
                    self.assertRegex(details, r"needs \d.* of memory, tenant t1 may have 8 MiB")
            self.assertRegex(self.refused(controller.push, program(registers=12 * MIB)), r"needs (9|10)\d(\.\d)? MiB of memory")
            self.assertEqual(lab.show("t1")["memory"], before)
            self.assertEqual(controller.running(), running)
            # What fits is charged as it is declared, though nothing of it was touched.
            controller.push(program(registers=MIB // 2))
            held = lab.show("t1")["memory"]["held"]
            self.assertGreater(held, 4 * MIB)
            # A table reserves nothing.
            controller.push(program(entries=(1 << 63) - 1))
            self.assertLess(lab.show("t1")["memory"]["held"], held - 3 * MIB)
            controller.close()

    def test_what_is_written_without_a_bound_is_limited_and_given_back(self):
        with self.lab() as lab:
            controller = Controller(1)
            controller.push(program())
            before = lab.show("t1")["memory"]["held"]
            written = 0
            with self.assertRaises(grpc.RpcError) as raised:
                for written in range(1, 60000):
                    controller.groups([written])
            self.assertEqual(raised.exception.code(), grpc.StatusCode.UNKNOWN)
            self.assertRegex(raised.exception.details(), r"needs \d.* of memory, tenant t1 may have (8 MiB|8388608 bytes)")
            self.assertGreater(written, 100)
            self.assertLessEqual(lab.show("t1")["memory"]["held"], 8 * MIB)
            with self.assertRaises(grpc.RpcError):
                controller.groups([1 << 14], 1, bytes(9 * MIB // 4))
                controller.groups([(1 << 14) + 1], 1, bytes(9 * MIB // 4))
                controller.groups([(1 << 14) + 2], 1, bytes(9 * MIB // 4))
            controller.push(program())
            self.assertEqual(lab.show("t1")["memory"]["held"], before)
            self.fill_a_table(lab, controller)
            controller.close()

    def fill_a_table(self, lab, controller):
        """With more entries than there is memory for, of which those that fit stay."""
        controller.push(program(entries=1 << 20).replace("hdr.h.a : exact", "(bit<48>)hdr.h.a : exact @name(\"key\")"))
        before = lab.show("t1")["memory"]["held"]
        info = controller.info()
        (table,) = info.tables
        exact = lambda n: p4r.FieldMatch(field_id=1, exact=p4r.FieldMatch.Exact(value=n.to_bytes(6, "big")))
        action = p4r.TableAction(action=p4r.Action(action_id=table.action_refs[0].id))
        entry = lambda n: p4r.Entity(table_entry=p4r.TableEntry(table_id=table.preamble.id, match=[exact(n)], action=action))
        update = lambda kind, n: p4r.Update(type=kind, entity=entry(n))
        with self.assertRaises(grpc.RpcError) as raised:
            for begin in range(0, 100_000, 1000):
                controller.update([update(p4r.Update.INSERT, n) for n in range(begin, begin + 1000)])
        self.assertRegex(raised.exception.details(), r"needs \d.* of memory, tenant t1 may have (8 MiB|8388608 bytes)")
        (entries,) = lab.show("t1")["table_entries"].values()
        self.assertGreater(entries, 1000)
        held = lab.show("t1")["memory"]["held"]
        self.assertLessEqual(held, 8 * MIB)
        self.assertGreater(held, 8 * MIB - 4096)
        # Keys and arguments are given back one by one. The table's structures stay, for as many entries as there were.
        controller.update([update(p4r.Update.DELETE, n) for n in range(entries)])
        left = lab.show("t1")["memory"]["held"]
        self.assertTrue(before < left < held, f"{left} of {held}, {before} without entries")
        controller.update([update(p4r.Update.INSERT, n) for n in range(entries)])
        self.assertEqual(lab.show("t1")["memory"]["held"], held)

    def test_administrators_divide_what_there_is(self):
        with self.lab() as lab:
            self.assertIn("t1", lab.tenant("list"))
            self.assertRegex(lab.tenant("show", "t1"), r"memory +\d+(\.\d)? \w+ of 8 MiB")
            metrics = lab.metrics()
            self.assertEqual(float(metrics['hopwright_tenant_limit_memory_bytes{tenant="t1"}']), 8 * MIB)
            held = lab.show("t2")["memory"]["held"]
            self.assertEqual(float(metrics['hopwright_tenant_memory_bytes{tenant="t2"}']), held)
            # Less than it has, more than there is.
            self.assertIn("needs", lab.tenant("limit", "t1", "--memory", "100K", ok=False))
            self.assertIn("64 MiB", lab.tenant("limit", "t1", "--memory", "65M", ok=False))
            self.assertIn("tenant t2 may have", lab.tenant("limit", "t1", "--memory", "63.9M", ok=False))
            self.assertEqual(lab.show("t1")["memory"]["limit"], 8 * MIB)
            self.assertEqual(lab.show("t2")["memory"]["limit"], 56 * MIB)
            lab.tenant("limit", "t1", "--memory", "16M")
            self.assertEqual(lab.show("t1")["memory"]["limit"], 16 * MIB)
            self.assertEqual(lab.show("t2")["memory"]["limit"], 48 * MIB)
            lab.tenant("limit", "t1", "--memory", "none")
            self.assertEqual(lab.show("t1")["memory"]["limit"], 32 * MIB)
            # A third tenant needs its part of what the others have.
            file = lab.folder / "third.toml"
            file.write_text(tenant(3, 'memory = "63M"').replace("{root}", str(ROOT)))
            self.assertIn("may have", lab.tenant("add", file, ok=False))
            file.write_text(tenant(3, 'memory = "65M"').replace("{root}", str(ROOT)))
            self.assertIn("65 MiB", lab.tenant("add", file, ok=False))
            file.write_text(tenant(3, 'memory = "1K"').replace("{root}", str(ROOT)))
            self.assertIn("tenant t3 may have 1 KiB", lab.tenant("add", file, ok=False))
            self.assertEqual(len(json.loads(lab.tenant("list", "--json"))), 2)
            file.write_text(tenant(3).replace("{root}", str(ROOT)))
            lab.tenant("add", file)
            self.assertEqual(lab.show("t1")["memory"]["limit"], 64 * MIB // 3)
            # So does the file when it is read again.
            lab.write(self.CONFIG.replace('"8M"', '"8K"'))
            self.assertIn("nothing has changed", lab.reload())
            self.assertEqual(len(json.loads(lab.tenant("list", "--json"))), 3)
            lab.settings = 'mtu = 1500\nmemory = "32M"\n'
            lab.write(self.CONFIG)
            self.assertIn("t3 removed", lab.reload())
            self.assertEqual(lab.show("t2")["memory"]["limit"], 24 * MIB)

    def test_what_is_removed_gives_its_memory_back(self):
        with self.lab() as lab:
            file = lab.folder / "third.toml"
            file.write_text(tenant(3, "cpu_queue = 1024").replace("{root}", str(ROOT)))
            controller = Controller(1)

            def once(number):
                lab.tenant("add", file)
                held = lab.show("t3")["memory"]["held"]
                controller.push(program(registers=MIB // 4 + number))
                lab.tenant("remove", "t3")
                return held

            for number in range(5):
                held = once(number)
            before = settled(lab.process)
            for number in range(40):
                self.assertEqual(once(5 + number), held, "a new tenant's account begins anew")
            wait_until("the process has given it back", lambda: rss(lab.process) - before < 2 * held)
            grown = rss(lab.process) - before
            print(f"{held / MIB:.1f} MiB were added and removed 40 times: the process has grown by {grown / MIB:.1f} MiB", file=sys.stderr)
            controller.close()


class Thousand(unittest.TestCase):
    def test_a_thousand_tenants_and_devices(self):
        with Lab(tenant(TENANTS + 1) + SERVICES, settings="mtu = 1500\n") as lab:
            alone = settled(lab.process)
            tenants = "".join(tenant(number) for number in range(1, TENANTS + 1))
            begun = time.monotonic()
            lab.write(tenant(TENANTS + 1) + tenants + SERVICES)
            self.assertIn(f"{TENANTS} changes: tenant t1 added", lab.reload())
            started = time.monotonic() - begun
            listed = json.loads(lab.tenant("list", "--json"))
            self.assertEqual(len(listed), TENANTS + 1)
            held = max(one["memory"]["held"] for one in listed)
            self.assertLessEqual(held, MOST)
            sample = (1, 2, 17, 499, 500, 999, 1000)
            for number in sample:
                port = 2 - number % 2
                hopwright("table", "add", "mac", f"dst={DESTINATION} => forward(port={port})", "--device-id", number)
            for kind, number in enumerate(sample, start=1):
                # In by port 1, which is that of host 0, and out of the port that its own entry says. The kernel has taken the tag off.
                lab.send(0, frame(number, kind))
                received = lab.receive(1 - number % 2)
                self.assertEqual(received and received[-1], kind, f"tenant {number}")
            lab.send(0, frame(3, 99))
            wait_until("tenant 3 drops what it does not know", lambda: lab.show("t3")["counts"]["dropped"]["program"] == 1)
            each = (settled(lab.process) - alone) / TENANTS
            print(f"{TENANTS} tenants were added in {started:.1f} s; each has {each / MIB:.2f} MiB, and is charged {held / MIB:.2f}", file=sys.stderr)
            self.assertLess(each, MOST)
            lab.write(tenant(TENANTS + 1) + SERVICES)
            self.assertIn(f"{TENANTS} changes: tenant t1 removed", lab.reload())
            left = lambda: (rss(lab.process) - alone) / TENANTS
            wait_until("the process has given it back", lambda: left() < each / 4)
            print(f"removed again, {left() / 1024:.0f} KiB of each are left", file=sys.stderr)

    def test_a_switch_starts_with_a_thousand_tenants(self):
        tenants = "".join(tenant(number) for number in range(1, TENANTS + 1))
        begun = time.monotonic()
        with Lab(tenants + SERVICES, settings="mtu = 1500\n") as lab:
            print(f"a switch with {TENANTS} tenants runs after {time.monotonic() - begun:.1f} s", file=sys.stderr)
            hopwright("table", "add", "mac", f"dst={DESTINATION} => forward(port=2)", "--device-id", TENANTS)
            lab.send(0, frame(TENANTS, 1))
            received = lab.receive(1)
            self.assertEqual(received and received[-1], 1)


if __name__ == "__main__":
    unittest_main()
