"""What a binary needs of the system that runs it: shared libraries and versions of their symbols."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .project import Error

# Names of architectures: ELF to Debian, RPM, Python wheels and OCI.
ARCHITECTURES = {
    "elf64-x86-64": ("amd64", "x86_64", "x86_64", "amd64"),
    "elf64-littleaarch64": ("arm64", "aarch64", "aarch64", "arm64"),
}


@dataclass(frozen=True)
class Architecture:
    debian: str
    rpm: str
    wheel: str
    oci: str


@dataclass(frozen=True)
class Binary:
    """The dynamic section of an ELF file. `versions` has the highest version of each kind of symbol: GLIBC, GCC, …"""

    path: Path
    architecture: Architecture
    libraries: tuple[str, ...]
    versions: dict[str, tuple[int, ...]]

    @classmethod
    def read(cls, path: Path) -> Binary:
        done = subprocess.run(["objdump", "--private-headers", path], capture_output=True, text=True)
        kind = re.search(r"file format (\S+)", done.stdout)
        if done.returncode or not kind:
            raise Error(f"{path} is not an ELF file: {done.stderr.strip()}")
        if kind[1] not in ARCHITECTURES:
            raise Error(f"{path} is {kind[1]}; packages are made for {', '.join(ARCHITECTURES)}")
        libraries = re.findall(r"^ +NEEDED +(\S+)$", done.stdout, re.MULTILINE)
        versions: dict[str, tuple[int, ...]] = {}
        for name, number in re.findall(r" ([A-Z]+)_(\d+(?:\.\d+)*)$", done.stdout, re.MULTILINE):
            versions[name] = max(versions.get(name, ()), tuple(map(int, number.split("."))))
        return cls(path, Architecture(*ARCHITECTURES[kind[1]]), tuple(libraries), versions)

    def resolved(self) -> list[Path]:
        """The files that the dynamic loader would take on this machine, itself among them."""
        done = subprocess.run(["ldd", self.path], capture_output=True, text=True)
        found = re.findall(r"(?:=> )?(/\S+) \(0x", done.stdout)
        missing = re.findall(r"(\S+) => not found", done.stdout)
        if done.returncode or missing:
            raise Error(f"{self.path} does not run here: {' '.join(missing) or done.stderr.strip()}")
        return [Path(f) for f in sorted(found)]
