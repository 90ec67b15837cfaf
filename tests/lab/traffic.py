"""Streams of numbered packets through a process to which something happens meanwhile."""

from __future__ import annotations

from typing import Callable

from .checks import Checks
from .command import LabError
from .process import Process
from .scion import Stream


class Traffic:
    """Streams, while something happens to the process: every packet arrives once, but for those that were lost elsewhere, which `lab` knows."""

    def __init__(self, lab, checks: Checks, what: str, streams: dict[str, Stream]):
        self.lab, self.checks, self.what, self.streams = lab, checks, what, streams

    def __enter__(self) -> Traffic:
        self.before = self.lab.lost_elsewhere()
        for stream in self.streams.values():
            stream.start()
        self.wait(20)
        return self

    def wait(self, count: int) -> None:
        """Until each stream has sent this many more packets."""
        for stream in self.streams.values():
            stream.until(stream.sent + count)

    def __exit__(self, kind, *_) -> None:
        for stream in self.streams.values():
            stream.finish()
        if kind is None:
            excused = self.lab.lost_elsewhere() - self.before
            lost = {name: stream.lost for name, stream in self.streams.items() if stream.lost}
            doubled = sum(stream.doubled for stream in self.streams.values())
            sent = sum(stream.sent for stream in self.streams.values())
            missing = sum(map(len, lost.values()))
            self.checks.that(
                f"{self.what}: every packet arrives once", sent > 100 and missing <= excused and not doubled,
                f"{sent} sent, {missing} lost, {excused} of them not by the process, {doubled} twice"
                f" { {name: numbers[:5] for name, numbers in lost.items()} or ''}")
        for stream in self.streams.values():
            stream.close()


def warm_up(process: Process, make: Callable[[], dict[str, Stream]]) -> None:
    """Waits until neighbours are resolved and everything arrives."""
    for _ in range(50):
        streams = make()
        for stream in streams.values():
            stream.start()
        for stream in streams.values():
            stream.until(20).finish(0.3).close()
        if all(stream.received and not stream.lost for stream in streams.values()):
            return
    raise LabError(f"not everything is forwarded: { {name: len(s.received) for name, s in streams.items()} }\n{process.tail()}")
