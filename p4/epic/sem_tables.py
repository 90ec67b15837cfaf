#!/usr/bin/env python3
"""Writes the substitution boxes and the byte permutation of the cipher SEM: `sem_tables.p4` here, and `sem_tables.rs` of the
crate `epic`. With `--check` writes nothing and fails if a file differs.

The boxes are random permutations of the 256 bytes without fixed points and without two-cycles, one for each byte position. Random
numbers are SHA-256 of `SEED`, the box, the try and a count; a permutation that breaks a rule is thrown away and the next try
follows. The permutation is GIFT's (Banik et al., CHES 2017), which keeps an element's place in its group of four and changes the
group, on bytes instead of bits.
"""

import hashlib
import sys
from pathlib import Path

SEED = "EPIC SEM substitution boxes"
HERE = Path(__file__).resolve().parent
RUST = HERE / "../../crates/agents/epic/src/sem_tables.rs"


def random_numbers(box, attempt):
    """Sixteen-bit numbers without end."""
    count = 0
    while True:
        block = hashlib.sha256(f"{SEED}/{box}/{attempt}/{count}".encode()).digest()
        yield from (int.from_bytes(block[i:i + 2], "big") for i in range(0, 32, 2))
        count += 1


def below(numbers, limit):
    """A number below the limit, each equally likely."""
    return next(n for n in numbers if n < 65536 // limit * limit) % limit


def shuffled(numbers):
    """Fisher and Yates."""
    values = list(range(256))
    for last in range(255, 0, -1):
        other = below(numbers, last + 1)
        values[last], values[other] = values[other], values[last]
    return values


def box(position):
    """The substitution box of a byte position."""
    attempt = 0
    while True:
        values = shuffled(random_numbers(position, attempt))
        if all(values[x] != x and values[values[x]] != x for x in range(256)):
            return values
        attempt += 1


def target(position):
    """Where the byte at a position goes to; position 0 is the most significant byte."""
    group, place = divmod(position, 4)
    return 4 * ((3 * group + place) % 4) + place


BOXES = [box(position) for position in range(16)]
SOURCES = [next(p for p in range(16) if target(p) == t) for t in range(16)]


def p4():
    lines = ["// The permutation P of the cipher SEM: boxes, permutation of the bytes, boxes. Written by sem_tables.py.", "",
             "control Substitute(in bit<128> block, out bit<128> result) {"]
    lines += [f"    bit<8> b{i} = 0;" for i in range(16)]
    for i, values in enumerate(BOXES):
        lines += ["", f"    action substitute{i}(bit<8> value) {{", f"        b{i} = value;", "    }", "",
                  f"    table box{i} {{", f"        key = {{ b{i}: exact; }}", f"        actions = {{ substitute{i}; NoAction; }}",
                  "        const default_action = NoAction();",
                  "        size = 256;", "        const entries = {"]
        for row in range(0, 256, 4):
            lines.append("            " + " ".join(f"0x{x:02x}: substitute{i}(0x{values[x]:02x});" for x in range(row, row + 4)))
        lines += ["        }", "    }"]
    lines += ["", "    apply {"]
    lines += [f"        b{i} = block[{127 - 8 * i}:{120 - 8 * i}];" for i in range(16)]
    lines += [f"        box{i}.apply();" for i in range(16)]
    lines += ["        result = " + " ++ ".join(f"b{i}" for i in range(16)) + ";", "    }", "}", ""]
    permuted = " ++ ".join(f"block[{127 - 8 * s}:{120 - 8 * s}]" for s in SOURCES[:8])
    rest = " ++ ".join(f"block[{127 - 8 * s}:{120 - 8 * s}]" for s in SOURCES[8:])
    lines += ["bit<128> permute_bytes(in bit<128> block) {", f"    return {permuted}", f"        ++ {rest};", "}", "",
              "control Permutation(in bit<128> block, out bit<128> result) {", "    Substitute() before;", "    Substitute() behind;",
              "    bit<128> middle = 0;", "", "    apply {", "        before.apply(block, middle);",
              "        behind.apply(permute_bytes(middle), result);", "    }", "}"]
    return "\n".join(lines) + "\n"


def rust():
    lines = ["//! The boxes and the byte permutation of the cipher SEM. Written by `p4/epic/sem_tables.py`.", "",
             "/// The box of each byte position.", "#[rustfmt::skip]", "pub const BOXES: [[u8; 256]; 16] = ["]
    for values in BOXES:
        lines.append("    [")
        for row in range(0, 256, 16):
            lines.append("        " + " ".join(f"0x{v:02x}," for v in values[row:row + 16]))
        lines.append("    ],")
    lines += ["];", "", "/// Which byte of the boxes' results stands at each position behind the permutation.",
              "pub const SOURCES: [usize; 16] = [" + ", ".join(map(str, SOURCES)) + "];"]
    return "\n".join(lines) + "\n"


def main():
    for path, text in [(HERE / "sem_tables.p4", p4()), (RUST, rust())]:
        if "--check" not in sys.argv:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{path} is not what sem_tables.py writes")


if __name__ == "__main__":
    main()
