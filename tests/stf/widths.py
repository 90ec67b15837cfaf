#!/usr/bin/env python3
"""Writes the packet tests `widths_*.p4` and `widths_*.stf`: one thing at many widths around bytes and machine words.

Each test is a header whose fields are inputs and results, statements, and a model of the statements in Python's
unbounded integers, which gives the packets that are expected. With `--check` writes nothing and fails if a file differs.
"""

import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WIDTHS = [1, 7, 8, 9, 31, 33, 63, 64, 65, 127, 128, 129, 256]
# There is no int<1> with a positive value.
SIGNED = [2, *WIDTHS[1:]]


def cut(value, width):
    """The lower bits of a value, as they stand in a field."""
    return value & ((1 << width) - 1)


def signed(value, width):
    """The number that a field of `int<W>` holds."""
    return value - (1 << width) if value >> (width - 1) else value


class Program:
    """A header `d` and what is done to it. `model` changes a dictionary of the fields' bits."""

    def __init__(self, about, model=None):
        self.about, self.model = about, model
        self.fields, self.inputs, self.statements, self.locals = [], [], [], []

    def field(self, kind, width, name, is_input=False):
        self.fields.append((kind, width, name))
        if is_input:
            self.inputs.append((name, width))

    def text(self):
        size = sum(width for _, width, _ in self.fields)
        fields = [*self.fields, *([("bit", -size % 8, "pad")] if size % 8 else [])]
        lines = [f"// {self.about}", "", "#include <core.p4>", "#include <v1model.p4>", "", "header data_t {"]
        lines += [f"    {kind}<{width}> {name};" for kind, width, name in fields]
        lines += ["}", "", "control Work(inout data_t d, inout standard_metadata_t std) {"]
        lines += [f"    {line}".rstrip() for line in self.locals]
        lines += ["    apply {", *(f"        {line}" for line in self.statements), "    }", "}", "",
                  '#include "frame/one_header.p4"']
        return "\n".join(lines) + "\n"

    def bytes(self, values):
        """The header with these values as hexadecimal digits."""
        number = size = 0
        for _, width, name in self.fields:
            assert 0 <= values.get(name, 0) < 1 << width, (name, values.get(name))
            number, size = number << width | values.get(name, 0), size + width
        pad = -size % 8
        return f"{number << pad:0{(size + pad) // 4}x}"

    def stf(self, packets):
        lines = []
        for values in packets:
            sent = {name: values[name] for name, _ in self.inputs}
            got = dict(sent)
            self.model(got)
            lines += [f"packet 1 {self.bytes(sent)}", f"expect 1 {self.bytes(got)} $"]
        return "\n".join(lines) + "\n"


def corners(width):
    """Pairs of values: ends of the range, signs that differ, single bits."""
    top, ones = 1 << (width - 1), (1 << width) - 1
    return [(cut(a, width), cut(b, width)) for a, b in
            [(ones, 1), (0, 0), (ones, ones), (top, top), (top, 1), (top, ones), (top - 1, 1), (0, 1), (1, ones),
             (top - 1, top), (top - 1, ones), (top, top - 1), (5, 3)]]


def pairs(program, randoms, extra=()):
    """Packets for inputs `aW` and `bW`: every corner, and random values."""
    source = random.Random(program.about)
    packets = []
    for at in range(len(corners(8))):
        packets.append({name: corners(width)[at][name[0] == "b"] for name, width in program.inputs})
    packets += extra
    for _ in range(randoms):
        packets.append({name: source.getrandbits(width) for name, width in program.inputs})
    return packets


def binary(about, widths, results, kind="bit", result_width=None, model_of=None):
    """A test of `aW op bW`: results are (name, statement with {0} for the width, function of a, b, width)."""
    def model(d):
        for width in widths:
            a, b = d[f"a{width}"], d[f"b{width}"]
            if kind == "int":
                a, b = signed(a, width), signed(b, width)
            for name, _, function in results:
                d[f"{name}{width}"] = cut(function(a, b, width), result_width or width)
    program = Program(about, model)
    for width in widths:
        program.field(kind, width, f"a{width}", True)
        program.field(kind, width, f"b{width}", True)
    for name, text, _ in results:
        for width in widths:
            program.field("bit" if result_width else kind, result_width or width, f"{name}{width}")
            program.statements.append(f"d.{name}{width} = {text.replace('#', str(width))};")
    return program


def clamp(low, high):
    return lambda value, width: max(low(width), min(high(width), value))


UNSIGNED_RANGE = clamp(lambda w: 0, lambda w: (1 << w) - 1)
SIGNED_RANGE = clamp(lambda w: -(1 << (w - 1)), lambda w: (1 << (w - 1)) - 1)

