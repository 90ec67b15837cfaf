"""os-ken's switch tester, with Open vSwitch on its other side."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import phrases
from suite import Job, Suite, Unavailable

HERE = Path(__file__).resolve().parents[1]
OPENFLOW = HERE.parent / "openflow"
TESTS = "os_ken/tests/switch/of13"
# Files that share a lab.
TOGETHER = 4
# Seconds for each test; those that fail wait for three. Those of groups and meters send for thirty.
PATIENCE = 8
SENDING = 40
# Errors by type and code, as OpenFlow 1.3 (A.4.4) names them.
ERRORS = {(2, 0): "OFPBAC_BAD_TYPE", (2, 13): "OFPBAC_BAD_SET_TYPE", (4, 6): "OFPBMC_BAD_FIELD", (4, 7): "OFPBMC_BAD_VALUE", (4, 8): "OFPBMC_BAD_MASK",
          (4, 9): "OFPBMC_BAD_PREREQ", (12, 8): "OFPMMFC_BAD_BAND", (12, 10): "OFPMMFC_OUT_OF_METERS"}
OUTCOME = re.compile(r"^    (.+?) +(OK|ERROR)$")


class OsKen(Suite):
    name = "os-ken"
    title = "os-ken: the switch tester"
    repository = "openstack/os-ken"
    target: str | None = None
    counts = """The tests of os_ken/tests/switch/of13: actions, groups, matches and meters of OpenFlow 1.3, with the tester of os-ken 1.4.0, the last one that has it as a
        command, and Open vSwitch as the switch that it tests with."""

    def found_in(self, checkout):
        return (checkout / TESTS).is_dir()

    def label(self, case):
        return ": ".join(case.split(": ")[:2])

    def jobs(self, checkout):
        files = sorted((checkout / TESTS).rglob("*.json"))
        batches = [files[at:at + TOGETHER] for at in range(0, len(files), TOGETHER)]
        return [Job([name for file in batch for name in names(file)], lambda b=batch: self.run_batch(b)) for batch in batches], {}

    def run_batch(self, files):
        if not shutil.which("ovs-vswitchd") or not (OPENFLOW / ".venv/bin/python").exists():
            raise Unavailable("run tests/openflow/setup.sh first")
        wanted = [name for file in files for name in names(file)]
        with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
            tests = Path(folder) / "tests"
            tests.mkdir()
            for at, file in enumerate(files):
                shutil.copy(file, tests / f"{at:02}.json")
            sending = [file for file in files if file.parent.name in ("group", "meter")]
            seconds = 60 + PATIENCE * len(wanted) + SENDING * sum(len(names(file)) for file in sending)
            settings = {"target": self.target or str(self.hopwright.path), "tests": str(tests), "folder": folder, "seconds": seconds}
            command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, HERE / "openflow_lab.py", json.dumps(settings)]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, timeout=seconds + 120)
        # The tester runs the files in the order of their names, and the tests in the order of the file.
        found = outcomes(done.stdout)
        return dict(zip(wanted, found)) | {name: "did not run" for name in wanted[len(found):]}


class Peer(OsKen):
    name = "os-ken-openvswitch"
    title = "os-ken: Open vSwitch as the switch under test"
    target = "openvswitch"
    counts = """The same tests of Open vSwitch, with its datapath in user space: how a well-known switch does."""


def names(file: Path) -> list[str]:
    """The tests of a file, with the file's title."""
    title, *tests = json.loads(file.read_text())
    found = []
    for test in tests:
        name = f"{title}: {test['description']}"
        found.append(name if name not in found else f"{name} ({sum(n.startswith(name) for n in found) + 1})")
    return found


def outcomes(said: str) -> list[str | None]:
    """Why each test failed, or None, in the order of the tests."""
    found, lines = [], said.partition("--- Test start ---")[2].partition("--- Test report ---")[0].splitlines()
    for at, line in enumerate(lines):
        if match := OUTCOME.match(line):
            detail = lines[at + 1].strip() if at + 1 < len(lines) else ""
            found.append(None if match[2] == "OK" else kind(detail))
    return found


def kind(detail: str) -> str:
    """A failure without the packets and flows that it names."""
    error = re.search(r"OFPErrorMsg\[type=0x(\w+), code=0x(\w+)\]", detail)
    if error:
        code = int(error[1], 16), int(error[2], 16)
        return f"{detail.partition(':')[0]}: {ERRORS.get(code, f'error of type {code[0]}, code {code[1]}')}"
    return phrases.phrase(re.sub(r"(Added incorrect \w+|Received incorrect [\w-]+|unexpected throughput).*", r"\1", detail))


SUITES = [OsKen, Peer]
