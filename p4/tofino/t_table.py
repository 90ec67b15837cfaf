#!/usr/bin/env python3
"""Writes the T-table of AES, `t_table.p4` here (FIPS 197; Daemen and Rijmen, The Design of Rijndael, section 4.2). With `--check` writes
nothing and fails if the file differs.
"""

import sys
from pathlib import Path

FILE = Path(__file__).resolve().with_name("t_table.p4")


def times(a, b):
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a = a << 1 ^ (0x11b if a & 0x80 else 0)
        b >>= 1
    return product


def substitute(x):
    """The S-box: the inverse, and an affine function of it."""
    inverse = next((y for y in range(256) if times(x, y) == 1), 0)
    rotated = [inverse << i | inverse >> 8 - i for i in range(5)]
    return (rotated[0] ^ rotated[1] ^ rotated[2] ^ rotated[3] ^ rotated[4] ^ 0x63) & 0xff


def entry(x):
    s = substitute(x)
    return f"0x{x:02x}: column_is(0x{times(s, 2):02x}{s:02x}{s:02x}{times(s, 3):02x});"


LINES = ["            " + " ".join(entry(x) for x in range(row, row + 4)) for row in range(0, 256, 4)]
TEXT = f"""// SubBytes and MixColumns of a byte in the first row of AES's state: the column that it adds to the result, of 2, 1, 1 and 3 times
// its substitute. A byte of another row adds the same column, rotated. Written by t_table.py.

control TTable(in bit<8> byte, out bit<32> column) {{
    action column_is(bit<32> value) {{
        column = value;
    }}

    table t {{
        key = {{ byte: exact; }}
        actions = {{ column_is; @defaultonly NoAction; }}
        const default_action = NoAction();
        size = 256;
        const entries = {{
{chr(10).join(LINES)}
        }}
    }}

    apply {{
        t.apply();
    }}
}}
"""

if "--check" in sys.argv:
    if FILE.read_text() != TEXT:
        sys.exit(f"{FILE.name} is not what {Path(__file__).name} writes")
else:
    FILE.write_text(TEXT)
