"""Checks that the SCION border router takes packets at line rate: back to back, of each kind and a mix of all, none is lost, and each takes
as many cycles as it has words of the bus, or as the pipeline needs between two packets if that is more.

HOPWRIGHT is the command to use. The simulation must have been built (`hopwright rtl p4/scion/border_router.p4 --simulation`).
"""

import json
import os
import subprocess
import sys

from engines import HERE

HOPWRIGHT = os.environ.get("HOPWRIGHT", HERE.parent.parent / "target/release/hopwright")
PROGRAM = HERE.parent.parent / "p4/scion/border_router.p4"
WORD = 64  # Bytes of the bus of ecp5-85-512, which is simulated.
SLACK = 0.05  # Filling the pipeline counts, too.


def command(*arguments):
    """What a command of Hopwright prints as JSON."""
    return json.loads(subprocess.run([HOPWRIGHT, *arguments], check=True, stdout=subprocess.PIPE).stdout)


def main():
    gap = command("rtl", PROGRAM, "--report=json")["gap"]
    failed = 0
    for record in command("bench", "scion", "--engine", "rtl", "--size", "512,1500", "--json"):
        wanted = max(gap, -(-record["size"] // WORD))
        good = record["dropped"] == 0 and record["cycles_per_packet"] <= wanted + SLACK
        failed += not good
        print(f"{'pass' if good else 'FAIL'}  {record['case']}, {record['size']:.0f} bytes: {record['cycles_per_packet']:.3f} cycles a packet of "
              f"{wanted:.0f}, {record['dropped']} lost, {record['latency_cycles']} cycles of latency")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
