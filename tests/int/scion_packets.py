"""SCION packets on their way between routers of the underlay, with and without ID-INT, for tests."""

import socket
import struct

from lab.frames import checksum

UNDERLAY = 30042
HOP_BY_HOP, UDP = 200, 17
MAIN, ENTRY, PADDING = 253, 254, 1


def ia(text):
    """The number of an ISD-AS such as 1-ff00:0:110."""
    isd, asn = text.split("-")
    a, b, c = (int(part, 16) for part in asn.split(":"))
    return int(isd) << 48 | a << 32 | b << 16 | c


def path(current, hops=2):
    """A path of one segment, with its current hop."""
    meta = struct.pack("!I", current << 24 | hops << 12)
    info = bytes([1, 0]) + struct.pack("!HI", 0x1111, 1_700_000_000)
    return meta + info + b"".join(bytes([0, 63]) + struct.pack("!HH", hop, hop + 1) + bytes([hop] * 6) for hop in range(hops))


def scion(payload, source=("1-ff00:0:110", "10.0.0.1"), destination=("1-ff00:0:112", "10.0.1.2"), current=0, next_header=UDP, extension=b"",
          way=None, path_type=1):
    """A SCION packet with an extension in front of its payload, and with another path if one is given."""
    hosts = socket.inet_aton(destination[1]) + socket.inet_aton(source[1])
    header = struct.pack("!QQ", ia(destination[0]), ia(source[0])) + hosts + (path(current) if way is None else way)
    first = HOP_BY_HOP if extension else next_header
    behind = extension + payload
    return struct.pack("!IBBHBBH", 1, first, (12 + len(header)) // 4, len(behind), path_type, 0, 0) + header + behind


def entry(parts, halves, source=False, present=0, hop=0):
    """An entry: its parts are metadata, in order."""
    body = b"".join(parts)
    body += bytes(-(len(body) + 2) % 4)
    words = halves[0] << 9 | halves[1] << 6 | halves[2] << 3 | halves[3]
    return bytes([ENTRY, len(body) + 10, source << 7, hop << 2]) + struct.pack("!H", present << 12 | words) + body + bytes(4)


def padding(words):
    """Options, all but the first of 63 words."""
    first = (words - 1) % 63 + 1
    return bytes([PADDING, 4 * first - 2]) + bytes(4 * first - 2) + padding(words - first) if words else b""


def extension(entries, stack_words, present, instructions, *, next_header=UDP, infrastructure=True, discard=False, exceeded=False, source_time=0,
              source_port=0, delay=0):
    """The hop-by-hop extension with the main option, entries, and padding."""
    used = sum(map(len, entries))
    top = (used - len(entries[-1])) // 4
    flags = infrastructure << 4 | discard << 3 | exceeded << 1
    main = struct.pack("!BBBBBBHH4s6sH", MAIN, 22, flags, 1 << 4, stack_words, top, delay << 10, present << 12, bytes(instructions),
                       source_time.to_bytes(6, "big"), source_port)
    return bytes([next_header, (5 + stack_words) % 256]) + main + b"".join(entries) + padding(stack_words - used // 4)


def frame(packet, source="10.0.0.1", destination="10.0.1.2", macs=("020000000001", "020000000002"), ttl=64, udp_checksum=0, ports=(UNDERLAY, UNDERLAY)):
    """The frame of an underlay's packet."""
    udp = struct.pack("!HHHH", *ports, 8 + len(packet), udp_checksum) + packet
    ipv4 = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0x1234, 0, ttl, 17, 0, socket.inet_aton(source), socket.inet_aton(destination))
    ipv4 = ipv4[:10] + struct.pack("!H", checksum(ipv4)) + ipv4[12:]
    return bytes.fromhex(macs[1] + macs[0] + "0800") + ipv4 + udp
