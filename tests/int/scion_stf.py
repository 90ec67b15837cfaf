#!/usr/bin/env python3
"""Writes the packet tests of `p4/int/scion_*.p4`, beside them. With `--check` writes nothing and fails if a file differs."""

import pathlib
import sys

import scion_packets as p

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "p4/int"
NODE, AS, ADDRESS = 0x11, p.ia("1-ff00:0:111"), "10.0.255.9"
# ISD and AS, and the times; node, ingress and egress beside them.
INSTRUCTIONS, PRESENT, HALVES, WORDS = (0x01, 0x81, 0x82, 0x83), 0xb, (1, 3, 3, 3), 10
PLAIN = p.scion(b"telemetry")
ROUTER, NEXT, COLLECTOR = "0200000000aa", "0200000000bb", "0200000000cc"

TABLES = {
    "tna": "add In.sinks tm.ucast_egress_port:3 leave_domain(session:5)\n"
           "value_set_write InParser.headers.underlay 30042\nvalue_set_write OutParser.headers.underlay 30042\n",
    "v1model": "add In.sinks std.egress_spec:3 leave_domain(session:5)\nvalue_set_write underlay 30042\n",
}


def own(time, *, source=False, hop=0, egress=2):
    """What the node adds."""
    parts = [NODE.to_bytes(4, "big"), bytes([0, 1, 0, egress]), AS.to_bytes(8, "big"), time, time]
    return p.entry(parts, HALVES, source, PRESENT, hop)


def other(number, source=False):
    """What another node has added."""
    parts = [number.to_bytes(4, "big"), bytes([0, 7, 0, 8]), p.ia("1-ff00:0:110").to_bytes(8, "big"), bytes([0, 0, 0, 0, 3, 0xe8]),
             bytes([0, 0, 0, 0, 7, 0xd0])]
    return p.entry(parts, HALVES, source, PRESENT)


def with_telemetry(entries, words, current=1, present=PRESENT, instructions=INSTRUCTIONS, length=None, **options):
    """With the extension's length, if it is to be another than that of what is in it."""
    extension = p.extension(entries, words, present, instructions, **options)
    if length is not None:
        extension = extension[:1] + bytes([length]) + extension[2:]
    return p.scion(b"telemetry", extension=extension, current=current)


def leaving(packet, to="10.0.1.2", udp_checksum=0):
    return p.frame(packet, destination=to, macs=(ROUTER, NEXT), ttl=63, udp_checksum=udp_checksum).hex()


def pattern(make):
    """Digits that depend on the time are not compared."""
    return "".join(a if a == b else "*" for a, b in zip(make(bytes(6)), make(b"\xff" * 6)))


def report(frame, number):
    """The collector's datagram: the frame as it came, with the node's entry. Its time is the node's."""
    head = bytes.fromhex("14000040") + NODE.to_bytes(4, "big") + number.to_bytes(4, "big")
    datagram = p.frame(head + bytes(4) + bytes.fromhex(frame), source="10.0.255.1", destination="10.0.255.2", macs=(ROUTER, COLLECTOR),
                       ports=(0, 54321)).hex()
    # No identification in reports, as a node numbers them itself.
    ipv4 = bytes.fromhex(datagram[28:68])
    ipv4 = ipv4[:4] + bytes(2) + ipv4[6:10] + bytes(2) + ipv4[12:]
    ipv4 = ipv4[:10] + p.checksum(ipv4).to_bytes(2, "big") + ipv4[12:]
    at = 2 * (14 + 20 + 8 + 12)
    return datagram[:28] + ipv4.hex() + datagram[68:at] + "*" * 8 + datagram[at + 8:]


