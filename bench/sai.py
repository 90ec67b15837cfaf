#!/usr/bin/env python3
"""SAI P4 for a middleblock switch (sonic-net/sonic-pins) with `hopwright bench file`, with the tables of 4ward's published benchmark.

10,000 routes of 32 bits, 100 next hops behind one neighbour, and 500 ACL entries that match no packet: half of them before routing, half
behind it. Packets are TCP in IPv4, each to another route. `l3`: routes lead to next hops. `wcmp`: routes lead to a group of 16 of them.
`masks`: as `l3`, with ACL entries of 60 different masks instead of one. `metered`: as `l3`, and each packet hits an ACL entry with a meter.

    bench/sai.py CHECKOUT                    # a checkout of sonic-pins
    bench/sai.py CHECKOUT --define PLATFORM_BMV2   # ids are 256 bits wide, as in its builds for BMv2
    bench/sai.py CHECKOUT --single-step      # counts instructions; further options of `hopwright bench file` are passed on
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.frames import checksum

ROOT = Path(__file__).resolve().parent.parent
ROUTES, NEXT_HOPS, ACL_ENTRIES, MEMBERS = 10_000, 100, 500, 16
WORKLOADS = ["l3", "wcmp", "masks", "metered"]
# How many packets are written: `hopwright bench` repeats them.
PACKETS = 10_000
NEIGHBOR = "fe80::1"


def route(number: int) -> str:
    """The address of a route."""
    return f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def acl_entries(masks: bool, lowest: int) -> list[str]:
    """ACL entries that no packet matches, from the lowest priority on; with many masks, prefixes of all lengths in both addresses."""
    lines = []
    for number in range(ACL_ENTRIES // 2):
        high, low = divmod(number, 256)
        source, to = 32, 32
        if masks:
            source, to = 16 + number % 15, 20 + number % 4
        lines.append(f"add acl_ingress_table {number + lowest} is_ipv4:1 src_ip:172.16.{high}.{low}/{source} "
                     f"dst_ip:172.17.{high}.{low}/{to} acl_forward()")
        lines.append(f"add acl_pre_ingress_table {number + lowest} is_ipv4:1 dst_ip:172.18.{high}.{low}/{to} set_vrf(vrf_id:0)")
    return lines


def entries(workload: str) -> list[str]:
    """The lines of a packet test that fill the tables."""
    lines = [
        "add l3_admit_table 1 dst_mac:00:01:02:03:04:05 admit_to_l3()",
        "add vrf_table vrf_id:0 no_action()",
        "add router_interface_table router_interface_id:1 unicast_set_port_and_src_mac(port:1, src_mac:00:11:22:33:44:55)",
        f"add neighbor_table router_interface_id:1 neighbor_id:{NEIGHBOR} set_dst_mac(dst_mac:00:aa:bb:cc:dd:ee)",
    ]
    lines += [f"add nexthop_table nexthop_id:{number} set_ip_nexthop(router_interface_id:1, neighbor_id:{NEIGHBOR})"
              for number in range(1, NEXT_HOPS + 1)]
    target = "set_nexthop_id(nexthop_id:{0})"
    if workload == "wcmp":
        members = " ".join(f"set_nexthop_id(nexthop_id:{number})" for number in range(1, MEMBERS + 1))
        lines.append(f"add wcmp_group_table wcmp_group_id:1 -> set {members}")
        target = "set_wcmp_group_id(wcmp_group_id:1)"
    lines += [f"add ipv4_table vrf_id:0 ipv4_dst:{route(number)}/32 {target.format(number % NEXT_HOPS + 1)}" for number in range(ROUTES)]
    if workload == "metered":
        # Behind all others.
        lines.append("add acl_ingress_table 1 is_ipv4:1 acl_forward()")
    return lines + acl_entries(workload == "masks", 2 if workload == "metered" else 1)


def packet(number: int) -> bytes:
    """A TCP segment without payload, 64 bytes with padding."""
    address = bytes(int(part) for part in route(number % ROUTES).split("."))
    header = bytes.fromhex("4500002800004000400600 00".replace(" ", "")) + bytes([192, 168, 1, 1]) + address
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    tcp = struct.pack("!HHIIBBHHH", 1024 + number % 50_000, 443, number, 0, 0x50, 0x10, 1024, 0, 0)
    return (bytes.fromhex("000102030405000a0b0c0d0e0800") + header + tcp).ljust(64, b"\0")


def capture(path: Path) -> None:
    """Writes the packets."""
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(PACKETS):
            # Neighbouring packets go to routes far from each other.
            data = packet(number * 7919)
            out.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a checkout of https://github.com/sonic-net/sonic-pins")
    parser.add_argument("--hopwright", type=Path, default=Path(os.environ.get("HOPWRIGHT", ROOT / "target/release/hopwright")))
    parser.add_argument("--define", action="append", default=[], metavar="MACRO", help="define a macro of the program")
    parser.add_argument("--workload", choices=WORKLOADS, action="append", help="only this one")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write entries and packets here, and keep them")
    options, passed_on = parser.parse_known_args()
    program = options.checkout / "sai_p4/instantiations/google/middleblock.p4"
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        capture(folder / "packets.pcap")
        for workload in options.workload or WORKLOADS:
            (folder / f"{workload}.stf").write_text("\n".join(entries(workload)) + "\n")
            print(f"── {workload}", flush=True)
            command = [options.hopwright, "bench", "file", program, "--entries", folder / f"{workload}.stf", "--packets", folder / "packets.pcap"]
            command += [f"-D{macro}" for macro in options.define] + passed_on
            if subprocess.run(command, check=False).returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
