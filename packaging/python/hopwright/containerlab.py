"""Topology files of containerlab with switches of `kind: linux` that run the image of Hopwright."""

from __future__ import annotations

import json
import os
import shlex
from typing import Any, Mapping, Sequence

from .lab import IMAGE, run


def switch(program: str, ports: Mapping[int, str], entries: str | None = None, options: Sequence[str] = (),
           binds: Sequence[str] = (), image: str = IMAGE) -> dict[str, Any]:
    """A node: `program` and `entries` are paths in the container, `binds` are HOST:CONTAINER."""
    node: dict[str, Any] = {"kind": "linux", "image": image, "entrypoint": "sh -c", "cmd": shlex.quote(run(program, ports, entries, options))}
    if binds:
        node["binds"] = list(binds)
    return node


def topology(name: str, nodes: Mapping[str, Mapping[str, Any]], links: Sequence[tuple[str, str]]) -> str:
    """The text of a topology. Ends of links are NODE:INTERFACE. It is JSON, which YAML contains."""
    for ends in links:
        for end in ends:
            node, _, interface = end.partition(":")
            if node not in nodes or not interface:
                raise ValueError(f"link end {end!r} is not NODE:INTERFACE with a node of {', '.join(nodes)}")
    connections = [{"endpoints": list(ends)} for ends in links]
    return json.dumps({"name": name, "topology": {"nodes": nodes, "links": connections}}, indent=2) + "\n"


def write_topology(path: str | os.PathLike[str], name: str, nodes: Mapping[str, Mapping[str, Any]],
                   links: Sequence[tuple[str, str]]) -> None:
    """Writes a topology, to a file named *.clab.yml."""
    text = topology(name, nodes, links)
    with open(path, "w") as file:
        file.write(text)
