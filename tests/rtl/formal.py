"""Proves that skid buffers, FIFOs and arbiters neither lose nor duplicate nor reorder words, and never stop, and that delay lines give the
word of each packet in time: the modules in formal/ state it, yosys makes a circuit of each, and abc's property-directed reachability (IC3) proves its assertions without bound."""

import pathlib
import sys
import time

import pyosys
from engines import run
from pyosys import libyosys

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = HERE.parent.parent / "crates/targets/rtl/lib"
BUILD = HERE / "build"
ABC = pathlib.Path(pyosys.__file__).parent / "yosys-abc"
# Name, module, parameters, library modules.
PROOFS = [
    ("skid", "skid", "", ["hw_skid"]),
    ("fifo, distributed RAM", "fifo", "-chparam BLOCK 0", ["hw_fifo"]),
    ("fifo, block RAM", "fifo", "-chparam BLOCK 1", ["hw_fifo"]),
    ("arbiter", "arbiter", "", ["hw_arbiter", "hw_skid"]),
    ("delay line, distributed RAM", "delay", "-chparam BLOCK 0", ["hw_delay"]),
    ("delay line, block RAM", "delay", "-chparam BLOCK 1", ["hw_delay"]),
]


def circuit(aig, top, parameters, *modules):
    """Writes the circuit whose outputs are the assertions that fail."""
    files = [HERE / "formal" / f"{top}.sv", HERE / "formal/stream.sv", *(LIBRARY / f"{name}.sv" for name in modules)]
    design = libyosys.Design()
    for command in (
        f"read_verilog -sv -formal {' '.join(map(str, files))}", f"hierarchy -check -top {top} {parameters}", "proc", "flatten",
        "opt -full", "memory_map", "formalff -clk2ff -ff2anyinit", "async2sync", "chformal -assume -early", "chformal -lower",
        "setundef -undriven -anyseq", "opt -full", "techmap", "dffunmap", "opt -full", "aigmap",
        f"write_aiger -I -B -zinit {aig}",
    ):
        libyosys.run_pass(command, design)


def prove(top, parameters, modules):
    aig = BUILD / "proof.aig"
    run(sys.executable, __file__, "--circuit", aig, top, parameters, *modules)
    result = run(ABC, "-c", f"read_aiger {aig}; fold; strash; pdr")
    if "Property proved" not in result:
        raise RuntimeError(result[-2000:])


def main():
    if sys.argv[1:2] == ["--circuit"]:
        circuit(*sys.argv[2:])
        return 0
    BUILD.mkdir(exist_ok=True)
    failed = 0
    for name, top, parameters, modules in PROOFS:
        begin = time.monotonic()
        try:
            prove(top, parameters, modules)
            print(f"{name}: proved in {time.monotonic() - begin:.1f} s", flush=True)
        except RuntimeError as error:
            failed += 1
            print(f"{name}: NOT PROVED\n{error}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
