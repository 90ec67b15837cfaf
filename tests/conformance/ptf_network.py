#!/usr/bin/env python3
"""Runs PTF against a switch, in the network namespace of this process: veth pairs between both, one for each port.

    ptf_network.py SETTINGS

SETTINGS is JSON: `switch` (the command, without ports), `server` (host and port that it serves), `ports` (their numbers), `ptf` (the command,
without ports), `device` (what stands before a port's number), `path` (folders for PYTHONPATH, whose folders `bin` have commands for the
tests), `folder` (for logs), `attach` (false if the switch finds its ports by itself), `names` (the switch's and PTF's device of each port, if these
matter), `said` (what PTF is given about each port besides). The exit status is PTF's, or 3 if the switch did not start."""

import json
import os
import pathlib
import subprocess
import sys

from lab.command import end, wait_until
from lab.netns import ip
from lab.switch import accepts


def main(settings):
    folder = pathlib.Path(settings["folder"])
    ip("link", "set", "lo", "up")
    names = settings.get("names") or [(f"sw{port}", f"ptf{port}") for port in settings["ports"]]
    ports = list(zip(settings["ports"], names))
    for _, (own, peer) in ports:
        ip("link", "add", own, "type", "veth", "peer", "name", peer)
        for device in (own, peer):
            pathlib.Path(f"/proc/sys/net/ipv6/conf/{device}/disable_ipv6").write_text("1")
            ip("link", "set", device, "mtu", "9600", "up")
    attached = [word for port, (own, _) in ports if settings.get("attach", True) for word in ("-i", f"{port}@{own}")]
    with open(folder / "switch.log", "wb") as log:
        switch = subprocess.Popen([*settings["switch"], *attached], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        wait_until("the switch", lambda: accepts(*settings["server"]) or switch.poll() is not None)
        if switch.poll() is not None:
            return 3
        said = settings.get("said") or [""] * len(ports)
        interfaces = [word for (port, (_, peer)), more in zip(ports, said) for word in ("-i", f"{settings.get('device', '0-')}{port}@{peer}{more}")]
        commands = [*(f"{path}/bin" for path in settings["path"]), os.environ["PATH"]]
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(settings["path"]), PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="ignore",
                           PATH=os.pathsep.join(commands))
        return subprocess.run([*settings["ptf"], *interfaces], cwd=folder, env=environment).returncode
    finally:
        end(switch, timeout=10)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
