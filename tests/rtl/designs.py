"""Checks that whole designs are clean: verilator with all warnings finds nothing but what `waivers.vlt` waives, and yosys finds no
latch, no combinational loop, and no signal that nothing or several things drive. Each is checked in the shell of its target, which
contains it.

`designs.py [NAME…]` checks the designs below, without names those that are small. HOPWRIGHT is the command to use.
"""

import os
import pathlib
import shutil
import sys
import time

from engines import BUILD, HERE, run

ROOT = HERE.parent.parent
HOPWRIGHT = os.environ.get("HOPWRIGHT", ROOT / "target/release/hopwright")
# Program, target, the shell of the target.
SMALL = {
    "l2-ecp5": ("examples/l2.p4", "ecp5-85-256", "ecp5"),
    "l3-corundum": ("examples/l3.p4", "xcup-512", "corundum"),
    "acl-ecp5": ("p4/bench/acl.p4", "ecp5-85-256", "ecp5"),
    "recirculate-ecp5": ("tests/stf/recirculate_grows.p4", "ecp5-85-512", "ecp5"),
}
LARGE = {
    "validator-ecp5": ("p4/validator/validator.p4", "ecp5-85-512", "ecp5"),
    "scion-ecp5": ("p4/scion/border_router.p4", "ecp5-85-512", "ecp5"),
}
DESIGNS = SMALL | LARGE


def check(top, folder):
    """Yosys reads a design and checks it."""
    from pyosys import libyosys

    files = " ".join(str(f) for f in sorted(pathlib.Path(folder).glob("*.sv")))
    design = libyosys.Design()
    for command in (f"read_verilog -sv {files}", f"hierarchy -check -top {top}", "proc -norom", "check -assert",
                    "select -assert-none t:$dlatch t:$_DLATCH_*", "flatten", "check -assert"):
        libyosys.run_pass(command, design)


def main():
    if sys.argv[1:2] == ["--check"]:
        return check(*sys.argv[2:])
    failed = 0
    for label in sys.argv[1:] or SMALL:
        program, target, shell = DESIGNS[label]
        begin = time.monotonic()
        folder = BUILD / f"clean-{label}"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            run(HOPWRIGHT, "rtl", ROOT / program, "--target", target, "-o", folder)
            top = f"{pathlib.Path(program).stem}_{shell}"
            run("verilator", "--lint-only", "-Wall", "-sv", "--top-module", top, "-y", folder, HERE / "waivers.vlt", folder / f"{top}.sv")
            run(sys.executable, __file__, "--check", top, folder)
        except RuntimeError as error:
            failed += 1
            print(f"{label}: FAILED\n{error}")
        else:
            print(f"{label}: {time.monotonic() - begin:.1f} s")
    print(f"designs: {len(sys.argv[1:] or SMALL) - failed} clean, {failed} not")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
