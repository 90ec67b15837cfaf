#!/usr/bin/env python3
"""The interpreter and machine code do the same with 25,000 generated frames for each router, or HOPWRIGHT_FRAMES: PDUs of all syntaxes, right and
wrong, and IPv4; PDUs in (N-1) flows, over Ethernet, in VLANs and by UDP. Equal paths share flows evenly."""

import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
import zlib

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, ROOT
from lab.frames import checksum

# For each router.
FRAMES = int(os.environ.get("HOPWRIGHT_FRAMES", 25_000))
MAC, PEER = bytes.fromhex("020000000100"), bytes.fromhex("0200000000a0")
TYPES = (0x40, 0x80, 0xC0, 0xC1, 0xC2, 0xC4, 0xC5, 0xC6, 0xC9, 0xCA, 0xCD, 0xCE, 0xCF)
RLITE_TYPES = (0x40, 0x80, 0xC4, 0xC8, 0xCC)
# VLANs with the paper's syntax, IRATI's, IRATI's with TTL, with CRC, and with both, and rlite's.
PAPER, IRATI, TTL, CRC, BOTH, RLITE = SYNTAXES = 0, 20, 30, 40, 50, 60
ENTRIES = f"""
value_set_write irati_links 0,{IRATI} 0,{TTL} 0,{CRC} 0,{BOTH} 0,{RLITE}
value_set_write ttl_links 0,{TTL} 0,{BOTH}
value_set_write crc_links 0,{CRC} 0,{BOTH}
value_set_write rlite_links 0,{RLITE}
add next_hops next_hop:1 forward(port:1, vlan:0, src:02:00:00:00:01:01, dst:02:00:00:00:00:01, mtu:1500, ttl:0, crc:0)
add next_hops next_hop:2 forward(port:2, vlan:7, src:02:00:00:00:01:02, dst:02:00:00:00:00:02, mtu:300, ttl:1, crc:0)
add next_hops next_hop:3 forward(port:3, vlan:0, src:02:00:00:00:01:03, dst:02:00:00:00:00:03, mtu:1500, ttl:0, crc:1)
add next_hops next_hop:4 forward(port:4, vlan:9, src:02:00:00:00:01:04, dst:02:00:00:00:00:04, mtu:1500, ttl:1, crc:1)
member_add members 1 use(next_hop:1)
member_add members 2 use(next_hop:2)
member_add members 4 use(next_hop:4)
group_add members 1 1 2*3 4
add groups group:1 -> group 1
add destinations dif:1 dst:1 via(next_hop:1)
add destinations dif:1 dst:2 via(next_hop:2)
add destinations dif:1 dst:3 via(next_hop:3)
add destinations dif:1 dst:4 via(next_hop:4)
add destinations dif:1 dst:5 multipath(group:1)
add destinations dif:1 dst:6 by_qos()
add destinations dif:1 dst:7 local()
add destinations dif:1 dst:8 via(next_hop:77)
add qos_destinations dif:1 dst:6 qos_id:1 via(next_hop:4)
add qos_destinations dif:1 dst:6 qos_id:2 multipath(group:1)
add routes_ipv4 hdr.ipv4.dst:0x0a000000/8 via(next_hop:1, route:1)
add routes_ipv4 hdr.ipv4.dst:0x0a010000/16 multipath(group:1, route:2)
add qos_queues dif:1 qos_id:1 queue(priority:3)
add thresholds port:1 priority:0 mark_from(packets:0)
add thresholds port:4 priority:3 mark_from(packets:0)
add thresholds port:4 priority:0 mark_from(packets:0)
""" + "".join(f"add links port:0 vlan:{vlan} receive(mac:02:00:00:00:01:00, dif:1, hash_seed:77)\n" for vlan in SYNTAXES)


def crc32_le(data):
    """Linux's crc32_le with the start value 0, of four bytes at least."""
    return zlib.crc32(bytes(b ^ 0xFF for b in data[:4]) + data[4:]) ^ 0xFFFFFFFF


