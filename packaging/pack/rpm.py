"""RPM packages: hopwright, and hopwright-debuginfo. rpmbuild computes what the command needs from its symbols."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import contents
from .contents import Dist
from .elf import Binary
from .project import DESCRIPTION, ROOT, SUMMARY, Error, Project
from .tree import Tree

# Owners, modes and times are those of the files; nothing is stripped, compressed or linked behind our back.
MACROS = {
    "_buildhost": "localhost", "use_source_date_epoch_as_buildtime": "1", "clamp_mtime_to_source_date_epoch": "1",
    "source_date_epoch_from_changelog": "0", "_build_id_links": "none", "__os_install_post": "%{nil}", "debug_package": "%{nil}",
    "_binary_payload": "w9.zstdio", "_source_filedigest_algorithm": "8", "_binary_filedigest_algorithm": "8",
}
SCRIPTS = """\
%pre
for group in hopwright rina scion; do
    getent group "$group" >/dev/null || groupadd -r "$group" || exit 1
done

%post
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :

%preun
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
    systemctl stop 'hopwright-router@*.service' 'hopwright-rina@*.service' 'hopwright-ip@*.service' 'hopwright-openflow@*.service' hopwright-switch.service || :
fi

%postun
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :
"""


def build(dist: Dist, project: Project, out: Path) -> list[Path]:
    """Writes both packages to a folder."""
    if not shutil.which("rpmbuild"):
        raise Error("rpmbuild is missing: sudo apt-get install rpm")
    architecture = Binary.read(dist.binary).architecture.rpm
    tree = contents.system(dist, zsh="site-functions")
    contents.pages(tree, "usr/share/doc/hopwright")
    tree.add("usr/share/doc/hopwright/CHANGELOG.md", (ROOT / "CHANGELOG.md").read_bytes())
    tree.add("usr/share/licenses/hopwright/LICENSE", (ROOT / "LICENSE").read_bytes())
    debug = contents.debug(dist)
    # Folders that this package alone has; all others belong to the distribution.
    private = ("usr/lib/hopwright", "usr/share/hopwright", "usr/share/doc/hopwright", "usr/share/licenses/hopwright")
    own = [f for f in tree.folders() if f.startswith(private)]
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "root").mkdir()
        Tree(tree.files | debug.files).write(top / "root", project.epoch)
        spec = _spec(project, [f"%dir /{f}" for f in own] + [f"/{f}" for f in sorted(tree.files)], [f"/{f}" for f in debug.files])
        (top / "hopwright.spec").write_text(spec)
        command = ["rpmbuild", "-bb", "--target", architecture, "--define", f"_topdir {folder}", "--buildroot", top / "buildroot"]
        for name, value in MACROS.items():
            command += ["--define", f"{name} {value}"]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(project.epoch), "LC_ALL": "C.UTF-8"}
        done = subprocess.run([*command, top / "hopwright.spec"], capture_output=True, text=True, env=environment)
        if done.returncode:
            raise Error(f"rpmbuild: {done.stderr.strip()}")
        packages = sorted((top / "RPMS").rglob("*.rpm"))
        return [Path(shutil.copy(package, out)) for package in packages]


def _spec(project: Project, files: list[str], debug: list[str]) -> str:
    date = project.date.strftime("%a %b %d %Y")
    listed, listed_debug = "\n".join(files), "\n".join(debug)
    return f"""\
Name: hopwright
Version: {project.version}
Release: 1
Summary: {SUMMARY}
License: Apache-2.0
Packager: {project.maintainer}
Requires(pre): shadow-utils
AutoReqProv: yes

%description
{DESCRIPTION}

%package debuginfo
Summary: Debug information of Hopwright
Requires: hopwright = %{{version}}-%{{release}}
AutoReqProv: no

%description debuginfo
Debuggers and backtraces find source files and lines by this package.

%install
mkdir -p %{{buildroot}}
cp -a %{{_topdir}}/root/. %{{buildroot}}/

{SCRIPTS}
%files
%defattr(-, root, root, 755)
{listed}

%files debuginfo
%defattr(-, root, root, 755)
{listed_debug}

%changelog
* {date} {project.maintainer} - {project.version}-1
- Version {project.version}; /usr/share/doc/hopwright/CHANGELOG.md has the changes.
"""
