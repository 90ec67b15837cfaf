"""Checks that whole designs are clean: verilator with all warnings finds nothing but what `waivers.vlt` waives, and yosys finds no
latch, no combinational loop, and no signal that nothing or several things drive. Each is checked in the shell of its target, which
contains it. Then a design runs in its own testbench, on the packets of a packet test.

`designs.py [NAME…]` checks the designs below, without names those that are small. HOPWRIGHT is the command to use.
"""

import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

from engines import BUILD, HERE, run
from lab.command import HOPWRIGHT, ROOT

sys.path.insert(0, str(HERE / "corundum"))
import app_block  # noqa: E402

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
    "openflow-ecp5": ("p4/router/openflow.p4", "ecp5-85-512", "ecp5"),
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


def expect(true, what):
    if not true:
        raise RuntimeError(what)


def write_capture(file, frames):
    records = (struct.pack("<4I", 0, number, len(frame), len(frame)) + frame for number, frame in enumerate(frames))
    file.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))


def read_capture(file):
    data, at, frames = file.read_bytes(), 24, []
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        frames.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return frames


def testbench(name):
    """What the makefile of a design does with a capture: what leaves, and waveforms with names of the program. Entries are written before.
    The name of the program's file is no identifier."""
    design, source = BUILD / f"testbench-{name}", BUILD / f"testbench-{name}-source"
    folder = design / "simulation"
    for path in (design, source):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(ROOT / "tests/stf/frame", source / "frame")
    shutil.copy(ROOT / f"tests/stf/{name}.p4", source / f"{name}-1.p4")
    run(HOPWRIGHT, "rtl", source / f"{name}-1.p4", "--target", "ecp5-85-256", "-o", design)
    others = sorted(file.name for file in design.iterdir() if file.suffix not in (".sv", ".json"))
    expect(others == [".hopwright-files", "simulation"], f"beside the design are {others}")
    script = [line.split() for line in (ROOT / f"tests/stf/{name}.stf").read_text().splitlines()]
    frames = [bytes.fromhex("".join(words[2:])) for words in script if words[:1] == ["packet"]]
    wanted = [bytes.fromhex("".join(words[2:-1])) for words in script if words[:1] == ["expect"]]
    # Its name is nearly that of an output; those of an earlier run are removed.
    write_capture(folder / "out-in.pcap", frames)
    write_capture(folder / "out7.pcap", [])
    # Whatever is written to the status clears it.
    (folder / "entries.txt").write_text("w 3010 0\ni 3010\n")
    environment = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}

    def make(*arguments):
        return subprocess.run(["make", "-s", "-C", folder, "WAVES=1", *arguments], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    done = make("PCAP=out-in.pcap", "PORT=1", "ENTRIES=entries.txt")
    expect(done.returncode == 0, done.stdout)
    found = read_capture(folder / "out1.pcap")
    expect(found == wanted, f"{[f.hex() for f in found]} leave, not {[f.hex() for f in wanted]}")
    captures = sorted(file.name for file in folder.glob("out*.pcap"))
    expect(captures == ["out-in.pcap", "out1.pcap"], f"packets leave by port 1 only, and there are {captures}")
    signals = re.findall(r"\$var wire +\d+ \S+ (\w+)", (folder / "waves.vcd").read_text())
    expect(any(re.fullmatch(r"hdr_data_\w+_s\d+", signal) for signal in signals), f"no field is among {len(signals)} signals")
    for port in ("eth1", "600"):
        done = make("PCAP=out-in.pcap", f"PORT={port}")
        expect(done.returncode != 0 and f"port `{port}` is no number" in done.stdout, f"port {port}: {done.stdout}")
    make("clean")
    expect([file.name for file in folder.glob("out*.pcap")] == ["out-in.pcap"], "outputs are removed, and no input")


def entries():
    """A testbench begins with the entries of a packet test."""
    design, folder = BUILD / "testbench-entries", BUILD / "testbench-entries/simulation"
    shutil.rmtree(design, ignore_errors=True)
    run(HOPWRIGHT, "rtl", ROOT / "examples/l3.p4", "--target", "ecp5-85-256", "--entries", ROOT / "examples/l3.stf", "-o", design)
    script = [line.split() for line in (ROOT / "examples/l3.stf").read_text().splitlines()]
    write_capture(folder / "in.pcap", [bytes.fromhex("".join(words[2:])) for words in script if words[:1] == ["packet"]])
    run("env", "-u", "MAKEFLAGS", "make", "-s", "-C", folder, "PCAP=in.pcap")
    for port in ("1", "2"):
        wanted = [bytes.fromhex("".join(words[2:-1])) for words in script if words[:2] == ["expect", port]]
        found = read_capture(folder / f"out{port}.pcap")
        expect(found == wanted, f"port {port}: {[f.hex() for f in found]} leave, not {[f.hex() for f in wanted]}")


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
            if shell == "corundum":
                top = "mqnic_app_block"
                expect(app_block.is_that_of_the_commit(folder / f"{top}.sv"), f"the interface is not that of Corundum's commit {app_block.COMMIT}")
            run("verilator", "--lint-only", "-Wall", "-sv", "--top-module", top, "-y", folder, HERE / "waivers.vlt", folder / f"{top}.sv")
            run(sys.executable, __file__, "--check", top, folder)
        except RuntimeError as error:
            failed += 1
            print(f"{label}: FAILED\n{error}")
        else:
            print(f"{label}: {time.monotonic() - begin:.1f} s")
    print(f"designs: {len(sys.argv[1:] or SMALL) - failed} clean, {failed} not")
    if not sys.argv[1:]:
        testbench("comparisons")
        entries()
        print("testbench: passed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
