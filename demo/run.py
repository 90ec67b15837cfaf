#!/usr/bin/env python3
"""The SCION network of three ASes, for people.

    run.py demo    build it, show it working, take it down
    run.py up      build it and keep it until Ctrl-C
    run.py down    remove what an earlier run left behind

The border routers are Hopwright's, or the reference's with `--router reference`.
"""

from __future__ import annotations

import argparse
import fcntl
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from lab.cases import status_of
from lab.command import LabError
from lab.netns import remove_all
from lab.reference import tool
from lab.router import RouterKind
from network import PREFIX, Network, lock_of
from story import tell


def up(args: argparse.Namespace) -> int:
    network = Network(RouterKind(args.router), progress=lambda text: print(f"  {text}"))
    try:
        network.build()
        network.wait_paths("111", "112", 1)
        print("\nThe network is up; Ctrl-C takes it down. For example:\n")
        for an_as in network.plan.ases:
            print(f"  AS {an_as.isd_as}: ip netns exec {network.hosts[an_as.number].name} "
                  f"{tool('scion')} address")
        target = network.plan.get("112")
        print(f"\n  ip netns exec {network.hosts['111'].name} {tool('scion')} "
              f"ping {target.isd_as},{target.host}")
        print(f"  logs: {network.directory}", flush=True)
        while True:
            signal.pause()
    finally:
        network.close()
    return 0


def down(_args: argparse.Namespace) -> int:
    with open(lock_of(PREFIX), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError("a network is running: end it with Ctrl-C where it runs") from None
        gone = remove_all(PREFIX)
    for leftover in Path(tempfile.gettempdir()).glob("hopwright-network-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    print(f"removed {len(gone)} namespaces")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["demo", "up", "down"])
    parser.add_argument("--router", default="hopwright",
                        help="hopwright (default), reference, arm64 (after make demo-arm64), or a command with {config} in it")
    parser.add_argument("--hardware", default="", metavar="ROUTERS",
                        help="in the demo, these routers' data plane is simulated hardware, which "
                             "`hopwright rtl p4/scion/border_router.p4 --simulation` has built")
    parser.add_argument("--packets", type=int, default=20000,
                        help="packets of bulk traffic per path in the demo (default %(default)s)")
    args = parser.parse_args()
    return status_of("network", lambda: {"demo": tell, "up": up, "down": down}[args.verb](args))


if __name__ == "__main__":
    sys.exit(main())
