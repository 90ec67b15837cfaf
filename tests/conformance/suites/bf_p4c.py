"""Packet tests of Intel's compiler for Tofino, as it was published."""

import sources
from suite import Suite, one

FOLDERS = ("stf", "jbay", "internal/stf", "internal/jbay")


class Stf(Suite):
    name = "bf-p4c-stf"
    title = "bf-p4c: packet tests for Tofino"
    repository = "p4lang/bf-p4c"
    counts = """The packet tests (STF) in p4-tests/p4_16/stf, jbay, internal/stf and internal/jbay beside programs for TNA or T2NA. Later commits, and
        p4c, which has the compiler today, do not have these tests: the branch hanw/update-p4c-v1.2.4.16 does."""

    def found_in(self, checkout):
        return (checkout / "p4-tests/p4_16").is_dir()

    def jobs(self, checkout):
        root, jobs, left_out = checkout / "p4-tests/p4_16", [], {}
        options = ["-I", root / "includes", "-I", root / "stf", "-I", root / "internal/stf"]
        for folder in FOLDERS:
            for test in sorted((root / folder).glob("*.stf")):
                program = test.with_suffix(".p4")
                if not program.exists():
                    why = "without a program of that name"
                elif (architecture := self.architecture(program)) not in ("tna", "t2na"):
                    why = f"for {architecture}"
                else:
                    target = ["-D", f"__TARGET_TOFINO__={2 if architecture == 't2na' else 1}"]
                    if any(name.startswith("tofino1_") for name in sources.included(program)):
                        # These files are the compiler's own, in place of tna.p4.
                        target += ["-I", checkout / "bf-p4c/p4include"]
                    name = str(test.relative_to(root).with_suffix(""))
                    jobs.append(one(name, lambda p=program, t=test, o=target: self.hopwright.packet_test(p, t, *options, *o)))
                    continue
                left_out[why] = left_out.get(why, 0) + 1
        return jobs, left_out

    def architecture(self, program):
        names = " ".join(sources.included(program))
        if "t2na" in names:
            return "t2na"
        if "t3na" in names:
            return "t3na"
        if "tna" in names or "tofino1_arch" in names:
            return "tna"
        return sources.architecture(program)


SUITES = [Stf]
