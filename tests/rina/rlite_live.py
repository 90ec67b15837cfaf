#!/usr/bin/env python3
"""rlite_live.py BUILD: three members that run rlite, in virtual machines, and three of ours, in a ring of one DIF.

     h1 ── r1 ── h2 ── r2 ── h3 ── r3 ── r1

Each enrols at the one before it. BUILD is what rlite.sh has built. RLITE_MEMBERS=N: another number of each, two at least. RLITE_FRAMES=FOLDER keeps the frames of each of rlite's devices.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import os
import pathlib
import re
import shutil
import sys

import rlite_machine
from api_test import LIBRARY, Programs, compiled
from lab.cases import case_options, in_turn
from lab.command import Failed, wait_for
from lab.leaf_spine import Fabric, carry_out, report

DIF = "n.DIF"
COUNT = int(os.environ.get("RLITE_MEMBERS", 3))
OURS, THEIRS = [f"h{n}" for n in range(1, COUNT + 1)], [f"r{n}" for n in range(1, COUNT + 1)]
LAST = THEIRS[-1]
# Who is at the other ends of rlite's devices.
ENDS = {theirs: [*OURS[n:n + 2], *{0: [LAST], COUNT - 1: ["r1"]}.get(n, [])] for n, theirs in enumerate(THEIRS)}
PATIENCE = 300


def config(node):
    address = "address = 1\n" if node.name == OURS[0] else ""
    links = "".join(f'[[ipcp.link]]\ndevice = "{device}"\n\n' for device in node.devices)
    return (f'[router]\nsocket = "{node.socket}"\n\n[metrics]\naddress = "127.0.0.1:9402"\n\n'
            f'[[ipcp]]\nname = "{node.name}"\ndif = "{DIF}"\ndialect = "rlite"\n{address}'
            f'keepalive_ms = 5000\ndead_after_ms = 60000\n\n{links}')


class Ring(Fabric):
    """All members, none of which is enrolled but the first."""

    def __init__(self, folder, build):
        super().__init__(folder)
        self.nodes, self.machines, self.build = {}, {}, build
        self.programs = Programs(folder)
        (folder / "librina-api.so").symlink_to(LIBRARY)

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def begin(self):
        for name in OURS:
            self.add_node(name)
        (image,) = (self.build / "kernel/kernel/boot").glob("vmlinuz-*")
        between = f"addr.type=unix,addr.path={self.folder}/between"
        for name in THEIRS:
            ends = [rlite_machine.tap(f"t{name}{end}") if end in OURS else f"stream,server={'on' if name == 'r1' else 'off'},{between}"
                    for end in ENDS[name]]
            self.machines[name] = rlite_machine.Machine(name, self.folder, (image, self.build / "kernel/first.cpio"), self.build, ends)
        for machine in self.machines.values():
            machine.booted()
        for name, ends in ENDS.items():
            machine = self.machines[name]
            machine.start("uipcps", "rlite-uipcps", "-v", "DBG")
            wait_for(f"{name}'s daemon", lambda: machine.ctl("probe") or True)
            for at, end in enumerate(ends):
                machine.ctl("ipcp-create", f"e{at}", "shim-eth", link(name, end))
                machine.ctl("ipcp-config", f"e{at}", "netdev", f"eth{at}")
                if end in OURS:
                    rlite_machine.move(f"t{name}{end}", self[end], name)
            machine.ctl("ipcp-create", name, "normal", DIF)
            for end in ends:
                machine.ctl("ipcp-register", name, link(name, end))
        report(f"{COUNT} machines run")

    def __exit__(self, kind, *rest):
        if kind is Failed:
            for machine in self.machines.values():
                print(f"--- {machine.name}\n{machine.log('uipcps')[-3000:]}{machine.log('console')[-1000:]}", file=sys.stderr)
        self.programs.stop()
        for machine in self.machines.values():
            machine.stop()
            if frames := os.environ.get("RLITE_FRAMES"):
                for file in machine.folder.glob("*.pcap"):
                    shutil.copy(file, pathlib.Path(frames) / f"{machine.name}-{file.name}")
        super().__exit__(kind, *rest)

    def members(self, name):
        """Whom a member has a route to."""
        if name in OURS:
            return {route["member"] for route in self[name].show()["routes"] if route["links"]}
        rib = self.machines[name].ctl("dif-rib-show")
        return set(re.findall(r"Name: (\w+), Address: [1-9]", rib))

    def know(self, *names):
        """Waits until these members know each other."""
        def condition():
            for name in names:
                if missing := set(names) - self.members(name) - {name}:
                    raise Failed(f"{name} does not know {', '.join(sorted(missing))}")
            return True
        return wait_for("all know all", condition, PATIENCE)


def link(one, other):
    """The name of a link's DIF."""
    return "-".join(sorted((one, other)))


def enrolment(net):
    known = []
    for ours, theirs in zip(OURS, THEIRS):
        net[ours].config.write_text(config(net[ours]))
        net[ours].start()
        known.append(ours)
        if len(known) > 1:
            report(f"{ours} has enrolled at {known[-2]}: all know all after {net.know(*known):.1f} s")
        # By the neighbour's name, and by that of the DIF.
        neighbour = [] if theirs == "r2" else [ours]
        enrol = lambda: "successfully" in net.machines[theirs].ctl("ipcp-enroll", theirs, DIF, link(ours, theirs), *neighbour)
        wait_for(f"{theirs}'s enrollment", enrol, PATIENCE)
        known.append(theirs)
        report(f"{theirs} has enrolled at {ours}: all know all after {net.know(*known):.1f} s")
    net.machines[LAST].ctl("ipcp-lower-flow-alloc", LAST, DIF, link("r1", LAST), "r1")


