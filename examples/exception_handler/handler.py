#!/usr/bin/env python3
"""Software exceptions with decision caching, over P4Runtime.

A virtual data plane (VDP) of the SwitchBlade platform (p4/switchblade/platform.p4) with lookup mode 4 compares a packet's whole key
with its entries. A packet that has none, the first of its flow, comes here as a packet-in. The handler decides what becomes of
the flow, writes the decision as an entry, and sends the packet back to where it came from. It then takes the new entry, as do all
packets of the flow behind it. Decisions that no packet has used for some time are forgotten.

The policy of this example is a list of prefixes, as `10.0.0.0/8=PORT:NEIGHBOUR` or `10.0.0.0/8=drop`: the longest prefix of a packet's
IPv4 destination decides. Derive from `Policy` for another one.

One handler serves one VDP. It has a P4Runtime role of its own, which gets this VDP's packets only. At most `--waiting` packets wait
for a decision. What comes beyond that is counted and lost: a flood of new flows costs memory and time that are bounded. The
switch counts what it cannot deliver.
"""

import argparse
import asyncio
import collections
import dataclasses
import ipaddress
import json
import pathlib
import signal
import sys

import finsy as fy
from finsy.proto import p4r, stratum

PROCESS = 0xFFFF  # packet_out.port: treat the packet as if it had been received
MISS = 18  # packet_in.reason
BATCH = 256  # decisions in one write
ETHERNET_BYTES = 14


@dataclasses.dataclass(frozen=True)
class Forward:
    port: int
    neighbour: int
    data: int = 0

    def action(self):
        return fy.P4TableAction("forward", port=self.port, neighbour=self.neighbour, data=self.data)


@dataclasses.dataclass(frozen=True)
class Drop:
    def action(self):
        return fy.P4TableAction("drop")


class Policy:
    """Decides by the longest prefix of the IPv4 destination; drops what has none."""

    def __init__(self, rules):
        self.rules = sorted(rules, key=lambda rule: -rule[0].prefixlen)

    @staticmethod
    def rule(text):
        prefix, _, decision = text.partition("=")
        network = ipaddress.IPv4Network(prefix)
        if decision == "drop":
            return network, Drop()
        port, _, neighbour = decision.partition(":")
        return network, Forward(int(port), int(neighbour))

    def decide(self, frame):
        """What becomes of the flow whose first packet is `frame`; None to leave it without an entry."""
        at = ETHERNET_BYTES + (4 if frame[12:14] == b"\x81\x00" else 0)
        destination = ipaddress.IPv4Address(frame[at + 16 : at + 20])
        for network, decision in self.rules:
            if destination in network:
                return decision
        return Drop()


class Handler:
    """Answers the misses of one VDP. Counts what it does in `counts`."""

    def __init__(self, sw, vdp, policy, idle_timeout, waiting):
        self.sw, self.vdp, self.policy, self.idle_timeout = sw, vdp, policy, idle_timeout
        self.waiting = collections.deque()
        self.limit = waiting
        self.some = asyncio.Event()
        self.sending = asyncio.Lock()
        self.counts = collections.Counter(packets_in=0, lost=0, decisions=0, undecided=0, sent_back=0, expired=0)

    async def run(self, ready):
        self.sw.ee.on(fy.SwitchEvent.STREAM_ERROR, self.refused)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.receive())
            tasks.create_task(self.forget())
            tasks.create_task(self.answer())
            await asyncio.sleep(0)
            ready()

    async def receive(self):
        """Takes packets as fast as they come, so that those that are lost are lost, and counted, here."""
        async for packet in self.sw.read_packets(queue_size=self.limit):
            if packet["reason"] != MISS:
                continue
            self.counts["packets_in"] += 1
            if len(self.waiting) >= self.limit:
                self.counts["lost"] += 1
                continue
            self.waiting.append(packet)
            self.some.set()

    async def answer(self):
        while True:
            await self.some.wait()
            self.some.clear()
            while self.waiting:
                batch = [self.waiting.popleft() for _ in range(min(BATCH, len(self.waiting)))]
                await self.answer_batch(batch)

    async def answer_batch(self, batch):
        """Entries first, then the packets, so that no packet comes twice."""
        decisions = {}
        for packet in batch:
            if packet["key"] not in decisions:
                decisions[packet["key"]] = self.policy.decide(packet.payload)
        entries = [(key, decision.action()) for key, decision in decisions.items() if decision is not None]
        failed = {key for key, decision in decisions.items() if decision is None}
        try:
            await self.sw.write([+self.entry(key, action) for key, action in entries])
        except fy.P4ClientError as error:
            if not error.details:
                raise
            # An entry that exists is the decision about a packet of the flow that came just before.
            codes = {at: detail.canonical_code.name for at, detail in error.details.items()}
            failed.update(entries[at][0] for at, code in codes.items() if code not in ("OK", "ALREADY_EXISTS"))
        back = [packet for packet in batch if packet["key"] not in failed]
        await self.send([fy.P4PacketOut(p.payload, port=PROCESS, ingress_port=p["port"]) for p in back])
        self.counts["decisions"] += len(decisions) - len(failed)
        self.counts["undecided"] += len(batch) - len(back)
        self.counts["sent_back"] += len(back)

    def refused(self, _, message):
        """The switch had no room for a packet: it goes again, a little later."""
        if message.error.WhichOneof("details") == "packet_out":
            self.counts["refused"] += 1
            again = p4r.StreamMessageRequest(packet=message.error.packet_out.packet_out)
            loop = asyncio.get_running_loop()
            loop.call_later(0.01, lambda: self.sw.create_task(self.send([again])))

    async def send(self, messages):
        """Sends packets to the switch, from one task at a time: gRPC ends a stream to which two tasks write."""
        async with self.sending:
            await self.sw.write(messages)

    async def forget(self):
        async for notification in self.sw.read_idle_timeouts(queue_size=BATCH):
            old = [entry for entry in notification.table_entry if entry.match["vdp"] == self.vdp]
            await self.sw.delete([self.entry(entry.match["key"]) for entry in old], strict=False)
            self.counts["expired"] += len(old)

    def entry(self, key, action=None):
        entry = fy.P4TableEntry("exact_key", match=fy.P4TableMatch(vdp=self.vdp, key=key), action=action)
        if action is not None:
            entry.idle_timeout_ns = int(self.idle_timeout * 1e9)
        return entry


