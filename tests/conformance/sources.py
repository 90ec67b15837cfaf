"""P4 files of a checkout: which are programs, and for which architecture."""

import re
from pathlib import Path

INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]", re.MULTILINE)
MAIN = re.compile(r"\bmain\s*;")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
ARCHITECTURES = ("v1model", "psa", "pna", "tna", "t2na", "t3na", "t5na", "ebpf_model", "ubpf_model", "xdp_model", "very_simple_model")


def text(path: Path) -> str:
    """A file without comments."""
    return COMMENT.sub(" ", path.read_text(errors="replace"))


def included(path: Path) -> list[str]:
    """The files that a file names, and those that files beside it name."""
    seen, waiting = [], [path]
    while waiting:
        at = waiting.pop()
        for name in INCLUDE.findall(text(at)):
            if name not in seen:
                seen.append(name)
                beside = at.parent / name
                if beside.is_file():
                    waiting.append(beside)
    return seen


def is_program(path: Path) -> bool:
    """Whether a file, or one that it includes from beside it, has a `main`."""
    files = [path, *(path.parent / name for name in included(path))]
    return any(MAIN.search(text(f)) for f in files if f.is_file())


def architecture(path: Path) -> str:
    """The architecture whose file a program includes, with the vendor's folder; `core` if it includes `core.p4` only."""
    names = included(path)
    for name in names:
        stem = name.removesuffix(".p4").rsplit("/", 1)[-1]
        if stem in ARCHITECTURES:
            return f"dpdk/{stem}" if name.startswith("dpdk/") else stem
    return "core" if "core.p4" in names else "none"
