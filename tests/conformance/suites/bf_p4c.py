"""Packet tests of Intel's compiler for Tofino, as it was published."""

from pathlib import Path

import sources
from suite import Suite, one

FOLDERS = ("stf", "jbay", "internal/stf", "internal/jbay")

# Their runner has the device's model.
MODEL = "--tofino-model"

# Folders with programs that compile, and may have packet tests.
PROGRAMS = (*FOLDERS, "compile_only", "internal/compile_only", "customer", "internal/customer")


def architecture(program: Path) -> str:
    names = " ".join(sources.included(program))
    # Some include files of several devices, by macros: Tofino 2 runs them.
    found = next((device for device in ("t2na", "t3na", "t5na", "tna") if device in names), None)
    return found or ("tna" if "tofino1_arch" in names else sources.architecture(program))


def options(root: Path, program: Path) -> list:
    """What the compiler needs for a program for Tofino 1 or 2; `root` is the folder of tests."""
    words = ["-I", root / "includes", "-I", root / "stf", "-I", root / "internal/stf", "-D",
             f"__TARGET_TOFINO__={2 if architecture(program) == 't2na' else 1}"]
    if any(name.startswith("tofino1_") for name in sources.included(program)):
        # These files are the compiler's own, in place of tna.p4.
        words += ["-I", root.parents[1] / "bf-p4c/p4include"]
    return words


def programs(checkout: Path):
    """(name, program, options) of the programs for Tofino 1 and 2."""
    root = checkout / "p4-tests/p4_16"
    for folder in PROGRAMS:
        pattern = "*/*.p4" if folder.endswith("customer") else "*.p4"
        for program in sorted((root / folder).glob(pattern)):
            if sources.is_program(program) and architecture(program) in ("tna", "t2na"):
                yield str(program.relative_to(root)), program, options(root, program)


class BfP4c(Suite):
    repository = "p4lang/bf-p4c"

    def found_in(self, checkout):
        return (checkout / "p4-tests/p4_16").is_dir()


class Programs(BfP4c):
    name = "bf-p4c-programs"
    title = "bf-p4c: programs for Tofino"
    counts = """Programs for TNA and T2NA in p4-tests/p4_16 that have packet tests, that are compiled only, or that customers reported. They pass if `hopwright
        check` takes them."""

    def jobs(self, checkout):
        return [one(name, lambda p=program, o=words: self.hopwright.accepts(p, *o)) for name, program, words in programs(checkout)], {}


class Stf(BfP4c):
    name = "bf-p4c-stf"
    title = "bf-p4c: packet tests for Tofino"
    counts = """The packet tests (STF) in p4-tests/p4_16/stf, jbay, internal/stf and internal/jbay beside programs for TNA or T2NA. Later commits, and
        p4c, which has the compiler today, do not have these tests: the branch hanw/update-p4c-v1.2.4.16 does."""

    def jobs(self, checkout):
        root, jobs, left_out = checkout / "p4-tests/p4_16", [], {}
        for folder in FOLDERS:
            for test in sorted((root / folder).glob("*.stf")):
                program = test.with_suffix(".p4")
                if not program.exists():
                    why = "without a program of that name"
                elif (target := architecture(program)) not in ("tna", "t2na"):
                    why = f"for {target}"
                else:
                    name, words = str(test.relative_to(root).with_suffix("")), options(root, program)
                    jobs.append(one(name, lambda p=program, t=test, o=words: self.hopwright.packet_test(p, t, MODEL, *o)))
                    continue
                left_out[why] = left_out.get(why, 0) + 1
        return jobs, left_out


SUITES = [Programs, Stf]
