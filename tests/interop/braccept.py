#!/usr/bin/env python3
"""Runs the reference's router acceptance tool, braccept, against a border router.

Builds the network that braccept expects in two namespaces of its own, starts
the router, runs the tool, and reports each case. The tool ignores checksums,
so they are checked here on every packet that the router sent.

Exit status: 0 if every selected case passed, 1 if one failed or was not run,
2 if the test could not be carried out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from lab.cases import case_options, choose, status_of
from lab.command import LabError
from lab.netns import End, Namespace, Offloads, remove_all, require_root, veth
from lab.process import Process
from lab.reference import INTEROP, copy_tree, module_dir, tool
from lab.router import RouterKind, wait_ready

PLAIN_CASES = INTEROP / "braccept-cases.txt"
PEER_MAC = "f0:0d:ca:fe:be:ef"
MTU = 8000
PREFIX = f"hw{os.getpid()}-"
# Device in the router's namespace, address, last byte of its MAC address, neighbours.
LINKS = [
    ("veth_int", "192.168.0.11/24", 0x01, [f"192.168.0.{n}" for n in (12, 13, 14, 51, 61, 71)]),
    ("veth_121", "192.168.12.2/31", 0x12, ["192.168.12.3"]),
    ("veth_131", "192.168.13.2/31", 0x13, ["192.168.13.3"]),
    ("veth_141", "192.168.14.2/31", 0x14, ["192.168.14.3"]),
    ("veth_151", "192.168.15.2/31", 0x15, ["192.168.15.3"]),
]


def build_network() -> tuple[Namespace, Namespace]:
    """The router's namespace and the tool's, joined by five links."""
    router, host = (Namespace(PREFIX + role, ipv6=False) for role in ("router", "tool"))
    for device, address, last, neighbours in LINKS:
        veth(
            End(router, device, (address,), f"f0:0d:ca:fe:00:{last:02x}",
                tuple((n, PEER_MAC) for n in neighbours), Offloads.NONE),
            # The tool compares whole frames; the reference's own test of it (acceptance/router_multi) leaves no offload on either.
            End(host, f"{device}_host", offloads=Offloads.NONE),
            MTU,
        )
    return router, host


def write_config(directory: Path, bfd: bool) -> Path:
    """Copies the reference's configuration and points it at the copy."""
    conf = directory / "conf"
    copy_tree(module_dir() / "acceptance" / "router_multi" / "conf", conf)
    path = conf / ("router.toml" if bfd else "router_nobfd.toml")
    path.write_text(path.read_text().replace('"/etc/scion"', f'"{conf}"'))
    return path


def parse_results(text: str) -> dict[str, str]:
    """Case name to error text; the empty text is a pass."""
    results: dict[str, str] = {}
    # A record is: time, level, source line, message; an error's message goes on
    # over further lines.
    begin = r"(?m)^\d{4}-\d\d-\d\d \S+\t(\w+)\t[^\t\n]*\t"
    parts = re.split(begin, text)
    for level, message in zip(parts[1::2], parts[2::2]):
        if level == "INFO" and "expected packet was captured" in message:
            results[message.split("\t")[0].strip()] = ""
        elif level == "ERROR":
            name, _, detail = message.partition("\n")
            results[name.strip()] = detail.strip() or "failed"
    return results


