"""Places whole designs on an ECP5-85: the table of programs in docs/fpga.md.

`programs.py [--seeds N] [NAME…]` compiles each program below with `hopwright rtl`, wraps the design between registers as
`synthesis.py` does, and prints a row: LUTs, flip-flops, block RAMs, multipliers, stages, and for each seed the clock that place and
route reaches (nextpnr's estimate, speed grade 8) and what the bus carries at it. HOPWRIGHT is the command to use, NEXTPNR the `nextpnr-ecp5`.
"""

import argparse
import os
import re
import sys

import synthesis
from engines import BUILD, run
from lab.command import HOPWRIGHT, ROOT

SCION = "p4/scion/border_router.p4"
SMALL = ["-D", "PROFILE_ECP5", "-D", "NO_EPIC", "-D", "NO_OTHER_KEYS", "-D", "NO_ONE_HOP", "-D", "NO_IPV6", "--gap", "12"]
# Program, target, bits of the bus, further arguments.
DESIGNS = {
    "l2-256": ("examples/l2.p4", "ecp5-85-256", 256, []),
    "l2-512": ("examples/l2.p4", "ecp5-85-512", 512, []),
    "l3-256": ("examples/l3.p4", "ecp5-85-256", 256, []),
    "l3-512": ("examples/l3.p4", "ecp5-85-512", 512, []),
    "validator-256": ("p4/validator/validator.p4", "ecp5-85-256", 256, []),
    "validator-512": ("p4/validator/validator.p4", "ecp5-85-512", 512, []),
    "scion-256": (SCION, "ecp5-85-256", 256, SMALL),
    "scion-512": (SCION, "ecp5-85-512", 512, SMALL),
}


def row(label, seeds):
    program, target, bus, arguments = DESIGNS[label]
    # 160 MHz are 41 Gbit/s with 256 bits, 126 MHz are 64 Gbit/s with 512.
    aims = {"megahertz": 160, "needed": 160 if bus == 256 else 126} if program == SCION else {"megahertz": 180}
    folder = BUILD / f"design-{label}"
    said = run(HOPWRIGHT, "rtl", ROOT / program, "--target", target, *arguments, "-o", folder)
    stages = re.search(r"(\d+) stages", said).group(1)
    name = (ROOT / program).stem
    luts, registers, memories, multipliers, clocks = synthesis.place(
        label, name, [], sorted(folder.glob("*.sv")), range(1, seeds + 1), **aims)
    reached = ", ".join(f"{clock:.0f} ({clock * bus / 1000:.0f})" for clock in clocks)
    return [label, luts, registers, memories, multipliers, stages, reached]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(DESIGNS))
    arguments = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    os.chdir(BUILD)
    print("| design | LUT | FF | block RAM | multipliers | stages | MHz (Gbit/s) by seed |")
    print("| --- | --- | --- | --- | --- | --- | --- |", flush=True)
    failed = 0
    for name in arguments.names or DESIGNS:
        try:
            print("| " + " | ".join(map(str, row(name, arguments.seeds))) + " |", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"| {name} | {error} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
