#!/usr/bin/env python3
"""The interpreter and machine code do the same with 100,000 generated frames: PDUs of all syntaxes, right and wrong, and IPv4."""

import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HOPWRIGHT = os.environ.get("HOPWRIGHT", str(TARGET / "release/hopwright"))
FRAMES = 100_000
MAC, PEER = bytes.fromhex("020000000100"), bytes.fromhex("0200000000a0")
TYPES = (0x40, 0x80, 0xC0, 0xC1, 0xC2, 0xC4, 0xC5, 0xC6, 0xC9, 0xCA, 0xCD, 0xCE, 0xCF)
# VLANs with the paper's syntax, IRATI's, and IRATI's with TTL, with CRC, and with both.
PAPER, IRATI, TTL, CRC, BOTH = 0, 20, 30, 40, 50
ENTRIES = f"""
value_set_write irati_links 0,{IRATI} 0,{TTL} 0,{CRC} 0,{BOTH}
value_set_write ttl_links 0,{TTL} 0,{BOTH}
value_set_write crc_links 0,{CRC} 0,{BOTH}
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
""" + "".join(f"add links port:0 vlan:{vlan} receive(mac:02:00:00:00:01:00, dif:1, hash_seed:77)\n" for vlan in (PAPER, IRATI, TTL, CRC, BOTH))


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


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
    size = 20 if link == PAPER else 19
    length, sequence = rarely(size + len(sdu), r.randrange(65536)), r.randrange(1 << 32)
    if link == PAPER:
        header = struct.pack("!BHHBHHBBHI", version, dst, src, qos, *cep_ids, type, flags, length, sequence)
        return header + struct.pack("!H", rarely(checksum(header), r.randrange(65536))) + sdu
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


def frame(r):
    link = r.choice((PAPER, IRATI, TTL, CRC, BOTH))
    # One in ten has the syntax of another link.
    content = pdu(r, link if r.random() < 0.9 else r.choice((PAPER, IRATI, TTL, CRC, BOTH)))
    type = 0xD1F0
    if r.random() < 0.1:
        type, content = 0x0800, ipv4(r)
    elif r.random() < 0.02:
        type = r.choice((0x0806, 0x88CC, 0x0026, 0x86DD))
    tag = struct.pack("!HH", 0x8100, r.randrange(8) << 13 | link) if link or r.random() < 0.1 else b""
    dst = MAC if r.random() < 0.97 else r.choice((b"\xff" * 6, PEER))
    data = dst + PEER + tag + struct.pack("!H", type) + content
    if r.random() < 0.03:
        data = data[:r.randrange(1, len(data) + 1)]
    elif r.random() < 0.5:
        data = data.ljust(60, b"\0")
    if r.random() < 0.03:
        at = r.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << r.randrange(8)]) + data[at + 1:]
    return data


class Engines(unittest.TestCase):
    def test_both_engines_do_the_same(self):
        r = random.Random(20201105)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "entries.stf").write_text(ENTRIES)
            with open(folder / "in.pcap", "wb") as file:
                file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
                for number in range(FRAMES):
                    data = frame(r)
                    file.write(struct.pack("<IIII", number // 1000, number % 1000, len(data), len(data)) + data)
            results = {}
            for engine in ("interp", "jit"):
                command = [HOPWRIGHT, "replay", str(ROOT / "p4/rina/interior.p4"), "--in", str(folder / "in.pcap"), "--json",
                           "--out", str(folder / f"{engine}.pcap"), "--entries", str(folder / "entries.stf"), "--engine", engine]
                results[engine] = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.splitlines()
            # A line for each frame, and their sum.
            self.assertEqual(len(results["interp"]), FRAMES + 1)
            for number, (one, other) in enumerate(zip(results["interp"], results["jit"], strict=True)):
                self.assertEqual(one, other, f"frame {number}")
            written = (folder / "interp.pcap").read_bytes()
            self.assertEqual(written, (folder / "jit.pcap").read_bytes())
            # Not only drops.
            self.assertGreater(len(written), FRAMES * 100)
            print(f"{FRAMES} frames, {len(written)} bytes came out")


if __name__ == "__main__":
    unittest.main()
