#!/usr/bin/env python3
"""Fills, flushes and rewrites tables through P4Runtime while the switch forwards. Needs root, and tests/p4runtime/setup.sh.

One controller a device, all at the same time, each on a table of its own: inserts its entries, deletes them, inserts them again, and
modifies them. Per device and step: seconds, and microseconds an entry. Meanwhile a generator sends frames to all devices in turn at a
fixed rate, which they forward by other entries; the loss is what did not leave. Every request is encoded before the first is sent, so
that the controllers cost little.

SwitchBlade (SIGCOMM 2010) wrote 1.6 million entries of four data planes in 89.8 seconds, 56 microseconds each.

By default it starts a switch with a tenant for each device, all with p4/switchblade/platform.p4, on veths in a network namespace of its
own; a single device is a `hopwright run`. With --server it takes a switch that runs: its devices must run that program, and nothing is
sent.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import queue
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lab.command import HOPWRIGHT, ROOT, alive, wait_until

VENV = ROOT / "tests/p4runtime/.venv-finsy/bin/python"
PLATFORM = ROOT / "p4/switchblade/platform.p4"
STEPS = ("insert", "flush", "rewrite", "modify")
VDP = 200
MAC = 0x0200000000C8
# What forwarding uses. A device's MAC address ends in its id.
FORWARDING_VDP = 1
FORWARDING_MAC = 0x020000000000


def ids(info, table, action):
    (table,) = (t.preamble.id for t in info.tables if t.preamble.alias == table)
    (action,) = (a.preamble.id for a in info.actions if a.preamble.alias == action)
    return table, action


class Controller:
    """Primary of one device. Sends requests that are encoded already."""

    def __init__(self, server, device):
        import grpc
        from finsy.proto import p4r

        self.p4r, self.device = p4r, device
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(server, options)
        grpc.channel_ready_future(self.channel).result(20)
        self.write = self.channel.unary_unary("/p4.v1.P4Runtime/Write")
        stream = self.channel.stream_stream(
            "/p4.v1.P4Runtime/StreamChannel",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=p4r.StreamMessageResponse.FromString,
        )
        self.requests = queue.SimpleQueue()
        self.answers = stream(iter(self.requests.get, None))
        arbitration = p4r.MasterArbitrationUpdate(device_id=device, election_id=p4r.Uint128(low=1))
        self.requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        next(self.answers)
        info = self.channel.unary_unary(
            "/p4.v1.P4Runtime/GetForwardingPipelineConfig",
            request_serializer=lambda m: m.SerializeToString(),
            response_deserializer=p4r.GetForwardingPipelineConfigResponse.FromString,
        )
        self.info = info(p4r.GetForwardingPipelineConfigRequest(device_id=device)).config.p4info

    def encode(self, kind, entities):
        p4r = self.p4r
        updates = [p4r.Update(type=kind, entity=p4r.Entity(table_entry=e)) for e in entities]
        request = p4r.WriteRequest(device_id=self.device, election_id=p4r.Uint128(low=1), updates=updates)
        return request.SerializeToString()

    def entry(self, table, action, keys, arguments=()):
        """With exact keys only."""
        p4r = self.p4r
        table_id, action_id = ids(self.info, table, action)
        strip = lambda n: n.to_bytes(max(1, (n.bit_length() + 7) // 8), "big")
        matches = [p4r.FieldMatch(field_id=at + 1, exact=p4r.FieldMatch.Exact(value=strip(k))) for at, k in enumerate(keys)]
        params = [p4r.Action.Param(param_id=at + 1, value=strip(a)) for at, a in enumerate(arguments)]
        action = p4r.TableAction(action=p4r.Action(action_id=action_id, params=params))
        return p4r.TableEntry(table_id=table_id, match=matches, action=action)

    def close(self):
        self.requests.put(None)
        self.channel.close()


def update(server, device, entries, batch, barrier, results):
    """Runs the steps; each begins when all controllers are ready for it."""
    try:
        controller = Controller(server, device)
        # Keys in no order that is kind to tables.
        spread = [(n * 0x9E3779B97F4A7C15) & (1 << 64) - 1 for n in range(entries)]
        entry = lambda n, port: controller.entry("exact_key", "forward", (VDP, n << 192), (port, 1, 0))
        kinds = controller.p4r.Update
        encoded = {}
        for step, kind, port in zip(STEPS, (kinds.INSERT, kinds.DELETE, kinds.INSERT, kinds.MODIFY), (1, 1, 2, 3)):
            parts = (spread[at : at + batch] for at in range(0, entries, batch))
            encoded[step] = [controller.encode(kind, [entry(n, port) for n in part]) for part in parts]
        for step in STEPS:
            barrier.wait()
            started = time.monotonic()
            for request in encoded[step]:
                controller.write(request)
            results.put((step, device, time.monotonic() - started))
            barrier.wait()
        controller.close()
    except BaseException as error:
        barrier.abort()
        results.put((None, device, repr(error)))
        raise


TENANT = """
[[tenant]]
name = "tenant-{device}"
program = "{program}"
ports = {{ 0 = "sw0", 1 = "sw1" }}
match = [{{ mac = "02:00:00:00:00:{device:02x}" }}]
device_id = {device}
"""


class Switch:
    """A switch between two veths, and a generator."""

    def __init__(self, folder, rate, devices):
        for n in range(2):
            subprocess.run(["ip", "link", "add", f"sw{n}", "type", "veth", "peer", "name", f"host{n}"], check=True)
            for name in (f"sw{n}", f"host{n}"):
                Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
                subprocess.run(["ip", "link", "set", name, "up"], check=True)
        self.frames, self.log = folder / "frames", (folder / "log").open("w+")
        if len(devices) == 1:
            command = [HOPWRIGHT, "run", PLATFORM, "-i", "0@sw0", "-i", "1@sw1", "--device-id", str(devices[0])]
        else:
            config = folder / "switch.toml"
            ports = "".join(f'[[port]]\ndevice = "sw{n}"\n' for n in range(2))
            tenants = "".join(TENANT.format(device=device, program=PLATFORM) for device in devices)
            config.write_text(f'[switch]\nsocket = "{folder}/socket"\nports = "af_packet"\n{ports}{tenants}[p4runtime]\naddress = "127.0.0.1:9559"\n')
            command = [HOPWRIGHT, "switch", "--config", config]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log)
        self.rate = rate
        # A switch with tenants says when all of them run.
        output = (folder / "log").read_text
        wait_until(output, lambda: alive(self.process, output) and (len(devices) == 1 or "P4Runtime at" in output()))
        frames = (self.frame(device) for device in devices)
        self.frames.write_bytes(b"".join(struct.pack("!H", len(frame)) + frame for frame in frames))

    @staticmethod
    def frame(device):
        """What is sent to a device."""
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, b"\xc0\0\2\1", b"\x0a\0\0\1")
        udp = struct.pack("!HHHH", 1000, 2000, 26, 0) + bytes(18)
        return (FORWARDING_MAC + device).to_bytes(6, "big") + bytes.fromhex("060000000009") + b"\x08\0" + ip + udp

    def forward(self, controller):
        """Writes the entries by which a device forwards its frames: those of the OpenFlow preprocessor, as they are."""
        kinds = controller.p4r.Update
        frame = self.frame(controller.device)
        tuple_ = struct.pack("!H", 0) + frame[6:12] + frame[:6] + b"\xff\xff\x08\0" + frame[26:34] + b"\x11" + frame[34:38] + b"\0"
        key = int.from_bytes(tuple_, "big")
        controller.write(controller.encode(kinds.INSERT, [
            controller.entry("vdps", "select_vdp", (FORWARDING_MAC + controller.device,), (FORWARDING_VDP, 4, 15, 2)),
            controller.entry("exact_key", "forward", (FORWARDING_VDP, key), (1, 0, 0)),
        ]))

    def generate(self, seconds):
        command = [sys.executable, ROOT / "bench/replay.py", "send", "host0", self.frames, str(self.rate), str(seconds)]
        return subprocess.Popen(command)

    def counts(self):
        """When, frames that the generator sent, and those that came out of the switch."""
        lines = (line.split(":") for line in Path("/proc/net/dev").read_text().splitlines()[2:])
        devices = {name.strip(): [int(n) for n in numbers.split()] for name, numbers in lines}
        return time.monotonic(), devices["host0"][9], devices["host1"][1]

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.seek(0)
        output = self.log.read()
        assert "panicked" not in output, output


def rates(before, after):
    seconds = after[0] - before[0]
    return (after[1] - before[1]) / seconds, (after[2] - before[2]) / seconds


def measure(args, folder):
    devices = [int(device) for device in args.device_ids.split(",")]
    switch = Switch(folder, args.rate, devices) if args.server is None else None
    server = args.server or "127.0.0.1:9559"
    figures = {"entries": args.entries, "devices": devices, "steps": [], "forwarding": {}}
    barrier, results = multiprocessing.Barrier(len(devices) + 1), multiprocessing.Queue()
    workers = [
        multiprocessing.Process(target=update, args=(server, device, args.entries, args.batch, barrier, results), daemon=True)
        for device in devices
    ]
    generator = None
    try:
        if switch:
            for device in devices:
                controller = Controller(server, device)
                switch.forward(controller)
                controller.close()
        for worker in workers:
            worker.start()
        first = True
        for step in STEPS:
            while first and all(worker.is_alive() for worker in workers) and barrier.n_waiting < len(devices):
                time.sleep(0.05)
            if switch and first:
                generator = switch.generate(3600)
                time.sleep(2)
                alone = switch.counts()
                time.sleep(5)
                figures["forwarding"]["alone"] = rates(alone, switch.counts())
            first = False
            before = switch.counts() if switch else None
            barrier.wait()
            barrier.wait()
            if switch:
                figures["forwarding"][step] = rates(before, switch.counts())
            found = sorted(results.get(timeout=20) for _ in devices)
            for _, device, seconds in found:
                figures["steps"].append({"step": step, "device": device, "seconds": seconds})
    except Exception:
        while not results.empty():
            step, device, what = results.get()
            if step is None:
                print(f"device {device}: {what}", file=sys.stderr)
        raise
    finally:
        for process in (generator, *workers):
            if process is not None and (process.poll() is None if hasattr(process, "poll") else process.is_alive()):
                process.terminate()
        if switch:
            switch.stop()
    return figures


def summary(figures):
    """Lines for people."""
    devices, lines = len(figures["devices"]), []
    total = figures["entries"] * devices
    slowest = {}
    for step in STEPS:
        seconds = [s["seconds"] for s in figures["steps"] if s["step"] == step]
        slowest[step] = max(seconds)
        line = f"{step:<8} {total} entries of {devices} devices: {slowest[step]:.2f} s, {slowest[step] / total * 1e6:.2f} us an entry"
        if devices > 1:
            line += f", {statistics.mean(seconds) / figures['entries'] * 1e6:.2f} us for one device's"
        if step in figures["forwarding"]:
            line += f"; {forwarding(figures['forwarding'][step])}"
        lines.append(line)
    if "alone" in figures["forwarding"]:
        lines.append(f"without updates: {forwarding(figures['forwarding']['alone'])}")
    lines.append(f"flushed and rewritten: {slowest['flush'] + slowest['rewrite']:.2f} s; SwitchBlade: 89.8 s for 1.6 million")
    return lines


def forwarding(found):
    offered, forwarded = found
    lost = max(0.0, 100 - 100 * forwarded / offered)
    return f"{offered:.0f} frames/s offered, {forwarded:.0f} forwarded, {lost:.2f} % lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", metavar="ADDRESS:PORT", help="of a switch that runs already")
    parser.add_argument("--device-ids", default="1", metavar="NUMBER,…", help="1 to 255: devices, whose tables are written at the same time")
    parser.add_argument("--entries", type=int, default=400_000, metavar="NUMBER", help="of each device")
    parser.add_argument("--batch", type=int, default=1000, metavar="NUMBER", help="entries of a request")
    parser.add_argument("--rate", type=float, default=50_000, metavar="FRAMES", help="a second, to forward; 0: as many as can be sent")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    if Path(sys.prefix) != VENV.parent.parent:
        os.execv(VENV, [str(VENV), *sys.argv])
    if args.server is None and "HOPWRIGHT_NAMESPACE" not in os.environ:
        os.environ["HOPWRIGHT_NAMESPACE"] = "own"
        os.execvp("unshare", ["unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", str(VENV), *sys.argv])
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(args, Path(folder))
    print(json.dumps(figures, indent=2) if args.json else "\n".join(summary(figures)))


if __name__ == "__main__":
    main()
