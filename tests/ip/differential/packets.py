"""Frames that hosts send, and what of the frames that arrive has to be the same behind both routers."""

from __future__ import annotations

import ipaddress
import struct

from lab.frames import checksum

IPV4, ARP, IPV6, VLAN = 0x0800, 0x0806, 0x86DD, 0x8100
ICMP, TCP, UDP, FRAGMENT, ICMPV6, NO_NEXT_HEADER = 1, 6, 17, 44, 58, 59
# The destination port of VXLAN (RFC 7348).
VXLAN = struct.pack("!H", 4789)


def router_mac(port: int) -> bytes:
    return bytes((2, 0, 0, 0, port, 1))


def host_mac(port: int, host: int = 2) -> bytes:
    return bytes((2, 0, 0, 0, port, host))


def packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def with_checksum(protocol: int, src: bytes, dst: bytes, segment: bytes, at: int) -> bytes:
    """The segment of a transport protocol with its checksum."""
    pseudo = (
        src
        + dst
        + struct.pack("!IHH" if len(src) == 16 else "!HH", *((len(segment), 0, protocol) if len(src) == 16 else (protocol, len(segment))))
    )
    total = checksum(pseudo + segment) or 0xFFFF
    return segment[:at] + struct.pack("!H", total) + segment[at + 2 :]


def udp(src: bytes, dst: bytes, sport: int = 1000, dport: int = 2000, data: bytes = b"data") -> tuple[int, bytes]:
    return UDP, with_checksum(UDP, src, dst, struct.pack("!HHHH", sport, dport, 8 + len(data), 0) + data, 6)


def tcp(src: bytes, dst: bytes, sport: int = 1000, dport: int = 2000, data: bytes = b"data", flags: int = 2) -> tuple[int, bytes]:
    header = struct.pack("!HHIIBBHHH", sport, dport, 1, 0, 5 << 4, flags, 1000, 0, 0)
    return TCP, with_checksum(TCP, src, dst, header + data, 16)


def echo(src: bytes, dst: bytes, number: int = 1, data: bytes = b"data") -> tuple[int, bytes]:
    if len(src) == 16:
        return ICMPV6, with_checksum(ICMPV6, src, dst, struct.pack("!BBHHH", 128, 0, 0, 7, number) + data, 2)
    message = struct.pack("!BBHHH", 8, 0, 0, 7, number) + data
    return ICMP, message[:2] + struct.pack("!H", checksum(message)) + message[4:]


def ipv4(
    src: str,
    dst: str,
    payload=None,
    ttl: int = 64,
    tos: int = 0,
    df: bool = False,
    mf: bool = False,
    offset: int = 0,
    number: int = 1,
    options: bytes = b"",
    version: int = 4,
    sum_error: int = 0,
    length_error: int = 0,
    protocol: int | None = None,
    reserved: bool = False,
    **kwargs,
) -> bytes:
    """An IPv4 packet. `payload`: a function of the addresses, or bytes."""
    source, destination = packed(src), packed(dst)
    if isinstance(payload, bytes):
        number_of, body = UDP, payload
    else:
        number_of, body = (payload or udp)(source, destination, **kwargs)
    words = 5 + len(options) // 4
    flags = reserved << 15 | df << 14 | mf << 13 | offset
    header = (
        struct.pack(
            "!BBHHHBBH",
            version << 4 | words,
            tos,
            4 * words + len(body) + length_error,
            number,
            flags,
            ttl,
            number_of if protocol is None else protocol,
            0,
        )
        + source
        + destination
        + options
    )
    return header[:10] + struct.pack("!H", checksum(header) ^ sum_error) + header[12:] + body


def ipv6(
    src: str,
    dst: str,
    payload=None,
    hop_limit: int = 64,
    traffic_class: int = 0,
    label: int = 0,
    extensions: bytes = b"",
    first: int | None = None,
    version: int = 6,
    length_error: int = 0,
    **kwargs,
) -> bytes:
    """An IPv6 packet. `extensions`: headers in front of the payload, the first of which is of the type `first`; their last byte
    pattern `..` names the payload's protocol already."""
    source, destination = packed(src), packed(dst)
    if isinstance(payload, bytes):
        protocol, body = NO_NEXT_HEADER, payload
    else:
        protocol, body = (payload or udp)(source, destination, **kwargs)
    body = extensions + body
    return (
        struct.pack(
            "!IHBB", version << 28 | traffic_class << 20 | label, len(body) + length_error, protocol if first is None else first, hop_limit
        )
        + source
        + destination
        + body
    )


