#!/usr/bin/env python3
"""Three well-behaved tenants of a switch and a hostile one: what the hostile one's attacks cost the others.

red and blue are routers, green is a layer-2 switch; black runs guest.p4, and its packets and its controllers do all they can. red has
devices of its own. green, blue and black share a device, where green is known by a VLAN and the others by MAC addresses; black has one
of its own, too. First the capacity of the switch is measured: frames a second that it forwards for the four together, at most. A quarter of
it is a tenant's share. Then red, green and blue get 70 % of their shares, all the time, and black attacks in one way after the other.
A ledger tells for each attack what was sent to each of the three, what came back, where the rest was lost, and how long frames took.

The three must lose nothing, and the 99th percentile of their latency may rise by less than half of what it is while black is silent. At the
end the four have rates and are offered more: each must get its rate to two percent. What fails is measured again, up to three times in all, because
the machine may be a virtual one that stands still at times (traffic.c); frames that are lost while it does not, fail at once.

CPUs: the whole switch, with its control plane, has one. Everything else has another: the generator, which also receives, with a real-time
priority, and black's controllers with a low one, so that these do not keep the generator from sending. The switch has
a high priority, which leaves room for that of its worker above it, and its session the highest that is not real-time, also against other
sessions and the kernel's threads (sched(7), "The autogroup feature"). So what is measured is the switch.
"""

import argparse
import contextlib
import itertools
import json
import os
import pathlib
import queue
import random
import re
import select
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field

from lab.command import ROOT
from lab.frames import checksum
from lab.tenants import P4RUNTIME, Lab

CPUS = sorted(os.sched_getaffinity(0))
SWITCH_CPU, LOAD_CPU = CPUS[-1], CPUS[0]
VICTIMS = ("red", "green", "blue")
BLACK = 4
SIZE = 100
PART = 0.7
MORE_LATENCY = 1.5
RATE_ERROR = 0.02
ATTEMPTS = 3

CONFIG = """
[[tenant]]
name = "red"
program = "{root}/examples/l3.p4"
entries = "router.stf"
ports = { 1 = "sw0", 2 = "sw1" }
device_id = 1

[[tenant]]
name = "green"
program = "{root}/examples/l2.p4"
entries = "bridge.stf"
ports = { 1 = "sw2", 2 = "sw3" }
match = [{ vlan = 10 }]
device_id = 2

[[tenant]]
name = "blue"
program = "{root}/examples/l3.p4"
entries = "router.stf"
ports = { 1 = "sw2", 2 = "sw3" }
match = [{ mac = "02:00:00:00:00:0b" }]
device_id = 3

[[tenant]]
name = "black"
program = "{root}/tests/switch/guest.p4"
entries = "guest.stf"
memory = "64M"
{more}
ports = { 1 = "sw4", 2 = "sw5", 3 = "sw2", 4 = "sw3" }
match = [{ port = "sw4" }, { mac = "02:00:00:00:00:bb" }]
device_id = 4

[p4runtime]
address = "127.0.0.1:9559"
[metrics]
address = "127.0.0.1:9090"
"""

ROUTES = "".join(f"add routes hdr.ipv4.dst:0x0a{n:02x}0000/16 next_hop(port:2, src:0x020000000001, dst:0x020000000002)\n" for n in range(200))
STATIONS = "".join(f"add mac hdr.ethernet.dst:0x0200000001{n:02x} forward(port:2)\n" for n in range(200))


def guest_entries(masks=1000, replicas=100):
    """Tables of many masks, a clone session, and a multicast group of many replicas, to a device of its own and to a shared one."""
    draw = random.Random(1)
    lines = []
    for table in ("first", "second", "third", "fourth"):
        for priority in range(masks):
            bits = "".join(draw.choice("01***") for _ in range(32))
            lines.append(f"add GuestIngress.{table}.masked {priority + 1} key:0b{bits} next(value:{draw.randrange(1 << 32)})")
    lines.append("mirroring_add 1 2")
    lines.append("mc_mgrp_create 1")
    for node in range(replicas):
        lines.append(f"mc_node_create {node} {2 if node % 2 else 4}")
        lines.append(f"mc_node_associate 1 {node}")
    return "\n".join(lines) + "\n"


