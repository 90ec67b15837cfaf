#!/usr/bin/env python3
"""Measures forwarders on one machine: Hopwright, the Linux kernel, XDP with the kernel's routes, and Open vSwitch.

Two cases: IPv4 by this many routes, and layer 2 by this many destination addresses. Each forwarder runs in turn, round after round,
between two veth pairs, with the same routes and the same packets. The generator has one core and the
forwarder another, but the kernel does part of a forwarder's work on the generator's core, more for some than for others. All of
it is counted: the time in which any core of the machine was not idle, without what the generator needs by itself for the same
number of packets that are dropped by the first device. The machine must be quiet. Reported, as medians of the rounds:

  offered/s     packets per second that were sent: `--rates`, 0 as fast as it goes
  forwarded/s   packets per second that arrived at the other end
  ns            CPU time of a forwarded packet
  per CPU s     packets forwarded per second of CPU time
  ratio         of per CPU s to the Linux kernel's in the same rounds

Forwarders of IPv4:
  linux               net.ipv4.ip_forward
  xdp                 an XDP program that asks the kernel's routes and redirects (xdp/fib_forward.c), as `xdp-forward` does, which
                      Debian 12's xdp-tools do not have yet; needs clang
  ovs                 Open vSwitch with its userspace data path, a flow for each route; needs ovs-vswitchd
  ovs-kernel          the same with its data path in the kernel; left out if the kernel has no module openvswitch
  ip:KIND             `hopwright ip`, the complete router, with this kind of ports; routes by its namespace's kernel
  l3:KIND             `hopwright run p4/bench/l3.p4`: routes and next hops, no more

Forwarders of layer 2:
  linux               a bridge of the kernel, with forwarding entries
  ovs                 Open vSwitch with its userspace data path, an OpenFlow flow for each address
  ovs-kernel          the same with its data path in the kernel
  openflow:KIND       `hopwright openflow` with the same flows
  l2:KIND             `hopwright run p4/bench/l2.p4`: a table of addresses, no more
"""

from __future__ import annotations

import argparse
import ipaddress
import itertools
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.command import ROOT, LabError, wait_until
from lab.netns import End, Namespace, Offloads, remove_all, require_root, veth
from lab.process import Process, unwind_on_signals
from lab.router import hopwright_binary

MAC = {"in": "02:00:00:00:00:01", "out": "02:00:00:00:00:02", "from": "02:00:00:00:01:01", "to": "02:00:00:00:01:02"}
NEXT_HOP = "10.0.1.2"
FORWARDERS = {
    "ipv4": ["linux", "xdp", "ovs", "ovs-kernel", "ip:af_xdp", "ip:af_packet", "l3:af_xdp", "l3:af_packet"],
    "l2": ["linux", "ovs", "ovs-kernel", "openflow:af_xdp", "openflow:af_packet", "l2:af_xdp", "l2:af_packet"],
}
# The shares of prefix lengths in the Internet's table, roughly.
LENGTHS = {16: 1, 18: 2, 19: 3, 20: 5, 21: 6, 22: 12, 23: 11, 24: 60}


def routes(count: int) -> list[ipaddress.IPv4Network]:
    """Prefixes as in the Internet, the same ones each time."""
    source, found = random.Random(count), set()
    lengths, weights = zip(*LENGTHS.items())
    while len(found) < count:
        length = source.choices(lengths, weights)[0]
        address = source.randrange(11 << 24, 127 << 24) >> (32 - length) << (32 - length)
        found.add(ipaddress.IPv4Network((address, length)))
    return sorted(found)


def stations(count: int) -> list[str]:
    """Ethernet addresses."""
    return [":".join(f"{byte:02x}" for byte in (0x06, 0, 0, *at.to_bytes(3, "big"))) for at in range(count)]


