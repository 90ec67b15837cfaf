"""Known failures: a file for each suite, with what passed when it was written.

`error` is what was measured. `why` is written by hand, and kept when the file is written again."""

import dataclasses
import json
import tomllib
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "known"


@dataclasses.dataclass
class Failure:
    error: str
    why: str = ""


@dataclasses.dataclass
class Known:
    revision: str = ""
    passed: int = 0
    of: int = 0
    left_out: dict[str, int] = dataclasses.field(default_factory=dict)
    failures: dict[str, Failure] = dataclasses.field(default_factory=dict)
    # What a peer scores in the same tests, written by hand.
    peers: dict[str, str] = dataclasses.field(default_factory=dict)


def read(suite: str, folder: Path = FOLDER) -> Known | None:
    """What is known of a suite, if it ran before."""
    path = folder / f"{suite}.toml"
    if not path.exists():
        return None
    values = tomllib.loads(path.read_text())
    values["failures"] = {case: Failure(**failure) for case, failure in values.get("failures", {}).items()}
    return Known(**values)


def write(suite: str, known: Known, folder: Path = FOLDER):
    text = json.dumps
    lines = [f"revision = {text(known.revision)}", f"passed = {known.passed}", f"of = {known.of}"]
    for name, table in (("peers", known.peers), ("left_out", known.left_out)):
        if table:
            lines += ["", f"[{name}]", *(f"{text(key)} = {text(value, ensure_ascii=False)}" for key, value in sorted(table.items()))]
    lines += ["", "[failures]"]
    for case, failure in sorted(known.failures.items()):
        why = f", why = {text(failure.why, ensure_ascii=False)}" if failure.why else ""
        lines.append(f"{text(case, ensure_ascii=False)} = {{ error = {text(failure.error, ensure_ascii=False)}{why} }}")
    (folder / f"{suite}.toml").write_text("\n".join(lines) + "\n")


def updated(before: Known | None, revision: str, outcomes: dict[str, str | None], left_out: dict[str, int]) -> Known:
    """What is known after a run of the whole suite."""
    failures = {}
    for case, error in outcomes.items():
        if error is not None:
            old = before.failures.get(case) if before else None
            failures[case] = Failure(error, old.why if old else "")
    passed = sum(error is None for error in outcomes.values())
    return Known(revision, passed, len(outcomes), left_out, failures, before.peers if before else {})


@dataclasses.dataclass
class Comparison:
    """How a run differs from what is known."""

    unlisted: dict[str, str]
    passing: list[str]
    gone: list[str]


def compare(known: Known | None, outcomes: dict[str, str | None]) -> Comparison:
    listed = known.failures if known else {}
    return Comparison(
        {case: error for case, error in outcomes.items() if error is not None and case not in listed},
        [case for case in listed if case in outcomes and outcomes[case] is None],
        [case for case in listed if case not in outcomes],
    )