def routed(mac):
    """An IPv4 header behind its Ethernet header, to a router of this address."""
    head = bytes.fromhex("4500") + (SIZE - 14).to_bytes(2, "big") + bytes.fromhex("000000004011") + bytes(2) + bytes([192, 0, 2, 1, 10, 7, 0, 1])
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    return bytes.fromhex(mac + "0200000000990800") + head + bytes.fromhex("03e807d000000000")


HEADERS = {
    "red": ("host0", "host1", routed("02000000000a")),
    "green": ("host2", "host3", bytes.fromhex("020000000107" + "020000000099" + "8100000a0800")),
    "blue": ("host2", "host3", routed("02000000000b")),
    "black": ("host4", "host5", bytes.fromhex("0200000000aa02000000009988b5") + bytes(8)),
}
GUEST_MAC = {"host4": "0200000000aa", "host2": "0200000000bb"}
# Where the guest header has its serial number.
SERIAL = 18


def guest(what, device="host4", size=SIZE):
    head = bytes.fromhex(GUEST_MAC[device] + "02000000009988b5") + bytes([what]) + bytes(7)
    return head + bytes(size - len(head))


def probe(name, rate):
    sender, receiver, header = HEADERS[name]
    return f"probe {name} {sender} {receiver} {rate:.0f} {SIZE} {header.hex()}"


class Bed(Lab):
    """The switch on its CPU, and the generator on the other."""

    def __init__(self):
        super().__init__(CONFIG.replace("{more}", ""), devices=6, prefix=("setsid", "nice", "-n", str(-10 - os.nice(0)), "taskset", "-c", str(SWITCH_CPU)), sockets=False, settings="mtu = 1500\n")
        (self.folder / "router.stf").write_text(ROUTES)
        (self.folder / "bridge.stf").write_text(STATIONS)
        (self.folder / "guest.stf").write_text(guest_entries())
        self.generator = self.folder / "traffic"
        subprocess.run(["cc", "-O2", "-Wall", "-pthread", "-o", self.generator, ROOT / "tests/switch/traffic.c"], check=True)

    def __enter__(self):
        super().__enter__()
        # Where there are autogroups, niceness counts within a session only.
        with contextlib.suppress(FileNotFoundError):
            pathlib.Path(f"/proc/{self.process.pid}/autogroup").write_text("-20")
        return self

    def traffic(self, flows, seconds):
        """Starts the generator."""
        command = ["taskset", "-c", str(LOAD_CPU), "chrt", "-f", "50", self.generator, seconds, SWITCH_CPU]
        process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write("\n".join(flows) + "\n")
        process.stdin.close()
        return process

    def cpu(self):
        """CPU time of the switch's threads in seconds, by name."""
        times = {}
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            name = (task / "comm").read_text().strip()
            times[name] = times.get(name, 0) + int((task / "schedstat").read_text().split()[0]) / 1e9
        return times


    def counts(self):
        """What the switch counts."""
        return {name: float(value) for name, value in self.metrics().items()}


def result_of(process):
    output = process.stdout.read()
    assert process.wait() == 0, output
    return json.loads(output)


# Controllers of black, each a process of its own.

