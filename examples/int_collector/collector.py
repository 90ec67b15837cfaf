#!/usr/bin/env python3
"""A collector of telemetry reports: version 1.0, with INT 1.0 behind TCP or UDP or with ID-INT in SCION packets, as sinks of `p4/int` send them.

    collector.py [--listen ADDRESS:PORT] [--json]

Prints a line for each report: the flow, its path, and the latency of each hop. What is no such report is counted, and said at the end."""

import argparse
import ipaddress
import json
import signal
import socket
import struct
import sys

REPORT, ETHERNET, IPV4, SHIM, INT = 16, 14, 20, 4, 8
BEFORE_TELEMETRY = {6: 20, 17: 8}
# What a node adds for each bit of the instructions, from the highest on: a name and a format.
PARTS = [("switch_id", "!I"), ("ports", "!HH"), ("latency_ns", "!I"), ("queue", "!I"), ("ingress_ns", "!Q"), ("egress_ns", "!Q"),
         ("logical_ports", "!HH"), ("utilisation", "!I")]

INT_DSCP = 0x20

# ID-INT: options of SCION's hop-by-hop extension. What an entry has by its flags, and by instructions.
HOP_BY_HOP, MAIN, ENTRY = 200, 253, 254
FIXED = [("node_id", 4), ("node_count", 2), ("ingress", 2), ("egress", 2)]
INSTRUCTIONS = {0x01: "isd", 0x44: "address", 0x4e: "queue", 0x4f: "queue_length", 0x81: "asn", 0x82: "ingress_ns", 0x83: "egress_ns"}


class Malformed(Exception):
    """No report of this version."""


def hop(words, instructions):
    """What one node has added, by name."""
    found, at = {}, 0
    for bit, (name, form) in enumerate(PARTS):
        if instructions >> (15 - bit) & 1:
            values = struct.unpack_from(form, words, at)
            at += struct.calcsize(form)
            found[name] = values[0] if len(values) == 1 else {"ingress": values[0], "egress": values[1]}
    if "queue" in found:
        found["queue"] = {"id": found["queue"] >> 24, "depth": found["queue"] & 0xffffff}
    return found


def parse(datagram):
    """A report: the flow, and its hops from the source on."""
    try:
        if datagram[0] >> 4 != 1 or datagram[1] >> 5 != 0:
            raise Malformed("not of version 1.0 with Ethernet")
        switch_id, sequence = struct.unpack_from("!II", datagram, 4)
        at = REPORT + ETHERNET
        if struct.unpack_from("!H", datagram, at - 2)[0] != 0x0800 or datagram[at] != 0x45:
            raise Malformed("not of IPv4 without options")
        protocol = datagram[at + 9]
        source, destination = (str(ipaddress.ip_address(datagram[at + n:at + n + 4])) for n in (12, 16))
        at += IPV4
        if protocol == 17 and datagram[at - IPV4 + 1] >> 2 != INT_DSCP:
            return {"sink": switch_id, "sequence": sequence, "protocol": "scion", **scion(datagram[at + 8:])}
        ports = struct.unpack_from("!HH", datagram, at)
        at += BEFORE_TELEMETRY.get(protocol) or fail(f"protocol {protocol}")
        kind, _, words, _ = datagram[at:at + SHIM]
        at += SHIM
        version, _, hop_words, hops_left, instructions, _ = struct.unpack_from("!BBBBHH", datagram, at)
        at += INT
        size = 4 * (hop_words & 0x1f)
        behind = 4 * words - SHIM - INT
        if kind != 1 or version >> 4 != 1 or size == 0 or behind < 0 or behind % size:
            raise Malformed("not INT 1.0, hop by hop")
        telemetry = datagram[at:at + behind]
        hops = [hop(telemetry[n:n + size], instructions) for n in range(0, behind, size)]
    except (struct.error, ValueError, IndexError) as short:
        raise Malformed(str(short)) from short
    return {"sink": switch_id, "sequence": sequence, "protocol": protocol, "source": [source, ports[0]], "destination": [destination, ports[1]],
            "hops_left": hops_left, "exceeded": bool(version & 1), "hops": hops[::-1]}


def as_text(ia):
    """An ISD-AS, such as 1-ff00:0:110."""
    return f"{ia >> 48}-{ia >> 32 & 0xffff:x}:{ia >> 16 & 0xffff:x}:{ia & 0xffff:x}"


