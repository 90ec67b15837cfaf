"""The reference SCION implementation: its sources in the Go module cache and its tools.

Its release is that of `$REFERENCE`, or v0.14.0. `tests/interop/go.mod` pins v0.14.0, a file such as `v0.15.1.mod` a later one;
`tests/interop/tools.sh` builds the tools into `tests/interop/bin`, those of a later release into a folder of its name.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

from .command import ROOT, LabError

MODULE = "github.com/scionproto/scion"
INTEROP = ROOT / "tests/interop"
OLDEST = "v0.14.0"
RELEASE = os.environ.get("REFERENCE") or OLDEST
MODULES = INTEROP / ("go.mod" if RELEASE == OLDEST else f"{RELEASE}.mod")
BIN = INTEROP / "bin" / ("" if RELEASE == OLDEST else RELEASE)


@functools.cache
def module_dir() -> Path:
    """Where the Go module cache keeps the reference sources (read-only)."""
    done = subprocess.run(
        ["go", "list", f"-modfile={MODULES.name}", "-m", "-f", "{{.Dir}}", MODULE],
        cwd=INTEROP, capture_output=True, text=True,
    )
    path = Path(done.stdout.strip())
    if done.returncode != 0 or not path.is_dir():
        raise LabError(f"cannot find the Go module {MODULE} {RELEASE}: {done.stderr.strip()}")
    return path


def tool(name: str) -> str:
    """Path of a built reference tool, e.g. `scion`, `control`, `braccept`."""
    path = BIN / name
    if not path.is_file():
        raise LabError(f"{path} is missing: run `make interop-tools REFERENCE={RELEASE}` first")
    return str(path)


def generate_topology(topo: str, directory: Path) -> None:
    """Runs the reference's generator of local topologies: makes `gen` in a directory.

    `topo` names a file of the reference's folder `topology`, for example `tiny.topo`.
    """
    python = INTEROP / ".venv-topogen" / "bin" / "python"
    if not python.is_file():
        raise LabError(f"{python} is missing: run `make interop-tools` first")
    (directory / "bin").symlink_to(BIN)
    # The address that tracing goes to when there is no Docker: none.
    script = directory / "tools" / "docker-ip"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    tools = module_dir() / "tools"
    done = subprocess.run(
        [str(python), str(tools / "topogen.py"), "-c", str(module_dir() / "topology" / topo)],
        cwd=directory, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tools), "PYTHONDONTWRITEBYTECODE": "1"})
    if done.returncode != 0:
        raise LabError(f"topogen: {done.stderr.strip()}")


def copy_tree(source: Path, target: Path) -> None:
    """Copies a folder out of the read-only module cache, writable."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for directory in [target, *(p for p in target.rglob("*") if p.is_dir())]:
        directory.chmod(0o755)
