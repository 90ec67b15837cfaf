#!/usr/bin/env python3
"""Shows a RINA network that configures itself: two spines, four leaves and eight hosts in network namespaces. Needs root."""

import json
import os
import pathlib
import sys
import tempfile
import time

from lab.command import Failed, wait_for
from lab.leaf_spine import HOSTS, LEAVES, SPINES, Fabric


def say(text=""):
    print(text, flush=True)


def picture(fabric):
    """The network with the addresses that its members have."""
    def box(name):
        node = fabric[name]
        if not node.process:
            return f"{name}:dead"
        return f"{name}:{node.show()['address'] or '?'}"

    spines = [box(name) for name in SPINES]
    say("                {:^16}          {:^16}".format(*spines))
    say("              /    |    |    \\            /    |    |    \\        each spine to each leaf")
    say("".join(f"{box(name):^18}" for name in LEAVES))
    say("    /    \\        " * len(LEAVES))
    say(" ".join(f"{box(name):^8}" for name in HOSTS))
    say()


def routes(fabric, name):
    say(f"# hopwright rina show     (at {name}: routes to hosts)")
    for route in fabric[name].show()["routes"]:
        if route["member"] in HOSTS:
            say(f"  to {route['member']:<4} address {route['address']:<6} cost {route['cost']}  by {', '.join(route['links'])}")
    say()


def main():
    if os.geteuid():
        sys.exit("make demo-rina needs root: it creates network namespaces.")
    with tempfile.TemporaryDirectory() as name:
        fabric = Fabric(pathlib.Path(name))
        try:
            say("RINA has one kind of layer, the DIF. A system's member of a DIF is an IPC process; applications ask it for flows by name.\n"
                "Here are fourteen systems, each a network namespace with an IPC process. Their configurations name the DIF, its credential\n"
                "and their links, and no routes; only spine1's has an address.\n")
            fabric.make()
            fabric.start()
            took = wait_for("all reach all", fabric.all_reached)
            say(f"After {took:.1f} s all are enrolled, have addresses, and reach each other:\n")
            picture(fabric)
            routes(fabric, "leaf1")
            fabric["h8"].serve("echo", "mirror")
            fabric["h8"].serve("perf", "sink")
            wait_for("the directory", lambda: len(fabric["h1"].use("list")) == 2)
            got = fabric["h1"].use("echo", "mirror", "--count", 20, "--interval", 0.02)
            say(f"# hopwright rina echo mirror     (h1 to h8)\n  {got['received']} of {got['sent']} came back, "
                f"{got['mean_ms']:.2f} ms on average; the flow was allocated in {got['allocation_ms']:.1f} ms")
            got = fabric["h1"].use("perf", "sink", "--seconds", 2)
            say(f"# hopwright rina perf sink\n  {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} of {got['sent']} SDUs\n")
            say("Now spine1 dies, while seven flows of h1 go on:")
            flows = [fabric["h1"].use("echo", "mirror", "--count", 250, "--interval", 0.02, "--timeout", 5, background=True)
                     for _ in range(7)]
            time.sleep(1.5)
            fabric["spine1"].kill()
            results = []
            for flow in flows:
                out, err = flow.communicate(timeout=60)
                if flow.returncode:
                    raise Failed(f"a flow did not survive: {out}{err}")
                results.append(json.loads(out))
            say(f"  all SDUs came back; the longest silence was {max(r['longest_gap_ms'] for r in results):.0f} ms\n")
            picture(fabric)
            routes(fabric, "leaf1")
            fabric["spine1"].start()
            wait_for("the spine", fabric.all_reached)
            wait_for("its paths", lambda: all(len(route["links"]) == 2 for route in fabric["leaf1"].show()["routes"]
                                              if route["member"] in HOSTS[2:]))
            say("It returns, and its paths are used again:\n")
            routes(fabric, "leaf1")
        except Failed as error:
            sys.exit(f"demo-rina: {error}")
        finally:
            fabric.remove()


if __name__ == "__main__":
    main()
