#!/usr/bin/env python3
"""Makes what a demonstration needs, all targets at once, and shows how far each is.

On a terminal one line is kept up to date; elsewhere a line is printed now and then. If a target fails, its output follows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "build-logs"
# Seconds between lines where there is no terminal.
PAUSE = 20
NAMES = {"hopwright-scion": "Hopwright's SCION router", "interop-tools": "the reference's SCION tools",
         "demo-tools": "the reference's SCION tools"}


class Build:
    """One target on its way."""

    def __init__(self, target: str):
        self.target = target
        self.log = LOGS / f"{target}.log"
        # Cargo prints its progress only on a terminal, unless it is told the width of one.
        environment = {**os.environ, "CARGO_TERM_PROGRESS_WHEN": "always", "CARGO_TERM_PROGRESS_WIDTH": "100"}
        with open(self.log, "wb") as out:
            self.child = subprocess.Popen([os.environ.get("MAKE", "make"), "--no-print-directory", target], cwd=ROOT,
                                          stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=environment)

    def state(self) -> str:
        """How far it is."""
        status = self.child.poll()
        if status is not None:
            return "FAILED" if status else "done"
        found = re.findall(r"\] (\d+)/(\d+)", self.log.read_text(errors="replace"))
        return f"{found[-1][0]} of {found[-1][1]} crates" if found else "under way"


def main() -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    begin, shown, terminal = time.monotonic(), 0.0, sys.stdout.isatty()
    builds = [Build(target) for target in sys.argv[1:]]
    while True:
        over = all(build.child.poll() is not None for build in builds)
        passed = time.monotonic() - begin
        line = f"building, {passed // 60:.0f}:{passed % 60:02.0f}: " + "; ".join(
            f"{NAMES.get(build.target, build.target)}: {build.state()}" for build in builds)
        if terminal:
            print(f"\r\x1b[K{line}", end="\n" if over else "", flush=True)
        elif over or time.monotonic() - shown > PAUSE:
            shown = time.monotonic()
            print(line, flush=True)
        if over:
            break
        time.sleep(0.2)
    failed = [build for build in builds if build.child.returncode]
    for build in failed:
        print(f"{build.log.read_text(errors='replace')}\nmake {build.target} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