def cases(architecture):
    """Comments, frames, and what leaves by which port."""
    came = p.frame(PLAIN, udp_checksum=0xbeef).hex()

    def begun(time, **options):
        extension = p.extension([own(time, source=True)], 30, PRESENT, INSTRUCTIONS, source_time=int.from_bytes(time, "big"), source_port=2)
        return leaving(p.scion(b"telemetry", extension=extension, **options))

    yield "A source: telemetry with the node's entry, and room for two more", came, [(2, pattern(begun))]
    yield "... none where the packet leaves the domain", p.frame(PLAIN, destination="10.0.2.2", udp_checksum=0xbeef).hex(), \
        [(3, leaving(PLAIN, "10.0.2.2", udp_checksum=0xbeef))]
    empty = {"way": b"", "path_type": 0}
    yield "... of a packet within its AS, which has no path", p.frame(p.scion(b"telemetry", **empty)).hex(), \
        [(2, pattern(lambda time: begun(time, **empty)))]
    packet = p.scion(b"telemetry", way=b"")
    yield "A path of SCION without its first word", p.frame(packet, udp_checksum=0xbeef).hex(), [(2, leaving(packet, udp_checksum=0xbeef))]
    to_others = p.scion(b"telemetry", destination=("1-ff00:0:113", "10.0.1.2"))
    yield "Another destination", p.frame(to_others, udp_checksum=0xbeef).hex(), [(2, leaving(to_others, udp_checksum=0xbeef))]

    first = [other(0x22, source=True)]
    yield "A transit node: its entry in the place of padding", p.frame(with_telemetry(first, 30), udp_checksum=0xbeef).hex(), \
        [(2, pattern(lambda time: leaving(with_telemetry([*first, own(time, hop=1)], 30))))]
    two = [*first, other(0x33)]
    yield "The last entry for which there is room", p.frame(with_telemetry(two, 30)).hex(), \
        [(2, pattern(lambda time: leaving(with_telemetry([*two, own(time, hop=1)], 30))))]
    three = [*two, other(0x44)]
    yield "There is no room: the packet says so", p.frame(with_telemetry(three, 30)).hex(), [(2, leaving(with_telemetry(three, 30, exceeded=True)))]
    yield "There is too little", p.frame(with_telemetry(two, 29)).hex(), [(2, leaving(with_telemetry(two, 29, exceeded=True)))]
    yield "At most 63 words of padding are left behind an entry", p.frame(with_telemetry(first, 83)).hex(), \
        [(2, pattern(lambda time: leaving(with_telemetry([*first, own(time, hop=1)], 83))))]
    for words in (84, 150):
        yield f"A stack of {words} words, of which more would be left", p.frame(with_telemetry(first, words), udp_checksum=0xbeef).hex(), \
            [(2, leaving(with_telemetry(first, words), udp_checksum=0xbeef))]
    for comment, length, words, to, port in (("A stack that is longer than the extension", 15, 30, "10.0.1.2", 2), ("... at a sink", 15, 30, "10.0.2.2", 3),
                                             ("... by 256 words", 4, 255, "10.0.2.2", 3)):
        packet = with_telemetry(first, words, length=length)
        yield comment, p.frame(packet, destination=to, udp_checksum=0xbeef).hex(), [(port, leaving(packet, to, udp_checksum=0xbeef))]
    packet = with_telemetry(two, 20)
    at = packet.index(bytes([p.MAIN, 22]))
    packet = packet[:at - 1] + bytes([5 + 19]) + packet[at:at + 4] + bytes([19]) + packet[at + 5:]
    for to, port in (("10.0.1.2", 2), ("10.0.2.2", 3)):
        yield "A stack that is shorter than its entries", p.frame(packet, destination=to, udp_checksum=0xbeef).hex(), \
            [(port, leaving(packet, to, udp_checksum=0xbeef))]
    packet = with_telemetry(first, 30)
    # The second one has room for the node's entry, but no padding behind it.
    for left in (9, 10):
        short = packet[:packet.index(first[0]) + 4 * (10 + left)]
        for to, port in (("10.0.1.2", 2), ("10.0.2.2", 3)):
            passed = [(port, leaving(short, to, udp_checksum=0xbeef))]
            yield "A packet that ends within its stack", p.frame(short, destination=to, udp_checksum=0xbeef).hex(), \
                passed if architecture == "v1model" else []
    yield "Telemetry that is to begin later", p.frame(with_telemetry(first, 30, delay=1), udp_checksum=0xbeef).hex(), \
        [(2, leaving(with_telemetry(first, 30, delay=1), udp_checksum=0xbeef))]

    asked = {"present": 0xf, "instructions": (0x44, 0, 0x4e, 0xbf)}
    theirs = [p.entry([bytes(10)], (0, 0, 0, 0), True, 0xf)]
    numbers = NODE.to_bytes(4, "big") + bytes([0, 1, 0, 1, 0, 2])
    mine = p.entry([numbers, bytes(int(part) for part in ADDRESS.split(".")), bytes(4)], (2, 0, 2, 0), False, 0xf, 1)
    yield "Other instructions: one of them is none, and one the node does not know", \
        p.frame(with_telemetry(theirs, 20, **asked), udp_checksum=0xbeef).hex(), [(2, leaving(with_telemetry([*theirs, mine], 20, **asked)))]

    def sunk(options, words=30):
        frame = p.frame(with_telemetry(first, words, **options), destination="10.0.2.2").hex()
        seen = pattern(lambda time: p.frame(with_telemetry([*first, own(time, hop=1, egress=3)], words, **options), destination="10.0.2.2").hex())
        return frame, seen

    frame, seen = sunk({})
    yield "A sink: the packet is as its source sent it, and the collector gets it with telemetry", frame, \
        [(3, leaving(p.scion(b"telemetry", current=1), "10.0.2.2")), (4, ("report", seen, 0))]
    frame, seen = sunk({"discard": True})
    yield "Only for the collector", frame, [(4, ("report", seen, 1))]
    frame = p.frame(with_telemetry(first, 30, infrastructure=False), destination="10.0.2.2").hex()
    yield "A host's telemetry is not taken off", frame, \
        [(3, pattern(lambda time: leaving(with_telemetry([*first, own(time, hop=1, egress=3)], 30, infrastructure=False), "10.0.2.2")))]

    alone = bytes([p.UDP, 1, p.PADDING, 4]) + bytes(4)
    packet = p.scion(b"telemetry", extension=alone)
    yield "An extension with other options", p.frame(packet, udp_checksum=0xbeef).hex(), [(2, leaving(packet, udp_checksum=0xbeef))]
    packet = with_telemetry([bytes([p.PADDING]) + other(0x22)[1:]], 30)
    yield "A stack without an entry", p.frame(packet, udp_checksum=0xbeef).hex(), [(2, leaving(packet, udp_checksum=0xbeef))]
    packet = PLAIN[:60]
    yield "A header that is cut off", p.frame(packet, udp_checksum=0xbeef).hex(), [(2, leaving(packet, udp_checksum=0xbeef))]
    yield "Another port", p.frame(PLAIN, ports=(30042, 53), udp_checksum=0xbeef).hex(), \
        [(2, p.frame(PLAIN, macs=(ROUTER, NEXT), ttl=63, ports=(30042, 53), udp_checksum=0xbeef).hex())]


