"""A tree of files with fixed owners, modes and times, and how it becomes a folder or an archive."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from .project import Error


@dataclass(frozen=True)
class File:
    """A file or, with `link`, a symbolic link. All belong to root."""

    data: bytes = b""
    mode: int = 0o644
    link: str | None = None


@dataclass
class Tree:
    """Files by their path from the root, without a leading slash. Folders above them exist, with mode 755."""

    files: dict[str, File] = field(default_factory=dict)

    def add(self, path: str, data: bytes | str, mode: int = 0o644) -> None:
        self._insert(path, File(data.encode() if isinstance(data, str) else data, mode))

    def link(self, path: str, to: str) -> None:
        self._insert(path, File(mode=0o777, link=to))

    def _insert(self, path: str, file: File) -> None:
        if path in self.files:
            raise Error(f"two files would be /{path}")
        self.files[path] = file

    def folders(self) -> list[str]:
        """All folders, each after the one that it lies in."""
        return sorted({"/".join(path.split("/")[:n]) for path in self.files for n in range(1, path.count("/") + 1)})

    def write(self, folder: Path, epoch: int) -> None:
        """Writes the tree below an empty folder."""
        for path in self.folders():
            (folder / path).mkdir(mode=0o755)
            (folder / path).chmod(0o755)
        for path, file in sorted(self.files.items()):
            if file.link is None:
                (folder / path).write_bytes(file.data)
                (folder / path).chmod(file.mode)
            else:
                (folder / path).symlink_to(file.link)
        for path in [*self.files, *reversed(self.folders()), "."]:
            os.utime(folder / path, (epoch, epoch), follow_symlinks=False)

    def tar(self, epoch: int) -> bytes:
        """The tree as a tar archive: folders first, then files, by name."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as tar:
            for path in self.folders():
                tar.addfile(_member(path, tarfile.DIRTYPE, 0o755, epoch))
            for path, file in sorted(self.files.items()):
                member = _member(path, tarfile.REGTYPE if file.link is None else tarfile.SYMTYPE, file.mode, epoch)
                member.size, member.linkname = len(file.data), file.link or ""
                tar.addfile(member, io.BytesIO(file.data))
        return archive.getvalue()


def _member(path: str, kind: bytes, mode: int, epoch: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(path)
    member.type, member.mode, member.mtime, member.uname, member.gname = kind, mode, epoch, "root", "root"
    return member


def compressed(data: bytes, level: int = 9) -> bytes:
    """gzip without a name and a time."""
    return gzip.compress(data, level, mtime=0)
