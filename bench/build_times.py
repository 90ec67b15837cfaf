#!/usr/bin/env python3
"""How long a change takes: for each crate, after one of its files has changed, `cargo check` of the workspace and a test of the crate.

Prints a table. Nothing in the files changes but their time."""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
# A file of each crate, and a test of it: the kind of file that one changes, not its root.
CHANGES = (
    ("syntax", "src/lexer.rs", "it"),
    ("sema", "src/analyser.rs", "it"),
    ("lower", "src/stmt.rs", "it"),
    ("interp", "src/externs.rs", "it"),
    ("jit", "src/emit/externs.rs", "it"),
    ("dataplane", "src/packet.rs", "it"),
    ("ports", "src/opener.rs", "it"),
    ("p4runtime", "src/program.rs", "it"),
    ("scion", "src/lib.rs", "it"),
    ("rina", "src/routing.rs", None),
)


def timed(*arguments: str) -> float:
    begin = time.monotonic()
    done = subprocess.run([CARGO, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}:\n{done.stdout[-3000:]}")
    return time.monotonic() - begin


def tests(crate: str, program: str | None) -> list[str]:
    """The arguments of a run of the crate's smallest test."""
    where = ["--test", program] if program else ["--lib"]
    command = ["test", "-p", f"hopwright-{crate}", *where, "--", "--quiet"]
    listed = subprocess.run([CARGO, *command[:-1], "--list"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    names = [line.removesuffix(": test") for line in listed.stdout.splitlines() if line.endswith(": test")]
    return [*command, "--exact", names[0]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("crates", nargs="*", help="these crates only")
    crates = parser.parse_args().crates
    print("| crate changed | `cargo check --workspace` | one of its tests |\n| --- | ---: | ---: |", flush=True)
    timed("check", "--workspace")
    for crate, file, program in CHANGES:
        if crates and crate not in crates:
            continue
        run = tests(crate, program)
        timed(*run)
        changed = next((ROOT / "crates").glob(f"*/{crate}")) / file
        os.utime(changed)
        check = timed("check", "--workspace")
        os.utime(changed)
        print(f"| `{crate}` | {check:.0f} s | {timed(*run):.0f} s |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
