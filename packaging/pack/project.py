"""What packages say about the project: version, date, notes of a release."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SUMMARY = "P4-16 compiler and data plane for new Internet protocols"
DESCRIPTION = """\
Hopwright compiles standard P4-16 programs (v1model, PSA, TNA) and runs them:
on packets of a test file or a capture, as a software switch on network
interfaces with P4Runtime, or as a SCION border router, an IP router, an
OpenFlow switch or a RINA router."""
# Whoever publishes packages sets HOPWRIGHT_MAINTAINER="Name <address>".
MAINTAINER = "Hopwright maintainers <maintainers@hopwright.example>"


class Error(Exception):
    """What cannot be packaged, and why."""


@dataclass(frozen=True)
class Project:
    """Version and date of what is packaged. `epoch` is the time, in seconds since 1970, of every file in the packages."""

    version: str
    epoch: int
    maintainer: str = MAINTAINER

    @property
    def date(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self.epoch, datetime.UTC)

    @classmethod
    def of_checkout(cls) -> Project:
        """The version is Cargo.toml's; the time SOURCE_DATE_EPOCH, or that of the last commit."""
        manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct")
        if not epoch.isdigit():
            raise Error(f"SOURCE_DATE_EPOCH is {epoch!r}, not a number of seconds")
        maintainer = os.environ.get("HOPWRIGHT_MAINTAINER", MAINTAINER)
        if not re.fullmatch(r"[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>", maintainer):
            raise Error(f"HOPWRIGHT_MAINTAINER is {maintainer!r}; expected: Name <name@host>")
        return cls(manifest["workspace"]["package"]["version"], int(epoch), maintainer)


def git(*arguments: str) -> str:
    """What git prints about the checkout."""
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise Error(f"git {' '.join(arguments)}: {done.stderr.strip()}; without git, set SOURCE_DATE_EPOCH")
    return done.stdout.strip()


def notes(changelog: str, version: str) -> str:
    """The section of a version in CHANGELOG.md, without its heading."""
    section = re.search(rf"^## \[?{re.escape(version)}\]?\b[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if not section or not section[1].strip():
        found = ", ".join(re.findall(r"^## (.*)$", changelog, re.MULTILINE)) or "none"
        raise Error(f"CHANGELOG.md has no section `## {version}` with text; its sections: {found}")
    return section[1].strip()
