"""A Python wheel: the command as a script, and the package `hopwright` of packaging/python."""

from __future__ import annotations

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from .contents import Dist
from .elf import Binary
from .project import DESCRIPTION, ROOT, SUMMARY, Project


def tag(binary: Binary) -> str:
    """The platforms that the command runs on: the symbols of glibc say from which version (PEP 600)."""
    major, minor = binary.versions.get("GLIBC", (2, 17))[:2]
    return f"manylinux_{major}_{minor}_{binary.architecture.wheel}"


def build(dist: Dist, project: Project, out: Path) -> list[Path]:
    """Writes the wheel to a folder."""
    platform = tag(Binary.read(dist.binary))
    name = f"hopwright-{project.version}"
    files = {f"hopwright/{path.name}": (path.read_bytes(), 0o644)
             for path in sorted((ROOT / "packaging/python/hopwright").glob("*.py"))}
    files[f"{name}.data/scripts/hopwright"] = dist.binary.read_bytes(), 0o755
    files[f"{name}.dist-info/METADATA"] = _metadata(project).encode(), 0o644
    files[f"{name}.dist-info/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: hopwright\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode(), 0o644)
    files[f"{name}.dist-info/LICENSE"] = (ROOT / "LICENSE").read_bytes(), 0o644
    record = f"{name}.dist-info/RECORD"
    lines = [f"{path},sha256={_digest(data)},{len(data)}" for path, (data, _) in files.items()]
    files[record] = "\n".join([*lines, f"{record},,\n"]).encode(), 0o644
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as wheel:
        for path, (data, mode) in files.items():
            member = zipfile.ZipInfo(path, project.date.timetuple()[:6])
            member.compress_type, member.create_system, member.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            wheel.writestr(member, data)
    target = out / f"{name}-py3-none-{platform}.whl"
    target.write_bytes(archive.getvalue())
    return [target]


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _metadata(project: Project) -> str:
    return (f"Metadata-Version: 2.1\nName: hopwright\nVersion: {project.version}\nSummary: {SUMMARY}\nLicense: Apache-2.0\n"
            f"Author-email: {project.maintainer}\nRequires-Python: >=3.9\nClassifier: Operating System :: POSIX :: Linux\n"
            f"Description-Content-Type: text/plain\n\n{DESCRIPTION}\n")