def ones_sum(data: bytes) -> int:
    """The Internet checksum's folded sum: 0xffff over data with a right checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum_fault(frame: bytes) -> str:
    """What is wrong with the IPv4 and UDP checksums of a frame, if anything."""
    if frame[12:14] != b"\x08\x00":
        return ""
    header = (frame[14] & 15) * 4
    length = struct.unpack_from("!H", frame, 16)[0]
    packet = frame[14:14 + length]
    if ones_sum(packet[:header]) != 0xFFFF:
        return "wrong IPv4 header checksum"
    if packet[9] != 17 or packet[header + 6:header + 8] == b"\0\0":
        return ""
    segment = packet[header:]
    pseudo = packet[12:20] + struct.pack("!BBH", 0, 17, len(segment))
    return "" if ones_sum(pseudo + segment) == 0xFFFF else "wrong UDP checksum"


def captured(path: Path) -> list[bytes]:
    """The frames of a classic pcap file."""
    data = path.read_bytes()
    order = "<" if data[:4] == b"\xd4\xc3\xb2\xa1" else ">"
    frames, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from(f"{order}I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


def checksum_faults(directory: Path) -> list[str]:
    """Checksum faults of all packets that the tool stored, each with its case folder."""
    faults = []
    for path in sorted(directory.glob("*/got-*.pcap")):
        for frame in captured(path):
            fault = checksum_fault(frame)
            if fault:
                faults.append(f"{path.parent.name}: {fault}")
    return faults


def select(args: argparse.Namespace, ran: dict[str, str]) -> list[str]:
    """Names of the cases that decide the exit status."""
    return choose(args, named(args) or ran)


def named(args: argparse.Namespace) -> list[str]:
    """Names of the cases that must have run and passed, if a file says so."""
    lines = (line.strip() for line in Path(args.file).read_text().splitlines()) if args.file else ()
    return [line for line in lines if line and not line.startswith("#")]


def report(args: argparse.Namespace, router: str, ran: dict[str, str],
           selected: list[str], faults: list[str]) -> bool:
    """Prints the outcome; returns whether everything selected passed."""
    outcomes = []
    for name in selected:
        error = ran.get(name, "the tool did not run this case")
        outcomes.append({"case": name, "pass": not error, "error": error})
    others = [{"case": n, "pass": not e} for n, e in ran.items() if n not in selected]
    passed = sum(o["pass"] for o in outcomes)
    good = bool(outcomes) and passed == len(outcomes) and not faults
    if args.json:
        print(json.dumps({"router": router, "pass": good, "cases": outcomes,
                          "not_selected": others, "checksum_faults": faults}, indent=2))
        return good
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    mark = {True: "\x1b[32mpass\x1b[0m", False: "\x1b[31mFAIL\x1b[0m"} if colour else \
           {True: "pass", False: "FAIL"}
    for o in outcomes:
        print(f"  {mark[o['pass']]}  {o['case']}")
        if o["error"] and not args.quiet:
            for line in o["error"].splitlines()[:30]:
                print(f"        {line}")
    for fault in faults:
        print(f"  {mark[False]}  {fault}")
    print(f"braccept, {router}: {passed} of {len(outcomes)} selected cases passed"
          + (f"; of the other {len(others)}, {sum(o['pass'] for o in others)} passed"
             if others else "")
          + (f"; {len(faults)} packets with wrong checksums" if faults else ""))
    return good


def run(args: argparse.Namespace) -> bool:
    require_root("braccept")
    kind = RouterKind(args.router)
    directory = Path(tempfile.mkdtemp(prefix="hopwright-braccept-"))
    router = None
    try:
        config = write_config(directory, args.bfd)
        router_side, tool_side = build_network()
        router = kind.start("router", router_side, config, directory / "router.log",
                            directory / "stats.json")
        wait_ready(router)
        test = Process("braccept", [tool("braccept"), "--artifacts", str(directory),
                                    *(["--bfd"] if args.bfd else [])],
                       directory / "braccept.log", namespace=tool_side)
        if test.wait(600) is None:
            test.stop()
            raise LabError("braccept did not end within 600 s")
        router.check()
        ran = parse_results(test.log.read_text(errors="replace"))
        if not ran:
            raise LabError(f"braccept reported no case\n{test.tail()}")
        faults = checksum_faults(directory)
        return report(args, kind.name, ran, select(args, ran), faults)
    finally:
        if router is not None:
            status = router.stop()
            if status not in (0, None):
                print(f"note: the router ended with status {status} on SIGTERM", file=sys.stderr)
        remove_all(PREFIX)
        if args.keep:
            print(f"kept: {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="reference, hopwright (default), hopwright+ports=af_packet (or other "
                             "settings), tenant (of hopwright switch), or a command with {config} in it")
    parser.add_argument("--file", metavar="FILE",
                        help="file of case names that must have run and passed")
    parser.add_argument("--plain", dest="file", action="store_const", const=str(PLAIN_CASES),
                        help=f"the same as --file {PLAIN_CASES.name}: all but the BFD cases")
    parser.add_argument("--bfd", action="store_true", help="run the BFD cases instead")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")
    parser.add_argument("--quiet", action="store_true", help="do not print why a case failed")
    parser.add_argument("--keep", action="store_true",
                        help="keep captures and logs, and say where")
    args = parser.parse_args()
    if args.list:
        args.file = args.file or PLAIN_CASES
        choose(args, named(args))
    return status_of("braccept", lambda: not run(args))


if __name__ == "__main__":
    sys.exit(main())