def frame(port: int, packet: bytes, dst: bytes | None = None, src: bytes | None = None, kind: int | None = None, pad: int = 0) -> bytes:
    """A frame that the host at a port sends to the router."""
    if kind is None:
        kind = IPV6 if packet[0] >> 4 == 6 else IPV4
    return (dst or router_mac(port)) + (src or host_mac(port)) + struct.pack("!H", kind) + packet + bytes(pad)


def tagged(data: bytes, vlan: int, priority: int = 0, kind: int = VLAN) -> bytes:
    """The frame with a tag in front of its others."""
    return data[:12] + struct.pack("!HH", kind, priority << 13 | vlan) + data[12:]


def untagged(data: bytes) -> tuple[bytes, bytes]:
    """The tags of a frame, and the frame without them."""
    at = 12
    while data[at : at + 2] in (b"\x81\0", b"\x88\xa8"):
        at += 4
    return data[12:at], data[:12] + data[at:]


def arp_request(port: int, sender: str, target: str) -> bytes:
    body = struct.pack("!HHBBH", 1, IPV4, 6, 4, 1) + host_mac(port) + packed(sender) + bytes(6) + packed(target)
    return b"\xff" * 6 + host_mac(port) + struct.pack("!H", ARP) + body


def solicitation(port: int, sender: str, target: str) -> bytes:
    """A neighbour solicitation."""
    group = bytes.fromhex("ff0200000000000000000001ff") + packed(target)[13:]
    message = struct.pack("!BBHI", 135, 0, 0, 0) + packed(target) + b"\x01\x01" + host_mac(port)
    _, body = ICMPV6, with_checksum(ICMPV6, packed(sender), group, message, 2)
    header = struct.pack("!IHBB", 6 << 28, len(body), ICMPV6, 255) + packed(sender) + group
    return b"\x33\x33" + group[12:] + host_mac(port) + struct.pack("!H", IPV6) + header + body


def answer(port: int, data: bytes, silent: set[str]) -> bytes | None:
    """What the hosts at a port answer to a question for a link-layer address: each host from 2 to 9 of the port's network, and of any
    other network that is not `silent`, has the Ethernet address of its last byte."""
    tags, inner = untagged(data)
    if tags:
        reply = answer(port, inner, silent)
        return reply and reply[:12] + tags + reply[12:]
    kind = struct.unpack_from("!H", data, 12)[0]
    if kind == ARP and len(data) >= 42 and struct.unpack_from("!H", data, 20)[0] == 1:
        sender, target = data[28:32], data[38:42]
        if str(ipaddress.ip_address(target)) in silent or not 2 <= target[3] <= 9 or sender == target:
            return None
        mine = host_mac(port, target[3])
        return data[6:12] + mine + data[12:20] + b"\0\x02" + mine + target + data[22:28] + sender
    if kind == IPV6 and len(data) >= 78 and data[20] == ICMPV6 and data[54] == 135:
        target, sender = data[62:78], data[22:38]
        if str(ipaddress.ip_address(target)) in silent or not 2 <= target[15] <= 9 or not any(sender):
            return None
        mine = host_mac(port, target[15])
        message = struct.pack("!BBHI", 136, 0, 0, 3 << 29) + target + b"\x02\x01" + mine
        body = with_checksum(ICMPV6, target, sender, message, 2)
        header = struct.pack("!IHBB", 6 << 28, len(body), ICMPV6, 255) + target + sender
        return data[6:12] + mine + struct.pack("!H", IPV6) + header + body
    return None