def frame(mac: str, destination: int, port: int, size: int) -> bytes:
    """A UDP packet in a frame of a size in bytes."""
    ip = struct.pack("!BBHHHBBHII", 0x45, 0, size - 14, 0, 0x4000, 64, 17, 0, int(ipaddress.ip_address("10.0.0.2")), destination)
    total = sum(struct.unpack("!10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
    udp = struct.pack("!HHHH", port, 4789, size - 34, 0)
    ethernet = bytes.fromhex(mac.replace(":", "") + MAC["from"].replace(":", "") + "0800")
    return (ethernet + ip + udp).ljust(size, b"\0")


@dataclass
class Point:
    """One run of one forwarder."""

    case: str
    forwarder: str
    entries: int
    flows: int
    size: int
    rate: float
    round: int
    offered: float
    forwarded: float
    # Nanoseconds of CPU time for a forwarded packet.
    cost: float

    @property
    def per_cpu_second(self) -> float:
        return 1e9 / self.cost if self.cost > 0 else 0.0


class Lab:
    """Generator and router, joined by two links."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-forwarding-"))
        self._prefix = f"hw{os.getpid()}-"
        self.processes: list[Process] = []
        self._generator: dict[tuple[float, int], float] = {}

    def build(self, case: str, entries: list[ipaddress.IPv4Network] | list[str]) -> None:
        self.router, self.load = (Namespace(self._prefix + role, ipv6=False) for role in ("router", "load"))
        veth(End(self.router, "in", ("10.0.0.1/24",), mac=MAC["in"], neighbours=(("10.0.0.2", MAC["from"]),),
                 offloads=Offloads.NONE),
             End(self.load, "from", mac=MAC["from"], offloads=Offloads.NONE), 1500)
        veth(End(self.router, "out", ("10.0.1.1/24",), mac=MAC["out"], neighbours=((NEXT_HOP, MAC["to"]),),
                 offloads=Offloads.NONE),
             End(self.load, "to", mac=MAC["to"], offloads=Offloads.NONE), 1500)
        self.steer(self.load, "to", self.args.load_cpu)
        self.case, self.entries = case, entries

    def steer(self, namespace: Namespace, device: str, cpu: int) -> None:
        """Has a CPU do the receive work of a device without NAPI."""
        mask = f"{1 << cpu % 32:x}" + ",00000000" * (cpu // 32)
        done = namespace.run("sh", "-c", f"echo {mask} > /sys/class/net/{device}/queues/rx-0/rps_cpus")
        if done.returncode != 0:
            raise LabError(f"no receive packet steering: {done.stderr.strip()}")

    def spawn(self, name: str, command: list[str], namespace: Namespace, cpu: int) -> Process:
        process = Process(name, command, self.directory / f"{name}.log", namespace=namespace, cpus=str(cpu))
        self.processes.append(process)
        return process

    def control(self, *arguments: str) -> str:
        """What a command says in the router's namespace."""
        done = self.router.run(*arguments, capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(f"{' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.stop()
        self.processes.clear()

    def close(self) -> None:
        self.stop()
        remove_all(self._prefix)

    def remove(self) -> None:
        self.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def counter(self, device: str, direction: str) -> int:
        link, = json.loads(self.load.ip("-j", "-s", "link", "show", "dev", device))
        return link["stats64"][direction]["packets"]

    @staticmethod
    def busy_seconds() -> float:
        """Time in which cores were not idle."""
        ticks = list(map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
        return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")

    def generator_cost(self, rate: float, size: int) -> float:
        """CPU seconds of a packet that the first device drops."""
        if (rate, size) not in self._generator:
            self.router.ip("link", "set", "in", "xdp", "obj", str(self.program()), "sec", "xdp.drop")
            offered, _, busy = self.load_with(64, size, rate)
            self.router.ip("link", "set", "in", "xdp", "off")
            self._generator[rate, size] = busy / offered
        return self._generator[rate, size]

    def program(self) -> Path:
        """The compiled XDP programs."""
        program = self.directory / "fib_forward.o"
        if not program.exists():
            compiler = shutil.which("clang") or shutil.which("clang-14")
            if not compiler:
                raise LabError("no clang (apt-get install clang)")
            headers = f"/usr/include/{os.uname().machine}-linux-gnu"
            subprocess.run([compiler, "-O2", "-target", "bpf", f"-I{headers}", "-c", str(ROOT / "bench/xdp/fib_forward.c"),
                            "-o", str(program)], check=True)
        return program

    def frames(self, flows: int, size: int) -> list[bytes]:
        """One frame for each flow."""
        source = random.Random(flows)

        def one(number: int) -> bytes:
            entry, port = source.choice(self.entries), 1024 + number % 60_000
            if self.case == "l2":
                return frame(entry, int(ipaddress.ip_address(NEXT_HOP)), port, size)
            host = int(entry.network_address) + source.randrange(1, entry.num_addresses - 1)
            return frame(MAC["in"], host, port, size)

        return [one(number) for number in range(flows)]

    def load_with(self, flows: int, size: int, rate: float) -> tuple[float, float, float]:
        """Packets offered and forwarded and busy CPU seconds, each per second."""
        file = self.directory / "frames"
        file.write_bytes(b"".join(struct.pack("!H", len(f)) + f for f in self.frames(flows, size)))
        seconds = self.args.warm_up + self.args.seconds + 1
        command = [sys.executable, str(ROOT / "bench/replay.py"), "send", "from", str(file), str(rate), str(seconds)]
        load = self.spawn("load", command, self.load, self.args.load_cpu)
        before = self.counter("from", "tx")
        wait_until("the generator to send", lambda: load.check() or self.counter("from", "tx") > before + 100, 15, interval=0.02)
        time.sleep(self.args.warm_up)

        def sample() -> tuple[float, ...]:
            return time.monotonic(), self.counter("from", "tx"), self.counter("to", "rx"), self.busy_seconds()

        start = sample()
        time.sleep(self.args.seconds)
        elapsed, offered, forwarded, busy = (b - a for a, b in zip(start, sample()))
        load.stop()
        self.processes.remove(load)
        return offered / elapsed, forwarded / elapsed, busy / elapsed

    def measure(self, name: str, flows: int, size: int, rate: float, number: int) -> Point:
        offered, forwarded, busy = self.load_with(flows, size, rate)
        busy -= offered * self._generator[rate, size]
        return Point(self.case, name, len(self.entries), flows, size, rate, number, offered, forwarded, busy / max(forwarded, 1) * 1e9)


class Linux:
    """The kernel's own forwarding."""

    def start(self, lab: Lab) -> None:
        lab.router.set("net/ipv4/ip_forward", "1")
        batch = lab.directory / "routes"
        batch.write_text("".join(f"route add {network} via {NEXT_HOP}\n" for network in lab.entries))
        lab.router.ip("-batch", str(batch))
        lab.steer(lab.router, "in", lab.args.router_cpu)


class Bridge:
    """The kernel's own bridge."""

    def start(self, lab: Lab) -> None:
        lab.router.ip("link", "add", "name", "bridge", "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
        for device in ("in", "out"):
            lab.router.ip("address", "flush", "dev", device)
            lab.router.ip("link", "set", device, "master", "bridge")
        lab.router.ip("link", "set", "bridge", "up")
        batch = lab.directory / "entries"
        batch.write_text("".join(f"fdb add {mac} dev out master static\n" for mac in lab.entries))
        done = lab.router.run("bridge", "-batch", str(batch), capture_output=True, text=True)
        if done.returncode != 0:
            raise LabError(f"bridge: {done.stderr.strip()}")
        lab.steer(lab.router, "in", lab.args.router_cpu)


class Xdp(Linux):
    """A program on the receiving device; the kernel only holds the routes."""

    def start(self, lab: Lab) -> None:
        super().start(lab)
        lab.router.ip("link", "set", "in", "xdp", "obj", str(lab.program()), "sec", "xdp")
        # A veth takes redirected frames if its other end has NAPI.
        lab.load.ip("link", "set", "to", "xdp", "obj", str(lab.program()), "sec", "xdp.pass")


class Ovs:
    """Open vSwitch with a database and folders of its own. `datapath`: `netdev` forwards in its process, `system` in the kernel."""

    def __init__(self, datapath: str):
        self.datapath = datapath

    @staticmethod
    def in_kernel() -> bool:
        """Whether the kernel can have the data path."""
        subprocess.run(["modprobe", "-q", "openvswitch"], capture_output=True)
        return Path("/sys/module/openvswitch").exists()

    def start(self, lab: Lab) -> None:
        if not shutil.which("ovs-vswitchd"):
            raise LabError("no ovs-vswitchd (apt-get install openvswitch-switch)")
        folder = lab.directory / "ovs"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        socket, database = f"unix:{folder}/db.sock", folder / "conf.db"
        environment = {**os.environ, "OVS_RUNDIR": str(folder), "OVS_LOGDIR": str(folder), "OVS_DBDIR": str(folder)}
        os.environ.update(environment)
        subprocess.run(["ovsdb-tool", "create", str(database), "/usr/share/openvswitch/vswitch.ovsschema"], check=True)
        lab.spawn("ovsdb", ["ovsdb-server", str(database), f"--remote=p{socket}", f"--unixctl={folder}/ovsdb.ctl"],
                  lab.router, lab.args.router_cpu)
        wait_until("ovsdb-server", lambda: (folder / "db.sock").exists())
        lab.spawn("ovs", ["ovs-vswitchd", socket, f"--unixctl={folder}/vswitchd.ctl"], lab.router, lab.args.router_cpu)

        control = lab.control
        control("ovs-vsctl", f"--db={socket}", "--timeout=20", "add-br", "br", "--", "set", "bridge", "br",
                f"datapath_type={self.datapath}", "fail_mode=secure", "--", "add-port", "br", "in", "--", "set", "interface", "in",
                "ofport_request=1", "--", "add-port", "br", "out", "--", "set", "interface", "out", "ofport_request=2")
        write_flows(lab, control, f"unix:{folder}/br.mgmt")
        lab.steer(lab.router, "in", lab.args.router_cpu)


def write_flows(lab: Lab, control: Callable[..., None], switch: str) -> None:
    """Adds a flow for each entry by ovs-ofctl."""
    file = lab.directory / "flows"
    if lab.case == "l2":
        flows = (f"dl_dst={mac},actions=output:2\n" for mac in lab.entries)
    else:
        actions = f"mod_dl_src:{MAC['out']},mod_dl_dst:{MAC['to']},dec_ttl,output:2"
        flows = (f"priority={n.prefixlen},ip,dl_dst={MAC['in']},nw_dst={n},actions={actions}\n" for n in lab.entries)
    file.write_text("".join(flows))
    control("ovs-ofctl", "-O", "OpenFlow13", "--timeout=60", "add-flows", switch, str(file))


class Hopwright:
    """One of our commands. The kernel has no addresses on its devices."""

    def __init__(self, program: str, ports: str):
        self.program, self.ports = program, ports

    def start(self, lab: Lab) -> None:
        for device in ("in", "out"):
            lab.router.ip("address", "flush", "dev", device)
        {"ip": self.ip, "openflow": self.openflow}.get(self.program, self.run)(lab)
        lab.steer(lab.router, "in", lab.args.router_cpu)

    def spawn(self, lab: Lab, ready: Callable[[], bool], *arguments: str) -> None:
        command = [hopwright_binary(), *arguments, "--ports", self.ports, "-i", "1@in", "-i", "2@out"]
        process = lab.spawn("hopwright", command, lab.router, lab.args.router_cpu)
        wait_until("hopwright", lambda: process.check() or ready())

    def run(self, lab: Lab) -> None:
        entries, stats = lab.directory / "entries.stf", lab.directory / "stats.json"
        entries.write_text(self.entries(lab))
        stats.unlink(missing_ok=True)
        self.spawn(lab, stats.exists, "run", str(ROOT / f"p4/bench/{self.program}.p4"), "-I", str(ROOT / "p4/include"),
                   "--no-p4runtime", "--entries", str(entries), "--stats", str(stats))

    @staticmethod
    def entries(lab: Lab) -> str:
        bare = lambda mac: f"0x{mac.replace(':', '')}"
        if lab.case == "l2":
            return "".join(f"add destinations hdr.ethernet.dst:{bare(mac)} forward(port:2)\n" for mac in lab.entries) + \
                f"add sources hdr.ethernet.src:{bare(MAC['from'])} known(port:1)\n"
        out = f"port:2, src:{bare(MAC['out'])}, dst:{bare(MAC['to'])}"
        return "".join(f"add routes hdr.ipv4.dst:0x{int(n.network_address):08x}/{n.prefixlen} next_hop({out})\n" for n in lab.entries)

    def ip(self, lab: Lab) -> None:
        stats = lab.directory / "stats.json"
        stats.unlink(missing_ok=True)
        kernel = Namespace(f"{lab.router.name}-ip", ipv6=False)
        self.spawn(lab, stats.exists, "ip", "--namespace", kernel.name, "--stats", str(stats))
        for device, address, host, mac in (("in", "10.0.0.1/24", "10.0.0.2", "from"), ("out", "10.0.1.1/24", NEXT_HOP, "to")):
            kernel.ip("address", "add", address, "dev", device)
            kernel.ip("neighbour", "replace", host, "lladdr", MAC[mac], "dev", device)
        batch = lab.directory / "routes"
        batch.write_text("".join(f"route add {network} via {NEXT_HOP}\n" for network in lab.entries))
        kernel.ip("-batch", str(batch))
        wait_until("the routes", lambda: json.loads(stats.read_text())["routes"] >= len(lab.entries), 120)

    def openflow(self, lab: Lab) -> None:
        lab.router.ip("link", "set", "lo", "up")
        switch = "tcp:127.0.0.1:6654"

        def ready() -> bool:
            return lab.router.run("ovs-ofctl", "-O", "OpenFlow13", "show", switch, capture_output=True).returncode == 0

        self.spawn(lab, ready, "openflow", "--listen", "ptcp:6654")
        write_flows(lab, lab.control, switch)


def forwarder(case: str, name: str) -> Linux | Bridge | Ovs | Hopwright:
    kind, _, ports = name.partition(":")
    if ports:
        return Hopwright(kind, ports)
    if kind.startswith("ovs"):
        return Ovs("system" if kind == "ovs-kernel" else "netdev")
    return {"linux": Bridge if case == "l2" else Linux, "xdp": Xdp}[kind]()


def summary(points: list[Point]) -> list[str]:
    """A table for people."""
    lines = [f"{'case':<6}{'entries':>10}{'flows':>8}{'size':>6}  {'forwarder':<22}{'offered/s':>12}{'forwarded/s':>12}{'ns':>7}{'per CPU s':>12}"
             f"{'ratio':>8}"]
    for case in dict.fromkeys((p.case, p.entries, p.flows, p.size, p.rate) for p in points):
        same = [p for p in points if (p.case, p.entries, p.flows, p.size, p.rate) == case]
        linux = {p.round: p.per_cpu_second for p in same if p.forwarder == "linux"}
        for name in dict.fromkeys(p.forwarder for p in same):
            own = [p for p in same if p.forwarder == name]
            ratios = [p.per_cpu_second / linux[p.round] for p in own if linux.get(p.round)]
            median = {key: statistics.median(getattr(p, key) for p in own) for key in ("offered", "forwarded", "cost", "per_cpu_second")}
            ratio = f"{statistics.median(ratios):.2f}" if ratios else "-"
            lines.append(f"{case[0]:<6}{case[1]:>10,}{case[2]:>8,}{case[3]:>6}  {name:<22}{median['offered']:>12,.0f}{median['forwarded']:>12,.0f}"
                         f"{median['cost']:>7,.0f}{median['per_cpu_second']:>12,.0f}{ratio:>8}")
    return lines


def measure(args: argparse.Namespace) -> list[Point]:
    require_root("The forwarding bench")
    points: list[Point] = []
    sizes, rates = [int(size) for size in args.size.split(",")], [float(rate) for rate in args.rates.split(",")]
    lab = Lab(args)
    in_kernel = Ovs.in_kernel()
    if not in_kernel:
        print("forwarding: ovs-kernel is left out: this kernel has no module openvswitch", file=sys.stderr)
    try:
        cases = [("ipv4", routes(int(count))) for count in args.routes.split(",") if count]
        cases += [("l2", stations(int(count))) for count in args.stations.split(",") if count]
        for (case, entries), number in itertools.product(cases, range(args.rounds)):
            for name in FORWARDERS[case]:
                if args.forwarder and name not in args.forwarder or name == "ovs-kernel" and not in_kernel:
                    continue
                if name.startswith("ovs") and len(entries) > args.ovs_routes:
                    continue
                lab.build(case, entries)
                try:
                    for rate, size in ((rate, size) for rate in rates for size in sizes):
                        lab.generator_cost(rate, size)
                    forwarder(case, name).start(lab)
                    for flows, size, rate in itertools.product(map(int, args.flows.split(",")), sizes, rates):
                        points.append(lab.measure(name, flows, size, rate, number))
                        print(points[-1], file=sys.stderr)
                    for process in lab.processes:
                        process.check()
                finally:
                    lab.close()
    finally:
        lab.remove()
    return points


def main() -> int:
    cpus = sorted(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forwarder", action="append", metavar="NAME", help="one of those above, may be given again; default: all")
    parser.add_argument("--routes", default="1000,1000000", help="default: %(default)s")
    parser.add_argument("--stations", default="1000", help="destination addresses of layer 2 (default: %(default)s)")
    parser.add_argument("--ovs-routes", type=int, default=10_000, help="Open vSwitch runs with at most this many (default: %(default)s)")
    parser.add_argument("--flows", default="10000", help="destinations of the packets (default: %(default)s)")
    parser.add_argument("--size", default="64", help="bytes of a frame without its checksum (default: %(default)s)")
    parser.add_argument("--rates", default="100000,0", help="packets a second to offer; 0: as many as there can be (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warm-up", type=float, default=2)
    parser.add_argument("--router-cpu", type=int, default=cpus[-1])
    parser.add_argument("--load-cpu", type=int, default=cpus[0])
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    unwind_on_signals()
    try:
        points = measure(args)
    except LabError as error:
        print(f"forwarding: {error}", file=sys.stderr)
        return 2
    print(json.dumps([asdict(p) for p in points], indent=1) if args.json else "\n".join(summary(points)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
