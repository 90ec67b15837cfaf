"""The P4 programs of SONiC's PINS: SAI's pipeline for several platforms, and programs of its tools."""

import p4info
import sources
from suite import Suite, one

# Macros of the platforms for which PINS compiles SAI's pipeline.
PLATFORMS = {"": (), "bmv2": ("PLATFORM_BMV2",), "p4symbolic": ("PLATFORM_P4SYMBOLIC",)}
SAI = "sai_p4/instantiations/google"


class Pins(Suite):
    repository = "sonic-net/sonic-pins"

    def found_in(self, checkout):
        return (checkout / SAI).is_dir() and (checkout / "p4_symbolic").is_dir()


class Programs(Pins):
    name = "pins-programs"
    title = "PINS: programs"
    counts = """All programs of the repository, those of sai_p4/instantiations for the platforms without a name, bmv2 and p4symbolic. They pass if
        `hopwright check` takes them."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for program in sorted(checkout.rglob("*.p4")):
            name = program.relative_to(checkout)
            if not sources.is_program(program):
                left_out["without a `main`"] = left_out.get("without a `main`", 0) + 1
                continue
            for platform, macros in PLATFORMS.items() if str(name.parent) == SAI else [("", ())]:
                options = [f"-D{macro}" for macro in macros]
                full = f"{name} for {platform}" if platform else str(name)
                jobs.append(one(full, lambda p=program, o=options: self.hopwright.accepts(p, *o)))
        return jobs, left_out


class P4Info(Pins):
    name = "pins-p4info"
    title = "PINS: P4Info"
    counts = """The P4Info files that lie beside programs of sai_p4/instantiations. `hopwright p4info` must write the same, as for p4c, but for
        initial default actions: the files are of an older p4c, which does not write any."""

    def jobs(self, checkout):
        jobs = []
        for expected in sorted((checkout / SAI).glob("*.p4info.pb.txt")):
            program = expected.with_name(expected.name.removesuffix(".p4info.pb.txt") + ".p4")
            if program.exists():
                jobs.append(one(program.name, lambda p=program, e=expected: p4info.difference(self.hopwright, p, e.read_text(), newer=("initial_default_action",))))
        return jobs, {}


SUITES = [Programs, P4Info]
