"""The pages of the documentation: code in them, links, headings."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked():
    """All files of the checkout, relative to its root."""
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                           capture_output=True, text=True, check=True).stdout.split("\n")
    return sorted(f for f in set(files) if f and (ROOT / f).exists())


def pages():
    return [f for f in tracked() if f.endswith(".md")]


def parts(text):
    """Splits a page into its prose and its code blocks: (line number, language or None, lines)."""
    number, language, lines = 1, None, []
    for at, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            yield number, language, lines
            language = line.lstrip()[3:].strip() if language is None else None
            number, lines = at + 1, []
        else:
            lines.append(line)
    yield number, language, lines


def commands(text):
    """Command lines of a page as (line number, command): what a console block types, and inline code of two words or
    more. Comments are taken off, continued lines joined."""
    for number, language, lines in parts(text):
        if language is None:
            for at, line in enumerate(lines, number):
                # Inline code may go on in the next line.
                whole = line + " " + lines[at - number + 1] if line.count("`") % 2 and at - number + 1 < len(lines) else line
                for code in re.findall(r"`([^`]+)`", whole):
                    if re.match(r"(sudo )?(hopwright|cargo|make|(bench|demo|tests)/\S+\.(py|sh)) ", code):
                        yield at, code.removeprefix("sudo ")
        elif language in ("console", "sh"):
            joined = "\n".join(lines).replace("\\\n", "\0").splitlines()
            at = number
            for line in joined:
                typed = re.match(r"[$#] (.*)", line) if language == "console" else re.match(r"(.*)", line)
                if typed:
                    command = re.sub(r"\s+# .*", "", typed[1].replace("\0", " "))
                    command = re.sub(r"^(sudo |ip netns exec \S+ )*", "", command)
                    yield at, command.strip()
                at += 1 + line.count("\0")


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    for _, language, lines in parts(text):
        if language is None:
            for line in lines:
                if heading := re.match(r"#+ (.*)", line):
                    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
                    yield re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
