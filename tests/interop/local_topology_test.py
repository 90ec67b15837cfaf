#!/usr/bin/env python3
"""The reference's local topology, each SCION developer's first network, with the given border routers.

The reference's generator makes its topology `tiny`: three ASes on one machine without a
device of their own, two on addresses of 127.0.0.0/8 and one on IPv6 addresses of lo. All
control services, daemons, the dispatcher and the border routers run in one network
namespace, as `supervisord.conf` has it.

Exit status: 0 if everything passed, 1 if something failed, 2 if the network
could not be built.
"""

from __future__ import annotations

import argparse
import configparser
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, wait_until
from lab.netns import Namespace, remove_all
from lab.process import Process
from lab.reference import generate_topology, tool
from lab.router import RouterKind, wait_ready

PREFIX = f"hwl{os.getpid()}-"
DAEMON_PORT, TRAFFIC_PORT, END2END_PORT = 30255, 31500, 31501
NUMBERS = ("110", "111", "112")
# Interfaces on the way, as in tiny.topo; the second pair of the longest is of two routers of AS 110.
ROUTES = {
    ("111", "110"): "41,1", ("110", "111"): "1,41",
    ("112", "110"): "1,2", ("110", "112"): "2,1",
    ("111", "112"): "41,1,2,1", ("112", "111"): "1,2,1,41",
}


def isd_as(number: str) -> str:
    return f"1-ff00:0:{number}"


def host_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


