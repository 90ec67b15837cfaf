#!/usr/bin/env python3
"""Processes of `hopwright ip`, `hopwright openflow` and `hopwright switch` that take over from each other, under traffic.

    h1 -- router or switch -- h2

Numbered packets cross the router at a steady rate, and go to and from its control plane, while one process takes over from the other
again and again: every packet arrives exactly once, but for those that a busy machine's kernel has counted as lost outside of the process.
FRR's bgpd and ospfd of the router's namespace and of h2 stay connected. Flows of the OpenFlow switch stay, with their counts, and it
connects to its controller again. Tenants of the switch keep what their controllers have written. A process that cannot take over leaves the running one at work.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

from __future__ import annotations

import json
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import HOPWRIGHT, PATIENCE, ROOT, LabError, wait_until
from lab.ledger import _devices, _socket_drops
from lab.netns import End, Namespace, remove_all, remove_lab, veth
from lab.process import Process
from lab.scion import Stream, socket_in, udp_socket
from lab.traffic import Traffic, warm_up

FRR = Path("/usr/lib/frr")
PREFIX = f"hwto{os.getpid()}-"
METRICS = "127.0.0.1:30402"
RATE = 500
# Packets of the slow path, which a busy machine may serve late.
SLOW_RATE = 100
PORT, SOURCE_PORT = 40000, 41000


class Lab:
    """Two hosts with a router or switch between them."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-take-over-"))
        self.directory.chmod(0o777)
        self.switch = Namespace(PREFIX + "sw", ipv6=False)
        self.hosts = {1: Namespace(PREFIX + "h1", ipv6=False), 2: Namespace(PREFIX + "h2", ipv6=False)}
        self.control = self.directory / "control"
        self.processes: list[Process] = []
        self.count = 0

    def link(self, host: int, address: str) -> None:
        veth(End(self.switch, f"e{host}"), End(self.hosts[host], "eth0", (address,)), 1500)

    def start(self, *command: str, heir: bool = False, kept: dict[str, int] | None = None) -> Process:
        self.count += 1
        options = ("--control", str(self.control)) + ("--take-over",) * heir
        name = f"process {self.count}"
        log = self.directory / f"hopwright{self.count}.log"
        process = Process(name, [str(HOPWRIGHT), *command, *options], log, namespace=self.switch, announces=True,
                          kept=kept)
        self.processes.append(process)
        return process

    def wait_ready(self, process: Process) -> None:
        def ready() -> bool:
            process.check()
            return process.is_ready()
        wait_until(f"{process.name} to be ready", ready, interval=0.02)

    def take_over(self, running: Process, command: list[str]) -> Process:
        """Starts a process that takes over. On a busy machine it may be too late, and the running one goes on: then another one."""
        for _ in range(5):
            heir = self.start(*command, heir=True)
            wait_until("a process to take over", lambda: heir.is_ready() or not heir.running(), interval=0.02)
            if heir.is_ready():
                return heir
            running.check()
            print(f"        {heir.name} has not taken over:\n{heir.tail(3)}", flush=True)
        raise LabError(f"no process takes over\n{running.tail()}")

    def lost_elsewhere(self) -> int:
        """Packets that a busy machine has lost outside of the process until now: the hosts' devices and sockets, and the process's
        devices as they send."""
        hosts = sum(sum(_devices(host)) + _socket_drops(host) for host in self.hosts.values())
        return hosts + _devices(self.switch)[1]

    def close(self, keep: bool) -> None:
        for process in reversed(self.processes):
            process.stop()
        remove_lab(PREFIX, self.directory, keep)


def streams(ends: dict[str, tuple[tuple[Namespace, str], tuple[Namespace, str], int]]) -> dict[str, Stream]:
    """Streams by what they do, each from a namespace's address to another one's, at a rate."""
    made = {}
    for name, ((source, from_address), (destination, to_address), rate) in ends.items():
        out = udp_socket(source, from_address, SOURCE_PORT + len(made))
        stream = Stream(out, (to_address, PORT + len(made)), lambda number: number, rate)
        made[name] = stream.into(udp_socket(destination, to_address, PORT + len(made)))
    return made


