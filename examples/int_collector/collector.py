#!/usr/bin/env python3
"""A collector of telemetry reports: version 1.0, with INT 1.0 behind TCP or UDP, as sinks of `p4/int` send them.

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


def fail(why):
    raise Malformed(why)


def text(report):
    """A report on one line."""
    ends = " > ".join(f"{address}:{port}" for address, port in (report["source"], report["destination"]))
    hops = []
    for one in report["hops"]:
        ports = one.get("ports")
        through = f" {ports['ingress']}>{ports['egress']}" if ports else ""
        latency = one.get("latency_ns")
        if latency is None and "egress_ns" in one and "ingress_ns" in one:
            latency = one["egress_ns"] - one["ingress_ns"]
        took = f" {latency} ns" if latency is not None else ""
        hops.append(f"[{one.get('switch_id', '?')}{through}{took}]")
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
