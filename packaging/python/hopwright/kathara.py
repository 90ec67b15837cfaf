"""Devices of Kathará that run the image of Hopwright."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Sequence

from .lab import IMAGE, run


@dataclass(frozen=True)
class Device:
    """A switch. Its port N is interface ethN, in collision domain `domains[N]`; program and entries are paths in the container."""

    name: str
    program: str
    domains: Sequence[str]
    entries: str | None = None
    options: Sequence[str] = ()
    image: str = IMAGE

    def lab_conf(self) -> str:
        """Its lines of lab.conf. The image's entry point is the command; a device needs a shell (Kathará 3.8)."""
        lines = [f'{self.name}[{number}]="{domain}"' for number, domain in enumerate(self.domains)]
        lines += [f'{self.name}[image]="{self.image}"', f'{self.name}[entrypoint]="sh"', f'{self.name}[shell]="/bin/sh"']
        return "\n".join(lines) + "\n"

    def startup(self) -> str:
        """Its start-up script: runs the switch in the background."""
        ports = {number: f"eth{number}" for number in range(len(self.domains))}
        return f"({run(self.program, ports, self.entries, self.options)}) > /var/log/hopwright.log 2>&1 &\n"


def write_lab(folder: str | os.PathLike[str], devices: Sequence[Device]) -> None:
    """Adds the devices to the lab in a folder: to its lab.conf, and a start-up script for each."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lab.conf"), "a") as conf:
        for device in devices:
            conf.write(device.lab_conf())
    for device in devices:
        with open(os.path.join(folder, f"{device.name}.startup"), "w") as startup:
            startup.write(device.startup())