def masked_report(seen, number):
    """A report on a frame of which digits are not compared."""
    zeros = report(seen.replace("*", "0"), number)
    start = len(zeros) - len(seen)
    return zeros[:start] + seen


def stf(architecture):
    lines = ["# Written by tests/int/scion_stf.py.", "", "mirroring_add 5 4",
             f"setdefault Out.ScionNode.identity set_node(node_id:{NODE:#x}, isd_as:{AS:#x}, ipv4:{ADDRESS})"]
    for prefix, port in (("10.0.1.0/24", 2), ("10.0.2.0/24", 3)):
        lines.append(f"add In.routes hdr.ipv4.dst:{prefix} send(src:0x{ROUTER}, dst:0x{NEXT}, port:{port})")
    codes = ", ".join(f"instruction{n}:{code:#04x}" for n, code in enumerate(INSTRUCTIONS, 1))
    lines.append(f"add Out.ScionNode.flows 1 hdr.scion.dst_ia:{p.ia('1-ff00:0:112')} watch(flags:{PRESENT:#x}, {codes}, stack_words:30, "
                 f"entry_words:{WORDS}, fill_words:20, bytes:{24 + 120})")
    lines.append(f"setdefault Out.Report.collector to_collector(src:0x{ROUTER}, dst:0x{COLLECTOR}, from:10.0.255.1, to:10.0.255.2, port:54321)")
    lines += TABLES[architecture].splitlines()
    for comment, frame, leaves in cases(architecture):
        lines += ["", f"# {comment}.", f"packet 1 {frame}"]
        for port, expected in leaves:
            if isinstance(expected, tuple):
                expected = masked_report(*expected[1:])
            lines.append(f"expect {port} {expected} $")
        lines += [] if leaves else ["no_packet"]
    return "\n".join(lines) + "\n"


def main():
    for architecture in TABLES:
        file, text = FOLDER / f"scion_{architecture}.stf", stf(architecture)
        if "--check" not in sys.argv:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"{file.name} is not what {pathlib.Path(__file__).name} writes")


if __name__ == "__main__":
    main()
