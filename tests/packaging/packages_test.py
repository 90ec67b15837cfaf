#!/usr/bin/env python3
"""What packages contain and say, and that two builds of one commit give the same bytes. A small program stands in for the command."""

import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import unittest.mock
import zipfile
from pathlib import Path

from lab.cases import unittest_main

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

from pack import contents, debian, image, project, rpm, wheel  # noqa: E402
from pack.contents import Dist  # noqa: E402
from pack.elf import ARCHITECTURES, Architecture, Binary  # noqa: E402
from pack.project import Error, Project  # noqa: E402

PROJECT = Project("1.2.3", 1_700_000_001)


def dist(folder):
    """What packaging/dist.sh leaves, with another program."""
    folder = Path(folder)
    shutil.copy(shutil.which("true"), folder / "hopwright")
    (folder / "hopwright.debug").write_bytes(b"debug information")
    for name in "man/hopwright.1", "man/hopwright-run.1", "completions/hopwright.bash", "completions/_hopwright", "completions/hopwright.fish":
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    return Dist(folder)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "dist").mkdir()
        self.dist = dist(self.folder / "dist")

    def build(self, builder, name="out"):
        (self.folder / name).mkdir()
        return builder(self.dist, PROJECT, self.folder / name)

    def same_twice(self, builder):
        first = self.build(builder, "first")
        # A later time and another umask change nothing.
        for path in (self.folder / "dist").rglob("*"):
            os.utime(path, (time.time() + 86400,) * 2)
        mask = os.umask(0o077)
        try:
            second = self.build(builder, "second")
        finally:
            os.umask(mask)
        self.assertEqual([p.name for p in first], [p.name for p in second])
        for one, other in zip(first, second):
            self.assertEqual(one.read_bytes(), other.read_bytes(), one.name)


