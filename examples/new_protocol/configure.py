#!/usr/bin/env python3
"""A protocol that the SwitchBlade platform has never seen, on a switch that is running it.

Its header follows EtherType 0x88b5: version 8, hops left 8, checksum of the header 16, label 20, flow 12, destination 64, source 64.
A router forwards by label and destination. It swaps the label, counts down the hops and corrects the checksum. Nothing is compiled: a
VDP, its registers and an entry for each route are all that it takes.
"""

import argparse
import asyncio

import finsy as fy

MODE_KEY = 4
CUSTOM = 1  # preprocessor
DECREMENT, CHECKSUM, WRITE = 32, 64, 128  # modules


def key(label, destination):
    """What an entry compares: the four words that the extractor takes, of which the last two are masked."""
    return destination << 192 | label << (128 + 12)


def configuration(vdp, mac):
    """The VDP and its registers. Words are 64 bits, counted from the end of the Ethernet header."""
    select = 1 << 12 | 0 << 8  # word 1, the destination, then word 0, then what the mask leaves out
    mask = key((1 << 20) - 1, (1 << 64) - 1)
    offsets = 1 | 2 << 8 | 4 << 16  # in bytes: hops left, checksum, the four bytes with the label
    action = fy.P4TableAction("select_vdp", vdp=vdp, mode=MODE_KEY, modules=DECREMENT | CHECKSUM | WRITE, preprocessor=CUSTOM)
    return [
        ~fy.P4RegisterEntry("extractor_select", index=vdp, data=select),
        ~fy.P4RegisterEntry("extractor_mask", index=vdp, data=mask),
        ~fy.P4RegisterEntry("wrapper_offsets", index=vdp, data=offsets),
        ~fy.P4RegisterEntry("wrapper_mask", index=vdp, data=0xFFFFF000),
        +fy.P4TableEntry("vdps", match=fy.P4TableMatch(mac=mac), action=action),
    ]


def neighbour(vdp, number, src, dst):
    match = fy.P4TableMatch(vdp=vdp, neighbour=number)
    return +fy.P4TableEntry("neighbours", match=match, action=fy.P4TableAction("resolve", src=src, dst=dst))


def route(vdp, label, destination, port, to, new_label):
    match = fy.P4TableMatch(vdp=vdp, key=key(label, destination))
    action = fy.P4TableAction("forward", port=port, neighbour=to, data=new_label << 12)
    return +fy.P4TableEntry("exact_key", match=match, action=action)


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="127.0.0.1:9559", metavar="ADDRESS:PORT")
    parser.add_argument("--device-id", type=int, default=1, metavar="NUMBER")
    parser.add_argument("--vdp", type=int, default=5, metavar="NUMBER")
    args = parser.parse_args()
    async with fy.Switch("sw", args.server, fy.SwitchOptions(device_id=args.device_id)) as sw:
        await sw.write([
            *configuration(args.vdp, mac=0x020000000005),
            neighbour(args.vdp, 1, src=0x020000000005, dst=0x060000000001),
            neighbour(args.vdp, 2, src=0x020000000005, dst=0x060000000002),
            route(args.vdp, label=100, destination=0x1122334455667788, port=1, to=1, new_label=200),
            route(args.vdp, label=101, destination=0x1122334455667788, port=2, to=2, new_label=300),
        ])


if __name__ == "__main__":
    asyncio.run(main())
