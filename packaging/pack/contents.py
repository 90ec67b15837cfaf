"""What packages contain, by the folder where distributions keep it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .project import ROOT, Error
from .tree import Tree, compressed

UNITS = ("hopwright-router@.service", "hopwright-rina@.service", "hopwright-ip@.service", "hopwright-openflow@.service",
         "hopwright-switch.service")
# The groups that may read the configuration: those that the units name.
GROUPS = ("hopwright", "rina", "scion")
# The names of BMv2 and p4c that the command may be called by, in a folder of their own.
BMV2_NAMES = ("simple_switch", "simple_switch_grpc", "psa_switch", "p4c", "p4c-bm2-ss", "p4c-bm2-psa")
# Those of Intel's tools for Tofino.
TOFINO_NAMES = ("bf-p4c", "bf_switchd", "tofino-model", "bf_kdrv_mod_load")
# Programs, packet tests, controllers of the examples.
KINDS = {".p4", ".stf", ".py", ".txt"}


@dataclass(frozen=True)
class Dist:
    """The folder that packaging/dist.sh fills."""

    folder: Path

    def file(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise Error(f"{path} is missing: make dist")
        return path

    @property
    def binary(self) -> Path:
        return self.file("hopwright")

    def pages(self) -> list[Path]:
        self.file("man/hopwright.1")
        return sorted((self.folder / "man").glob("*.1"))


def programs(tree: Tree) -> None:
    """Programs and examples, in /usr/share/hopwright."""
    for folder in "p4", "examples":
        for path in sorted((ROOT / folder).rglob("*")):
            # Python below p4/ generates sources of the checkout.
            if path.suffix in KINDS - ({".py"} if folder == "p4" else set()) and path.is_file():
                tree.add(f"usr/share/hopwright/{path.relative_to(ROOT)}", path.read_bytes())


def monitoring(tree: Tree) -> None:
    """Alert rules and dashboard, which docs/runbook.md explains."""
    for path in sorted((ROOT / "packaging/monitoring").iterdir()):
        tree.add(f"usr/share/hopwright/monitoring/{path.name}", path.read_bytes())


def pages(tree: Tree, doc: str) -> None:
    """The documentation for users."""
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in (".md", ".svg"):
            tree.add(f"{doc}/{path.relative_to(ROOT / 'docs')}", path.read_bytes())


def system(dist: Dist, zsh: str) -> Tree:
    """The files that the packages of distributions share; zsh keeps completions in a folder of its own in each of them."""
    tree = Tree()
    tree.add("usr/bin/hopwright", dist.binary.read_bytes(), 0o755)
    for name in BMV2_NAMES:
        tree.link(f"usr/lib/hopwright/bmv2/{name}", "../../../bin/hopwright")
    for name in TOFINO_NAMES:
        tree.link(f"usr/lib/hopwright/tofino/{name}", "../../../bin/hopwright")
    if (library := dist.folder / "librina-api.so").is_file():
        tree.add("usr/lib/hopwright/librina-api.so", library.read_bytes())
        header = ROOT / "crates/apps/rina-api/include/rina/api.h"
        tree.add("usr/include/hopwright/rina/api.h", header.read_bytes())
    for page in dist.pages():
        tree.add(f"usr/share/man/man1/{page.name}.gz", compressed(page.read_bytes()))
    tree.add("usr/share/bash-completion/completions/hopwright", dist.file("completions/hopwright.bash").read_bytes())
    tree.add(f"usr/share/zsh/{zsh}/_hopwright", dist.file("completions/_hopwright").read_bytes())
    tree.add("usr/share/fish/vendor_completions.d/hopwright.fish", dist.file("completions/hopwright.fish").read_bytes())
    for unit in UNITS:
        tree.add(f"usr/lib/systemd/system/{unit}", (ROOT / "packaging" / unit).read_bytes())
    tree.add("usr/lib/sysusers.d/hopwright.conf", (ROOT / "packaging/hopwright.sysusers").read_bytes())
    programs(tree)
    monitoring(tree)
    return tree


def debug(dist: Dist) -> Tree:
    """The debug information, where debuggers look for it."""
    tree = Tree()
    tree.add("usr/lib/debug/usr/bin/hopwright.debug", dist.file("hopwright.debug").read_bytes())
    return tree