def replace(lab: Lab, checks: Checks, running: Process, command: list[str], times: int, traffic: Traffic) -> Process:
    """One process after the other takes over."""
    gap = 0
    for _ in range(times):
        heir = lab.take_over(running, command)
        status = running.wait(PATIENCE)
        announced = running.announced()
        good = status == 0 and f"MAINPID={heir.pid}" in announced and "RELOADING=1" in announced
        checks.that(f"{running.name} ends as it should", good, f"{status}, {announced}")
        gap = max([gap, *map(int, re.findall(r"taken_ms=(\d+)", running.tail(30)))])
        running = heir
        traffic.wait(50)
    print(f"        packets waited for {gap} ms at most", flush=True)
    return running


def in_background(lab: Lab, checks: Checks, running: Process, command: list[str], traffic: Traffic) -> Process:
    """A command that returns when the process it has started has taken over, as a service manager wants it."""
    done = lab.switch.run(str(HOPWRIGHT), *command, "--control", str(lab.control), "--take-over", "--background",
                          capture_output=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checks.that("a command in the background returns with status 0", done.returncode == 0, done.returncode)
    checks.that("the process before ends", running.wait(PATIENCE) == 0, running.tail(3))
    traffic.wait(50)
    return lab.take_over(running, command)


def refused(lab: Lab, checks: Checks, running: Process, cases: dict[str, tuple[list[str], str]], traffic: Traffic) -> None:
    """What cannot take over leaves the running process at work."""
    for what, (command, why) in cases.items():
        heir = lab.start(*command, heir=True)
        status = heir.wait(PATIENCE)
        checks.that(f"{what}: the new one ends", status not in (0, None) and why in heir.tail(), heir.tail(2))
        running.check()
        traffic.wait(20)
    # A successor that dies when the process has stopped for it.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(str(lab.control))
        version = b"HWHO" + struct.pack("!H", 4)
        # The answer to a process of another kind names this one.
        peer.send(version + bytes([0, 7, 1]) + b"x")
        name = peer.recv(65536).rpartition(b"it is ")[2]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
        peer.settimeout(PATIENCE)
        peer.connect(str(lab.control))
        peer.send(version + bytes([0, 7, len(name)]) + name)
        while (message := peer.recv(1 << 16)) != version + bytes([6]):
            if not message:
                raise LabError("the process has hung up")
        peer.send(version + bytes([7]))
    wait_until("the process to notice that its successor has died", lambda: running.check() or "hand-over-failed" in running.tail(50))
    traffic.wait(50)
    running.check()
    checks.that("a successor that dies leaves the process at work", True, running.tail(3))


def frr(lab: Lab, namespace: Namespace, name: str, here: str, there: str, system: tuple[int, int], bfd: tuple[int, int] | None = None,
        network: str | None = None) -> Path:
    """Starts FRR in a namespace; returns the folder of its sockets. `bfd`: milliseconds and multiplier of BFD, with which timers of BGP and
    OSPF are long. `network`: what BGP announces."""
    folder = lab.directory / name
    folder.mkdir()
    # A busy machine may run none of the daemons for some seconds.
    keepalive, dead = ("60 180", 300) if bfd else ("10 60", 60)
    ospf = ["interface e2" if name == "router" else "interface eth0", " ip ospf area 0", " ip ospf hello-interval 1",
            f" ip ospf dead-interval {dead}", " ip ospf network point-to-point", "exit", "router ospf", f" ospf router-id {here}"]
    bgp = [f"router bgp {system[0]}", f" bgp router-id {here}", " no bgp ebgp-requires-policy", f" timers bgp {keepalive}",
           f" neighbor {there} remote-as {system[1]}", f" neighbor {there} timers connect 1"]
    daemons = {"zebra": [], "ospfd": ospf, "bgpd": bgp}
    if bfd:
        daemons["bfdd"] = ["bfd", " profile lab", f"  transmit-interval {bfd[0]}", f"  receive-interval {bfd[0]}",
                           f"  detect-multiplier {bfd[1]}"]
        bgp += [f" neighbor {there} bfd", f" neighbor {there} bfd profile lab"]
    if network:
        bgp += [" address-family ipv4 unicast", f"  network {network}", " exit-address-family"]
    for daemon, lines in daemons.items():
        config = folder / f"{daemon}.conf"
        config.write_text("\n".join(["log stdout", *lines]) + "\n")
        subprocess.run(["chown", "-R", "frr:frr", folder], check=True)
        options = ("-l", here) if daemon == "bgpd" else ()
        lab.processes.append(Process(
            f"{daemon} of {name}",
            [str(FRR / daemon), "-f", str(config), "--vty_socket", str(folder), "-z", str(folder / "zserv"), "-i",
             str(folder / f"{daemon}.pid"), "-A", "127.0.0.1", *options], folder / f"{daemon}.log", namespace=namespace))
        wait_until(f"{daemon} of {name}", lambda: (folder / f"{daemon}.vty").exists())
    return folder


def vtysh(folder: Path, command: str):
    """FRR's answer in JSON; nothing, if it cannot answer now."""
    done = subprocess.run(["vtysh", "--vty_socket", str(folder), "-c", command], capture_output=True, text=True)
    return json.loads(done.stdout or "{}")


def neighbours(folder: Path) -> tuple[int, int, bool]:
    """How often the BGP session was established, how often the OSPF neighbour's state has changed, and whether both are up."""
    (bgp, *_) = vtysh(folder, "show bgp neighbors json").values() or [{}]
    (ospf, *_) = [one for all_ in vtysh(folder, "show ip ospf neighbor detail json").get("neighbors", {}).values() for one in all_] or [{}]
    up = bgp.get("bgpState") == "Established" and "Full" in str(ospf.get("nbrState", ""))
    return bgp.get("connectionsEstablished", 0), ospf.get("stateChangeCounter", 0), up


def router(checks: Checks, times: int, workers: int, ports: str) -> None:
    """An IP router whose control plane has routing daemons."""
    print(f"hopwright ip, {ports}, {workers} workers", flush=True)
    failed, done, lab = checks.failed, False, Lab()
    try:
        for host in lab.hosts:
            lab.link(host, f"10.0.{host}.2/24")
            lab.hosts[host].ip("route", "add", "10.0.0.0/16", "via", f"10.0.{host}.1")
        plane = Namespace(PREFIX + "cp", ipv6=False)
        namespace = plane.name
        command = ["ip", "-i", "1@e1", "-i", "2@e2", "--namespace", namespace, "--metrics", METRICS, "--ports", ports,
                   "--workers", str(workers)]
        running = lab.start(*command)
        lab.wait_ready(running)
        for host in lab.hosts:
            plane.ip("addr", "add", f"10.0.{host}.1/24", "dev", f"e{host}")
        folder = frr(lab, plane, "router", "10.0.2.1", "10.0.2.2", (65001, 65002))
        frr(lab, lab.hosts[2], "peer", "10.0.2.2", "10.0.2.1", (65002, 65001))
        h1, h2, cp = (lab.hosts[1], "10.0.1.2"), (lab.hosts[2], "10.0.2.2"), (plane, "10.0.1.1")

        def traffic() -> dict[str, Stream]:
            return streams({"forth": (h1, h2, RATE), "back": (h2, h1, RATE), "to the control plane": (h1, cp, SLOW_RATE),
                            "from the control plane": (cp, h2, SLOW_RATE)})
        warm_up(lab.processes[0], traffic)
        wait_until("BGP and OSPF to be up", lambda: neighbours(folder)[2])
        before = neighbours(folder)
        with Traffic(lab, checks, f"{times} take-overs", traffic()) as flowing:
            running = replace(lab, checks, running, command, times, flowing)
        with Traffic(lab, checks, "a take-over in the background", traffic()) as flowing:
            running = in_background(lab, checks, running, command, flowing)
        with Traffic(lab, checks, "take-overs that fail", traffic()) as flowing:
            refused(lab, checks, running, {
                "another namespace": ([*command[:6], PREFIX + "none", *command[7:]], "it is ip with namespace"),
                "another number of workers": ([*command[:-1], str(workers + 1)], "another number of workers"),
                "a server that cannot listen": ([*command[:8], "192.0.2.9:1", *command[9:]], "192.0.2.9:1"),
            }, flowing)
        after = neighbours(folder)
        checks.that("BGP and OSPF notice nothing", after == before and after[2], f"{before}, then {after}")

        def shown() -> str:
            done = lab.switch.run(str(HOPWRIGHT), "ip", "show", "--namespace", namespace, "--json")
            return f"{json.loads(done.stdout)['route_count']} routes" if done.returncode == 0 else done.stderr
        # What a predecessor still serves follows when that has gone.
        checks.comes("`hopwright ip show` asks the last one", shown, lambda text: bool(re.fullmatch(r"[1-9]\d* routes", text)))
        checks.comes("it serves metrics, with hopwright_ip_routes", lambda: "hopwright_ip_routes" in lab.switch.run(
            "curl", "-s", f"http://{METRICS}/metrics").stdout, bool)
        status = running.stop(PATIENCE)
        checks.that("the last one ends with status 0", status == 0, f"{status}")
        checks.that("and leaves no socket", not lab.control.exists())
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


class Controller:
    """A controller that only says hello, and counts how often the switch connects."""

    def __init__(self, namespace: Namespace, port: int):
        def make() -> socket.socket:
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", port))
            sock.listen()
            return sock
        self.sock, self.connections = socket_in(namespace, make), 0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            connection, _ = self.sock.accept()
            connection.send(struct.pack("!BBHI", 4, 0, 8, 1))
            self.connections += 1
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    @staticmethod
    def answer(connection: socket.socket) -> None:
        """Answers probes until the switch hangs up."""
        while data := connection.recv(8, socket.MSG_WAITALL):
            _, kind, length, xid = struct.unpack("!BBHI", data)
            body = connection.recv(length - 8, socket.MSG_WAITALL) if length > 8 else b""
            if kind == 2:
                connection.send(struct.pack("!BBHI", 4, 3, length, xid) + body)


def with_changes(lab: Lab, checks: Checks, running: Process, command: list[str], ask) -> Process:
    """Takes over while a controller adds and removes flows: every change that was confirmed is there afterwards. Again, with further changes,
    if the process was too late on a busy machine."""
    number = 0
    wanted: set[int] = set()
    # The connection has ended in the middle of these changes: they may have been done or not.
    unsure: set[int] = set()

    def changed_until_taken_over() -> Process:
        nonlocal number
        heir, first = None, number + 4
        while heir is None or heir.running() and not heir.is_ready():
            number += 1
            # Some flows are there before.
            if number == first:
                heir = lab.start(*command, heir=True)
            try:
                ask("add-flow", f"table=5,priority={number},actions=drop")
                wanted.add(number)
                if number % 3 == 0:
                    ask("--strict", "del-flows", f"table=5,priority={number - 1}")
                    wanted.discard(number - 1)
            except LabError:
                if heir is None:
                    raise
                unsure.update((number - 1, number))
                break
        wait_until("a process to take over", lambda: heir.is_ready() or not heir.running(), interval=0.02)
        return heir

    def answers() -> bool:
        try:
            return bool(ask("dump-flows", "table=5"))
        except LabError:
            return False

    for _ in range(5):
        heir = changed_until_taken_over()
        if heir.is_ready():
            break
        running.check()
        print(f"        {heir.name} has not taken over:\n{heir.tail(3)}", flush=True)
        wait_until("the process to go on", answers)
    else:
        raise LabError(f"no process takes over while flows change\n{running.tail()}")
    running.wait(PATIENCE)
    there = set(map(int, re.findall(r"priority=(\d+) actions=drop", ask("dump-flows", "table=5"))))
    missing, left = wanted - there - unsure, there - wanted - unsure
    checks.that("flows that controllers add and remove meanwhile go on", bool(wanted - unsure) and not missing,
                f"{len(wanted)} wanted, {len(there)} there, missing {sorted(missing)[:5]}")
    checks.that("those that they have removed are gone", not left, sorted(left)[:5])
    ask("del-flows", "table=5")
    return heir


def openflow(checks: Checks, times: int) -> None:
    """An OpenFlow switch with flows, a group, a meter, and a bridge."""
    print("hopwright openflow", flush=True)
    failed, done, lab = checks.failed, False, Lab()
    try:
        for host in lab.hosts:
            lab.link(host, f"10.0.0.{host}/24")
        controller = Controller(lab.switch, 6653)
        command = ["openflow", "-i", "1@e1", "-i", "2@e2", "--listen", "ptcp:6654", "--controller", "tcp:127.0.0.1:6653"]
        running = lab.start(*command)
        lab.wait_ready(running)

        def ask(*words: str) -> str:
            options = [word for word in words if word.startswith("--")]
            what, *arguments = [word for word in words if word not in options]
            asked = lab.switch.run("ovs-ofctl", "-O", "OpenFlow13", *options, what, "tcp:127.0.0.1:6654", *arguments)
            if asked.returncode:
                raise LabError(f"ovs-ofctl {what}: {asked.stderr}")
            return asked.stdout

        def flows() -> dict[str, tuple[int, int]]:
            """Packets and seconds of each flow, by what it does."""
            found = {}
            for line in ask("dump-flows").splitlines():
                if counted := re.search(r"duration=(\d+)\S* .*n_packets=(\d+)", line):
                    text = re.sub(r"duration=\S+ |n_packets=\S+ |n_bytes=\S+ ", "", line)
                    found[text.strip()] = int(counted[2]), int(counted[1])
            return found
        ask("add-meter", "meter=3,kbps,band=type=drop,rate=1000000")
        ask("add-group", "group_id=5,type=select,bucket=weight:1,actions=output:2,bucket=weight:1,actions=output:2")
        ask("add-group", "group_id=4,type=indirect,bucket=actions=group:5")
        for flow in ("priority=10,in_port=1,udp,cookie=7,actions=meter:3,group:4", "priority=10,in_port=2,udp,actions=goto_table:1",
                     "table=1,idle_timeout=1000,ip,actions=set_field:5->ip_dscp,output:1", "priority=0,actions=normal"):
            ask("add-flow", flow)
        h1, h2 = (lab.hosts[1], "10.0.0.1"), (lab.hosts[2], "10.0.0.2")

        def traffic() -> dict[str, Stream]:
            return streams({"forth": (h1, h2, RATE), "back": (h2, h1, RATE)})
        warm_up(lab.processes[0], traffic)
        before, descriptions = flows(), [ask("dump-groups"), ask("dump-meters")]
        with Traffic(lab, checks, f"{times} take-overs", traffic()) as flowing:
            running = replace(lab, checks, running, command, times, flowing)
        wait_until("the switch to connect again", lambda: controller.connections > times)
        checks.that("the switch connects to its controller again", True)
        after = flows()
        checks.that("flows stay, with counts and age", after.keys() == before.keys() and all(
            after[flow] >= counted and after[flow][1] >= counted[1] for flow, counted in before.items()), f"{before}, then {after}")
        # The last counts of a process come to the next one a moment after it has begun.
        checks.comes("they count every packet", lambda: [packets for flow, (packets, _) in flows().items() if "udp" in flow],
                     lambda udp: all(packets >= len(flowing.streams["forth"].received) for packets in udp))
        checks.that("groups and meters stay", [ask("dump-groups"), ask("dump-meters")] == descriptions, descriptions)
        with Traffic(lab, checks, "a take-over in the background", traffic()) as flowing:
            running = in_background(lab, checks, running, command, flowing)
        running = with_changes(lab, checks, running, command, ask)
        with Traffic(lab, checks, "take-overs that fail", traffic()) as flowing:
            refused(lab, checks, running, {
                "an address that is in use": ([*command, "--listen", "ptcp:6653"], "6653"),
            }, flowing)
        checks.that("the flows are still there", flows().keys() == before.keys())
        status = running.stop()
        checks.that("the last one ends with status 0", status == 0, f"{status}")
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


SWITCH = """
[switch]
socket = "{folder}/switch.sock"
[[port]]
device = "e1"
[[port]]
device = "e2"
[[port]]
device = "e3"
[[port]]
device = "e4"
[p4runtime]
address = "127.0.0.1:9559"
[metrics]
address = "{metrics}"
[[tenant]]
name = "red"
program = "{root}/examples/l2.p4"
ports = {{ 1 = "e1", 2 = "e2" }}
device_id = 1
[[tenant]]
name = "green"
ports = {{ 1 = "e3", 2 = "e4" }}
cpu_port = 510
[tenant.agent]
kind = "openflow"
listen = ["ptcp:6654"]
"""


def switch(checks: Checks, times: int) -> None:
    """A switch whose tenants have a P4Runtime controller and an OpenFlow controller."""
    print("hopwright switch", flush=True)
    failed, done, lab = checks.failed, False, Lab()
    try:
        lab.hosts |= {host: Namespace(PREFIX + f"h{host}", ipv6=False) for host in (3, 4)}
        for host in lab.hosts:
            lab.link(host, f"10.0.{(host + 1) // 2}.{host}/24")
        file = lab.directory / "switch.toml"
        file.write_text(SWITCH.format(folder=lab.directory, metrics=METRICS, root=ROOT))
        command = ["switch", "--config", str(file)]
        running = lab.start(*command)
        lab.wait_ready(running)

        def ask(*words: str, tool: tuple[str, ...] = (str(HOPWRIGHT),)) -> str:
            asked = lab.switch.run(*tool, *words)
            if asked.returncode:
                raise LabError(f"{words}: {asked.stderr}")
            return asked.stdout
        for host in (1, 2):
            mac = json.loads(lab.hosts[host].ip("-j", "link", "show", "eth0"))[0]["address"]
            ask("table", "add", "mac", f"dst={mac} => forward(port={host})")
            lab.hosts[3 - host].ip("neigh", "replace", f"10.0.1.{host}", "lladdr", mac, "nud", "permanent", "dev", "eth0")
        ask("-O", "OpenFlow13", "add-flow", "tcp:127.0.0.1:6654", "priority=0,actions=normal", tool=("ovs-ofctl",))

        def traffic() -> dict[str, Stream]:
            ends = {host: (lab.hosts[host], f"10.0.{(host + 1) // 2}.{host}") for host in lab.hosts}
            return streams({f"{a} to {b}": (ends[a], ends[b], RATE) for a, b in ((1, 2), (2, 1), (3, 4), (4, 3))})

        def served() -> bool:
            return all(lab.switch.run(str(HOPWRIGHT), *words).returncode == 0 for words in
                       (("table", "show", "mac"), ("tenant", "list", "--socket", str(lab.directory / "switch.sock"))))

        def counted() -> int:
            return sum(map(int, re.findall(r"(\d+) packets", ask("counter", "show", "by_port"))))
        warm_up(lab.processes[0], traffic)
        entries, packets = ask("table", "show", "mac"), counted()
        with Traffic(lab, checks, f"{times} take-overs", traffic()) as flowing:
            running = replace(lab, checks, running, command, times, flowing)
        wait_until("P4Runtime and the administration socket to be served", served)
        keys = lambda text: sorted(re.findall(r"dst=\S+", text))  # noqa: E731
        checks.that("entries stay", len(keys(entries)) == 2 and keys(ask("table", "show", "mac")) == keys(entries), entries)
        received = sum(len(flowing.streams[name].received) for name in ("1 to 2", "2 to 1"))
        checks.comes(f"counters go on: {packets}, {received} more", counted, lambda now: now >= packets + received)
        with Traffic(lab, checks, "a take-over in the background", traffic()) as flowing:
            running = in_background(lab, checks, running, command, flowing)
        other = lab.directory / "other.toml"
        other.write_text(file.read_text() + '[[tenant]]\nname = "blue"\nprogram = "none.p4"\nports = { 1 = "e1" }\n')
        with Traffic(lab, checks, "take-overs that fail", traffic()) as flowing:
            refused(lab, checks, running, {"a program that is not there": (["switch", "--config", str(other)], "none.p4")}, flowing)
        wait_until("P4Runtime and the administration socket to be served", served)
        checks.that("the entries are still there", keys(ask("table", "show", "mac")) == keys(entries))
        status = running.stop()
        checks.that("the last one ends with status 0", status == 0, f"{status}")
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--times", type=int, default=3, help="take-overs of each kind (default: %(default)s)")
    args = parser.parse_args()
    names = choose(args, ("ip", "openflow", "switch"))

    def test(checks: Checks) -> None:
        try:
            if "ip" in names:
                router(checks, args.times, 1, "af_xdp")
                router(checks, args.times, 2, "af_packet")
            if "openflow" in names:
                openflow(checks, args.times)
            if "switch" in names:
                switch(checks, args.times)
        finally:
            remove_all(PREFIX)
    return carry_out("take-over", test)


if __name__ == "__main__":
    sys.exit(main())