class Controller:
    """Speaks P4Runtime with requests that are encoded already."""

    def __init__(self, primary=True):
        import grpc
        from finsy.proto import p4r

        self.p4r = p4r
        # A connection of its own.
        self.channel = grpc.insecure_channel(P4RUNTIME, [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)])
        grpc.channel_ready_future(self.channel).result(20)
        service = "/p4.v1.P4Runtime/"
        self.write = self.channel.unary_unary(service + "Write")
        self.read = self.channel.unary_stream(service + "Read")
        self.set_pipeline = self.channel.unary_unary(service + "SetForwardingPipelineConfig")
        self.get_pipeline = self.channel.unary_unary(service + "GetForwardingPipelineConfig")
        self.stream = self.channel.stream_stream(service + "StreamChannel")
        self.requests = queue.SimpleQueue()
        self.election = p4r.Uint128(low=7)
        if primary:
            self.answers = self.stream(iter(self.requests.get, None))
            update = p4r.MasterArbitrationUpdate(device_id=BLACK, election_id=self.election)
            self.requests.put(p4r.StreamMessageRequest(arbitration=update).SerializeToString())
            next(self.answers)

    def info(self):
        request = self.p4r.GetForwardingPipelineConfigRequest(device_id=BLACK)
        answer = self.get_pipeline(request.SerializeToString())
        return self.p4r.GetForwardingPipelineConfigResponse.FromString(answer).config.p4info

    def updates(self, kind, serials):
        p4r, info = self.p4r, self.info()
        (table,) = (t.preamble.id for t in info.tables if t.preamble.alias == "churned")
        (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == "NoAction")
        exact = lambda n: p4r.FieldMatch.Exact(value=n.to_bytes(max(1, (n.bit_length() + 7) // 8), "big"))
        entry = lambda n: p4r.TableEntry(
            table_id=table, match=[p4r.FieldMatch(field_id=1, exact=exact(n % 7)), p4r.FieldMatch(field_id=2, exact=exact(n))],
            action=p4r.TableAction(action=p4r.Action(action_id=action)))
        updates = [p4r.Update(type=kind, entity=p4r.Entity(table_entry=entry(n))) for n in serials]
        return p4r.WriteRequest(device_id=BLACK, election_id=self.election, updates=updates).SerializeToString()

    def pipeline(self, program):
        p4r = self.p4r
        config = p4r.ForwardingPipelineConfig(p4_device_config=program.encode())
        action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request = p4r.SetForwardingPipelineConfigRequest(device_id=BLACK, election_id=self.election, action=action, config=config)
        return request.SerializeToString()


def churn():
    """Fills and empties a table as fast as the switch takes it."""
    import grpc

    controller = Controller()
    kinds = controller.p4r.Update
    parts = [range(at, at + 1000) for at in range(0, 50_000, 1000)]
    inserts, deletes = ([controller.updates(kind, part) for part in parts] for kind in (kinds.INSERT, kinds.DELETE))
    # A churning controller before this one may have ended with the table half full.
    for request in deletes:
        with contextlib.suppress(grpc.RpcError):
            controller.write(request)
    while True:
        for request in inserts + deletes:
            controller.write(request)
            yield 1000


def reads():
    """Reads everything that there is, on many connections."""
    p4r = Controller(primary=False).p4r
    everything = p4r.ReadRequest(device_id=BLACK, entities=[p4r.Entity(table_entry=p4r.TableEntry())]).SerializeToString()
    controllers = [Controller(primary=False) for _ in range(8)]
    while True:
        for answers in [c.read(everything) for c in controllers for _ in range(4)]:
            try:
                for _ in answers:
                    pass
                yield 1
            except Exception:  # refused: too many at a time
                pass


def junk():
    """Sends requests that are none, or that fail, and opens streams, on many connections."""
    import grpc

    draw = random.Random(2)
    controllers = [Controller(primary=False) for _ in range(8)]
    kinds = controllers[0].p4r.Update
    absent = controllers[0].updates(kinds.DELETE, range(10**6, 10**6 + 1000))
    while True:
        calls = []
        for c in controllers:
            calls += [c.write.future(draw.randbytes(draw.randrange(2000))), c.write.future(absent), c.write.future(absent[:-1])]
            calls += [c.read(draw.randbytes(100)), c.stream(iter([draw.randbytes(300)] * 20))]
        for call in calls:
            try:
                call.result() if isinstance(call, grpc.Future) and hasattr(call, "result") else list(call)
            except Exception:
                pass
            yield 1


def packets_out():
    """Sends packets by the stream, to every port, as fast as the switch takes them."""
    controller = Controller()
    p4r = controller.p4r
    message = p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=guest(0))).SerializeToString()
    while True:
        while controller.requests.qsize() < 1000:
            controller.requests.put(message)
            yield 1
        time.sleep(0.001)


def pipelines():
    """Replaces the program every second: each is another."""
    controller = Controller()
    program = (ROOT / "tests/switch/guest.p4").read_text()
    for number in itertools.count():
        begun = time.monotonic()
        controller.set_pipeline(controller.pipeline(program.replace("0x9e3779b9", hex(number + 1))))
        yield 1
        time.sleep(max(0, begun + 1 - time.monotonic()))


def until_refused(requests):
    """Sends requests until one would exceed black's memory."""
    import grpc

    for send, request in requests:
        try:
            send(request)
        except grpc.RpcError as error:
            assert "tenant black may have" in error.details(), error
            return
        yield 1
    raise AssertionError("black has more memory than it may have")


def hoard():
    """Asks for more memory than it may have, in all ways, and takes all that there is: enormous registers, programs that just fit one after
    the other, entries and multicast groups until there is no room."""
    controller = Controller()
    p4r, program = controller.p4r, (ROOT / "tests/switch/guest.p4").read_text()
    cells = lambda count: program.replace("bit<32> key;", f"bit<32> key;\n    register<bit<64>>({count}) cells;").replace(
        "        churned.apply();", "        cells.write(hdr.guest.serial, 1);\n        churned.apply();")
    too_large = [controller.pipeline(cells(count)) for count in ((1 << 32) - 1, 1 << 23)]
    entries = [controller.updates(p4r.Update.INSERT, range(at, at + 1000)) for at in range(0, 200_000, 1000)]
    replicas = [p4r.Replica(egress_port=2, instance=n) for n in range(1000)]

    def group(number):
        group = p4r.MulticastGroupEntry(multicast_group_id=number, replicas=replicas)
        entity = p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=group))
        update = p4r.Update(type=p4r.Update.INSERT, entity=entity)
        return p4r.WriteRequest(device_id=BLACK, election_id=controller.election, updates=[update]).SerializeToString()

    groups = [group(number) for number in range(2, 2000)]
    for number in itertools.count():
        for request in too_large:
            yield from until_refused([(controller.set_pipeline, request)])
        for writes in (entries, groups):
            controller.set_pipeline(controller.pipeline(cells((1 << 20) + number % 100)))
            yield 1
            yield from until_refused((controller.write, request) for request in writes)


