"""What the SwitchBlade platform takes by number of VDPs: a table of docs/fpga.md, as the report estimates it.

`vdps.py [--target NAME] [-D MACRO]… [VDPS…]` prints a row for each number, 1, 2, 4 and 8 by default. HOPWRIGHT is the command to use.
"""

import argparse
import json
import sys

from engines import run
from lab.command import HOPWRIGHT, ROOT

PLATFORM = "p4/switchblade/platform.p4"


def row(vdps, target, macros):
    defined = [word for macro in [f"VDPS={vdps}", *macros] for word in ("-D", macro)]
    report = json.loads(run(HOPWRIGHT, "rtl", ROOT / PLATFORM, "--target", target, *defined, "--report=json"))
    total = report["total"]
    return vdps, report["stages"], total["luts"], total["registers"], total["blocks"], total["memory_bits"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="ecp5-85-512")
    parser.add_argument("-D", dest="macros", action="append", default=[], metavar="MACRO")
    parser.add_argument("vdps", nargs="*", type=int, default=[1, 2, 4, 8], metavar="VDPS")
    arguments = parser.parse_args()
    print("| VDPs | stages | LUT | LUT for each VDP | FF | block RAM | RAM Mbit |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    for number in arguments.vdps:
        vdps, stages, luts, registers, blocks, memory = row(number, arguments.target, arguments.macros)
        print(f"| {vdps} | {stages} | {luts:,} | {luts // vdps:,} | {registers:,} | {blocks:,} | {memory / 1e6:.2f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