def is_noise(data: bytes) -> bool:
    """What a kernel sends when it likes: questions for addresses, group memberships, redirects (see docs/ip-router.md)."""
    _, data = untagged(data)
    kind = struct.unpack_from("!H", data, 12)[0]
    if kind == ARP:
        return struct.unpack_from("!H", data, 20)[0] == 1
    if kind == IPV4 and len(data) >= 34:
        return data[23] == 2 or (data[23] == ICMP and data[14 + (data[14] & 15) * 4 :][:1] == b"\x05")
    if kind == IPV6 and len(data) >= 55:
        if data[20] == 0 and data[54] == ICMPV6 and len(data) > 62 and data[62] in (143, 131, 132):
            return True
        if data[20] == ICMPV6:
            return data[54] in (133, 134, 135, 137, 143) or (data[54] == 136 and data[38] == 0xFF)
    return kind not in (IPV4, IPV6)


def is_arp_reply(data: bytes) -> bool:
    _, data = untagged(data)
    return struct.unpack_from("!HHHHH", data, 12)[::4] == (ARP, 2) if len(data) >= 22 else False


def is_limited(data: bytes) -> bool:
    """Whether it is an error of ICMP, of which kernels send only some each second."""
    _, data = untagged(data)
    kind = struct.unpack_from("!H", data, 12)[0]
    return kind == IPV4 and len(data) >= 35 and data[23] == ICMP and data[14 + (data[14] & 15) * 4] in (3, 11, 12)


def normal(data: bytes) -> bytes:
    """The frame without what need not be the same: padding, and the number of IPv4 packets that the router itself has made."""
    tags, inner = untagged(data)
    if tags:
        inner = normal(inner)
        return inner[:12] + tags + inner[12:]
    kind = struct.unpack_from("!H", data, 12)[0]
    if kind == IPV4 and len(data) >= 34:
        data = data[: 14 + struct.unpack_from("!H", data, 16)[0]]
        header = (data[14] & 15) * 4
        made = data[23] == ICMP and data[14 + header : 15 + header] in (b"\0", b"\3", b"\x0b", b"\x0c")
        # Later fragments of an echo reply do not say what they are of: the router's own addresses are 10.VLAN.PORT.1.
        made |= data[20] & 0x1F | data[21] != 0 and data[26] == 10 and data[29] == 1
        made |= data[23] == UDP and data[14 + header + 2 : 14 + header + 4] == VXLAN
        if made or (data[23] == TCP and data[14 + header + 13] & 4):
            data = data[:18] + b"\0\0" + data[20:24] + b"\0\0" + data[26:]
    elif kind == IPV6 and len(data) >= 54:
        data = data[: 54 + struct.unpack_from("!H", data, 18)[0]]
        if data[20] == FRAGMENT and data[30:38] == bytes(7) + b"\x01":
            # The router's own, whose addresses end with ::1: the number of a fragmented packet is any.
            data = data[:58] + bytes(4) + data[62:]
    elif kind == ARP:
        data = data[:42]
    return data


def describe(data: bytes) -> str:
    """A frame for people."""
    tags, inner = untagged(data)
    if tags:
        return f"tags {tags.hex(' ', 4)} {describe(inner)}"
    kind = struct.unpack_from("!H", data, 12)[0]
    link = f"{data[6:12].hex(':')} > {data[:6].hex(':')}"
    if kind == IPV4 and len(data) >= 34:
        src, dst = (ipaddress.ip_address(data[at : at + 4]) for at in (26, 30))
        rest = 14 + (data[14] & 15) * 4
        icmp = f" icmp {data[rest]}/{data[rest + 1]}" if data[23] == ICMP and len(data) > rest + 1 else ""
        return (
            f"{link} {src} > {dst} ttl {data[22]} proto {data[23]}{icmp} len {len(data)} tos {data[15]:#x} frag {data[20:22].hex()}"
            f" {data[34:64].hex()}"
        )
    if kind == IPV6 and len(data) >= 54:
        src, dst = (ipaddress.ip_address(data[at : at + 16]) for at in (22, 38))
        icmp = f" icmp {data[54]}/{data[55]}" if data[20] == ICMPV6 and len(data) > 55 else ""
        return f"{link} {src} > {dst} hops {data[21]} next {data[20]}{icmp} len {len(data)} {data[54:84].hex()}"
    return f"{link} type {kind:#06x} {data[14:60].hex()}"