def deaf():
    """Has the stream that packets are sent to, and reads none of them."""
    controller = Controller()
    while True:
        # gRPC reads ahead no further than one message and its window.
        assert controller.answers.is_active()
        yield 1
        time.sleep(0.01)


CONTROLLERS = {f.__name__: f for f in (churn, reads, junk, packets_out, pipelines, hoard, deaf)}


def control(name):
    """Runs a controller until it is told to stop; then prints how much it did since it said that it had begun."""
    done = None
    for count in CONTROLLERS[name]():
        if done is None:
            # What is prepared needs no patience; the attack does not keep the generator from sending.
            os.nice(19)
            print("begun", flush=True)
        done = 0 if done is None else done + count
        if select.select([sys.stdin], [], [], 0)[0]:
            break
    print(done, flush=True)
    os._exit(0)


class Control:
    """A running controller."""

    def __init__(self, name):
        command = ["taskset", "-c", str(LOAD_CPU), sys.executable, __file__, "--control", name]
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def wait(self):
        """Until it is at work."""
        begun = self.process.stdout.readline()
        assert begun == "begun\n", f"controller {self.name} ended: {self.process.wait()}"

    def end(self):
        """How much it did."""
        try:
            done, _ = self.process.communicate("\n", 3)
        except subprocess.TimeoutExpired:
            self.process.kill()
            done, _ = self.process.communicate()
        assert self.process.returncode in (0, -9), f"controller {self.name}: {self.process.returncode}"
        return int(done or 0)


@dataclass
class Attack:
    """What black does: packets, as lines for the generator with the rate to be filled in, and controllers. `rate`: of its packets, as a
    part of the capacity."""

    name: str
    loads: list = field(default_factory=list)
    controllers: list = field(default_factory=list)
    rate: float = 0.3
    reload: bool = False
    short: bool = True


def joined(device):
    """A frame of 60 datagrams, which the switch's port takes apart."""
    payload = 60 * 18
    head = bytes.fromhex("4500") + (28 + payload).to_bytes(2, "big") + bytes.fromhex("000000004011") + bytes(2) + bytes([192, 0, 2, 1, 10, 7, 0, 1])
    head = head[:10] + checksum(head).to_bytes(2, "big") + head[12:]
    pseudo = head[12:20] + b"\0\x11" + (8 + payload).to_bytes(2, "big")
    udp = bytes.fromhex("03e807d0") + (8 + payload).to_bytes(2, "big") + (checksum(pseudo) ^ 0xFFFF).to_bytes(2, "big")
    return bytes.fromhex(GUEST_MAC[device] + "0200000000990800") + head + udp + bytes(payload)


def packets(what, size=SIZE, device="host4"):
    return lambda rate: f"load black-{what}-{device} {device} {rate:.0f} {SERIAL} {guest(what, device, size).hex()}"


def flood(device):
    return lambda rate: f"joined black-joined-{device} {device} {rate:.0f} 18 {joined(device).hex()}"