async def role(server, credentials, device_id, vdp):
    """The configuration of a role that gets the packets of one VDP and writes the table of whole keys."""
    async with fy.P4Client(server, credentials) as client:
        what = p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE
        request = p4r.GetForwardingPipelineConfigRequest(device_id=device_id, response_type=what)
        info = (await client.request(request)).config.p4info
    (table,) = (t.preamble.id for t in info.tables if t.preamble.alias == "exact_key")
    (packet_in,) = (c for c in info.controller_packet_metadata if c.preamble.name == "packet_in")
    (metadata,) = (m.id for m in packet_in.metadata if m.name == "vdp")
    only = stratum.P4RoleConfig.PacketFilter(metadata_id=metadata, value=bytes([vdp]))
    return stratum.P4RoleConfig(shared_p4_ids=[table], receives_packet_ins=True, packet_in_filter=only)


async def serve(args):
    credentials = None
    if args.tls_ca is not None:
        credentials = fy.GRPCCredentialsTLS(cacert=args.tls_ca, cert=args.tls_cert, private_key=args.tls_key)
    options = fy.SwitchOptions(
        device_id=args.device_id,
        role_name=f"exceptions-{args.vdp}",
        role_config=await role(args.server, credentials, args.device_id, args.vdp),
        channel_credentials=credentials,
    )
    async with fy.Switch("sw", args.server, options) as sw:
        handler = Handler(sw, args.vdp, Policy(args.rule), args.idle_timeout, args.waiting)
        ready = lambda: print(f"handling the exceptions of VDP {args.vdp}", flush=True)
        task = asyncio.ensure_future(handler.run(ready))
        for end in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(end, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            pass
        print(json.dumps(handler.counts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", nargs="+", type=Policy.rule, help="PREFIX=PORT:NEIGHBOUR or PREFIX=drop")
    parser.add_argument("--server", default="127.0.0.1:9559", metavar="ADDRESS:PORT")
    parser.add_argument("--device-id", type=int, default=1, metavar="NUMBER")
    parser.add_argument("--tls-ca", type=pathlib.Path, metavar="FILE", help="authorities of the server's certificate (PEM)")
    parser.add_argument("--tls-cert", type=pathlib.Path, metavar="FILE", help="certificate to show to the server (PEM)")
    parser.add_argument("--tls-key", type=pathlib.Path, metavar="FILE", help="the certificate's key (PEM)")
    parser.add_argument("--vdp", type=int, required=True, metavar="NUMBER")
    parser.add_argument("--idle-timeout", type=float, default=60, metavar="SECONDS", help="of a decision; 0: never")
    parser.add_argument("--waiting", type=int, default=16384, metavar="PACKETS", help="that wait for a decision at most")
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
