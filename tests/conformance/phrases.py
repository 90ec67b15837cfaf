"""What a command says about a failure, as a short phrase that is the same for failures of one kind."""

import re

LIMIT = 150
# The most telling line first: a panic, an error of the compiler, an error of a test.
TELLING = (r"panicked at", r"^error", r"^hopwright: ", r"^\S+?:\d+: ")
KINDS = (
    (r"^port \d+: expected\b.*", "a packet is not as expected"),
    (r"^no such packet left port \d+", "a packet is missing"),
    (r"^port \d+: not expected:.*", "a packet is not expected"),
)


def reason(ran) -> str:
    """The phrase for what a command printed."""
    lines = [line for line in (ran.err + "\n" + ran.out).splitlines() if line.strip()]
    for pattern in TELLING:
        for at, line in enumerate(lines):
            if re.search(pattern, line):
                # What a panic says is in the line after its place.
                panic = "panicked" in line and at + 1 < len(lines)
                return f"panic: {phrase(lines[at + 1])}" if panic else phrase(line)
    return phrase(lines[0]) if lines else f"exit status {ran.code}"


def phrase(line: str) -> str:
    """A line without what differs between failures of one kind: places, names, numbers."""
    line = re.sub(r"\x1b\[[\d;]*m", "", line).strip()
    line = re.sub(r"^error(?:\[(E\d+)\])?: ", lambda m: f"{m[1]} " if m[1] else "", line)
    line = re.sub(r"^(?:hopwright: )?(?:\S+?:\d+(:\d+)?: )?(?:error: )?", "", line)
    for pattern, kind in KINDS:
        if re.match(pattern, line):
            return kind
    line = re.sub(r"`[^`]*`", "`…`", line)
    line = re.sub(r"\"[^\"]*\"", "\"…\"", line)
    line = re.sub(r"(?<![\w.])/[\w./+-]+", "FILE", line)
    line = re.sub(r"\b(0x[0-9a-f]+|[0-9a-f]{12,})\b", "…", line, flags=re.IGNORECASE)
    line = re.sub(r"(?<![\w.])\d+(?![\w.])", "N", line)
    return line if len(line) <= LIMIT else line[: LIMIT - 1].rstrip() + "…"