ATTACKS = [
    Attack("flood", [flood("host4")], rate=0.1),
    Attack("flood, shared port", [packets(0, device="host2")], rate=0.4),
    Attack("lookups", [packets(1)]),
    Attack("checksums", [packets(2, 1500)], short=False),
    Attack("recirculation", [packets(3)]),
    Attack("resubmission", [packets(4)], short=False),
    Attack("clones", [packets(5), packets(6)], rate=0.15),
    Attack("multicast", [packets(7)]),
    Attack("storm", [packets(10)], short=False),
    Attack("punts", [packets(8)]),
    Attack("digests", [packets(9)], short=False),
    Attack("table churn", [packets(0)], ["churn"], rate=0.1),
    Attack("reads", [], ["reads"]),
    Attack("junk requests", [], ["junk"], short=False),
    Attack("packets out", [], ["packets_out"], short=False),
    Attack("programs", [packets(0)], ["pipelines"], rate=0.1),
    Attack("memory", [packets(0)], ["hoard"], rate=0.1),
    Attack("unread packets in", [packets(8)], ["deaf"]),
    Attack("reloads", [packets(0)], rate=0.1, reload=True, short=False),
    Attack("everything", [packets(n) for n in range(11)], ["churn", "junk", "reads"], rate=0.03, reload=True),
]


def difference(after, before):
    return {name: value - before.get(name, 0) for name, value in after.items()}


def lost_at(delta):
    """Where packets were lost, by tenant, and by device where it is not known whose they were."""
    where = {}
    for name, value in delta.items():
        found = re.match(r'hopwright_(tenant_dropped|port_lost)_packets_total{(?:tenant|device)="(.*)",reason="(.*)"}', name)
        if found and value:
            where.setdefault(found[2], {})[found[3]] = int(value)
    return where


