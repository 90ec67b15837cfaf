"""What `make demo` prints, as text for a terminal."""

from __future__ import annotations

import os
import sys
import time


class Page:
    """Plain terminal output; colour only on a terminal and without NO_COLOR."""

    def __init__(self) -> None:
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._start = time.monotonic()
        self.failures = 0

    def _paint(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text

    def heading(self, text: str) -> None:
        print(f"\n{self._paint('1', text)}", flush=True)

    def step(self, text: str) -> None:
        elapsed = time.monotonic() - self._start
        print(f"  {self._paint('2', f'{elapsed:5.1f} s')}  {text}", flush=True)

    def outcome(self, good: bool, text: str) -> None:
        if not good:
            self.failures += 1
        mark = self._paint("32", "ok  ") if good else self._paint("31", "FAIL")
        print(f"  {mark}  {text}", flush=True)

    def line(self, text: str = "") -> None:
        print(f"  {text}".rstrip(), flush=True)


def total(value) -> int:
    """The sum of a counter that may be split by reason."""
    if isinstance(value, dict):
        return int(sum(v for v in value.values() if isinstance(v, (int, float))))
    return int(value) if isinstance(value, (int, float)) else 0


def number(value) -> str:
    return f"{value:,.0f}" if isinstance(value, (int, float)) else "–"
