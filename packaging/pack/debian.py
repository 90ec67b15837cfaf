"""Debian packages: hopwright, and hopwright-dbg with its debug information."""

from __future__ import annotations

import email.utils
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from . import contents
from .contents import Dist
from .elf import Binary
from .project import DESCRIPTION, ROOT, SUMMARY, Error, Project
from .tree import Tree, compressed

SOURCE = ROOT / "packaging/debian"
REVISION = "1"
# The package that has a library, and the kind of its symbols' versions.
LIBRARIES = {
    "libc.so.6": ("libc6", "GLIBC"), "libm.so.6": ("libc6", "GLIBC"), "ld-linux-x86-64.so.2": ("libc6", "GLIBC"),
    "ld-linux-aarch64.so.1": ("libc6", "GLIBC"), "libgcc_s.so.1": ("libgcc-s1", "GCC"),
}


def dependencies(binary: Binary) -> str:
    """The packages that have the libraries of a binary, with the versions that its symbols need."""
    needs = {}
    for library in binary.libraries:
        if library not in LIBRARIES:
            raise Error(f"{binary.path} needs {library}: packaging/pack/debian.py does not know whose it is")
        package, kind = LIBRARIES[library]
        number = ".".join(map(str, binary.versions.get(kind, ())))
        needs[package] = f"{package} (>= {number})" if number else package
    return ", ".join(sorted(needs.values()))


def build(dist: Dist, project: Project, out: Path) -> list[Path]:
    """Writes both packages to a folder."""
    binary = Binary.read(dist.binary)
    version = f"{project.version}-{REVISION}"
    tree = contents.system(dist, zsh="vendor-completions")
    doc = "usr/share/doc/hopwright"
    contents.pages(tree, doc)
    _documents(tree, doc, project, version)
    tree.add(f"{doc}/README.Debian", (SOURCE / "README.Debian").read_bytes())
    tree.add(f"{doc}/changelog.gz", compressed((ROOT / "CHANGELOG.md").read_bytes()))
    tree.add("usr/share/lintian/overrides/hopwright", (SOURCE / "hopwright.lintian-overrides").read_bytes())
    common = {"Version": version, "Architecture": binary.architecture.debian, "Maintainer": project.maintainer}
    command = {
        "Package": "hopwright", **common, "Depends": f"adduser, {dependencies(binary)}", "Suggests": "python3",
        "Section": "net", "Priority": "optional", "Description": _description(SUMMARY, DESCRIPTION)}
    scripts = {name: (SOURCE / name).read_bytes() for name in ("postinst", "prerm", "postrm")}
    debug = contents.debug(dist)
    _documents(debug, "usr/share/doc/hopwright-dbg", project, version)
    debug.add("usr/share/lintian/overrides/hopwright-dbg", (SOURCE / "hopwright-dbg.lintian-overrides").read_bytes())
    symbols = {
        "Package": "hopwright-dbg", **common, "Depends": f"hopwright (= {version})", "Section": "debug", "Priority": "optional",
        "Description": _description("debug information of Hopwright",
                                    "Debuggers and backtraces find source files and lines by this package.")}
    return [_package(tree, command, scripts, project, out), _package(debug, symbols, {}, project, out)]


def _documents(tree: Tree, doc: str, project: Project, version: str) -> None:
    tree.add(f"{doc}/copyright", (SOURCE / "copyright").read_bytes())
    entry = (f"hopwright ({version}) stable; urgency=medium\n\n  * Version {project.version}; changelog.gz of package hopwright "
             f"has the changes.\n\n -- {project.maintainer}  {email.utils.format_datetime(project.date)}\n")
    tree.add(f"{doc}/changelog.Debian.gz", compressed(entry.encode()))


def _description(summary: str, text: str) -> str:
    return "\n".join([summary, *(f" {line}" for line in text.splitlines())])


def _package(tree: Tree, control: dict[str, str], scripts: dict[str, bytes], project: Project, out: Path) -> Path:
    # dpkg counts a KiB for each folder and link.
    sizes = [-(-len(f.data) // 1024) if f.link is None else 1 for f in tree.files.values()]
    control = {**control, "Installed-Size": str(sum(sizes) + len(tree.folders()))}
    description = control.pop("Description")
    whole = Tree(dict(tree.files))
    whole.add("DEBIAN/control", "".join(f"{key}: {value}\n" for key, value in [*control.items(), ("Description", description)]))
    whole.add("DEBIAN/md5sums", "".join(f"{hashlib.md5(f.data).hexdigest()}  {path}\n" for path, f in sorted(tree.files.items())
                                        if f.link is None))
    for name, script in scripts.items():
        whole.add(f"DEBIAN/{name}", script, 0o755)
    target = out / f"{control['Package']}_{control['Version']}_{control['Architecture']}.deb"
    with tempfile.TemporaryDirectory() as folder:
        whole.write(Path(folder), project.epoch)
        # More threads cut the file in blocks, whose number changes the bytes. Higher levels take ten times as long for a fifth less.
        command = ["dpkg-deb", "--build", "--root-owner-group", "-Zxz", "-z1", "--threads-max=1", folder, target]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.epoch)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise Error(f"dpkg-deb: {done.stderr.strip()}")
    return target