class Ledger:
    def __init__(self, bed, seconds, any_latency):
        self.bed, self.seconds, self.any_latency = bed, seconds, any_latency
        self.capacity, self.quiet, self.failures = 0.0, {}, []

    def calibrate(self):
        """What the switch forwards at most, for the four together."""
        for _ in range(2):  # at first it has to learn which paths are frequent
            flows = [probe(name, 1e6) for name in HEADERS]
            result = result_of(self.bed.traffic(flows, 3))
            self.capacity = sum(f["received"] for f in result["flows"].values()) / 3
        self.rate = PART * self.capacity / len(HEADERS)
        print(f"capacity {self.capacity:,.0f} frames a second; a share {self.capacity / len(HEADERS):,.0f}; the three get {self.rate:,.0f} each")

    def phase(self, attack):
        flows = [probe(name, self.rate) for name in VICTIMS]
        flows += [load(attack.rate * self.capacity) for load in attack.loads]
        controls = [Control(name) for name in attack.controllers]
        for control in controls:
            control.wait()
        counts, cpu = self.bed.counts(), self.bed.cpu()
        begun = time.monotonic()
        traffic = self.bed.traffic(flows, self.seconds)
        reloads = 0
        while attack.reload and time.monotonic() < begun + self.seconds - 0.5:
            reloads += 1
            self.bed.write(CONFIG.replace("{more}", f'defines = ["NUMBER={reloads}"]'))
            self.bed.reload()
            time.sleep(max(0, begun + reloads - time.monotonic()))
        result = result_of(traffic)
        delta = difference(self.bed.counts(), counts)
        seconds = time.monotonic() - begun
        did = {name: c.end() for name, c in zip(attack.controllers, controls)} | ({"reloads": reloads} if attack.reload else {})
        cpu = {name: t / seconds for name, t in difference(self.bed.cpu(), cpu).items() if t / seconds > 0.01}
        return result, delta, cpu, did

    def measure(self, attack):
        """Has black attack, again if something fails that may be the machine's fault."""
        for attempt in range(ATTEMPTS):
            found = self.phase(attack)
            failures, certain = self.show(attack, found)
            if not failures or certain:
                break
        self.failures += failures

    def show(self, attack, found):
        """Prints a phase. Returns what failed, and whether that is certain."""
        result, delta, cpu, did = found
        failures, certain = [], False
        flows = result["flows"]
        where = lost_at(delta)
        print(f"\n{attack.name}")
        for name in VICTIMS:
            f = flows[name]
            lost = f["sent"] - f["received"]
            ratio = f["p99"] / self.quiet[name] if self.quiet else 1
            line = f"  {name:<6} sent {f['sent']:>8,}  received {f['received']:>8,}  lost {lost:>6,}"
            line += f"  p50 {f['p50']:>8.1f}  p99 {f['p99']:>8.1f}  p99.9 {f['p999']:>8.1f} us  p99 / quiet {ratio:>5.2f}"
            if lost:
                line += f"  {where.get(name, {})}"
            print(line)
            if lost:
                failures.append(f"{attack.name}: {name} lost {lost}")
                certain |= result["switch_cpu_lost"] + result["load_cpu_lost"] == 0
            if ratio > MORE_LATENCY and not self.any_latency:
                failures.append(f"{attack.name}: {name} p99 {ratio:.2f} times that without attacks")
        of_black = lambda what: int(delta[f'hopwright_tenant_{what}_packets_total{{tenant="black"}}'])
        sent = sum(f["sent"] for name, f in flows.items() if name not in VICTIMS)
        busy = delta['hopwright_tenant_busy_seconds_total{tenant="black"}'] / self.seconds
        print(f"  black  frames {sent:,}, received {of_black('received'):,}, processed {of_black('processed'):,}, copies {of_black('copied'):,}, "
              f"sent {of_black('sent'):,}, punted {of_black('punted'):,}; {busy:.0%} of the CPU; {', '.join(f'{name} {count:,}' for name, count in did.items())} {where.get('black', {})}")
        devices = {name: reasons for name, reasons in where.items() if name.startswith("sw")}
        print(f"  CPU " + ", ".join(f"{name} {part:.0%}" for name, part in sorted(cpu.items(), key=lambda item: -item[1]))
              + f"; stood still {result['switch_cpu_lost']:.3f} s, generator's {result['load_cpu_lost']:.3f} s"
              + (f"; devices {devices}" if devices else "") + (f"; receivers lost {result['receivers_lost']}" if result["receivers_lost"] else ""), flush=True)
        # An attack that did not take place has shown nothing.
        failures += [f"{attack.name}: {name} did nothing" for name, count in did.items() if count == 0]
        return failures, certain

    def measure_quiet(self, times):
        quiet = Attack("nobody attacks")
        found = [self.phase(quiet) for _ in range(times)]
        for name in VICTIMS:
            self.quiet[name] = statistics.median(f[0]["flows"][name]["p99"] for f in found)
        for f in found:
            self.failures += self.show(quiet, f)[0]

    def rates(self):
        """Each has a rate, and is offered twice as much."""
        rate = int(self.capacity / len(HEADERS) / 4)
        bits = {name: n % 2 == 1 for n, name in enumerate(HEADERS)}
        for name in HEADERS:
            limit = ("--bits", rate * SIZE * 8) if bits[name] else ("--packets", rate)
            self.bed.tenant("limit", name, *limit)
        seconds = max(4, self.seconds)
        result = result_of(self.bed.traffic([probe(name, 2 * rate) for name in HEADERS], seconds))
        print(f"\nrates: each {rate:,} frames a second, offered twice as many")
        for name in HEADERS:
            found = result["flows"][name]["later"] / (seconds - 1)
            print(f"  {name:<6} {found:>8,.0f} frames a second by its {'bits' if bits[name] else 'packets'}: {found / rate - 1:+.2%}")
            if abs(found / rate - 1) > RATE_ERROR:
                self.failures.append(f"rates: {name} {found / rate - 1:+.2%}")
            self.bed.tenant("limit", name, "--packets", "none", "--bits", "none")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--control", choices=CONTROLLERS, help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=5, help="of an attack (default: %(default)s)")
    parser.add_argument("--short", action="store_true", help="two seconds of the most different attacks")
    parser.add_argument("--any-latency", action="store_true", help="latencies are printed and not judged: on a machine that does other things")
    parser.add_argument("--only", action="append", metavar="ATTACK", help="this attack; may be given several times")
    args = parser.parse_args()
    if args.control:
        return control(args.control)
    with Bed() as bed:
        ledger = Ledger(bed, 2 if args.short else args.seconds, args.any_latency)
        ledger.calibrate()
        ledger.measure_quiet(3)
        for attack in ATTACKS:
            if attack.name in args.only if args.only else attack.short or not args.short:
                ledger.measure(attack)
        if args.only is None or "rates" in args.only:
            ledger.rates()
    print("\n" + ("\n".join(ledger.failures) or "isolated"))
    return 1 if ledger.failures else 0


if __name__ == "__main__":
    sys.exit(main())
