#!/usr/bin/env python3
"""Many members in network namespaces, a process each: spines, leaves with a link to each spine, and three hosts at each leaf. They start at once, enrol, and
reach each other; a spine is killed and returns; applications of hosts exchange SDUs. No link may drop before the kill, and memory may not grow. With --hours
members are killed and started, links fail and return, and flows come and go for so long.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import random
import statistics
import sys
import time

from lab.cases import case_options
from lab.command import Failed, run, wait_for
from lab.leaf_spine import Fabric, carry_out, report

HOSTS_OF_LEAF = 3
PATIENCE = 600.0
# A machine that runs all members is busy when they start.
KEEPALIVE_MS, DEAD_AFTER_MS = 1000, 8000
# Memory that a member may take more in the end, for each of two reasons: what grows with what it has seen once, and what does not.
SLACK, SHARE = 3 << 20, 0.15
# Between two looks at memory, in seconds, and two changes.
LOOK, CHANGE = 300.0, 5.0


def shape(members, spines):
    """Names and links. The last leaf may have fewer hosts."""
    leaves = max(1, round((members - spines) / (1 + HOSTS_OF_LEAF)))
    hosts = members - spines - leaves
    names = [[f"{kind}{number}" for number in range(1, count + 1)] for kind, count in (("spine", spines), ("leaf", leaves), ("h", hosts))]
    links = [(spine, leaf) for spine in names[0] for leaf in names[1]]
    links += [(names[1][number % leaves], host) for number, host in enumerate(names[2])]
    return names, links


def mib(number):
    return f"{number / (1 << 20):.1f} MiB"


class Members:
    """What is known of all members."""

    def __init__(self, fabric, names):
        self.fabric = fabric
        self.spines, self.leaves, self.hosts = names
        # Of the processes that have run from the beginning: memory then.
        self.memory = {}

    def running(self):
        return {name: node for name, node in self.fabric.nodes.items() if node.process}

    def all_reached(self):
        """Whether each member that runs has a route to each other one. What a look at one costs is paid for all only if all is well."""
        nodes = self.running()
        for name, node in nodes.items():
            routes = {route["member"] for route in node.state()["routes"] if route["links"]}
            if missing := set(nodes) - routes - {name}:
                raise Failed(f"{name} does not reach {len(missing)} members, {min(missing)} among them")
        return True

    def downs(self):
        return {name: sum(link["downs"] for link in node.state()["links"]) for name, node in self.running().items()}

    def remember(self):
        self.memory = {name: (node.process.pid, node.memory()) for name, node in self.running().items()}

    def check_memory(self, when):
        now = {name: node.memory() for name, node in self.running().items()}
        report(f"memory {when}: {mib(statistics.median(now.values()))} a member (median; {mib(min(now.values()))} to {mib(max(now.values()))})")
        for name, (pid, before) in self.memory.items():
            node = self.running().get(name)
            if node and node.process.pid == pid and now[name] > before * (1 + SHARE) + SLACK:
                raise Failed(f"{name} has {mib(now[name])}, and had {mib(before)}")


def start(members):
    fabric = members.fabric
    begin = time.monotonic()
    fabric.start()
    ready = lambda node: "in DIF fabric" in (fabric.folder / f"{node.name}.log").read_text()
    wait_for("all processes", lambda: all(map(ready, fabric.nodes.values())), PATIENCE)
    report(f"{len(fabric.nodes)} processes run after {time.monotonic() - begin:.1f} s")
    wait_for("all reach all", members.all_reached, PATIENCE)
    report(f"all have enrolled, and reach all others, after {time.monotonic() - begin:.1f} s")
    addresses = {node.state()["address"] for node in fabric.nodes.values()}
    if len(addresses) != len(fabric.nodes) or 0 in addresses:
        raise Failed(f"{len(addresses)} addresses for {len(fabric.nodes)} members")
    if flapped := {name: downs for name, downs in members.downs().items() if downs}:
        raise Failed(f"neighbours went down while members enrolled: {flapped}")
    report("no neighbour went down meanwhile")
    members.remember()
    members.check_memory("after enrollment")


def echo(members, chooser, pairs):
    """Echoes from hosts to hosts that are drawn."""
    times = []
    for _ in range(pairs):
        client, server = chooser.sample(members.hosts, 2)
        node = members.fabric[server]
        name = f"echo-{server}"
        if not node.applications:
            node.serve("echo", name)
        wait_for(f"{name} at {client}", lambda: any(it["application"] == name for it in members.fabric[client].use("list")), PATIENCE)
        times.append(members.fabric[client].use("echo", name, "--count", 3, "--interval", 0.01, "--timeout", 30)["allocation_ms"])
    report(f"echo between {pairs} pairs of hosts; a flow takes {statistics.median(times):.1f} ms (median)")


def spine(members):
    """A spine dies and returns."""
    dead = members.fabric[members.spines[0]]
    begin = time.monotonic()
    dead.kill()
    of_leaf = lambda name: members.fabric[name].state()["routes"]
    without = lambda name: not any(dead.name in route["links"] for route in of_leaf(name))
    wait_for("routes without the spine", lambda: all(map(without, members.leaves)), PATIENCE)
    wait_for("all reach all without it", members.all_reached, PATIENCE)
    took = time.monotonic() - begin
    report(f"{dead.name} was killed: no route leads over it, and all reach all, after {took:.1f} s; it counts as dead after {DEAD_AFTER_MS / 1000:.0f} s")
    begin = time.monotonic()
    dead.start()
    wait_for("the spine's return", members.all_reached, PATIENCE)
    used = lambda: sum(dead.name in route["links"] for route in of_leaf(members.leaves[0])) > 1
    wait_for("routes over it", used, PATIENCE)
    report(f"it is back, and used, {time.monotonic() - begin:.1f} s after it was started")


def churn(members, hours, chooser):
    """Members die and restart, links fail and return, and flows come and go."""
    fabric, counts = members.fabric, {"members killed": 0, "links cut": 0, "echoes": 0}
    end, look = time.monotonic() + 3600 * hours, time.monotonic() + LOOK
    killed, cut = [], []
    others = members.spines[1:] + members.leaves + members.hosts
    while time.monotonic() < end:
        what = chooser.randrange(6)
        if what == 0 and len(killed) < 3:
            name = chooser.choice([it for it in others if fabric[it].process])
            fabric[name].kill()
            fabric[name].applications, gone = [], fabric[name].applications
            for application in gone:
                application.wait(60)
            killed.append(name)
            counts["members killed"] += 1
        elif what == 1 and killed:
            fabric[killed.pop(0)].start()
        elif what == 2 and len(cut) < 3:
            node = fabric[chooser.choice(members.spines)]
            device = chooser.choice(node.devices)
            run("ip", "-n", node.net, "link", "set", device, "down")
            cut.append((node, device))
            counts["links cut"] += 1
        elif what == 3 and cut:
            node, device = cut.pop(0)
            run("ip", "-n", node.net, "link", "set", device, "up")
        elif what >= 4:
            client, server = chooser.sample([it for it in members.hosts if fabric[it].process], 2)
            if not fabric[server].applications:
                fabric[server].serve("echo", f"echo-{server}")
            # Whether it succeeds depends on who has died.
            process = fabric[client].use("echo", f"echo-{server}", "--count", 3, "--wait", 5, background=True)
            process.communicate(timeout=120)
            counts["echoes"] += process.returncode == 0
        if time.monotonic() >= look:
            look += LOOK
            members.check_memory(f"{(end - time.monotonic()) / 60:.0f} min before the end")
        time.sleep(CHANGE * chooser.random())
    for name in killed:
        fabric[name].start()
    for node, device in cut:
        run("ip", "-n", node.net, "link", "set", device, "up")
    took = wait_for("all reach all after the churn", members.all_reached, PATIENCE)
    report(", ".join(f"{count} {what}" for what, count in counts.items()) + f"; all reach all {took:.1f} s after the last change")


def main():
    parser = case_options(__doc__)
    parser.add_argument("--members", type=int, default=60)
    parser.add_argument("--spines", type=int, default=4)
    parser.add_argument("--echoes", type=int, default=20)
    parser.add_argument("--hours", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.spines < 2 or arguments.members < arguments.spines + 8:
        parser.error("two spines at least, and eight other members")

    def test(folder):
        names, links = shape(arguments.members, arguments.spines)
        chooser = random.Random(arguments.seed)
        spines, leaves, hosts = names
        print(f"{len(spines)} spines, {len(leaves)} leaves, {len(hosts)} hosts, {len(links)} links", flush=True)
        with Fabric(folder, sum(names, []), links) as fabric:
            fabric.make()
            for node in fabric.nodes.values():
                node.write_config("fabric.key", timers=f"keepalive_ms = {KEEPALIVE_MS}\ndead_after_ms = {DEAD_AFTER_MS}\n")
            members = Members(fabric, names)
            start(members)
            echo(members, chooser, arguments.echoes)
            spine(members)
            if arguments.hours:
                churn(members, arguments.hours, chooser)
            echo(members, chooser, arguments.echoes)
            members.check_memory("in the end")
    return carry_out(f"{arguments.members} members", test, args=arguments)


if __name__ == "__main__":
    sys.exit(main())
