#!/usr/bin/env python3
"""Runs all Rust tests of the workspace, several test programs at a time, as `cargo test` would one after the other.

Many tests wait for devices, timers and each other's packets, and some programs have one long test: one program at a time leaves
the machine idle. Shows the output of programs that fail, and one line for each program.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
SELECTION = ["--workspace", "--profile", "bench"]
# They take longest and therefore start first.
LONG = ("dataplane it", "scion it", "rtl it", "jit it", "ports it", "ports hopwright_ports", "fuzz-targets it", "epic it", "syntax it",
        "ir it")


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


def run(command: list[str], folder: Path) -> tuple[int, str, float]:
    begin = time.monotonic()
    environment = dict(os.environ)
    if command[0] != CARGO:
        # What Cargo sets for programs. Cargo itself must not see it: build scripts that depend on it would run again, and with them
        # much would be compiled again.
        environment |= {"CARGO": CARGO, "CARGO_MANIFEST_DIR": str(folder)}
    done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout, time.monotonic() - begin


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="test programs at a time (default: one for each CPU)")
    options = parser.parse_args()
    todo = programs()
    todo.append(("documentation", [CARGO, "test", *SELECTION, "--doc"], ROOT))
    todo.sort(key=lambda program: LONG.index(program[0]) if program[0] in LONG else len(LONG))
    failed, tests, show = [], 0, threading.Lock()

    def one(name: str, command: list[str], folder: Path) -> None:
        nonlocal tests
        status, output, seconds = run(command, folder)
        results = [line for line in output.splitlines() if line.startswith("test result:")]
        passed = sum(int(line.split(" passed")[0].split()[-1]) for line in results)
        with show:
            tests += passed
            # Tests that were skipped say so.
            for line in output.splitlines():
                if "SKIPPED" in line:
                    print(line)
            if status or not results:
                failed.append(name)
                print(f"{output}\nFAILED: {name}")
            elif passed:
                print(f"{passed:5} passed, {seconds:6.1f} s: {name}")
            sys.stdout.flush()

    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for result in [pool.submit(one, *program) for program in todo]:
            result.result()
    print(f"{tests} tests passed, {len(todo)} programs, {time.monotonic() - begin:.0f} s")
    for name in failed:
        print(f"FAILED: {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
