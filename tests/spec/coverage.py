#!/usr/bin/env python3
"""Writes README.md: which sections of the P4-16 specification have examples, and which programs here cover them.

A program says in its first comment what it covers, one line for a section: `// Section 6.8: …`. Numbers are those of version 1.2.5;
`// Section draft 12.8: …` is a section that only the working draft has. With `--check` writes nothing, and fails if README.md is out
of date, a section is without cover, or a program names a section without examples.

`coverage.py --sections CHECKOUT` writes sections.txt from a checkout of github.com/p4lang/p4-spec: the sections with code, and how
much of it is examples and grammar.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RELEASE = "P4-16-v1.2.5"


class Numbers:
    """Counts headings of several levels: 1, 1.1, 1.2, …; appendices are A, B, …"""

    def __init__(self):
        self.counts, self.appendix = [0] * 8, False

    def next(self, level, appendix=False):
        if level == 0 and appendix and not self.appendix:
            self.counts, self.appendix = [0] * 8, True
        self.counts[level] += 1
        self.counts[level + 1:] = [0] * (7 - level)
        first, *rest = self.counts[:level + 1]
        return ".".join([chr(64 + first) if self.appendix else str(first), *map(str, rest)])


def released(text):
    """Sections of the Madoko source: number, title, kinds of blocks of code."""
    numbers, sections, block = Numbers(), [], None
    for line in text.splitlines():
        if begin := re.match(r"~+ ?[Bb]egin (\w+)", line):
            block = begin[1]
            if block.startswith("P4"):
                sections[-1][2].append("grammar" if block == "P4Grammar" else "example")
        elif re.match(r"~+ ?[Ee]nd", line):
            block = None
        elif block is None and (heading := re.match(r"(#+) (.*?)\s*(\{.*\})?\s*$", line)):
            appendix = heading[2].startswith("Appendix: ")
            number = numbers.next(len(heading[1]) - 1, appendix)
            sections.append((number, heading[2].removeprefix("Appendix: "), []))
    return sections


def draft(text):
    """Sections of the AsciiDoc source: number, title, kinds of blocks of code."""
    numbers, sections, kind, inside, appendix = Numbers(), [], "example", False, False
    for line in text.splitlines():
        if line == "----":
            inside = not inside
            if inside:
                sections[-1][2].append(kind)
                kind = "example"
        elif inside:
            continue
        elif line.startswith("[source"):
            kind = "grammar" if "bison" in line else "example"
        elif line == "[appendix]":
            appendix = True
        elif heading := re.match(r"(==+) (.*)", line):
            sections.append((numbers.next(len(heading[1]) - 2, appendix), heading[2].strip(), []))
    return sections


def write_sections(checkout):
    def show(revision, *path):
        file = "/".join(("p4-16", "spec", *path))
        return subprocess.run(["git", "-C", checkout, "show", f"{revision}:{file}"], check=True, capture_output=True,
                              text=True).stdout

    old, new = released(show(RELEASE, "P4-16-spec.mdk")), draft(show("HEAD", "P4-16-spec.adoc"))
    plain = lambda title: re.sub(r"\W|`", "", title.lower())
    # A title may come twice, in the same order in both.
    left = list(old)
    lines = []
    for number, title, blocks in new:
        at = next((i for i, section in enumerate(left[:12]) if plain(section[1]) == plain(title)), None)
        was = left.pop(at) if at is not None else None
        name = was[0] if was else f"draft {number}"
        blocks = max(blocks, was[2] if was else [], key=len)
        if blocks:
            lines.append((name, number, blocks.count("example"), blocks.count("grammar"), title))
    text = ["# Sections of the P4-16 specification that contain code, as coverage.py --sections found them: number in version 1.2.5",
            "# (or in the draft, if only that has the section), number in the draft, examples, excerpts of the grammar, title."]
    text += ["\t".join(map(str, line)) for line in lines]
    (HERE / "sections.txt").write_text("\n".join(text) + "\n")


def sections():
    """Lines of sections.txt: name, number in the draft, examples, grammar, title."""
    lines = [line for line in (HERE / "sections.txt").read_text().splitlines() if not line.startswith("#")]
    for line in lines:
        name, number, examples, grammar, title = line.split("\t")
        yield name, number, int(examples), int(grammar), title


def covered():
    """Programs by section."""
    found = {}
    for program in sorted(HERE.glob("*.p4")):
        names = []
        for line in program.read_text().splitlines():
            if not line.startswith("//"):
                break
            if section := re.match(r"// Section ((?:draft )?[0-9A-Z][0-9.]*)(?::|$)", line):
                names.append(section[1])
        if not names:
            sys.exit(f"{program.name} does not say which section it covers")
        for name in names:
            found.setdefault(name, []).append(program.stem)
    return found


ABOUT = """\
# The examples of the P4-16 specification

A program for each code example of the [P4-16 specification](https://p4.org/specifications/), version 1.2.5 and its working draft. A
program with a packet test beside it (`NAME.stf`) is accepted and does what the specification says; a program without one is refused
with the errors that its comments `//~ CODE` mark. Marks of warnings must come, too. The programs are our own: they do what the
example does, with values that a packet can show. What an architecture decides follows v1model; where the example is a declaration of
another architecture, its idea stands on v1model, and the program says so.

`cargo test --workspace --profile bench --test it specification` runs them with both engines. `coverage.py` writes this page from
[sections.txt](sections.txt) and from the first lines of the programs; `coverage.py --check` fails if a section has no program.

Sections have the numbers of version 1.2.5; in the draft some are higher. A star marks sections that only the draft has, with its
number. Examples are blocks of P4 or pseudocode, grammar is excerpts of the grammar.
"""


def page():
    programs, known, missing = covered(), set(), []
    lines = [ABOUT, "| section | title | examples | grammar | programs |", "| --- | --- | --- | --- | --- |"]
    total = 0
    for name, _, examples, grammar, title in sections():
        known.add(name)
        total += examples + grammar
        here = programs.get(name, [])
        if not here:
            missing.append(name)
        number = name.removeprefix("draft ") + ("*" if name.startswith("draft") else "")
        title = re.sub(r"^(.*?):.*", r"\1", title).replace("|", "\\|")
        lines.append(f"| {number} | {title} | {examples or ''} | {grammar or ''} | {', '.join(here)} |")
    count = len({name for names in programs.values() for name in names})
    lines += ["", f"{count} programs for {total} examples and excerpts in {len(known)} sections."]
    unknown = sorted(f"{name} ({', '.join(names)})" for name, names in programs.items() if name not in known)
    return "\n".join(lines) + "\n", missing, unknown


def main():
    if sys.argv[1:2] == ["--sections"]:
        write_sections(sys.argv[2])
        return
    text, missing, unknown = page()
    wrong = []
    if unknown:
        wrong.append(f"programs cover what is no section with code: {', '.join(unknown)}")
    if missing:
        wrong.append(f"sections without a program: {', '.join(missing)}")
    readme = HERE / "README.md"
    if sys.argv[1:] != ["--check"]:
        readme.write_text(text)
    elif not readme.exists() or readme.read_text() != text:
        wrong.append("README.md is not as coverage.py writes it")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
