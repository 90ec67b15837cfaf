"""A SCION network of three ASes in network namespaces.

The control services, daemons and end hosts are the reference's; the border
routers are Hopwright's or the reference's.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import plan as planning
from lab.checks import Checks
from lab.command import PATIENCE, LabError, wait_until
from lab.netns import End, Namespace, remove_all, veth
from lab.process import Process
from lab.reference import tool
from lab.router import RouterKind, read_stats, wait_ready
from plan import THREE_ASES, As, Plan, Route, Router

PREFIX = "hopwright-"


class RunningRouter:
    """A border router at work: its namespace, process and counters."""

    def __init__(self, router: Router, an_as: As, namespace: Namespace, stats: Path):
        self.name = router.name
        self.internal = router.internal
        self.an_as = an_as
        self.namespace = namespace
        self.stats_path = stats
        self.kind: RouterKind | None = None
        self.process: Process | None = None

    def port_counters(self) -> dict[str, dict[str, int]]:
        """Packets and bytes of each of its links, as the kernel counts them."""
        links = json.loads(self.namespace.ip("-j", "-s", "link") or "[]")
        return {
            link["ifname"]: {
                "rx_packets": link["stats64"]["rx"]["packets"],
                "rx_bytes": link["stats64"]["rx"]["bytes"],
                "tx_packets": link["stats64"]["tx"]["packets"],
                "tx_bytes": link["stats64"]["tx"]["bytes"],
            }
            for link in links if link["ifname"] != "lo"
        }

    def stats(self) -> dict:
        """The router's own counters; empty for a router that keeps none."""
        return read_stats(self.stats_path)


# Paths of the network of three ASes: from, to, how many.
PATHS = (("111", "112", 3), ("112", "111", 3), ("111", "110", 1), ("110", "112", 2))


def lock_of(prefix: str) -> Path:
    """Held while a network with this prefix runs."""
    return Path(f"/run/{prefix}network.lock")