@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
class Debian(Case):
    def test_two_builds_give_the_same_bytes(self):
        self.same_twice(debian.build)

    def test_control_says_what_the_binary_needs(self):
        command, debug = self.build(debian.build)
        fields = {name: subprocess.run(["dpkg-deb", "--field", command, name], capture_output=True, text=True, check=True).stdout.strip()
                  for name in ("Package", "Version", "Depends", "Description")}
        self.assertEqual((fields["Package"], fields["Version"]), ("hopwright", "1.2.3-1"))
        self.assertRegex(fields["Depends"], r"^adduser, libc6 \(>= 2\.\d+\)$")
        self.assertIn("P4-16", fields["Description"])
        depends = subprocess.run(["dpkg-deb", "--field", debug, "Depends"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(depends.strip(), "hopwright (= 1.2.3-1)")

    def test_files_belong_to_root_and_lie_where_debian_has_them(self):
        command, debug = self.build(debian.build)
        listed = {m.name[2:]: m for m in members(command, "data.tar")}
        for path in ("usr/bin/hopwright", "usr/share/man/man1/hopwright-run.1.gz", "usr/share/zsh/vendor-completions/_hopwright",
                     "usr/lib/systemd/system/hopwright-router@.service", "usr/lib/sysusers.d/hopwright.conf",
                     "usr/share/doc/hopwright/copyright", "usr/share/doc/hopwright/install.md", "usr/share/hopwright/examples/l2.p4",
                     "usr/share/hopwright/monitoring/hopwright-router.rules.yml",
                     "usr/lib/hopwright/bmv2/simple_switch_grpc", "usr/lib/hopwright/tofino/bf_switchd"):
            self.assertIn(path, listed)
        self.assertEqual(listed["usr/lib/hopwright/bmv2/p4c"].linkname, "../../../bin/hopwright")
        self.assertEqual({(m.uid, m.gid, m.mtime) for m in listed.values()}, {(0, 0, PROJECT.epoch)})
        self.assertEqual({oct(m.mode) for m in listed.values() if not m.issym()}, {"0o755", "0o644"})
        self.assertEqual([p for p in listed if p.startswith("etc")], [])
        self.assertIn("usr/lib/debug/usr/bin/hopwright.debug", [m.name[2:] for m in members(debug, "data.tar")])

    def test_scripts_are_shell_and_start_nothing(self):
        command, _ = self.build(debian.build)
        scripts = {m.name: m for m in members(command, "control.tar")}
        for name in "postinst", "prerm", "postrm":
            self.assertEqual(scripts[f"./{name}"].mode, 0o755)
            text = (ROOT / "packaging/debian" / name).read_text()
            subprocess.run(["sh", "-n"], input=text, text=True, check=True)
            for verb in " start", "enable ", "restart":
                self.assertNotIn(f"systemctl{verb}", text)

    def test_an_unknown_library_is_an_error(self):
        binary = Binary(Path("x"), Architecture(*ARCHITECTURES["AArch64"]), ("libnew.so.1",), {})
        with self.assertRaisesRegex(Error, "needs libnew.so.1"):
            debian.dependencies(binary)


def members(package, part):
    """The members of one archive in a Debian package."""
    name = next(line for line in subprocess.run(["ar", "t", package], capture_output=True, text=True, check=True).stdout.split()
                if line.startswith(part))
    data = subprocess.run(["ar", "p", package, name], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [m for m in tar.getmembers() if m.name != "."]


@unittest.skipUnless(shutil.which("rpmbuild"), "no rpmbuild: apt-get install rpm")
class Rpm(Case):
    def test_two_builds_give_the_same_bytes(self):
        self.same_twice(rpm.build)

    def test_it_has_the_files_of_the_debian_package(self):
        command, debug = self.build(rpm.build)
        listed = set(query(command, "--list"))
        shared = {f"/{path}" for path in contents.system(self.dist, zsh="site-functions").files}
        self.assertLessEqual(shared, listed)
        self.assertNotIn("/usr/bin", listed)
        self.assertEqual(query(debug, "--list"), ["/usr/lib/debug/usr/bin/hopwright.debug"])
        self.assertTrue([line for line in query(command, "--requires") if line.startswith("libc.so.6(GLIBC_")])
        self.assertEqual(set(query(command, "--qf", r"[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]")), {"root:root"})


def query(package, *arguments):
    return subprocess.run(["rpm", "--query", "--package", package, *arguments], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


@unittest.skipUnless(image.BUSYBOX.is_file() and shutil.which("dpkg-query"), "no static busybox: apt-get install busybox-static")
class Image(Case):
    def test_two_builds_give_the_same_bytes(self):
        self.same_twice(image.build)

    def test_both_descriptions_name_the_same_layers(self):
        import hashlib
        archive, = self.build(image.build)
        with tarfile.open(archive) as tar:
            files = {m.name: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
        for name, data in files.items():
            if name.startswith("blobs/"):
                self.assertEqual(hashlib.sha256(data).hexdigest(), name.split("/")[-1])
        index = json.loads(files["index.json"])["manifests"][0]
        self.assertEqual(index["annotations"]["org.opencontainers.image.ref.name"], "1.2.3")
        manifest = json.loads(files["blobs/" + index["digest"].replace(":", "/")])
        config = json.loads(files["blobs/" + manifest["config"]["digest"].replace(":", "/")])
        self.assertEqual(config["config"]["Entrypoint"], ["hopwright"])
        layers = [files["blobs/" + layer["digest"].replace(":", "/")] for layer in manifest["layers"]]
        self.assertEqual([f"sha256:{hashlib.sha256(gzip.decompress(layer)).hexdigest()}" for layer in layers], config["rootfs"]["diff_ids"])
        docker, = json.loads(files["manifest.json"])
        self.assertEqual(docker["RepoTags"], ["hopwright:1.2.3"])
        self.assertEqual([files[path] for path in docker["Layers"]], layers)

    def test_libraries_below_another_root_are_those_that_the_loader_finds(self):
        binary = Binary.read(self.dist.binary)
        self.assertEqual(binary.resolved_in(Path("/")), binary.resolved())
        with self.assertRaisesRegex(Error, r"needs libc\.so\.6, which .* does not have"):
            binary.resolved_in(self.folder)

    def test_one_for_another_architecture_needs_its_libraries(self):
        with unittest.mock.patch("platform.machine", return_value="another"), self.assertRaisesRegex(Error, "needs --sysroot"):
            self.build(image.build)

    def test_it_has_a_shell_and_the_libraries_with_their_licenses(self):
        tree = image.base(Binary.read(self.dist.binary))
        self.assertEqual(tree.files["bin/sh"].link, "busybox")
        self.assertTrue([p for p in tree.files if p.endswith("libc.so.6")])
        self.assertTrue([p for p in tree.files if "/ld-linux" in p])
        self.assertIn("usr/share/doc/libc6/copyright", tree.files)


class Wheel(Case):
    def test_two_builds_give_the_same_bytes(self):
        self.same_twice(wheel.build)

    def test_it_has_the_command_and_the_package(self):
        built, = self.build(wheel.build)
        self.assertRegex(built.name, r"^hopwright-1\.2\.3-py3-none-manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(built) as archive:
            command = archive.getinfo("hopwright-1.2.3.data/scripts/hopwright")
            self.assertEqual(command.external_attr >> 16, 0o100755)
            self.assertEqual(archive.read(command), (self.folder / "dist/hopwright").read_bytes())
            self.assertIn("hopwright/client.py", archive.namelist())
            record = archive.read("hopwright-1.2.3.dist-info/RECORD").decode().splitlines()
            self.assertEqual([line.split(",")[0] for line in record], archive.namelist())


class Projects(unittest.TestCase):
    CHANGELOG = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.10.0\n\n- ten\n\n## 1.1.0 (2026-01-02)\n\n- one\n"

    def test_notes_are_the_section_of_the_version(self):
        self.assertEqual(project.notes(self.CHANGELOG, "1.1.0"), "- one")
        self.assertEqual(project.notes(self.CHANGELOG, "1.10.0"), "- ten")
        with self.assertRaisesRegex(Error, "no section `## 1.1` .*Unreleased, 1.10.0"):
            project.notes(self.CHANGELOG.replace("1.1.0", "2.0.0"), "1.1")

    def test_the_version_is_the_manifests_and_the_time_is_given(self):
        done = subprocess.run([sys.executable, "-c", "from pack.project import Project; p = Project.of_checkout(); print(p.version, p.epoch)"],
                              cwd=ROOT / "packaging", env={**os.environ, "SOURCE_DATE_EPOCH": "17"}, capture_output=True, text=True)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+ 17$")

    def test_what_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([ROOT / "packaging/packages.py", "--dist", folder, "--out", f"{folder}/out", "wheel"],
                                  env={**os.environ, "SOURCE_DATE_EPOCH": "17"}, capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^packages.py: .*/hopwright is missing: make dist\n$")

    def test_the_groups_are_those_that_the_units_name(self):
        named = set()
        for unit in contents.UNITS:
            for line in (ROOT / "packaging" / unit).read_text().splitlines():
                if line.startswith(("Group=", "SupplementaryGroups=")):
                    named |= set(line.partition("=")[2].split())
        self.assertEqual(named, set(contents.GROUPS))
        sysusers = (ROOT / "packaging/hopwright.sysusers").read_text().splitlines()
        self.assertEqual({line.split()[1] for line in sysusers if line.startswith("g ")}, named)
        for script in (ROOT / "packaging/debian/postinst").read_text(), rpm.SCRIPTS:
            self.assertIn(f"for group in {' '.join(sorted(named))}; do", script)


if __name__ == "__main__":
    unittest_main()
