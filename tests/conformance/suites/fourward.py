"""The tests of 4ward, a simulator of v1model, PSA and PNA with P4Runtime."""

import itertools
import tempfile
from pathlib import Path

import phrases
import protobuf_text
import sources
import stf_dialect
from suite import Suite, one

TESTS = "e2e_tests"


class FourWard(Suite):
    repository = "smolkaj/4ward"

    def found_in(self, checkout):
        return (checkout / TESTS).is_dir() and (checkout / "simulator/ir.proto").is_file()

    def translated(self, program: Path, text: str, *options):
        """A test of 4ward as ours, or why there is none."""
        info = self.hopwright("p4info", program, *options)
        if info.code != 0:
            return None, phrases.reason(info)
        return stf_dialect.Dialect(info.out).test(text), None

    def passes(self, program: Path, text: str, *options) -> str | None:
        with tempfile.NamedTemporaryFile("w", suffix=".stf") as file:
            file.write(text)
            file.flush()
            return self.hopwright.packet_test(program, Path(file.name), *options)


class Stf(FourWard):
    name = "4ward-stf"
    title = "4ward: packet tests"
    counts = """The packet tests (STF) of e2e_tests, with programs that lie beside them, or with p4c's programs of the same names if there is a
        checkout of p4c. Their dialect of STF is translated to ours."""

    def jobs(self, checkout):
        p4c = next((c / "testdata/p4_16_samples" for c in self.checkouts if (c / "testdata/p4_16_samples").is_dir()), None)
        jobs, left_out = [], {}
        for test in sorted((checkout / TESTS).rglob("*.stf")):
            beside = test.with_suffix(".p4")
            program = beside if beside.exists() else p4c / beside.name if p4c and test.parent.name == "corpus" else None
            if test.with_name(f"{test.stem}.golden.txtpb").exists():
                why = "whose outcome is a trace (4ward-traces has them)"
            elif program is None or not program.exists():
                why = "of networks of several switches, or without p4c's program"
            elif (test.parent / "BUILD.bazel").exists() and f'"{test.stem}",\n' in stf_only(test.parent):
                why = "that expect the packets of all choices of an action selector at once"
            elif test.parent.name == "wide_port":
                why = "with ports of 16 bits, for another v1model.p4"
            else:
                jobs.append(one(str(test.relative_to(checkout / TESTS)), lambda p=program, t=test: self.run_test(p, t.read_text())))
                continue
            left_out[why] = left_out.get(why, 0) + 1
        return jobs, left_out

    def run_test(self, program, text):
        text, failure = self.translated(program, text)
        return failure or self.passes(program, text)


class Traces(FourWard):
    name = "4ward-traces"
    title = "4ward: packets of trace trees"
    counts = """The golden trace trees of e2e_tests/trace_tree: the packets that leave on any of the ways that 4ward finds, where each choice of an action
        selector is a way. A packet test passes if it sees the packets of one of these ways; events inside of the switch are not compared."""

    def jobs(self, checkout):
        jobs = []
        for golden in sorted((checkout / TESTS).rglob("*.golden.txtpb")):
            program = golden.with_name(golden.name.removesuffix(".golden.txtpb") + ".p4")
            if program.with_suffix(".stf").exists():
                jobs.append(one(program.stem, lambda p=program, g=golden: self.run_test(p, g)))
        return jobs, {}

    def run_test(self, program, golden):
        lines = program.with_suffix(".stf").read_text().splitlines()
        text, failure = self.translated(program, "\n".join(line for line in lines if not line.startswith("expect")))
        if failure:
            return failure
        tree = protobuf_text.parse(golden.read_text())
        for way in ways(tree):
            expected = "".join(f"expect {port} {payload.hex()} $\n" for port, payload in way)
            failure = self.passes(program, text + expected)
            if failure is None:
                return None
        return failure


def stf_only(folder: Path) -> str:
    """The list of tests without a golden trace in a build file."""
    build = (folder / "BUILD.bazel").read_text()
    return build.partition("_STF_ONLY = [")[2].partition("]")[0]


def ways(tree):
    """The packets that leave, (port, payload), on each way through a trace tree."""
    if "fork_outcome" in tree:
        fork = tree["fork_outcome"][0]
        branches = [list(ways(branch["subtree"][0])) for branch in fork.get("branches", [])]
        if fork.get("reason", ["CLONE"])[0] == "ACTION_SELECTOR":
            yield from itertools.chain(*branches)
        else:
            for chosen in itertools.product(*branches):
                yield list(itertools.chain(*chosen))
    elif "packet_outcome" in tree and "output" in tree["packet_outcome"][0]:
        sent = tree["packet_outcome"][0]["output"][0]
        yield [(sent.get("dataplane_egress_port", [0])[0], sent.get("payload", [b""])[0])]
    else:
        yield []


SUITES = [Stf, Traces]
