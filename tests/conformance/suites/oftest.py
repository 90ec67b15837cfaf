"""Floodlight's OFTest, a test suite for OpenFlow switches."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ptf

import phrases
from suite import Job, Suite, Unavailable

# OFTest needs Python 2.7, with the Scapy of its time.
PYTHON2 = os.environ.get("PYTHON2", "python2")
LIBRARIES = ptf.HERE / ".python2"
CONTROLLER, LISTEN = 6653, 6654
# Tests that share a switch.
TOGETHER = 8
PORTS = [1, 2, 3, 4]
# Extensions of other vendors.
VENDORS = ("bsn_", "nicira_")
CLASS = re.compile(r"((?:^@.*\n)*)^class (\w+)\((.*)\):\n((?:[ \t].*\n|\s*\n|#.*\n)*)", re.MULTILINE)
VERDICT = re.compile(r"^(\w+\.\w+) \.\.\. (ok|FAIL|ERROR|skipped.*)$", re.MULTILINE)


class OfTest(Suite):
    repository = "floodlight/oftest"
    folder: str
    version: str

    def found_in(self, checkout):
        return (checkout / "oft").is_file() and (checkout / self.folder).is_dir()

    def jobs(self, checkout):
        jobs, left_out = [], {}
        for file in sorted((checkout / self.folder).glob("*.py")):
            tests = standard_tests(file)
            if file.stem.startswith(VENDORS):
                left_out["of vendors' extensions"] = left_out.get("of vendors' extensions", 0) + len(tests)
            else:
                names = [f"{file.stem}.{test}" for test in tests]
                for batch in (names[at:at + TOGETHER] for at in range(0, len(names), TOGETHER)):
                    jobs.append(Job(batch, lambda b=batch: self.run_batch(checkout, b)))
        return jobs, left_out

    def run_batch(self, checkout, tests):
        if not (LIBRARIES / "scapy").exists() or not shutil.which(PYTHON2):
            raise Unavailable("it needs Python 2.7: run tests/conformance/setup.sh with PYTHON2")
        seconds = 90 + 25 * len(tests)
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            oft = [PYTHON2, checkout / "oft", "-V", self.version, "-H", "127.0.0.1", "-p", CONTROLLER, "--log-file", f"{folder}/oft.log", *tests]
            # The controller comes anew for each test. The switch listens, too, so that one sees that it runs.
            switch = [self.hopwright.path, "openflow", "--controller", f"tcp:127.0.0.1:{CONTROLLER}", "--listen", f"ptcp:{LISTEN}", "--version", self.version]
            settings = json.dumps({
                "switch": [str(word) for word in switch], "server": ("127.0.0.1", LISTEN), "ports": PORTS, "device": "",
                "ptf": [str(word) for word in oft], "path": [str(LIBRARIES)], "folder": folder})
            command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, ptf.HERE / "ptf_network.py", settings]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=seconds)
                said = done.stdout.decode(errors="replace")
            except subprocess.TimeoutExpired as late:
                said = (late.stdout or b"").decode(errors="replace")
        return verdicts(said)


def standard_tests(file: Path) -> list[str]:
    """The test classes that run unless others are asked for. The files are Python 2: they are searched, not parsed."""
    classes = {}
    for decorators, name, bases, body in CLASS.findall(file.read_text() + "\n"):
        classes[name] = re.findall(r"\w+", bases), "def runTest(" in body, "disabled" in decorators or "nonstandard" in decorators

    def runs(name):
        bases, own, _ = classes.get(name, ((), False, False))
        return own or any(runs(base) for base in bases if base != name)

    return [name for name, (_, _, other) in classes.items() if runs(name) and not other]


def verdicts(said: str) -> dict[str, str | None]:
    """Why each test that ran failed, or None."""
    found = {}
    for name, verdict in VERDICT.findall(said):
        found[name] = None if verdict == "ok" else verdict if verdict.startswith("skipped") else "failed"
    for report in re.split(r"^={20,}$", said, flags=re.MULTILINE)[1:]:
        if match := re.match(r"\n(?:FAIL|ERROR): (\w+\.\w+)\n", report):
            raised = [line for line in report.splitlines() if ptf.RAISED.match(line)]
            found[match[1]] = phrases.phrase(re.sub(r"^AssertionError: ", "", raised[-1])) if raised else "failed"
    return found


class Version10(OfTest):
    name = "oftest-1.0"
    title = "OFTest: OpenFlow 1.0"
    folder, version = "tests", "1.0"
    counts = """The standard tests of the folder tests, for OpenFlow 1.0, without those of other vendors' extensions."""


class Version13(OfTest):
    name = "oftest-1.3"
    title = "OFTest: OpenFlow 1.3"
    folder, version = "tests-1.3", "1.3"
    counts = """The standard tests of the folder tests-1.3, for OpenFlow 1.3, without those of other vendors' extensions."""


SUITES = [Version13, Version10]
