"""What a suite is: where it finds its cases in a checkout, and how one runs."""

import dataclasses
import re
import subprocess
from pathlib import Path
from typing import Callable

import phrases

# What `check` says of a well-typed program without a `main`, or for another architecture.
NOT_OF_THE_LANGUAGE = r"error\[(E0404\]: the program has no `main`|E0501\]: the package `\w+`( with \d+ blocks)? is not supported yet)"


class Unavailable(Exception):
    """A suite cannot run here: a tool, a package or a right is missing."""


class LeftOut(str):
    """An outcome of a case that turns out not to count, and why."""


@dataclasses.dataclass
class Job:
    """Cases that run together: one, or those that share a network. `run` says for each why it fails, or None."""

    names: list[str]
    run: Callable[[], dict[str, str | None]]


def one(name: str, run: Callable[[], str | None]) -> Job:
    """A case that runs by itself."""
    return Job([name], lambda: {name: run()})


class Suite:
    """A public set of tests. A subclass for each; `name` is what `--suite` takes."""

    name: str
    title: str
    # The repository, as OWNER/NAME.
    repository: str
    # Which files count, and what passing means: a paragraph of docs/conformance.md.
    counts: str
    # Whether cases may run side by side.
    parallel = True

    def __init__(self, hopwright: "Hopwright", checkouts: list[Path]):
        self.hopwright = hopwright
        # All that the run was given: some suites need another repository's files.
        self.checkouts = checkouts

    def found_in(self, checkout: Path) -> bool:
        """Whether a folder is a checkout of the repository."""
        raise NotImplementedError

    def label(self, case: str) -> str:
        """What the page calls a case that fails; cases with the same label are counted."""
        return case

    def jobs(self, checkout: Path) -> tuple[list[Job], dict[str, int]]:
        """The cases, and how many files do not count, by reason."""
        raise NotImplementedError


@dataclasses.dataclass
class Ran:
    code: int
    out: str
    err: str

    def panicked(self) -> bool:
        return self.code not in (0, 1, 2) or "panicked at" in self.err


class Hopwright:
    """The command under test."""

    def __init__(self, path: Path):
        self.path = path

    def __call__(self, *arguments, timeout: float = 120, cwd: Path | None = None) -> Ran:
        """Runs it. One that does not end in time has the code 124."""
        try:
            done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, timeout=timeout, cwd=cwd,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return Ran(124, "", f"error: not finished after {timeout:g} s")
        return Ran(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    def engines(self) -> list[str]:
        """The engines of packet tests that need nothing else."""
        help_text = self("stf", "--help").out
        return [e for e in ("interp", "jit", "reference") if f"- {e}:" in help_text]

    def accepts(self, program: Path, *options) -> str | None:
        """Why a program does not compile, or None."""
        ran = self("check", program, *options)
        return None if ran.code == 0 else phrases.reason(ran)

    def types(self, program: Path, *options) -> str | None:
        """As `accepts`, for the language alone: the program may have no `main`, or one that Hopwright does not run."""
        ran = self("check", program, *options)
        errors = [line for line in ran.err.splitlines() if line.startswith("error")]
        if ran.code == 1 and errors and all(re.match(NOT_OF_THE_LANGUAGE, line) for line in errors):
            return None
        for line in errors:
            if not re.match(NOT_OF_THE_LANGUAGE, line):
                return phrases.phrase(line)
        return None if ran.code == 0 else phrases.reason(ran)

    def refuses(self, program: Path, *options) -> str | None:
        """None if a program is refused with an error."""
        ran = self("check", program, *options)
        if ran.panicked():
            return phrases.reason(ran)
        return None if ran.code == 1 else "accepted"

    def packet_test(self, program: Path, test: Path, *options) -> str | None:
        """Why a packet test fails with one of the engines, or None."""
        for engine in self.engines():
            ran = self("stf", program, test, "--engine", engine, *options)
            if ran.code != 0:
                reason = phrases.reason(ran)
                return reason if engine == "interp" else f"{engine}: {reason}"
        return None
