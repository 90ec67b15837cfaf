"""Suites of PTF tests: which there are, and how one runs against our switch in a network namespace of its own."""

import ast
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import phrases
from suite import Ran, Suite, Unavailable

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv/bin"
PYTHON = VENV / "python"
# With a module before it, which is left out.
RAISED = re.compile(r"^(?:[\w.]*\.)?(\w*(?:Error|Exception|Rendezvous))(?:: (.*))?$")


def tests_in(file: Path) -> list[str]:
    """The test classes of a file: those with a `runTest`, their own or of a class in the same file."""
    classes = {node.name: node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)}

    def runs(node):
        own = any(isinstance(member, ast.FunctionDef) and member.name == "runTest" for member in node.body)
        return own or any(isinstance(base, ast.Name) and base.id in classes and runs(classes[base.id]) for base in node.bases)

    return [name for name, node in classes.items() if runs(node)]


def virtual_environment():
    if not PYTHON.exists():
        raise Unavailable(f"run {HERE.relative_to(HERE.parents[1])}/setup.sh first")
    if os.geteuid() != 0:
        raise Unavailable("it needs root, for network namespaces")


class PtfSuite(Suite):
    """Tests that send packets to a switch by PTF, and control it by BfRuntime or P4Runtime."""

    # Seconds a case may take.
    timeout = 120

    def run_one(self, test_folder: Path, test: str, switch: list, server: tuple, ports: list[int], parameters: dict, path: list,
                attach: bool = True, names: list | None = None, said: list | None = None) -> str | None:
        """Runs one test of a folder. Why it fails, or None. Without `attach` the switch finds its ports by itself. `names` are those of the
        devices, the switch's and PTF's of each port, if they matter; `said` is what PTF is given about each port besides."""
        virtual_environment()
        folder = Path(tempfile.mkdtemp(prefix="conformance-"))
        try:
            given = ";".join(f"{key}={value!r}" for key, value in parameters.items())
            ptf = [PYTHON, VENV / "ptf", "--test-dir", test_folder, "--test-params", given, "--log-dir", folder / "ptf", test]
            settings = json.dumps({
                "switch": [str(word) for word in switch], "server": server, "ports": ports, "ptf": [str(word) for word in ptf],
                "path": [str(p) for p in path], "folder": str(folder), "attach": attach, "names": names, "said": said})
            command = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, HERE / "ptf_network.py", settings]
            return self.outcome(command, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def outcome(self, command, folder):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            said = process.communicate(timeout=self.timeout)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return f"not finished after {self.timeout} s"
        log = folder / "switch.log"
        log = log.read_text(errors="replace") if log.exists() else ""
        if "panicked at" in log:
            return phrases.reason(Ran(101, "", log))
        if process.returncode == 3:
            return f"the switch does not start: {phrases.reason(Ran(1, '', log))}"
        if process.returncode == 0 and "\nOK" in said:
            return "skips itself" if re.search(r"OK \(skipped=", said) else None
        if os.environ.get("CONFORMANCE_SHOW"):
            print(said, log, file=sys.stderr)
        return raised(said)


def raised(said: str) -> str:
    """The phrase for what PTF printed: the last exception of the traceback, with what the switch said of the request."""
    lines = [line for line in said.splitlines() if line.strip()]
    found = [(at, match) for at, line in enumerate(lines) if (match := RAISED.match(line))]
    if not found:
        return phrases.phrase(lines[-1]) if lines else "no output"
    at, match = found[-1]
    kind, message = match.groups()
    details = [d[1] for line in lines if (d := re.search(r"\bdetails(?: =|:) ?\"?([^\"\n]+)", line))]
    refused = [d[1] for line in lines if (d := re.search(r"At index \d+: \w+, '(.+)'", line))]
    if kind == "AssertionError":
        # One without words is named by what the test logged before it, or by the line that raised it.
        logged = [line for line in said.partition("\n====")[0].splitlines() if re.match(r"error\b", line, re.IGNORECASE)]
        raised_by = [line.strip() for line in lines[:at] if line.strip(" ^~")]
        return phrases.phrase(message or (logged or [f"assertion: {raised_by[-1]}"])[-1])
    if refused or details:
        return phrases.phrase(f"{kind}: {(refused or details)[-1]}")
    return phrases.phrase(f"{kind}: {message}" if message else kind)
