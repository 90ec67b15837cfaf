#!/usr/bin/env python3
"""Runs FRR's topotests: with the kernels of their routers, and with `hopwright ip` in place of these.

    topotests.py CHECKOUT [TEST...] [--write]

CHECKOUT is a folder with FRR's repository (github.com/FRRouting/frr) at the release that is installed, and TEST a file or folder below its
tests/topotests. Without tests, those of tests/ip/topotests.txt run. A test's functions that fail or are skipped with the kernels do not count.
Needs root, and what tests/ip/topotests_setup.sh installs. Exit status: 0 if all functions that pass with the kernels pass with `hopwright ip`,
each test has such functions, no router crashed, and, without TEST, fast paths forwarded packets; 1 otherwise.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree

from lab.command import ROOT, TARGET

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE / "topotests.txt"
TABLE = HERE / "topotests.md"
# A test's network, mounts and processes are its own, and end with it.
ALONE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
         'mount -t tmpfs tmpfs /run/netns && mount -t sysfs sysfs /sys && ip link set lo up && exec "$@"', "sh")
LIMIT = 1800
# Debian's, which has its packages of pytest and scapy.
PYTHON = "/usr/bin/python3"


@dataclasses.dataclass
class Outcome:
    """What became of a test's functions, by name, and of packets."""

    functions: dict[str, str]
    seconds: float
    # Which router reaches which address of another one when the test is over.
    reached: set[str] = dataclasses.field(default_factory=set)
    fast: int = 0
    kernel: int = 0
    crashed: int = 0

    def summary(self) -> str:
        found = collections.Counter(self.functions.values())
        return ", ".join(f"{found[name]} {name}" for name in ("passed", "failed", "skipped") if found[name]) or "did not run"


def verdict(case) -> str:
    kinds = {child.tag for child in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


def run(topotests: pathlib.Path, test: str, folder: pathlib.Path, hopwright: pathlib.Path | None) -> Outcome:
    """Runs a test in a folder of its own; with the kernels, if there is no `hopwright`."""
    folder.mkdir(parents=True)
    report, counts = folder / "report.xml", folder / "counts.json"
    environment = {key: value for key, value in os.environ.items() if key != "HOPWRIGHT"}
    environment |= {"TOPOTESTS": str(topotests), "COUNTS": str(counts), "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    if hopwright:
        environment["HOPWRIGHT"] = str(hopwright)
    pytest = [PYTHON, "-m", "pytest", "-p", "topotests_plugin", "-p", "no:cacheprovider", f"--rundir={folder}", f"--junitxml={report}", test]
    with (folder / "output").open("w") as output:
        try:
            subprocess.run([*ALONE, *map(str, pytest)], cwd=topotests, env=environment, stdout=output, stderr=output, stdin=subprocess.DEVNULL, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"not finished after {LIMIT} s", file=output)
    return outcome_in(folder)


def outcome_in(folder: pathlib.Path) -> Outcome:
    """What a run has left in its folder."""
    report, counts = folder / "report.xml", folder / "counts.json"
    outcome = Outcome({}, 0.0)
    if report.exists():
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            outcome.functions[f"{case.get('classname')}.{case.get('name')}"] = verdict(case)
            outcome.seconds += float(case.get("time", 0))
    for counted in json.loads(counts.read_text()) if counts.exists() else []:
        outcome.reached.update(counted.get("reached", []))
        outcome.kernel += counted.get("kernel", 0)
        outcome.fast += counted.get("reasons", {}).get("forwarded", 0)
        outcome.crashed += "crashed" in counted
    return outcome


def problems(found: dict[str, Outcome]) -> list[str]:
    """What is wrong with a test's outcomes, which are `linux` and `ours`, or one of them."""
    names = {"linux": "the kernels", "ours": "hopwright ip"}
    listed = [f"no function passes with {names[mode]}" for mode, outcome in found.items() if "passed" not in outcome.functions.values()]
    listed += [f"{outcome.crashed} routers crashed" for outcome in found.values() if outcome.crashed]
    return listed + (worse(found["linux"], found["ours"]) if len(found) == 2 else [])


def worse(linux: Outcome, ours: Outcome) -> list[str]:
    """Functions that pass with the kernels, and not with us; and addresses that are reached so."""
    functions = [name for name, found in linux.functions.items() if found == "passed" and ours.functions.get(name) != "passed"]
    return functions + [f"{pair} is not reached" for pair in sorted(linux.reached - ours.reached)]


def table(outcomes: dict[str, tuple[Outcome, Outcome]]) -> list[str]:
    lines = ["| test | Linux | `hopwright ip` | addresses reached | the same | packets by the fast path | by the kernel |",
             "| --- | --- | --- | ---: | ---: | ---: | ---: |"]
    for test, (linux, ours) in outcomes.items():
        lines.append(f"| {test} | {linux.summary()} | {ours.summary()} | {len(linux.reached)} | {len(linux.reached & ours.reached)} | {ours.fast} | {ours.kernel} |")
    return lines


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", metavar="CHECKOUT", type=pathlib.Path)
    parser.add_argument("tests", metavar="TEST", nargs="*")
    parser.add_argument("--hopwright", type=pathlib.Path, default=TARGET / "release/hopwright", metavar="PATH", help="the command under test")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("topotests"), metavar="FOLDER", help="for logs and outcomes; must be new")
    parser.add_argument("--only", choices=["linux", "ours"], help="run one of the two")
    parser.add_argument("--jobs", type=int, default=1, metavar="NUMBER", help="tests that run side by side")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}, a part of docs/conformance.md")
    given = parser.parse_args()
    if given.only and given.write:
        parser.error("--write needs both runs, and --only has one")
    return given


def main() -> int:
    given = arguments()
    topotests = given.checkout.resolve() / "tests/topotests"
    tests = given.tests or [line for line in TESTS.read_text().split("\n") if line and not line.startswith("#")]
    folder = given.folder.resolve()
    modes = {"linux": None, "ours": given.hopwright.resolve()}
    if given.only:
        modes = {given.only: modes[given.only]}

    def both(test: str) -> tuple[dict[str, Outcome], list[str]]:
        found = {mode: run(topotests, test, folder / mode / test.replace("/", "-"), command) for mode, command in modes.items()}
        linux, ours = (found.get(mode, Outcome({}, 0.0)) for mode in ("linux", "ours"))
        print(f"{test}: Linux {linux.summary()} in {linux.seconds:.0f} s, {len(linux.reached)} addresses reached; "
              f"hopwright ip {ours.summary()} in {ours.seconds:.0f} s, {len(ours.reached)} reached, {ours.fast} packets by the fast path, {ours.kernel} by the kernel", flush=True)
        wrong = problems(found)
        for problem in wrong:
            print(f"  FAILED {problem}", flush=True)
        return found, wrong

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(both, tests))
    outcomes = {test: tuple(found.get(mode, Outcome({}, 0.0)) for mode in ("linux", "ours")) for test, (found, _) in zip(tests, results)}
    lines = "\n".join(table(outcomes))
    print(lines)
    failed = any(wrong for _, wrong in results)
    if not results:
        print("FAILED: there are no tests")
        failed = True
    if not given.tests and "ours" in modes and not any(ours.fast for _, ours in outcomes.values()):
        print("FAILED: the fast paths forwarded nothing")
        failed = True
    if given.write and not failed:
        TABLE.write_text(lines + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
