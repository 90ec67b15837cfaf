"""Counts the LUTs in a row between registers that synthesis makes of designs for UltraScale+.

`levels.py [NAME…]` compiles each program below with `hopwright rtl --target xcup-512` and synthesizes it (`synth_xilinx`, family xcup).
It prints how many registers and memories have this many LUTs in front of them, the longest rows with the signals on them, and fails if
there are more than four LUTs in a row. Carry blocks and wide multiplexers are counted apart: they have no routing in front of them.
The number behind a signal's name is its stage; the design's SystemVerilog names the P4 line of each. HOPWRIGHT is the command to use.
"""

import argparse
import collections
import json
import re
import sys

from engines import BUILD, run
from lab.command import HOPWRIGHT, ROOT
from synthesis import APART, TOGETHER

SCION = "p4/scion/border_router.p4"
DESIGNS = {
    "l2": ["examples/l2.p4"],
    "l3": ["examples/l3.p4"],
    "validator": ["p4/validator/validator.p4"],
    "scion": [SCION, "-D", "PROFILE_ULTRASCALE"],
    "scion-small": [SCION, "-D", "PROFILE_ECP5", "-D", "NO_EPIC", "-D", "NO_OTHER_KEYS"],
}
COMBINATIONAL = ("LUT", "CARRY", "MUXF", "INV", "BUF")
MOST = 4  # LUTs in a row.
EXAMPLES = 3
WIRE = 3000  # The picoseconds that a wire takes for ABC: this many that it has as few LUTs in a row as it can, beside long carries too.


def synthesize(netlist, top, *sources):
    from pyosys import libyosys

    design = libyosys.Design()
    for command in (f"read_verilog -sv {' '.join(sources)}", f"hierarchy -top {top}", *APART,
                    f"synth_xilinx -family xcup -noiopad -flatten -abc9 -top {top} -run :map_luts",
                    "read_verilog -icells -lib -specify +/xilinx/abc9_model.v", f"abc9 -W {WIRE}", "clean", "xilinx_srl -fixed -minlen 3",
                    "techmap -map +/xilinx/lut_map.v -map +/xilinx/cells_map.v -map +/xilinx/ff_map.v -D LUT_WIDTH=6", "xilinx_dffopt",
                    *TOGETHER, f"select {top}", f"write_json -selected {netlist}"):
        libyosys.run_pass(command, design)


def passes_through(kind, port, output):
    """Whether an output of a cell depends on this input within a cycle, and the LUTs that this takes."""
    if kind.startswith(COMBINATIONAL):
        return int(kind.startswith("LUT"))
    # A memory's output depends on the address of its own port.
    if re.match(r"RAM\d+M", kind):
        return 1 if port == "ADDR" + output.removeprefix("DO") else None
    if re.match(r"RAM\d+X\d+[DS]", kind):
        return 1 if re.match("DPRA" if output == "DPO" else r"A\d*$", port) else None
    return None


def levels(netlist):
    """LUTs in front of each input of a register or memory, and the row of signals in front of the worst ones."""
    module = next(m for m in json.loads(netlist.read_text())["modules"].values() if m["attributes"].get("top"))
    names = {}
    for name, net in module["netnames"].items():
        for bit in net["bits"]:
            if bit not in names or (net["hide_name"], len(name)) < names[bit][:2]:
                names[bit] = (net["hide_name"], len(name), name)
    drivers, ends = {}, []
    for cell in module["cells"].values():
        kind = cell["type"]
        inputs = [(port, bit) for port, direction in cell["port_directions"].items() if direction == "input"
                  for bit in cell["connections"][port] if isinstance(bit, int)]
        outputs = [port for port, direction in cell["port_directions"].items() if direction == "output"]
        for output in outputs:
            through = [(bit, passes_through(kind, port, output)) for port, bit in inputs]
            for bit in cell["connections"][output]:
                drivers[bit] = [(b, n) for b, n in through if n is not None]
        if not kind.startswith(COMBINATIONAL):
            ends += [bit for _, bit in inputs]
    known = {}

    def level(start):
        """The LUTs that make a signal, without recursion: rows of carry blocks are long."""
        stack = [start]
        while stack:
            bit = stack[-1]
            missing = [b for b, _ in drivers.get(bit, ()) if b not in known]
            if bit not in known and missing:
                stack.extend(missing)
                continue
            known[bit] = max((known[b] + n for b, n in drivers.get(bit, ())), default=0)
            stack.pop()
        return known[start]

    counts = collections.Counter()
    worst = []
    for bit in set(ends):
        counts[level(bit)] += 1
        worst.append((known[bit], bit))
    worst.sort(reverse=True)

    def row(bit):
        signals = []
        while True:
            if bit in names:
                signals.append(names[bit][2])
            before = drivers.get(bit)
            if not before:
                return " <- ".join(signals)
            bit = max(before, key=lambda b: known[b[0]] + b[1])[0]

    return counts, [(count, row(bit)) for count, bit in worst[:EXAMPLES]]


def check(name):
    folder = BUILD / f"levels-{name}"
    program, *arguments = DESIGNS[name]
    run(HOPWRIGHT, "rtl", ROOT / program, "--target", "xcup-512", *arguments, "-o", folder)
    netlist = BUILD / f"levels-{name}.json"
    top = (ROOT / program).stem
    run(sys.executable, __file__, "--synthesize", netlist, top, *sorted(folder.glob("*.sv")))
    counts, worst = levels(netlist)
    print(f"{name}: " + ", ".join(f"{n} LUTs {counts[n]}" for n in sorted(counts)), flush=True)
    for count, row in worst:
        print(f"    {count}: {row}", flush=True)
    return max(counts) <= MOST


def main():
    if sys.argv[1:2] == ["--synthesize"]:
        return synthesize(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of " + ", ".join(DESIGNS))
    arguments = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    return int(not all([check(name) for name in arguments.names or DESIGNS]))


if __name__ == "__main__":
    sys.exit(main())