class Topology:
    """The running network. `close` leaves nothing behind."""

    def __init__(self, kinds: dict[str, RouterKind], kind: RouterKind):
        """Routers are of `kind` but those that `kinds` names."""
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-local-"))
        self.directory.chmod(0o755)
        self.logs = self.directory / "logs"
        self.logs.mkdir()
        (self.directory / "gen-cache").mkdir()
        # Where any user may write.
        self.stats = self.directory / "stats"
        self.stats.mkdir()
        self.stats.chmod(0o777)
        self._kind, self._kinds = kind, kinds
        self.routers: dict[str, Process] = {}
        self.others: list[Process] = []
        self.namespace: Namespace | None = None

    def build(self) -> None:
        """Files, addresses, processes."""
        remove_all(PREFIX)
        generate_topology("tiny.topo", self.directory)
        gen = self.directory / "gen"
        for control in gen.glob("AS*/cs*.toml"):
            # Paths after seconds, not after half a minute.
            with open(control, "a") as out:
                out.write("\n[beaconing]\n" + "".join(
                    f'{what}_interval = "1s"\n' for what in ("origination", "propagation", "registration")))
        self.namespace = Namespace(PREFIX + "machine")
        networks = configparser.ConfigParser(delimiters="=")
        networks.read(gen / "networks.conf")
        # As the reference's tools/set_ipv6_addr.py has it; addresses of 127.0.0.0/8 need nothing.
        names = {name: address for section in networks.sections() for name, address in networks[section].items()}
        for address in names.values():
            if ":" in address:
                self.namespace.ip("addr", "replace", f"{address}/104", "dev", "lo")
        self.daemons = {n: host_port(names[f"sd1-ff00_0_{n}"], DAEMON_PORT) for n in NUMBERS}
        self.hosts = {n: names[f"tester_1-ff00_0_{n}"] for n in NUMBERS}
        programs = configparser.ConfigParser(interpolation=None)
        programs.read(gen / "supervisord.conf")
        commands = {name.partition(":")[2]: shlex.split(programs[name]["command"])
                    for name in programs.sections() if name.startswith("program:")}
        self.configs = {name: self.directory / command[2] for name, command in commands.items()
                        if command[0] == "bin/router"}
        for name in self.configs:
            self.start_router(name, self._kinds.get(name, self._kind))
        for name in sorted(set(commands) - set(self.configs), key=lambda name: name != "dispatcher"):
            self.start(name, commands[name])
        for process in self.routers.values():
            wait_ready(process)
        for number in NUMBERS:
            here = host_port(self.hosts[number], TRAFFIC_PORT)
            server = self.start(f"traffic{number}", [tool("traffic"), "serve", "-listen", here,
                                                     "-sciond", self.daemons[number]])
            wait_until(f"{server.name} to serve",
                       lambda: server.log.exists() and "serving" in server.log.read_text())

    def start(self, name: str, command: list[str]) -> Process:
        process = Process(name, command, self.logs / f"{name}.log", namespace=self.namespace, cwd=self.directory)
        self.others.append(process)
        return process

    def start_router(self, name: str, kind: RouterKind, as_user: str | None = None) -> None:
        self.routers[name] = kind.start(
            name, self.namespace, self.configs[name], self.logs / f"{name}.log",
            self.stats / f"{name}.json", cwd=self.directory, as_user=as_user)

    def exchange_router(self, name: str, kind: RouterKind, as_user: str | None = None) -> None:
        """Stops a router and starts one of another kind in its place."""
        self.routers[name].stop()
        self.start_router(name, kind, as_user)
        wait_ready(self.routers[name])

    def check(self) -> None:
        """Raises if a process has died."""
        for process in (*self.others, *self.routers.values()):
            process.check()

    def run(self, *command: str, timeout: float = PATIENCE) -> subprocess.CompletedProcess:
        return self.namespace.run("env", f"HOME={self.directory}", *command, timeout=timeout)

    def scion(self, source: str, *command: str) -> dict:
        """What the reference's `scion` prints as JSON, run for an AS; empty on failure."""
        done = self.run(tool("scion"), *command, "--sciond", self.daemons[source], "--format", "json")
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def paths(self, source: str, destination: str, *options: str) -> list[dict]:
        return self.scion(source, "showpaths", isd_as(destination), "--refresh",
                          "--local", self.hosts[source], *options).get("paths") or []

    def target(self, number: str) -> str:
        return f"{isd_as(number)},{self.hosts[number]}"

    def ping(self, source: str, destination: str, *options: str) -> int:
        """Answers to three pings."""
        found = self.scion(source, "ping", self.target(destination), "--count", "3", "--interval", "100ms",
                           "--local", self.hosts[source], *options)
        return found.get("statistics", {}).get("received", 0)

    def traceroute(self, source: str, destination: str) -> list[tuple[str, int]]:
        """Interfaces that answer, on the way."""
        found = self.scion(source, "traceroute", self.target(destination), "--local", self.hosts[source])
        return [(hop["isd_as"], hop["interface_id"]) for hop in found.get("hops") or []
                if any(hop["round_trip_times"] or ())]

    def traffic(self, source: str, destination: str, count: int, size: int) -> dict:
        """Packets and their echoes, compared."""
        done = self.run(
            tool("traffic"), "send", "-sciond", self.daemons[source],
            "-listen", host_port(self.hosts[source], 0),
            "-remote", f"{isd_as(destination)},{host_port(self.hosts[destination], TRAFFIC_PORT)}",
            "-interfaces", ROUTES[source, destination], "-count", str(count), "-size", str(size),
            "-window", "32")
        try:
            return json.loads(done.stdout)
        except ValueError:
            # It has found no path, for example.
            return {"echoed": 0, "changed": 0, "error": done.stderr.strip()}

    def end2end(self, source: str, destination: str) -> bool:
        """Whether the reference's `end2end` gets an answer."""
        there = f"{isd_as(destination)},{host_port(self.hosts[destination], END2END_PORT)}"
        log = self.logs / "end2end.log"
        log.unlink(missing_ok=True)
        server = Process("end2end", [tool("end2end"), "-mode", "server", "-sciond", self.daemons[destination],
                                     "-local", there], log, namespace=self.namespace)
        try:
            wait_until("end2end to listen", lambda: server.check() or "Listening" in log.read_text())
            here = f"{isd_as(source)},{host_port(self.hosts[source], 0)}"
            return self.run(tool("end2end"), "-sciond", self.daemons[source], "-local", here, "-remote", there,
                            "-attempts", "5", "-timeout", "2s").returncode == 0
        finally:
            server.stop()

    def close(self, keep_files: bool) -> None:
        processes = [*self.others, *self.routers.values()]
        for process in processes:
            process.ask_to_stop()
        for process in processes:
            process.stop()
        remove_all(PREFIX)
        if keep_files:
            print(f"logs are kept in {self.logs}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)


def wait_paths(topology: Topology, checks: Checks) -> None:
    """The control services find each other through the routers."""
    for source, destination in ROUTES:
        checks.comes(f"paths from {source} to {destination}", lambda: topology.check() or len(topology.paths(source, destination, "--no-probe")),
                     lambda found: found == 1)


def check_routes(topology: Topology, checks: Checks, routes: list[tuple[str, str]], whole: bool) -> None:
    """Pings, traceroutes and traffic between ASes."""
    for source, destination in routes:
        ends = f"{source} to {destination}"
        # After a router's exchange its neighbours' BFD takes a moment.
        checks.comes(f"answers to three pings {ends}", lambda: topology.ping(source, destination), lambda answers: answers == 3)
        ases = [source, *(["110"] * 2 if "110" not in (source, destination) else []), destination]
        want = list(zip(map(isd_as, ases), map(int, ROUTES[source, destination].split(","))))
        checks.comes(f"traceroute {ends}", lambda: topology.traceroute(source, destination), lambda found: found == want)
        for size in (8, 501, 1000) if whole else (501,):
            # A busy machine loses packets, but changes none.
            checks.comes(f"traffic {ends}, {size} bytes", lambda: topology.traffic(source, destination, 100, size),
                         lambda result: result["echoed"] == 100 or result["changed"])
            checks.that("none is changed", not checks.last["changed"])
        if whole:
            checks.comes(f"answers to three pings at path MTU {ends}",
                         lambda: topology.ping(source, destination, "--max-mtu"), lambda answers: answers == 3)
            checks.comes(f"probing finds the path {ends} alive",
                         lambda: [path["status"] for path in topology.paths(source, destination)], lambda states: states == ["alive"])
        if whole or (source, destination) == routes[0]:
            checks.comes(f"end2end {ends}", lambda: topology.end2end(source, destination), bool)
    topology.check()


def check_mixes(topology: Topology, checks: Checks, kind: RouterKind) -> None:
    """Every mix of ours and the reference's: from one to the next one router is exchanged."""
    names = sorted(topology.configs)
    kinds = (kind, RouterKind("reference"))
    is_reference = [False] * len(names)
    for step in range(1, 2 ** len(names)):
        # The reflected binary code: the bit to change is the number of zeros at the end.
        which = (step & -step).bit_length() - 1
        is_reference[which] = not is_reference[which]
        topology.exchange_router(names[which], kinds[is_reference[which]])
        theirs = [name for name, is_theirs in zip(names, is_reference) if is_theirs]
        print(f"mix {step + 1}: the reference's are {', '.join(theirs) or 'none'}", flush=True)
        check_routes(topology, checks, [("111", "112"), ("112", "111")], whole=False)


def check_ordinary_user(topology: Topology, checks: Checks, kind: RouterKind) -> None:
    """Local topologies need no privileges; so their routers do not either."""
    for path in (topology.directory / "gen").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    for name in sorted(topology.configs):
        (topology.stats / f"{name}.json").unlink(missing_ok=True)
        topology.exchange_router(name, kind, as_user="65534")
    print("all routers run as an ordinary user", flush=True)
    check_routes(topology, checks, [("111", "112"), ("112", "111")], whole=False)


def run(args: argparse.Namespace, checks: Checks) -> None:
    reference = RouterKind("reference")
    kind = RouterKind(args.router)
    topology = Topology({name: reference for name in args.reference.split(",") if name}, kind)
    try:
        topology.build()
        wait_paths(topology, checks)
        check_routes(topology, checks, list(ROUTES), whole=True)
        check_ordinary_user(topology, checks, kind)
        if args.mixes:
            for name in topology.configs:
                topology.exchange_router(name, kind)
            check_mixes(topology, checks, kind)
        for name, process in topology.routers.items():
            status = process.stop()
            checks.that(f"{name} ends with status 0 on SIGTERM", status == 0, f"status {status}")
    finally:
        topology.close(keep_files=checks.failed > 0 or isinstance(sys.exc_info()[1], Exception))


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="reference, hopwright (default), hopwright+ports=af_packet (or other "
                             "settings), or a command with {config} in it")
    parser.add_argument("--reference", default="", metavar="ROUTERS",
                        help="these routers, e.g. br1-ff00_0_110-2, are the reference's")
    parser.add_argument("--mixes", action="store_true",
                        help="also every mix of these routers and the reference's")
    args = parser.parse_args()
    choose(args, ["local topology"])
    return carry_out(f"local topology, {args.router}", lambda checks: run(args, checks), prefix=PREFIX)


if __name__ == "__main__":
    sys.exit(main())