def pdu(r, link):
    rarely = lambda value, odd: value if r.random() < 0.97 else odd
    sdu = r.randbytes(rarely(r.choice((0, 1, 7, 40, 100, 260, 300, 1000)), r.randrange(1480)))
    version = rarely(1, r.randrange(256))
    dst, src = rarely(r.randrange(9), r.randrange(65536)), r.randrange(65536)
    qos, cep_ids = r.randrange(4), (r.randrange(65536), r.randrange(65536))
    type, flags = rarely(r.choice(TYPES), r.randrange(256)), r.randrange(256)
    size = {PAPER: 20, RLITE: 28}.get(link, 19)
    length, sequence = rarely(size + len(sdu), r.randrange(65536)), r.randrange(1 << 32)
    if link == PAPER:
        header = struct.pack("!BHHBHHBBHI", version, dst, src, qos, *cep_ids, type, flags, length, sequence)
        return header + struct.pack("!H", rarely(checksum(header), r.randrange(65536))) + sdu
    if link == RLITE:
        type, ttl, sum_ = rarely(r.choice(RLITE_TYPES), type), rarely(r.choice((1, 64, 300)), 0), r.choice((0, r.randrange(65536), 1, 65535))
        return struct.pack("<BBHHHIIIHHHH", version, type, r.randrange(65536), sum_, ttl, sequence, rarely(dst, dst + 65536), src,
                           *cep_ids, length, qos) + sdu
    bytes_ = struct.pack("<BHHHHHBBHI", version, dst, src, qos, *cep_ids, type, flags, length, sequence) + sdu
    if link in (TTL, BOTH):
        bytes_ = bytes([rarely(r.choice((1, 2, 64, 255)), 0)]) + bytes_
    if link in (CRC, BOTH):
        bytes_ += struct.pack("<I", rarely(crc32_le(bytes_), r.randrange(1 << 32)))
    return bytes_


def ipv4(r):
    payload = r.randbytes(r.randrange(4, 400))
    dst = bytes([r.choice((10, 10, 10, 10, 127, 192, 224)), r.randrange(3), 0, 1])
    head = struct.pack("!BBHHHBBH", r.choice((0x45,) * 20 + (0x46, 0x55)), r.randrange(256), 20 + len(payload), 1,
                       r.choice((0, 0, 0, 0x2000, 0x10)), r.choice((64, 64, 1)), r.choice((6, 17, 50)), 0)
    head += bytes([10, 9, 0, r.randrange(256)]) + dst
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def damaged(r, data):
    """The frame, cut off, padded or with a wrong bit at times."""
    if r.random() < 0.03:
        data = data[:r.randrange(1, len(data) + 1)]
    elif r.random() < 0.5:
        data = data.ljust(60, b"\0")
    if r.random() < 0.03:
        at = r.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1:]
    return data


def frame(r, checksums=False):
    """`checksums`: all links have the paper's syntax."""
    link = r.choice(SYNTAXES)
    # One in ten has the syntax of another link.
    syntax = PAPER if checksums else link
    content = pdu(r, syntax if r.random() < 0.9 else r.choice(SYNTAXES))
    type = 0xD1F0
    if r.random() < 0.1:
        type, content = 0x0800, ipv4(r)
    elif r.random() < 0.02:
        type = r.choice((0x0806, 0x88CC, 0x0026, 0x86DD))
    tag = struct.pack("!HH", 0x8100, r.randrange(8) << 13 | link) if link or r.random() < 0.1 else b""
    dst = MAC if r.random() < 0.97 else r.choice((b"\xff" * 6, PEER))
    data = dst + PEER + tag + struct.pack("!H", type) + content
    return damaged(r, data)


# The border router of tests/stf/rina_border.stf.
BORDER_ENTRIES = "".join(line for line in (ROOT / "tests/stf/rina_border.stf").read_text().splitlines(True)
                         if line.startswith(("add ", "value_set_write ")))
# Destination, its endpoint, source and its endpoint of the (N-1) flows that end at the border router.
FLOW_ENDS = {1: (10, 0x51, 20, 0x61), 2: (100, 0x52, 200, 0x62)}


def border_pdu(r, dst, dst_cep, src, src_cep, sdu):
    rarely = lambda value, odd: value if r.random() < 0.98 else odd
    type = rarely(r.choice((0x80, 0x80, 0x80) + TYPES), r.randrange(256))
    header = struct.pack("!BHHBHHBBHI", rarely(1, r.randrange(256)), dst, src, r.randrange(4), dst_cep, src_cep, type, r.randrange(256),
                         rarely(20 + len(sdu), r.randrange(65536)), r.randrange(1 << 32))
    return header + struct.pack("!H", rarely(checksum(header), r.randrange(65536))) + sdu


