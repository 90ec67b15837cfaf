"""What a binary needs of the system that runs it: shared libraries and versions of their symbols."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .project import Error

# Names of architectures: readelf to Debian, RPM, Python wheels and OCI.
ARCHITECTURES = {
    "Advanced Micro Devices X86-64": ("amd64", "x86_64", "x86_64", "amd64"),
    "AArch64": ("arm64", "aarch64", "aarch64", "arm64"),
}


@dataclass(frozen=True)
class Architecture:
    debian: str
    rpm: str
    wheel: str
    oci: str

    def emulator(self) -> list[str]:
        """What runs its static programs on this machine."""
        return [] if platform.machine() == self.rpm else [f"qemu-{self.rpm}"]


@dataclass(frozen=True)
class Binary:
    """The dynamic section of an ELF file. `versions` has the highest version of each kind of symbol: GLIBC, GCC, …"""

    path: Path
    architecture: Architecture
    libraries: tuple[str, ...]
    versions: dict[str, tuple[int, ...]]

    @classmethod
    def read(cls, path: Path) -> Binary:
        # readelf reads files of every architecture, objdump those that it was built for.
        done = subprocess.run(["readelf", "--wide", "--file-header", "--dynamic", "--version-info", path], capture_output=True,
                              text=True, env={**os.environ, "LC_ALL": "C"})
        kind = re.search(r"^ +Machine: +(.+)$", done.stdout, re.MULTILINE)
        if done.returncode or not kind:
            raise Error(f"{path} is not an ELF file: {done.stderr.strip()}")
        if kind[1] not in ARCHITECTURES:
            raise Error(f"{path} is {kind[1]}; packages are made for {', '.join(ARCHITECTURES)}")
        libraries = re.findall(r"\(NEEDED\) +Shared library: \[(.+)\]$", done.stdout, re.MULTILINE)
        versions: dict[str, tuple[int, ...]] = {}
        for name, number in re.findall(r" Name: ([A-Z]+)_(\d+(?:\.\d+)*) ", done.stdout):
            versions[name] = max(versions.get(name, ()), tuple(map(int, number.split("."))))
        return cls(path, Architecture(*ARCHITECTURES[kind[1]]), tuple(libraries), versions)

    def resolved_in(self, root: Path) -> list[Path]:
        """The files that the dynamic loader of another Debian's root would take, itself among them, as paths from the root."""
        found: dict[str, Path] = {}
        wanted = list(self.libraries)
        while wanted:
            name = wanted.pop()
            if name in found:
                continue
            # The loader lies in a folder that its ABI names, other libraries in that of their architecture.
            triplet = f"{self.architecture.rpm}-linux-gnu"
            folders = ("/lib", "/lib64") if name.startswith("ld-") else (f"/lib/{triplet}", f"/usr/lib/{triplet}")
            paths = [Path(folder, name) for folder in folders]
            path = next((p for p in paths if (root / p.relative_to("/")).is_file()), None)
            if path is None:
                raise Error(f"{self.path} needs {name}, which {root} does not have")
            found[name] = path
            wanted += Binary.read(root / path.relative_to("/")).libraries
        return sorted(found.values())

    def resolved(self) -> list[Path]:
        """The files that the dynamic loader would take on this machine, itself among them."""
        done = subprocess.run(["ldd", self.path], capture_output=True, text=True)
        found = re.findall(r"(?:=> )?(/\S+) \(0x", done.stdout)
        missing = re.findall(r"(\S+) => not found", done.stdout)
        if done.returncode or missing:
            raise Error(f"{self.path} does not run here: {' '.join(missing) or done.stderr.strip()}")
        return [Path(f) for f in sorted(found)]