class Network:
    """The running network. `close` leaves nothing behind."""

    def __init__(self, kind: RouterKind, exceptions: dict[str, RouterKind] | None = None,
                 plan: Plan = THREE_ASES, progress=lambda text: None, prefix: str = PREFIX):
        """Every router is of `kind` but those that `exceptions` names. Namespaces' names begin with `prefix`: networks with
        different ones may run side by side."""
        self.plan = plan
        self.prefix = prefix
        self.kind = kind
        self._exceptions = exceptions or {}
        self.progress = progress
        self.routers: dict[str, RunningRouter] = {}
        self.hosts: dict[str, Namespace] = {}
        self._services: list[Process] = []
        self._lock = open(lock_of(prefix), "w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise LabError("another network of this kind is running") from None
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-network-"))
        self.directory.chmod(0o755)

    def build(self) -> None:
        """Files, namespaces, links, routers, services."""
        remove_all(self.prefix)
        planning.write_files(self.plan, self.directory)
        self.progress("certificates and configuration written")
        for an_as in self.plan.ases:
            self._build_as(an_as)
        for link in self.plan.links:
            veth(*(End(self.routers[end.router].namespace, f"if{end.interface}",
                       (f"{end.address}/{link.prefix}",))
                   for end in link.ends()),
                 self.plan.device_mtu)
        self.progress(f"{len(self.hosts) + len(self.routers)} namespaces and their links are up")
        for router in self.routers.values():
            router.kind = self._exceptions.get(router.name, self.kind)
            self.start_router(router)
        for router in self.routers.values():
            wait_ready(router.process)
        self.progress("border routers run: " + ", ".join(
            f"{name} ({router.kind.name})" for name, router in self.routers.items()))
        for an_as in self.plan.ases:
            self._start_services(an_as)
        self.progress("control services and daemons run (reference)")

    def start_router(self, router: RunningRouter) -> None:
        """Starts a router, for the first time or again."""
        base = self.directory / router.an_as.folder
        router.process = router.kind.start(
            router.name, router.namespace, base / f"{router.name}.toml",
            self.directory / f"{router.name}.log", router.stats_path)

    def _build_as(self, an_as: As) -> None:
        """The host with the AS's internal network, and the AS's routers on it.

        The internal network is a bridge on the host; every router has a
        namespace of its own, so all its traffic crosses an interface.
        """
        host = Namespace(f"{self.prefix}{an_as.number}-host")
        self.hosts[an_as.number] = host
        host.ip("link", "add", "lan", "mtu", str(self.plan.device_mtu), "type", "bridge")
        for address in (an_as.host, an_as.control):
            host.ip("addr", "add", f"{address}/{an_as.subnet}", "dev", "lan")
        host.ip("link", "set", "lan", "up")
        for router in an_as.routers:
            namespace = Namespace(self.prefix + router.name)
            self.routers[router.name] = RunningRouter(
                router, an_as, namespace, self.directory / f"{router.name}.stats.json")
            veth(End(host, router.name), End(namespace, "internal", (f"{router.internal}/{an_as.subnet}",)),
                 self.plan.device_mtu)
            host.ip("link", "set", router.name, "master", "lan")

    def _start_services(self, an_as: As) -> None:
        base = self.directory / an_as.folder
        for program in ("dispatcher", "control", "daemon"):
            self._services.append(Process(
                f"{program} of {an_as.isd_as}",
                [tool(program), "--config", str(base / f"{program}.toml")],
                self.directory / f"{program}{an_as.number}.log",
                namespace=self.hosts[an_as.number], cwd=base))

    def check(self) -> None:
        """Raises if a process of the network has died."""
        for router in self.routers.values():
            router.process.check()
        for service in self._services:
            service.check()

    def scion(self, number: str, *command: str, timeout: float = PATIENCE, daemon: bool = True) -> subprocess.CompletedProcess:
        """Runs the reference's `scion` tool on an AS's host. Since v0.15 it does without a daemon, by the AS's files."""
        if daemon:
            environment = [f"SCION_DAEMON={planning.DAEMON}"]
        else:
            environment, command = [], (*command, "--config-dir", str(self.directory / self.plan.get(number).folder))
        return self.hosts[number].run("env", f"HOME={self.directory}", *environment, tool("scion"), *command, timeout=timeout)

    def paths(self, source: str, destination: str) -> list[dict]:
        """The paths that the daemon of `source` offers, without probing them."""
        done = self.scion(source, "showpaths", self.plan.get(destination).isd_as,
                          "--no-probe", "--format", "json", "--refresh", "--maxpaths", "50")
        try:
            return json.loads(done.stdout).get("paths") or []
        except ValueError:
            return []

    def wait_paths(self, source: str, destination: str, want: int,
                   timeout: float = PATIENCE) -> list[dict]:
        """Waits until `want` paths exist between two ASes."""
        found: list[dict] = []

        def enough() -> bool:
            self.check()
            found[:] = self.paths(source, destination)
            return len(found) >= want

        wait_until(f"{want} paths from AS {source} to AS {destination}", enough, timeout, 0.3)
        return found

    def ping(self, route: Route, count: int = 3, payload: int = 64,
             epic: bool = False, fill: bool = False, daemon: bool = True) -> tuple[int, float]:
        """Pings along a route; returns the answers and their mean time in ms.

        `fill`: with packets as long as the path's MTU, whatever `payload` says.
        """
        source, destination = route.hops[0][0], self.plan.get(route.hops[-1][0])
        done = self.scion(source, "ping", f"{destination.isd_as},{destination.host}",
                          "--sequence", route.sequence, "--count", str(count),
                          "--interval", "100ms",
                          *(("--max-mtu",) if fill else ("--payload-size", str(payload))),
                          "--format", "json", *(("--epic",) if epic else ()), daemon=daemon)
        try:
            statistics = json.loads(done.stdout)["statistics"]
            return statistics["received"], statistics["avg_rtt"]
        except (ValueError, KeyError, TypeError):
            return 0, 0.0

    def serve_traffic(self, number: str) -> None:
        """Starts the echo server for `traffic` on an AS's host."""
        an_as = self.plan.get(number)
        server = Process(
            f"traffic server of {an_as.isd_as}",
            [tool("traffic"), "serve", "-listen",
             planning.host_port(an_as.host, planning.TRAFFIC_PORT)],
            self.directory / f"traffic{number}.log", namespace=self.hosts[number])
        self._services.append(server)
        wait_until(server.name, lambda: server.check() or "serving" in server.log.read_text())

    def traffic(self, route: Route, count: int, size: int, epic: str = "") -> dict:
        """Sends packets along a route and checks their echoes. `epic`: by path type EPIC-HP, "good" or with a fault that `traffic`
        knows.

        Returns `sent`, `echoed`, `lost`, `changed`, `seconds`. Tries again while the
        sender finds no path; raises if it could not work at all.
        """
        source, destination = (self.plan.get(route.hops[i][0]) for i in (0, -1))
        deadline = time.monotonic() + PATIENCE
        while True:
            done = self.hosts[source.number].run(
                tool("traffic"), "send", "-listen", planning.host_port(source.host, 0),
                "-remote", f"{destination.isd_as}," +
                planning.host_port(destination.host, planning.TRAFFIC_PORT),
                "-interfaces", route.interfaces, "-count", str(count), "-size", str(size), "-epic", epic,
                # No more under way than the end hosts' socket buffers hold, in which a packet takes up to twice its size.
                "-window", str(min(64, max(4, 64_000 // size))), timeout=600)
            try:
                return json.loads(done.stdout)
            except ValueError:
                if time.monotonic() > deadline:
                    raise LabError(f"traffic {route.name}: {done.stderr.strip()}") from None
            time.sleep(0.5)

    def end2end(self, source: str, destination: str, *options: str) -> bool:
        """Whether the reference's `end2end` gets an answer; options are its client's."""
        near, far = self.plan.get(source), self.plan.get(destination)
        log = self.directory / f"end2end-{far.number}.log"
        log.unlink(missing_ok=True)
        there = f"{far.isd_as},{planning.host_port(far.host, planning.TRAFFIC_PORT + 1)}"
        server = Process("end2end", [tool("end2end"), "-sciond", planning.DAEMON, "-mode", "server", "-local", there], log,
                         namespace=self.hosts[destination])
        try:
            wait_until("end2end to listen", lambda: server.check() or "Listening" in log.read_text())
            done = self.hosts[source].run(
                tool("end2end"), "-sciond", planning.DAEMON, "-local", f"{near.isd_as},{planning.host_port(near.host, 0)}",
                "-remote", there, "-attempts", "5", "-timeout", "2s", *options, timeout=PATIENCE)
            return done.returncode == 0
        finally:
            server.stop()

    def exchange_router(self, name: str, kind: RouterKind) -> None:
        """Stops a router and starts one of another kind in its place."""
        router = self.routers[name]
        router.process.stop()
        router.kind = kind
        self.start_router(router)
        wait_ready(router.process)

    def serve_beside(self, name: str) -> None:
        """Starts a dispatcher on a router's own machine."""
        router = self.routers[name]
        base = self.directory / router.an_as.folder
        dispatcher = Process(
            f"dispatcher beside {name}", [tool("dispatcher"), "--config", str(base / "dispatcher.toml")],
            self.directory / f"dispatcher-{name}.log", namespace=router.namespace, cwd=base)
        self._services.append(dispatcher)

        def listens() -> bool:
            dispatcher.check()
            sockets = (Path(f"/proc/{dispatcher.pid}/net/{kind}") for kind in ("udp", "udp6"))
            return any(f":{planning.END_HOST_PORT:04X} " in s.read_text() for s in sockets)

        wait_until(f"{dispatcher.name} to listen", listens)

    def ping_router(self, source: str, name: str) -> int:
        """Answers to three pings of a router's internal address."""
        router = self.routers[name]
        done = self.scion(source, "ping", f"{router.an_as.isd_as},{router.internal}",
                          "--count", "3", "--interval", "100ms", "--format", "json")
        try:
            return json.loads(done.stdout)["statistics"]["received"]
        except (ValueError, KeyError, TypeError):
            return 0

    def provoke(self, route: Route, *options: str) -> dict:
        """Sends a packet along a route that a router must refuse.

        Returns `type`, `code` and `from` of the SCMP error; empty without one.
        """
        source, destination = (self.plan.get(route.hops[i][0]) for i in (0, -1))
        done = self.hosts[source.number].run(
            tool("traffic"), "provoke", "-listen", planning.host_port(source.host, 0),
            "-remote", f"{destination.isd_as}," +
            planning.host_port(destination.host, planning.TRAFFIC_PORT),
            "-interfaces", route.interfaces, *options)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return {}

    def traceroute(self, route: Route) -> list[dict]:
        """The hops that `scion traceroute` finds along a route."""
        target = self.plan.get(route.hops[-1][0])
        done = self.scion(route.hops[0][0], "traceroute", f"{target.isd_as},{target.host}",
                          "--sequence", route.sequence, "--format", "json")
        try:
            return json.loads(done.stdout).get("hops") or []
        except ValueError:
            return []

    def probed(self, source: str, destination: str) -> list[str]:
        """The states of the paths as `scion showpaths` finds them by probing."""
        done = self.scion(source, "showpaths", self.plan.get(destination).isd_as,
                          "--format", "json", "--refresh", "--maxpaths", "50")
        try:
            return [path["status"] for path in json.loads(done.stdout).get("paths") or []]
        except (ValueError, KeyError):
            return []

    def stop_routers(self) -> None:
        """Ends the routers, so that they write their last counters."""
        for router in self.routers.values():
            if router.process is not None:
                router.process.stop()

    def close(self, keep_files: bool = False) -> None:
        """Stops everything and removes every namespace and file."""
        processes = self._services + [r.process for r in self.routers.values() if r.process]
        for process in processes:
            process.ask_to_stop()
        for process in processes:
            process.stop()
        remove_all(self.prefix)
        if not keep_files:
            shutil.rmtree(self.directory, ignore_errors=True)
        self._lock.close()
        if self.prefix != PREFIX:
            lock_of(self.prefix).unlink(missing_ok=True)

    def close_after(self, checks: Checks) -> None:
        """`close`, but files stay where a check has failed, or an exception is on its way."""
        failed = checks.failed > 0 or isinstance(sys.exc_info()[1], Exception)
        self.close(keep_files=failed)
        if failed:
            print(f"logs are kept in {self.directory}", file=sys.stderr)


def built(make, attempts: int = 4) -> Network:
    """A network whose control services have found all paths. On a busy machine they sometimes find none, and do not recover: then
    the network is built anew."""
    for attempt in range(1, attempts + 1):
        network = make()
        try:
            network.build()
            for source, destination, want in PATHS:
                network.wait_paths(source, destination, want, timeout=PATIENCE / 2)
            return network
        except LabError as error:
            network.close()
            if attempt == attempts:
                raise
            print(f"{error}; the network is built once more", file=sys.stderr)
        except BaseException:
            network.close()
            raise