def border_frame(r, port):
    rarely = lambda value, odd: value if r.random() < 0.97 else odd
    sdu = r.randbytes(r.choice((0, 1, 40, 100, 133, 134, 300, 1000)))
    slice_dst = rarely(r.choice((0, 1, 2, 4, 7, 8)), r.randrange(65536))
    if port == 4:
        content = border_pdu(r, slice_dst, r.randrange(65536), r.randrange(16), r.randrange(65536), sdu)
    elif r.random() < 0.7:
        inner = border_pdu(r, slice_dst, r.randrange(65536), r.randrange(16), r.randrange(65536), sdu)
        ends = FLOW_ENDS[1 if port == 1 else 2]
        content = border_pdu(r, *(rarely(number, r.randrange(65536)) for number in ends), inner)
    else:
        dst = rarely(r.choice((0, 10, 21, 100, 201, 202)), r.randrange(65536))
        content = border_pdu(r, dst, r.choice((1, 0x51, 0x52)), r.randrange(256), r.randrange(256), sdu)
    type, tag = 0xD1F0, b""
    if port == 2 and r.random() < 0.95:
        head = struct.pack("!BBHHHBBH", rarely(0x45, r.choice((0x46, 0x55, 0x44))), r.randrange(256), rarely(28 + len(content), r.randrange(65536)),
                           1, rarely(0x4000, 0x2000), 64, rarely(17, 6), 0)
        head += bytes([192, 0, 2, rarely(2, 9), 192, 0, 2, 1])
        head = head[:10] + struct.pack("!H", rarely(checksum(head), 7)) + head[12:]
        datagram = struct.pack("!HHHH", 3360, rarely(3359, 3358), rarely(8 + len(content), r.randrange(65536)), 0)
        type, content = 0x0800, head + datagram + content
    if port == 3:
        tag = struct.pack("!HH", 0x8100, r.randrange(8) << 13 | rarely(30, 31))
    mac = rarely(bytes.fromhex("0200000001") + bytes([port]), r.choice((b"\xff" * 6, PEER)))
    data = mac + PEER + tag + struct.pack("!H", rarely(type, r.choice((0x0806, 0x86DD)))) + content
    return damaged(r, data)


