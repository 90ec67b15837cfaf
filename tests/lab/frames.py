"""Frames, of the protocols of the SwitchBlade platform, too."""

import ipaddress
import struct

HOST = "060000000009"


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(dst, kind, payload, src=HOST):
    return bytes.fromhex(dst) + bytes.fromhex(src) + kind.to_bytes(2, "big") + payload


def udp(src_port, dst_port, payload=bytes(20)):
    return struct.pack("!HHHH", src_port, dst_port, 8 + len(payload), 0) + payload


def ipv4(src, dst, payload, protocol=17, ttl=64):
    addresses = ipaddress.IPv4Address(src).packed + ipaddress.IPv4Address(dst).packed
    head = struct.pack("!BBHHHBB", 0x45, 0, 20 + len(payload), 0, 0, ttl, protocol)
    return head + checksum(head + addresses).to_bytes(2, "big") + addresses + payload


def ipv6(src, dst, payload, next_header=17, hop_limit=64):
    addresses = ipaddress.IPv6Address(src).packed + ipaddress.IPv6Address(dst).packed
    return struct.pack("!IHBB", 6 << 28, len(payload), next_header, hop_limit) + addresses + payload


def splicing(indices, payload, protocol=17):
    return struct.pack("!BB", protocol, 0) + indices.to_bytes(14, "big") + payload


def labelled(label, destination, hops=9, flow=7, source=1, payload=bytes(20)):
    """The protocol of examples/new_protocol."""
    head = struct.pack("!BBHIQQ", 1, hops, 0, label << 12 | flow, destination, source)
    return head[:2] + checksum(head).to_bytes(2, "big") + head[4:] + payload
