#!/usr/bin/env python3
"""The EPIC router for Tofino forwards a packet if and only if the one for v1model with SEM does, and sends to the CPU what that one sends there; it may
send more that is refused, because its first pass sees less of the packet. Packets are those of levels 0 and 1 in `tests/stf/epic_sem.stf`, with each bit flipped, cut off anywhere, and with two bytes that
are random.

Exit status: 0 if everything passed, 1 if something failed."""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
HOPWRIGHT = os.environ.get("HOPWRIGHT", TARGET / "release/hopwright")
STF = ROOT / "tests/stf"
FORWARDED, PUNT_FIRST = 0, 64
REASONS = [*range(16), 64, 65]
CUT_OFF = "cut_off"
NEVER = 999_999


def packets():
    """Good packets of both levels, and what becomes of them."""
    found, generator = [], random.Random(1)
    text = (STF / "epic_sem.stf").read_text()
    for level in (0, 1):
        behind = text.split(f"# Level {level}")[1]
        good = bytes.fromhex(re.search(r"^packet 1 (\w+)", behind, re.MULTILINE)[1])
        found.append(good)
        for bit in range(8 * len(good)):
            found.append(good[:bit // 8] + bytes([good[bit // 8] ^ 1 << bit % 8]) + good[bit // 8 + 1:])
        found += [good[:length] for length in range(len(good))]
        for _ in range(200):
            changed = bytearray(good)
            for _ in range(2):
                changed[generator.randrange(14, len(good))] = generator.randrange(256)
            found.append(bytes(changed))
    return found


def answers(program, frames):
    """Which counters count each packet."""
    entries = [line for line in (STF / f"{program}.stf").read_text().splitlines() if line.startswith(("setdefault", "add", "key_set"))]
    counters = [f"reasons({reason})" for reason in REASONS] + (["cut_off(2)"] if program == "epic_tna" else [])
    names = REASONS + [CUT_OFF]
    lines = list(entries)
    for frame in frames:
        # What is expected is never there, so that the report has what is.
        lines += [f"packet 1 {frame.hex()}"] + [f"check_counter {counter} packets == {NEVER}" for counter in counters]
    with tempfile.NamedTemporaryFile("w", suffix=".stf") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([HOPWRIGHT, "stf", STF / f"{program}.p4", file.name], capture_output=True, text=True, check=False)
    values = [int(value) for value in re.findall(rf": (\d+) packets, expected == {NEVER}", done.stdout + done.stderr)]
    if len(values) != len(counters) * len(frames):
        sys.exit(f"{program}: {done.stdout[:2000]}{done.stderr[:2000]}")
    rows = [values[at:at + len(counters)] for at in range(0, len(values), len(counters))]
    before = [[0] * len(counters), *rows]
    return [{name for name, new, old in zip(names, row, last) if new != old} for row, last in zip(rows, before)]


def main():
    frames = packets()
    forwarded = 0
    for frame, expected, found in zip(frames, answers("epic_sem", frames), answers("epic_tna", frames)):
        goes, comes = expected == {FORWARDED}, found == {FORWARDED}
        punted = max(expected) >= PUNT_FIRST
        if goes != comes or punted and found != expected:
            sys.exit(f"FAILED: {frame.hex()}: {expected} for v1model, {found} for Tofino")
        forwarded += goes
    print(f"{len(frames)} packets, {forwarded} of them forwarded by both")


if __name__ == "__main__":
    main()