def write_pcap(file, frames):
    with open(file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number, data in enumerate(frames):
            out.write(struct.pack("<IIII", number // 1000, number % 1000, len(data), len(data)) + data)


class Replay(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def replay(self, program, entries, frames, engine, *options):
        """What becomes of each frame, a line each, and the bytes that leave."""
        write_pcap(self.folder / "in.pcap", frames)
        (self.folder / "entries.stf").write_text(entries)
        command = [HOPWRIGHT, "replay", str(ROOT / "p4/rina" / program), "--in", str(self.folder / "in.pcap"), "--json",
                   "--out", str(self.folder / "out.pcap"), "--entries", str(self.folder / "entries.stf"), "--engine", engine, *options]
        lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()
        return lines, (self.folder / "out.pcap").read_bytes()


class Engines(Replay):
    def compare(self, program, entries, frames, *options, engine="jit"):
        """Returns how many bytes left."""
        interpreted = self.replay(program, entries, frames, "interp", *options)
        compiled = self.replay(program, entries, frames, engine, *options)
        # A line for each frame, and their sum.
        self.assertEqual(len(interpreted[0]), len(frames) + 1)
        for number, (one, other) in enumerate(zip(interpreted[0], compiled[0], strict=True)):
            self.assertEqual(one, other, f"frame {number}")
        self.assertEqual(interpreted[1], compiled[1])
        print(f"{program}, {engine}: {len(frames)} frames, {len(interpreted[1])} bytes came out")
        return len(interpreted[1])

    def test_interior_router(self):
        r = random.Random(20201105)
        # Not only drops.
        self.assertGreater(self.compare("interior.p4", ENTRIES, [frame(r) for _ in range(FRAMES)]), FRAMES * 100)

    def test_border_router(self):
        r = random.Random(20201106)
        left = [self.compare("border.p4", BORDER_ENTRIES, [border_frame(r, port) for _ in range(FRAMES // 4)], "--port", str(port))
                for port in (1, 2, 3, 4)]
        for port, bytes_ in zip((1, 2, 3, 4), left):
            self.assertGreater(bytes_, FRAMES // 4 * 60, f"frames of port {port}")

    @unittest.skipUnless(os.environ.get("HOPWRIGHT_HARDWARE"), "takes minutes: HOPWRIGHT_HARDWARE=1, and verilator")
    def test_interior_router_in_simulated_hardware(self):
        r = random.Random(20201107)
        entries = [line.replace("ttl:1", "ttl:0").replace("crc:1", "crc:0") for line in ENTRIES.splitlines()
                   if not line.startswith(("value_set", "member", "group", "add groups"))]
        entries += [f"add groups group:1 slot:{slot} use(next_hop:{(1, 2, 4)[slot % 3]})" for slot in range(64)]
        frames = [frame(r, checksums=True) for _ in range(FRAMES)]
        left = self.compare("../../tests/stf/rina_hardware.p4", "\n".join(entries) + "\n", frames, engine="rtl")
        self.assertGreater(left, FRAMES * 100)


class EqualPaths(Replay):
    """Which of three paths flows take, at routers in a row: by their hash seeds."""

    PORTS = (1, 2, 3)

    def ports(self, frames, seed, paths):
        """The egress port of each frame at a router with this many equal paths."""
        entries = [f"add links port:0 vlan:0 receive(mac:0x{MAC.hex()}, dif:1, hash_seed:{seed})",
                   f"group_add members 1 {' '.join(map(str, self.PORTS[:paths]))}", "add groups group:1 -> group 1",
                   "add destinations dif:1 dst:5 multipath(group:1)"]
        for port in self.PORTS:
            entries[:0] = [f"add next_hops next_hop:{port} forward(port:{port}, vlan:0, src:0x{MAC.hex()}, dst:0x{PEER.hex()}, mtu:1500, ttl:0, crc:0)",
                           f"member_add members {port} use(next_hop:{port})"]
        lines, _ = self.replay("interior.p4", "\n".join(entries) + "\n", frames, "jit")
        return [json.loads(line)["sent"][0]["port"] for line in lines[:len(frames)]]

    def shares(self, ports, paths):
        return [ports.count(port) / len(ports) for port in self.PORTS[:paths]]

    def flow(self, src_cep, dst_cep):
        header = struct.pack("!BHHBHHBBHI", 1, 5, 9, 1, dst_cep, src_cep, 0x80, 0, 20, 0)
        return MAC + PEER + struct.pack("!H", 0xD1F0) + header + struct.pack("!H", checksum(header)) + bytes(26)

    def test_flows_spread_evenly(self):
        """Endpoints that are equal at both ends, count up together or against each other, or are those of IPC processes."""
        patterns = {
            "equal": lambda n: (n, n),
            "with each other": lambda n: (n, n + 1),
            "against each other": lambda n: (n, 4000 - n),
            "one": lambda n: (n, 7),
            "ours": lambda n: (n * 40_503 & 0xFFFF, n * 40_503 + 99 & 0xFFFF),
        }
        for name, pattern in patterns.items():
            for paths in (2, 3):
                found = self.shares(self.ports([self.flow(*pattern(n)) for n in range(2000)], 0x5EED1235, paths), paths)
                self.assertTrue(all(abs(share - 1 / paths) < 0.06 for share in found), (name, found))

    def test_routers_in_a_row_decide_differently(self):
        frames = [self.flow(n * 40_503 & 0xFFFF, n) for n in range(4000)]
        first = self.ports(frames, 0x5EED1235, 2)
        for seed in (0x5EED1237, 0xC0FFEE01, 3, 0x80000001):
            there = self.ports([frame for frame, port in zip(frames, first) if port == 1], seed, 2)
            self.assertTrue(all(abs(share - 1 / 2) < 0.1 for share in self.shares(there, 2)), (hex(seed), self.shares(there, 2)))


if __name__ == "__main__":
    unittest_main()
