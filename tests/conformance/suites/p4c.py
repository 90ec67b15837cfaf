"""p4c's tests."""

import functools
import re
from pathlib import Path

import p4info
import sources
from suite import Suite, one

SAMPLES = "testdata/p4_16_samples"


class P4c(Suite):
    repository = "p4lang/p4c"

    def found_in(self, checkout):
        return (checkout / "testdata/p4_16_samples_outputs").is_dir() and (checkout / "backends/p4test").is_dir() \
            and not (checkout / "bf-p4c").is_dir()


class PacketTests(P4c):
    """Packet tests beside programs of one architecture."""

    architecture: str

    def jobs(self, checkout):
        folder, jobs, left_out = checkout / SAMPLES, [], {}
        for test in sorted(folder.rglob("*.stf")):
            program = test.with_suffix(".p4")
            if not program.exists():
                why = "without a program of that name"
            elif (checkout / "testdata/extern_modules" / f"{test.stem}.cpp").exists():
                why = "with extern functions in a C++ module for BMv2"
            elif (architecture := sources.architecture(program)) != self.architecture:
                why = f"for {architecture}"
            else:
                name = str(program.relative_to(folder))
                jobs.append(one(name, lambda p=program, t=test: self.hopwright.packet_test(p, t)))
                continue
            left_out[why] = left_out.get(why, 0) + 1
        return jobs, left_out


class Stf(PacketTests):
    name = "p4c-stf"
    title = "p4c: packet tests for v1model"
    architecture = "v1model"
    counts = """The packet tests (STF) in testdata/p4_16_samples beside programs that include v1model.p4."""


class PsaStf(PacketTests):
    name = "p4c-psa-stf"
    title = "p4c: packet tests for PSA"
    architecture = "psa"
    counts = """The packet tests (STF) in testdata/p4_16_samples beside programs that include psa.p4."""


class P414(P4c):
    name = "p4c-p4-14"
    title = "p4c: packet tests of P4-14 programs"
    counts = """The packet tests (STF) in testdata/p4_14_samples, with the P4-16 program that p4c translates the P4-14 program to, in
        testdata/p4_14_samples_outputs."""

    def jobs(self, checkout):
        folder, jobs, left_out = checkout / "testdata/p4_14_samples", [], {}
        for test in sorted(folder.rglob("*.stf")):
            program = checkout / "testdata/p4_14_samples_outputs" / f"{test.stem}.p4"
            if program.exists():
                jobs.append(one(test.stem, lambda p=program, t=test: self.hopwright.packet_test(p, t)))
            else:
                left_out["without a translated program"] = left_out.get("without a translated program", 0) + 1
        return jobs, left_out


def with_p4info(checkout: Path):
    """(program, P4Info that p4c writes) of programs for v1model that lie in the samples' folder itself."""
    for path in sorted((checkout / "testdata/p4_16_samples_outputs").glob("*.p4info.txtpb")):
        program = checkout / SAMPLES / path.name.removesuffix(".p4info.txtpb")
        if program.exists() and 'arch: "v1model"' in path.read_text():
            yield program, path


def architectures(checkout: Path) -> list:
    """Options for the declarations of architectures that are not built in."""
    folders = ("p4include", "backends/ebpf/p4include", "backends/ubpf/p4include")
    return [word for folder in folders for word in ("-I", checkout / folder)]


@functools.cache
def included_only(folder: Path) -> set[str]:
    """Files that others include, by their names without `.p4`."""
    names = (name for path in folder.rglob("*.p4") for name in sources.INCLUDE.findall(sources.text(path)))
    return {Path(name).stem for name in names} & {path.stem for path in folder.rglob("*.p4")}


class Accept(P4c):
    name = "p4c-accept"
    title = "p4c: programs for v1model that p4c accepts"
    counts = """Programs in testdata/p4_16_samples of which p4c writes a P4Info for v1model. They pass if `hopwright check` takes them."""

    def jobs(self, checkout):
        return [one(p.name, lambda p=p: self.hopwright.accepts(p)) for p, _ in with_p4info(checkout)], {}


class Portable(P4c):
    name = "p4c-portable"
    title = "p4c: programs for PSA and PNA"
    counts = """Programs in testdata/p4_16_samples that include psa.p4 or pna.p4, those for DPDK too. They pass if `hopwright check` takes them, which
        means that they run."""

    def jobs(self, checkout):
        folder, jobs, left_out = checkout / SAMPLES, [], {}
        for program in sorted(folder.rglob("*.p4")):
            if sources.architecture(program).removeprefix("dpdk/") not in ("psa", "pna"):
                continue
            if sources.is_program(program):
                jobs.append(one(str(program.relative_to(folder)), lambda p=program: self.hopwright.accepts(p)))
            else:
                left_out["without a `main`"] = left_out.get("without a `main`", 0) + 1
        return jobs, left_out


class Programs(P4c):
    name = "p4c-programs"
    title = "p4c: programs for any architecture"
    counts = """All files in testdata/p4_16_samples, for any architecture, for packages of their own or without a `main`. They pass if `hopwright check`
        finds no error but that it does not run the package, or that there is no `main`. Declarations of architectures that are not built in come
        from p4c."""

    def jobs(self, checkout):
        folder, jobs, left_out = checkout / SAMPLES, [], {}
        for program in sorted(folder.rglob("*.p4")):
            if program.stem in included_only(folder):
                left_out["that other files include"] = left_out.get("that other files include", 0) + 1
            else:
                options = architectures(checkout)
                jobs.append(one(str(program.relative_to(folder)), lambda p=program: self.hopwright.types(p, *options)))
        return jobs, left_out


class Reject(P4c):
    name = "p4c-reject"
    title = "p4c: programs that p4c must reject"
    counts = """Files in testdata/p4_16_errors of which p4c reports an error. They pass if `hopwright check` reports an error, too."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for program in sorted((checkout / "testdata/p4_16_errors").glob("*.p4")):
            said = checkout / "testdata/p4_16_errors_outputs" / f"{program.name}-stderr"
            if said.exists() and re.search(r"\berror:", said.read_text(errors="replace")):
                jobs.append(one(program.name, lambda p=program: self.hopwright.refuses(p)))
            else:
                left_out["of which p4c reports warnings only"] = left_out.get("of which p4c reports warnings only", 0) + 1
        return jobs, left_out


class P4Info(P4c):
    name = "p4c-p4info"
    title = "p4c: P4Info"
    counts = """Programs for v1model in testdata/p4_16_samples whose P4Info, as p4c writes it, has an object. `hopwright p4info` must write the same:
        the order of objects and types is ignored, the order of fields, parameters and actions counts."""

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for program, expected in with_p4info(checkout):
            if p4info.has_objects(expected.read_text()):
                jobs.append(one(program.name, lambda p=program, e=expected: self.same(p, e)))
            else:
                left_out["with an empty P4Info"] = left_out.get("with an empty P4Info", 0) + 1
        return jobs, left_out

    def same(self, program, expected):
        return p4info.difference(self.hopwright, program, expected.read_text())


SUITES = [Stf, P414, Accept, Programs, Reject, P4Info, PsaStf, Portable]