def host(kind, address):
    """A SCION host's address: text for IP addresses."""
    return str(ipaddress.ip_address(address)) if kind == 0 and len(address) in (4, 16) else address.hex()


def entry(data, instructions):
    """What a node of ID-INT has added, by name."""
    flags, hop_field, parts = struct.unpack_from("!BBH", data, 2)
    if flags & 0x08:
        raise Malformed("an encrypted entry")
    found, at = {"hop": hop_field >> 2, "source": bool(flags >> 7)}, 6
    sizes = [(name, size) for bit, (name, size) in enumerate(FIXED) if parts >> (15 - bit) & 1]
    sizes += [(INSTRUCTIONS.get(code, f"{code:#04x}"), 2 * (parts >> (9 - 3 * slot) & 7)) for slot, code in enumerate(instructions)]
    for name, size in sizes:
        if size:
            found[name] = int.from_bytes(data[at:at + size], "big")
            at += size
    if at + 4 > len(data):
        raise Malformed("an entry that is too short")
    if "isd" in found and "asn" in found:
        found["as"] = as_text(found["isd"] << 48 | found["asn"])
    if "address" in found:
        found["address"] = str(ipaddress.ip_address(found["address"]))
    if "ingress_ns" in found and "egress_ns" in found:
        found["latency_ns"] = (found["egress_ns"] - found["ingress_ns"]) % (1 << 48)
    return found


def scion(packet):
    """A SCION packet with ID-INT: the hosts, and hops from the source on."""
    version, following, words, kinds = packet[0] >> 4, packet[4], packet[5], packet[9]
    dst_ia, src_ia = struct.unpack_from("!QQ", packet, 12)
    behind_dst = 28 + 4 * (kinds >> 4 & 3) + 4
    behind_src = behind_dst + 4 * (kinds & 3) + 4
    ends = {"source": [as_text(src_ia), host(kinds >> 2 & 3, packet[behind_dst:behind_src])],
            "destination": [as_text(dst_ia), host(kinds >> 6, packet[28:behind_dst])]}
    option = packet[4 * words + 2:]
    if version != 0 or following != HOP_BY_HOP or option[0] != MAIN:
        raise Malformed("no SCION packet with ID-INT in front")
    stack_words, top, instructions = option[4], option[5], option[10:14]
    stack, hops, at = option[option[1]:option[1] + 4 * stack_words], [], 0
    while at <= 4 * top:
        size = stack[at + 1]
        if stack[at] != ENTRY or size < 10 or at + size > len(stack):
            raise Malformed("no entry of ID-INT")
        hops.append(entry(stack[at:at + size], instructions))
        at += size
    return {**ends, "words_left": stack_words - at // 4, "exceeded": bool(option[2] & 2), "hops": hops}


def fail(why):
    raise Malformed(why)


def text(report):
    """A report on one line."""
    between = "," if report["protocol"] == "scion" else ":"
    ends = " > ".join(f"{address}{between}{port}" for address, port in (report["source"], report["destination"]))
    hops = []
    for one in report["hops"]:
        ports = one.get("ports", one)
        through = f" {ports['ingress']}>{ports['egress']}" if "ingress" in ports and "egress" in ports else ""
        latency = one.get("latency_ns")
        if latency is None and "egress_ns" in one and "ingress_ns" in one:
            latency = one["egress_ns"] - one["ingress_ns"]
        took = f" {latency} ns" if latency is not None else ""
        where = f"{one['as']} " if "as" in one else ""
        hops.append(f"[{where}{one.get('switch_id', one.get('node_id', '?'))}{through}{took}]")
    return f"{report['sequence']}: {ends}: {' '.join(hops)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--listen", default="0.0.0.0:54321", metavar="ADDRESS:PORT", help="where reports come (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print reports as JSON")
    given = parser.parse_args()
    address, _, port = given.listen.rpartition(":")
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind((address, int(port)))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    malformed = 0
    try:
        while True:
            datagram = listener.recv(65535)
            try:
                report = parse(datagram)
            except Malformed:
                malformed += 1
                continue
            print(json.dumps(report) if given.json else text(report), flush=True)
    except KeyboardInterrupt:
        print(f"{malformed} datagrams were no reports", file=sys.stderr)


if __name__ == "__main__":
    main()