COMPARISONS = [(name, f"(bit<1>) (d.a# {op} d.b#)", function) for name, op, function in [
    ("lt", "<", lambda a, b, w: a < b), ("le", "<=", lambda a, b, w: a <= b), ("gt", ">", lambda a, b, w: a > b),
    ("ge", ">=", lambda a, b, w: a >= b), ("eq", "==", lambda a, b, w: a == b), ("ne", "!=", lambda a, b, w: a != b)]]


def divisors(program):
    """Small and large divisors, and zero."""
    source = random.Random("divisors")
    for divisor_bits in (3, 20, 64, 100):
        yield {name: cut(source.getrandbits(divisor_bits), width) if name[0] == "b" else source.getrandbits(width)
               for name, width in program.inputs}
    yield {name: 0 if name[0] == "b" else cut(-1, width) for name, width in program.inputs}


def shift(about, widths, text, function, kind):
    def model(d):
        for width in widths:
            a = d[f"a{width}"]
            d[f"r{width}"] = cut(function(signed(a, width) if kind == "int" else a, d["by"]), width)
    program = Program(about, model)
    program.field("bit", 16, "by", True)
    for width in widths:
        program.field(kind, width, f"a{width}", True)
    for width in widths:
        program.field(kind, width, f"r{width}")
        program.statements.append(f"d.r{width} = d.a{width} {text} d.by;")
    return program


def shift_packets(program):
    """Amounts below, at and beyond the widths, of values with and without the sign bit."""
    source = random.Random(program.about)
    for by in (0, 1, 6, 7, 8, 31, 32, 33, 63, 64, 65, 126, 127, 128, 129, 255, 256, 4096, 65535):
        yield {name: by if name == "by" else source.getrandbits(width) | (1 << (width - 1)) * (by % 2)
               for name, width in program.inputs}


def casts(about, widths, kind):
    def model(d):
        for source in widths:
            value = d[f"a{source}"]
            for target in widths:
                if target != source:
                    d[f"r{source}_{target}"] = cut(signed(value, source) if kind == "int" else value, target)
    program = Program(about, model)
    for width in widths:
        program.field(kind, width, f"a{width}", True)
    for source in widths:
        for target in widths:
            if target != source:
                program.field(kind, target, f"r{source}_{target}")
                program.statements.append(f"d.r{source}_{target} = ({kind}<{target}>) d.a{source};")
    return program


def single(program, randoms):
    """Packets for independent inputs: ends of the range, and random values."""
    source = random.Random(program.about)
    for function in (lambda w: cut(-1, w), lambda w: 1 << (w - 1), lambda w: (1 << (w - 1)) - 1):
        yield {name: function(width) for name, width in program.inputs}
    for _ in range(randoms):
        yield {name: source.getrandbits(width) for name, width in program.inputs}


def compound():
    widths = [1, 7, 9, 33, 64, 65, 129]

    def model(d):
        for w in widths:
            a, b = d[f"a{w}"], d[f"b{w}"]
            a = cut(a + b, w) ^ b
            a = cut(UNSIGNED_RANGE(a + b, w) << 1, w)
            a = UNSIGNED_RANGE((cut(a - b, w) >> 1) - b, w)
            d[f"a{w}"] = cut(a * b, w)
    program = Program("A row of compound assignments on one field, at every width: each sees the result of the one before.",
                      model)
    for width in widths:
        program.field("bit", width, f"a{width}", True)
        program.field("bit", width, f"b{width}", True)
        for text in ("+= #", "^= #", "|+|= #", "<<= 1", "-= #", ">>= 1", "|-|= #", "*= #"):
            program.statements.append(f"d.a{width} {text.replace('#', f'd.b{width}')};")
    return program


def concat():
    parts = [(1, 63), (1, 64), (63, 65), (64, 64), (65, 63), (31, 33), (7, 121), (127, 1), (1, 127), (128, 128),
             (127, 129), (3, 253)]

    def model(d):
        for n, (_, right) in enumerate(parts):
            d[f"r{n}"] = d[f"a{n}"] << right | d[f"b{n}"]
        d["three"] = d["r0"] << 65 | d["r1"]
    program = Program("Concatenations that meet inside, at and beyond 64 and 128 bits.", model)
    for n, (left, right) in enumerate(parts):
        program.field("bit", left, f"a{n}", True)
        program.field("bit", right, f"b{n}", True)
        program.field("bit", left + right, f"r{n}")
        program.statements.append(f"d.r{n} = d.a{n} ++ d.b{n};")
    program.field("bit", 129, "three")
    program.statements.append("d.three = d.a0 ++ d.b0 ++ d.a1 ++ d.b1;")
    return program


SLICES = [(63, 0), (64, 0), (64, 64), (63, 63), (127, 64), (128, 64), (128, 63), (128, 128), (255, 128), (191, 65),
          (255, 255), (200, 3), (130, 126), (64, 1)]