def tool(net, name):
    """A tool of rlite's over our library."""
    if not (net.folder / name).exists():
        compiled(net.folder, net.build / f"rlite/user/tools/{name}.c", net.build / "rlite/include", "-D_GNU_SOURCE")
    return net.folder / name


def registered(net, *names):
    """Waits until members have these applications in their directories."""
    def condition():
        for member in OURS:
            if missing := set(names) - {entry["application"] for entry in net[member].use("list")}:
                raise Failed(f"{member} does not know {', '.join(sorted(missing))}")
        for machine in net.machines.values():
            rib = machine.ctl("dif-rib-show")
            if missing := [name for name in names if f"Application: {name}," not in rib]:
                raise Failed(f"{machine.name} does not know {', '.join(missing)}")
        return True
    wait_for("the directory", condition, PATIENCE)


def figures(said):
    """rinaperf's table, in short."""
    lines = [re.sub(r"\s+", " ", line).strip() for line in said.splitlines() if line.strip()]
    return " | ".join(line for line in lines if not line.startswith("Starting"))


def echo(net):
    """SDUs there and back: our servers and clients, and rlite's."""
    net[OURS[-1]].serve("echo", "mirror")
    net.machines[LAST].start("echo", "rina-echo-async", "-l", "-d", DIF, "-z", f"async|{LAST}")
    net.programs.start(net["h2"], tool(net, "rina-echo-async"), "-l", "-d", DIF, "-z", "async|h2")
    registered(net, "mirror", f"async|{LAST}", "async|h2")
    for qos in "reliable", "unreliable":
        got = net["h1"].use("echo", "mirror", "--count", 10, "--interval", 0.05, "--qos", qos)
        report(f"h1 to {OURS[-1]} over rlite's members, {qos}: {got['received']} of {got['sent']}, allocated in {got['allocation_ms']:.0f} ms")
        if qos == "reliable" and got["received"] != got["sent"]:
            raise Failed(f"echo: {got}")
    for what, words in (f"h1 to rlite's {LAST}", (net["h1"], tool(net, "rina-echo-async"), "-d", DIF, "-z", f"async|{LAST}", "-p", 4)),:
        said = net.programs.run(*words)
        report(f"rina-echo-async, {what}: {said.count('Response')} responses on 4 flows")
        if said.count("Response") != 4:
            raise Failed(said)
    for name in THEIRS:
        said = net.machines[name].run("rina-echo-async", "-d", DIF, "-z", "async|h2", "-p", "4")
        report(f"rina-echo-async, rlite's {name} to h2: {said.count('Response')} responses on 4 flows")
        if said.count("Response") != 4:
            raise Failed(said)


TESTS = [("request and response", ("-t", "rr", "-c", 300)), ("request and response, reliable", ("-t", "rr", "-c", 300, "-g", 0)),
         ("one way", ("-t", "perf", "-D", 3, "-s", 1400)), ("one way, reliable", ("-t", "perf", "-D", 3, "-s", 1400, "-g", 0))]


def perf(net):
    """rlite's rinaperf, on rlite's members and over our library on ours."""
    ours, theirs = tool(net, "rinaperf"), "rinaperf"
    net.programs.start(net[OURS[-1]], ours, "-l", "-d", DIF, "-z", f"perf|{OURS[-1]}")
    net.machines["r1"].start("perf", theirs, "-l", "-d", DIF, "-z", "perf|r1")
    registered(net, f"perf|{OURS[-1]}", "perf|r1")
    for what, options in TESTS:
        for client, server in ("h1", "r1"), ("r1", OURS[-1]), ("h1", OURS[-1]), (LAST, "r1"), (OURS[-1], "r1"):
            words = ("-d", DIF, "-z", f"perf|{server}", *options)
            said = net.programs.run(net[client], ours, *words) if client in OURS else net.machines[client].run(theirs, *words)
            report(f"rinaperf, {client} to {server}, {what}: {figures(said)}")
            counts = dict(re.findall(r"(Sender|Receiver)\s+(\d+)", said))
            if "one way, reliable" == what and (counts["Receiver"] != counts["Sender"] or counts["Sender"] == "0"):
                raise Failed(said)


def restarts(net):
    """One of ours is killed and begins again, which its neighbours do not notice before; then it leaves, and the ring is closed without it."""
    net["h2"].kill()
    net["h2"].start()
    wait_for("h2 enrols again", lambda: net.members("h2") == {*OURS, *THEIRS} - {"h2"}, PATIENCE)
    report(f"h2 was killed: all know all after {net.know(*OURS, *THEIRS):.1f} s more")
    net["h2"].stop()
    # A neighbour that had enrolled at h2 keeps it until its keep-alives end.
    flows = lambda: [line for line in net.machines["r1"].ctl("dif-rib-show").splitlines() if "Local: " in line and "h2" in line]
    took = wait_for("h2 has left", lambda: not flows() and "h2" not in net.members("h1"), PATIENCE)
    report(f"h2 has left: r1 has no lower flow to it after {took:.1f} s")
    wait_for("h1 reaches the last one", lambda: OURS[-1] in net.members("h1") or COUNT == 2, PATIENCE)


def main():
    parser = case_options(__doc__)
    parser.add_argument("build", metavar="BUILD", type=pathlib.Path)
    args = parser.parse_args()

    def test(folder, parts):
        with Ring(folder, args.build) as net:
            in_turn("rlite", parts, net)
    parts = (enrolment, echo, perf, restarts)
    return carry_out("rlite's members and ours", test, parts, args, needs={part.__name__: ["enrolment"] for part in parts})


if __name__ == "__main__":
    sys.exit(main())
