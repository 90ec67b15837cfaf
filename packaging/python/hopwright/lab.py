"""The command line of a switch in a container, and the image it runs."""

from __future__ import annotations

import shlex
from importlib.metadata import PackageNotFoundError, version
from typing import Mapping, Sequence

try:
    IMAGE = f"hopwright:{version('hopwright')}"
except PackageNotFoundError:  # Imported from the checkout.
    IMAGE = "hopwright"


def run(program: str, ports: Mapping[int, str], entries: str | None = None, options: Sequence[str] = ()) -> str:
    """A shell command that waits for the interfaces of `ports`, number to interface, then runs the program on them.

    Labs connect interfaces after they start a container.
    """
    if not ports:
        raise ValueError("a switch needs a port: ports={1: 'eth1'}")
    words = ["hopwright", "run", program]
    for number, interface in sorted(ports.items()):
        words += ["-i", f"{number}@{interface}"]
    words += ["--entries", entries] if entries else []
    wait = [f"until ip link set {shlex.quote(i)} up 2>/dev/null; do sleep 0.1; done" for _, i in sorted(ports.items())]
    return "; ".join([*wait, "exec " + " ".join(shlex.quote(str(word)) for word in [*words, "--p4runtime", "0.0.0.0:9559", *options])])
