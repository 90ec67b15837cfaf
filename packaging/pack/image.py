"""An OCI image as an archive: an OCI layout that skopeo and podman read, with the file by which older `docker load` reads it."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

from . import contents
from .contents import Dist
from .elf import Binary
from .project import ROOT, SUMMARY, Error, Project
from .tree import Tree, compressed

BUSYBOX = Path("/bin/busybox")
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def build(dist: Dist, project: Project, out: Path, sysroot: Path | None = None) -> list[Path]:
    """Writes hopwright-VERSION-image-ARCHITECTURE.tar to a folder. `sysroot` has what packaging/sysroot.sh unpacks, for images of
    another architecture than this machine's.
    """
    binary = Binary.read(dist.binary)
    if binary.architecture.emulator() and not sysroot:
        raise Error(f"{dist.binary} is for {binary.architecture.debian}: its image needs --sysroot, which packaging/sysroot.sh makes")
    # What changes seldom lies below what changes with each build.
    layers = [layer.tar(project.epoch) for layer in (base(binary, sysroot), command(dist))]
    archive = Tree()
    descriptors = [_blob(archive, LAYER, compressed(layer, 6)) for layer in layers]
    created = project.date.strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {"org.opencontainers.image.title": "hopwright", "org.opencontainers.image.version": project.version,
              "org.opencontainers.image.description": SUMMARY, "org.opencontainers.image.licenses": "Apache-2.0"}
    config = _blob(archive, CONFIG, _json({
        "created": created, "architecture": binary.architecture.oci, "os": "linux",
        "config": {"Entrypoint": ["hopwright"], "Env": [f"PATH={PATH}"], "WorkingDir": "/", "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]},
        "history": [{"created": created, "created_by": text} for text in ("shared libraries and busybox", "hopwright")]}))
    manifest = _blob(archive, MANIFEST, _json({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": descriptors}))
    manifest["annotations"] = {"org.opencontainers.image.ref.name": project.version,
                               "io.containerd.image.name": f"docker.io/library/hopwright:{project.version}"}
    archive.add("oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    archive.add("index.json", _json({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                     "manifests": [manifest]}))
    archive.add("manifest.json", _json([{"Config": _path(config), "RepoTags": [f"hopwright:{project.version}"],
                                         "Layers": [_path(layer) for layer in descriptors]}]))
    target = out / f"hopwright-{project.version}-image-{binary.architecture.oci}.tar"
    target.write_bytes(archive.tar(project.epoch))
    return [target]


def base(binary: Binary, sysroot: Path | None = None) -> Tree:
    """What the command needs: its shared libraries, a shell, and files that name users."""
    tree = Tree()
    root = sysroot or Path("/")
    owners = {"busybox-static"}
    for library in binary.resolved_in(root) if sysroot else binary.resolved():
        tree.add(str(library)[1:], (root / library.relative_to("/")).read_bytes(), 0o755)
        # All packages of a sysroot are part of the image.
        owners |= {path.name for path in (root / "usr/share/doc").iterdir()} if sysroot else {_owner(library)}
    busybox = root / BUSYBOX.relative_to("/")
    if not busybox.is_file() or Binary.read(busybox).libraries:
        raise Error(f"{busybox} is missing or not static: sudo apt-get install busybox-static")
    tree.add("bin/busybox", busybox.read_bytes(), 0o755)
    applets = [*binary.architecture.emulator(), busybox, "--list"]
    for applet in subprocess.run(applets, capture_output=True, text=True, check=True).stdout.split():
        if applet != "busybox":
            tree.link(f"bin/{applet}", "busybox")
    tree.add("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
    tree.add("etc/group", "root:x:0:\n")
    tree.add("etc/nsswitch.conf", "hosts: files dns\n")
    for owner in sorted(owners):
        tree.add(f"usr/share/doc/{owner}/copyright", (root / f"usr/share/doc/{owner}/copyright").read_bytes())
    # Folders are made for files. These stay empty, but for a file that says why they are there.
    for folder in "root", "tmp", "run", "var/log":
        tree.add(f"{folder}/.keep", "")
    return tree


def command(dist: Dist) -> Tree:
    """The command, its programs and its license."""
    tree = Tree()
    tree.add("usr/bin/hopwright", dist.binary.read_bytes(), 0o755)
    contents.programs(tree)
    tree.add("usr/share/doc/hopwright/LICENSE", (ROOT / "LICENSE").read_bytes())
    return tree


def _owner(library: Path) -> str:
    """The Debian package of a library: its license goes into the image."""
    for path in library, library.resolve(), Path(f"/usr{library}"), Path(str(library.resolve()).removeprefix("/usr")):
        done = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True)
        if not done.returncode:
            return done.stdout.split(":")[0]
    raise Error(f"no Debian package has {library}: images are built on Debian or Ubuntu")


def _blob(archive: Tree, kind: str, data: bytes) -> dict:
    digest = hashlib.sha256(data).hexdigest()
    if f"blobs/sha256/{digest}" not in archive.files:
        archive.add(f"blobs/sha256/{digest}", data)
    return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data)}


def _path(descriptor: dict) -> str:
    return "blobs/" + descriptor["digest"].replace(":", "/")


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def layers(archive: Path) -> list[bytes]:
    """The layers of an image, uncompressed, in the order in which they are applied."""
    import gzip
    with tarfile.open(archive) as tar:
        def read(name: str) -> bytes:
            return tar.extractfile(name).read()
        manifest = json.loads(read(_path(json.loads(read("index.json"))["manifests"][0])))
        return [gzip.decompress(read(_path(layer))) for layer in manifest["layers"]]


def unpack(archive: Path, folder: Path) -> None:
    """Unpacks an image below a folder, as a container's root."""
    for layer in layers(archive):
        with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
            tar.extractall(folder, filter="fully_trusted") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
