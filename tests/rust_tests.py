#!/usr/bin/env python3
"""Runs all Rust tests of the workspace, several test programs at a time, as `cargo test` would one after the other.

Many tests wait for devices, timers and each other's packets, and some programs have one long test: one program at a time leaves
the machine idle. Shows the output of programs that fail, and one line for each program: its seconds, and those of a processor.

Tests that only compute have no clock: however slowly they run, they pass. `--computing` runs these alone, `--waiting` the others.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
SELECTION = ["--workspace", "--profile", "bench"]
# They take longest and therefore start first.
LONG = ("dataplane it", "scion it", "rtl it", "jit it", "ports it", "ports hopwright_ports", "fuzz-targets it", "epic it", "syntax it",
        "ir it", "testgen it", "stf it")
# Crates and programs whose tests only compute, and the modules among them whose tests do more.
COMPUTING_CRATES = ("language", "compiler", "devtools")
COMPUTING = {"jit it": [], "jit hopwright_jit": [], "abi hopwright_abi": [], "rtl it": [], "bfruntime hopwright_bfruntime": [],
             "stf it": [], "stf hopwright_stf": [], "epic it": [], "scion it": [], "dataplane it": ["switch::", "tenants::"],
             "documentation": []}
# A line of a test, if times are asked for.
TIMED = re.compile(r"test (\S+) .*<([0-9.]+)s>$")


def programs() -> list[tuple[str, list[str], Path]]:
    """Builds the tests. Each program with its name, its command and where it runs."""
    build = subprocess.run([CARGO, "test", *SELECTION, "--no-run", "--message-format", "json-render-diagnostics"],
                           cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if build.returncode:
        sys.exit(build.returncode)
    found = []
    for line in build.stdout.splitlines():
        message = json.loads(line)
        if message["reason"] == "compiler-artifact" and message["executable"] and message["profile"]["test"]:
            folder = Path(message["manifest_path"]).parent
            found.append((f"{folder.name} {message['target']['name']}", [message["executable"]], folder))
    return found


def selected(program: tuple[str, list[str], Path], computing: bool) -> tuple[str, list[str], Path] | None:
    """That part of a program which computes only, or the rest of it."""
    name, command, folder = program
    if folder.parent.name not in COMPUTING_CRATES and name not in COMPUTING:
        return None if computing else program
    others = COMPUTING.get(name, [])
    if computing:
        return name, [*command, *(word for module in others for word in ("--skip", module))], folder
    return (f"{name}: {' '.join(others)}", [*command, *others], folder) if others else None


def run(command: list[str], folder: Path) -> tuple[int, str, float, float]:
    """How it ended, what it wrote, its seconds, and those of a processor."""
    begin = time.monotonic()
    environment = dict(os.environ)
    if command[0] != CARGO:
        # What Cargo sets for programs. Cargo itself must not see it: build scripts that depend on it would run again, and with them
        # much would be compiled again.
        environment |= {"CARGO": CARGO, "CARGO_MANIFEST_DIR": str(folder)}
    with tempfile.TemporaryFile() as output:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return child.returncode, text, time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="test programs at a time (default: one for each CPU)")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--computing", action="store_true", help="only tests that do nothing but compute")
    part.add_argument("--waiting", action="store_true", help="only the others")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="show the N tests that take longest")
    options = parser.parse_args()
    todo = programs()
    todo.append(("documentation", [CARGO, "test", *SELECTION, "--doc"], ROOT))
    todo.sort(key=lambda program: LONG.index(program[0]) if program[0] in LONG else len(LONG))
    if options.computing or options.waiting:
        todo = [part for program in todo if (part := selected(program, options.computing))]
    if options.slowest:
        # The library that runs tests tells their times to those who accept that this may change.
        os.environ["RUSTC_BOOTSTRAP"] = "1"
        todo = [(name, [*command, "-Zunstable-options", "--report-time"], folder) for name, command, folder in todo if command[0] != CARGO]
    failed, tests, times, show = [], 0, [], threading.Lock()

    def one(name: str, command: list[str], folder: Path) -> None:
        nonlocal tests
        status, output, seconds, processor = run(command, folder)
        results = [line for line in output.splitlines() if line.startswith("test result:")]
        passed = sum(int(line.split(" passed")[0].split()[-1]) for line in results)
        with show:
            tests += passed
            times.extend((float(found[2]), f"{name} {found[1]}") for line in output.splitlines() if (found := TIMED.match(line)))
            # Tests that were skipped say so.
            for line in output.splitlines():
                if "SKIPPED" in line:
                    print(line)
            if status or not results:
                failed.append(name)
                print(f"{output}\nFAILED: {name}")
            elif passed:
                print(f"{passed:5} passed, {seconds:6.1f} s, of a processor {processor:6.1f} s: {name}")
            sys.stdout.flush()

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in [pool.submit(one, *program) for program in todo]:
            result.result()
    for seconds, name in sorted(times, reverse=True)[:options.slowest]:
        print(f"{seconds:8.2f} s: {name}")
    print(f"{tests} tests passed, {len(todo)} programs, {time.monotonic() - begin:.0f} s")
    for name in failed:
        print(f"FAILED: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
