"""Expectations of a test, counted and printed as it goes."""

from __future__ import annotations

import time
from typing import Callable

from .command import PATIENCE


class Checks:
    """Counts what passed and what failed, and says so as it goes. Details are printed of failures and, unless they are long, of what
    passed."""

    def __init__(self, long_details: bool = False) -> None:
        self.long_details = long_details
        self.passed = 0
        self.failed = 0
        # The last value that `comes` has seen.
        self.last: object = None

    def that(self, what: str, good: bool, detail: object = "") -> None:
        self.passed += bool(good)
        self.failed += not good
        shown = detail != "" and not (good and self.long_details)
        print(f"  {'pass' if good else 'FAIL'}  {what}{f': {detail}' if shown else ''}", flush=True)

    def comes(self, what: str, probe: Callable[[], object], good: Callable[[object], bool]) -> None:
        """Probes until the value is good, for at most `PATIENCE` seconds, because a router of the reference, a daemon or a tool
        may be late on a busy machine. Prints the number of attempts if there were several."""
        start, attempts = time.monotonic(), 0
        while True:
            value, attempts = probe(), attempts + 1
            if good(value) or time.monotonic() - start > PATIENCE:
                break
            time.sleep(0.2)
        late = f" (attempt {attempts}, after {time.monotonic() - start:.1f} s)" if attempts > 1 else ""
        self.last = value
        self.that(what, bool(good(value)), f"{value}{late}")
