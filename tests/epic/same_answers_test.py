#!/usr/bin/env python3
"""The EPIC router for Tofino forwards a packet if and only if the one for v1model with SEM does, and as the same frame, and sends to the CPU what that
one sends there; it may send more that is refused, because its first pass sees less of the packet. Packets are the good ones of levels 0 and 1 in
`tests/stf/epic_sem.stf`, with each bit flipped, cut off anywhere, and with two bytes that are random.

Exit status: 0 if everything passed, 1 if something failed."""

import random
import re
import subprocess
import sys
import tempfile

from lab.command import HOPWRIGHT, ROOT

STF = ROOT / "tests/stf"
FORWARDED, PUNT_FIRST = 0, 64
REASONS = [*range(16), 64, 65]
CUT_OFF = "cut_off"
NEVER = 999_999
PORTS = (1, 2)
CPU = {"epic_sem": 510, "epic_tna": 64}


def good_packets():
    """Both good packets of both levels."""
    text = (STF / "epic_sem.stf").read_text()
    for level in (0, 1):
        behind = text.split(f"# Level {level}: good from two hosts")[1]
        yield from map(bytes.fromhex, re.findall(r"^packet 1 (\w+)", behind, re.MULTILINE)[:2])


def changed(good):
    """What becomes of a good packet, between two that are unchanged: the last one shows that none was too old."""
    generator = random.Random(1)
    found = [good]
    for bit in range(8 * len(good)):
        found.append(good[:bit // 8] + bytes([good[bit // 8] ^ 1 << bit % 8]) + good[bit // 8 + 1:])
    found += [good[:length] for length in range(len(good))]
    for _ in range(200):
        frame = bytearray(good)
        for _ in range(2):
            frame[generator.randrange(14, len(good))] = generator.randrange(256)
        found.append(bytes(frame))
    return [*found, good]


def answers(program, frames):
    """Which counters count each packet, and what is sent by port."""
    entries = [line for line in (STF / f"{program}.stf").read_text().splitlines() if line.startswith(("setdefault", "add", "key_set"))]
    counters = [f"reasons({reason})" for reason in REASONS] + (["cut_off(2)"] if program == "epic_tna" else [])
    names = REASONS + [CUT_OFF]
    ports = (*PORTS, CPU[program])
    # What is expected is never there, so that the report has what is.
    lines = entries + [f"expect {port} 00 $" for port in ports]
    for frame in frames:
        lines += [f"packet 1 {frame.hex()}"] + [f"check_counter {counter} packets == {NEVER}" for counter in counters]
    with tempfile.NamedTemporaryFile("w", suffix=".stf") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([HOPWRIGHT, "stf", STF / f"{program}.p4", file.name], capture_output=True, text=True, check=False)
    report = done.stdout + done.stderr
    values = [int(value) for value in re.findall(rf": (\d+) packets, expected == {NEVER}", report)]
    if len(values) != len(counters) * len(frames):
        sys.exit(f"{program}: {report[:2000]}")
    rows = [values[at:at + len(counters)] for at in range(0, len(values), len(counters))]
    before = [[0] * len(counters), *rows]
    counted = [{name for name, new, old in zip(names, row, last) if new != old} for row, last in zip(rows, before)]
    sent = {port: [] for port in ports}
    for port, frame in re.findall(r"port (\d+): (?:expected 00\$\n\s+found +|not expected: )([0-9a-f]{2,})$", report, re.MULTILINE):
        sent[int(port)].append(frame)
    if sum(len(sent[port]) for port in PORTS) != counted.count({FORWARDED}) or len(sent[CPU[program]]) != sum(map(punted, counted)):
        sys.exit(f"FAILED: {program} sends other numbers of frames than it counts")
    return counted, sent


def punted(reasons):
    return any(reason != CUT_OFF and reason >= PUNT_FIRST for reason in reasons)


def compare(frames):
    """Returns how many are forwarded."""
    (expected, sent), (found, tofino_sent) = answers("epic_sem", frames), answers("epic_tna", frames)
    to_cpu, tofino_to_cpu = iter(sent[CPU["epic_sem"]]), iter(tofino_sent[CPU["epic_tna"]])
    for frame, reasons, tofino in zip(frames, expected, found):
        copy, tofino_copy = punted(reasons) and next(to_cpu), punted(tofino) and next(tofino_to_cpu)
        if (reasons == {FORWARDED}) != (tofino == {FORWARDED}) or copy and (tofino, tofino_copy) != (reasons, copy):
            sys.exit(f"FAILED: {frame.hex()}: {reasons} for v1model, {tofino} for Tofino")
    for port in PORTS:
        for frame, tofino_frame in zip(sent[port], tofino_sent[port], strict=True):
            if frame != tofino_frame:
                sys.exit(f"FAILED: by port {port} v1model sends {frame}, Tofino {tofino_frame}")
    forwarded = expected.count({FORWARDED})
    if expected[0] != {FORWARDED} or expected[-1] != {FORWARDED} or forwarded <= 2:
        sys.exit(f"FAILED: {frames[0].hex()} is not forwarded, or nothing that is made of it")
    return forwarded


def main():
    packets = forwarded = 0
    for good in good_packets():
        frames = changed(good)
        packets += len(frames)
        forwarded += compare(frames)
    print(f"{packets} packets, {forwarded} of them forwarded by both")


if __name__ == "__main__":
    main()