def slices():
    def model(d):
        for high, low in SLICES:
            d[f"r{high}_{low}"] = cut(d["a"] >> low, high - low + 1)
    program = Program("Slices of a value of 256 bits, within and across its words.", model)
    program.field("bit", 256, "a", True)
    for high, low in SLICES:
        program.field("bit", high - low + 1, f"r{high}_{low}")
        program.statements.append(f"d.r{high}_{low} = d.a[{high}:{low}];")
    return program


def slice_assignments():
    def model(d):
        for n, (high, low) in enumerate(SLICES):
            mask = cut(-1, high - low + 1) << low
            d[f"t{n}"] = d["a"] & ~mask | d["v"] << low & mask
    program = Program("Assignments to slices of a value of 256 bits, within and across its words; the other bits stay.", model)
    program.field("bit", 256, "a", True)
    program.field("bit", 256, "v", True)
    for n, (high, low) in enumerate(SLICES):
        program.field("bit", 256, f"t{n}")
        program.statements += [f"d.t{n} = d.a;", f"d.t{n}[{high}:{low}] = d.v[{high - low}:0];"]
    return program


def exact():
    """The test with a table, whose entries come first."""
    widths = [1, 7, 9, 31, 33, 63, 64, 65, 127, 129, 256]
    source = random.Random("exact")
    entries = [{w: value(w) for w in widths} for value in
               (lambda w: cut(-1, w), lambda w: 0, lambda w: 1 << (w - 1), source.getrandbits)]

    def model(d):
        for number, entry in enumerate(entries, 1):
            if all(d[f"k{w}"] == entry[w] for w in widths):
                d["r"] = number
    program = Program("One exact table over keys of many odd widths: every bit of each counts.", model)
    for width in widths:
        program.field("bit", width, f"k{width}", True)
    program.field("bit", 8, "r")
    program.locals = ["action set(bit<8> v) {", "    d.r = v;", "}", "", "table t {", "    key = {",
                      *(f"        d.k{w} : exact;" for w in widths), "    }", "    actions = { set; }", "}", ""]
    program.statements.append("t.apply();")
    packets = [{f"k{w}": entry[w] for w in widths} for entry in entries]
    # One bit of one key differs: a miss.
    for width in widths:
        for bit in {0, width // 2, width - 1}:
            packets.append({f"k{w}": entries[3][w] ^ (1 << bit) * (w == width) for w in widths})
    added = "".join("add t " + " ".join(f"d.k{w}:{entry[w]:#x}" for w in widths) + f" set(v:{n})\n"
                    for n, entry in enumerate(entries, 1))
    return program, added + program.stf(packets)


def register():
    """The test with registers, which remember the packet before."""
    widths = [1, 7, 9, 31, 33, 63, 64, 65, 127, 128, 129, 256]
    kept = {w: 0 for w in widths}

    def model(d):
        for w in widths:
            old, kept[w] = kept[w], d[f"v{w}"] if d["write"] == 1 else kept[w]
            d[f"v{w}"] = old
    program = Program("Registers of every width keep all their bits; writing beyond the end changes no other cell.", model)
    program.field("bit", 8, "write", True)
    for width in widths:
        program.field("bit", width, f"v{width}", True)
    program.locals = [*(f"register<bit<{w}>>(3) r{w};" for w in widths), ""]
    for w in widths:
        program.statements += [f"bit<{w}> old{w};", f"r{w}.read(old{w}, 2);", "if (d.write == 1) {",
                               f"    r{w}.write(2, d.v{w});", f"    r{w}.write(3, d.v{w});", "}", f"d.v{w} = old{w};"]
    source = random.Random("register")
    packets = []
    for write, value in [(1, lambda w: cut(-1, w)), (1, lambda w: 1 << (w - 1)), (0, lambda w: 0), (1, source.getrandbits),
                         (1, lambda w: 0), (0, lambda w: cut(-1, w)), (1, source.getrandbits), (0, lambda w: 0)]:
        packets.append({"write": write, **{f"v{w}": value(w) for w in widths}})
    return program, program.stf(packets)


def tests():
    """Name, program and packet test of each."""
    def simple(name, program, packets):
        return name, program.text(), program.stf(packets)

    program = binary("Addition and subtraction of bit<W> wrap at W bits, for widths around bytes and machine words.", WIDTHS,
                     [("sum", "d.a# + d.b#", lambda a, b, w: a + b), ("dif", "d.a# - d.b#", lambda a, b, w: a - b)])
    yield simple("add", program, pairs(program, 4))
    program = binary("&, |, ^ and ~ at widths around bytes and machine words: nothing above W bits is ever set.", WIDTHS,
                     [("con", "d.a# & d.b#", lambda a, b, w: a & b), ("dis", "d.a# | ~d.b#", lambda a, b, w: a | ~b),
                      ("xor", "~d.a# ^ d.b#", lambda a, b, w: ~a ^ b)])
    yield simple("bitwise", program, pairs(program, 4))
    program = binary("?: and if choose whole values of every width; min and max as an example.", WIDTHS,
                     [("min", "d.a# < d.b# ? d.a# : d.b#", lambda a, b, w: min(a, b)),
                      ("max", "d.a# > d.b# ? d.a# : d.b#", lambda a, b, w: max(a, b))])
    yield simple("choose", program, pairs(program, 4))
    program = binary("Unsigned comparisons at widths around bytes and machine words: the top bit is not a sign.", WIDTHS,
                     COMPARISONS, result_width=1)
    yield simple("compare", program, pairs(program, 4))
    program = binary("Signed comparisons at widths around bytes and machine words: the top bit is the sign.", SIGNED,
                     COMPARISONS, "int", 1)
    yield simple("compare_signed", program, pairs(program, 4))
    divided = [w for w in WIDTHS if w <= 128]
    program = binary("Division and modulo at run time up to 128 bits; by zero both give zero.", divided,
                     [("quo", "d.a# / d.b#", lambda a, b, w: a // b if b else 0),
                      ("rem", "d.a# % d.b#", lambda a, b, w: a % b if b else 0)])
    yield simple("divide", program, pairs(program, 4, list(divisors(program))))
    program = binary("Products keep the lower W bits, for widths around bytes and machine words.", WIDTHS,
                     [("mul", "d.a# * d.b#", lambda a, b, w: a * b)])
    yield simple("multiply", program, pairs(program, 6))
    saturating = [("add", "d.a# |+| d.b#"), ("sub", "d.a# |-| d.b#")]
    for name, about, widths, kind, bounds in [
            ("saturate", "|+| and |-| of bit<W> stop at 0 and at the largest value of W bits.", WIDTHS, "bit", UNSIGNED_RANGE),
            ("saturate_signed", "|+| and |-| of int<W> stop at the smallest and at the largest number of W bits.", SIGNED,
             "int", SIGNED_RANGE)]:
        program = binary(about, widths, [(n, text, lambda a, b, w, sign=sign, bounds=bounds: bounds(a + sign * b, w))
                                         for (n, text), sign in zip(saturating, (1, -1))], kind)
        yield simple(name, program, pairs(program, 5))
    program = binary("int<W> wraps in two's complement: sums, differences, products and the smallest number negated.", SIGNED,
                     [("sum", "d.a# + d.b#", lambda a, b, w: a + b), ("dif", "d.a# - d.b#", lambda a, b, w: a - b),
                      ("mul", "d.a# * d.b#", lambda a, b, w: a * b), ("neg", "-d.a#", lambda a, b, w: -a)], "int")
    yield simple("signed", program, pairs(program, 4))
    for name, about, widths, text, function, kind in [
            ("shift_left", "Left shifts by run-time amounts, below, at and far beyond the width.", WIDTHS, "<<",
             lambda a, by: a << by, "bit"),
            ("shift_right", "Right shifts of bit<W> by run-time amounts bring in zeros, also at and beyond the width.", WIDTHS,
             ">>", lambda a, by: a >> by, "bit"),
            ("shift_right_signed",
             "Right shifts of int<W> by run-time amounts bring in the sign, also at and beyond the width.", SIGNED, ">>",
             lambda a, by: a >> by, "int")]:
        program = shift(about, widths, text, function, kind)
        yield simple(name, program, shift_packets(program))
    program = casts("Casts between widths, each to each: upper bits are lost or zero.", [1, 8, 9, 33, 64, 65, 128, 129, 256],
                    "bit")
    yield simple("cast", program, single(program, 3))
    program = casts("Casts between widths of int, each to each: the sign fills up, upper bits are lost.",
                    [2, 7, 8, 9, 33, 64, 65, 128, 129, 256], "int")
    yield simple("cast_signed", program, single(program, 3))
    program = compound()
    yield simple("compound", program, pairs(program, 4))
    program = concat()
    yield simple("concat", program, single(program, 3))
    program = slices()
    yield simple("slice", program, single(program, 3))
    program = slice_assignments()
    yield simple("slice_assign", program, single(program, 3))
    program, stf = exact()
    yield "exact", program.text(), stf
    program, stf = register()
    yield "register", program.text(), stf


def main():
    check = sys.argv[1:] == ["--check"]
    wanted = {}
    for name, program, stf in tests():
        wanted[f"widths_{name}.p4"], wanted[f"widths_{name}.stf"] = program, stf
    wrong = sorted({f.name for f in HERE.glob("widths_*")} - wanted.keys())
    for name, text in wanted.items():
        file = HERE / name
        if not check:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            wrong.append(name)
    if wrong:
        sys.exit(f"not as tests/stf/widths.py writes them: {' '.join(wrong)}")


if __name__ == "__main__":
    main()
