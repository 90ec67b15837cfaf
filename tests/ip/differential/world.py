"""Two routers between the same hosts: a Linux kernel, and `hopwright ip` with a namespace of its own."""

from __future__ import annotations

import ctypes
import errno
import json
import select
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

from lab.command import PATIENCE, LabError, wait_until
from lab.netns import End, Namespace, Offloads, veth
from lab.process import Process

from .packets import VLAN, answer, host_mac, is_arp_reply, is_noise, normal, router_mac

PORTS = (1, 2, 3, 4)
LINK_MTU = 3000
CLONE_NEWNET = 0x40000000
PACKET_OUTGOING = 4
ALL = socket.htons(3)
# Of linux/if_packet.h: `struct tpacket_auxdata`, in which the kernel reports the tag that it has taken off a frame.
SOL_PACKET, PACKET_AUXDATA = 263, 8
AUXDATA = struct.Struct("=IIIHHHH")
VLAN_VALID = 0x10
# Markers: LLDP to the router, which hands it to its kernel, and a type for experiments from it.
INWARD, OUTWARD = 0x88CC, 0x88B5
LLDP_GROUP = bytes.fromhex("0180c200000e")
_LIBC = ctypes.CDLL(None, use_errno=True)


def sockets(namespace: str, devices: dict[int, str]) -> dict[int, socket.socket]:
    """A packet socket for each device of a namespace."""
    made: dict[int, socket.socket] = {}
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with open(f"/run/netns/{namespace}") as file:
                if _LIBC.setns(file.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), f"setns {namespace}")
            for number, device in devices.items():
                made[number] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                made[number].setsockopt(socket.SOL_SOCKET, 33, 1 << 24)
                made[number].setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
                made[number].bind((device, 3))
                made[number].setblocking(False)
        except BaseException as error:  # handed to whoever waits
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made


def receive(sock: socket.socket) -> tuple[bytes, int]:
    """A frame as it was on the link, and how it came."""
    data, auxiliary, _, (_, _, kind, *_) = sock.recvmsg(70000, socket.CMSG_SPACE(AUXDATA.size))
    for _, _, value in auxiliary:
        status, *_, tag, protocol = AUXDATA.unpack(value)
        if status & VLAN_VALID:
            data = data[:12] + struct.pack("!HH", protocol or VLAN, tag) + data[12:]
    return data, kind


class Shell:
    """A shell inside a namespace, which stays: commands need no process of their own to get there."""

    def __init__(self, namespace: Namespace):
        self._child = subprocess.Popen(
            ["ip", "netns", "exec", namespace.name, "sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._count = 0

    def run(self, script: str) -> tuple[int, str]:
        """The status and the output of commands; the first one that fails is the last."""
        self._count += 1
        end = f"--end {self._count}--"
        self._child.stdin.write(f"( set -e\n{script}\n) </dev/null 2>&1; status=$?; echo; echo '{end}' $status\n")
        self._child.stdin.flush()
        lines = []
        for line in self._child.stdout:
            if line.startswith(end):
                return int(line.split()[-1]), "".join(lines).strip()
            lines.append(line)
        raise LabError(f"the shell has ended: {''.join(lines)}")

    def close(self) -> None:
        self._child.stdin.close()
        self._child.wait()


SYSCTLS = {
    "net/ipv4/ip_forward": 1,
    # Of no type is the rate limited. With an `icmp_ratelimit` of 0 each error would take all tokens of its receiver (`inet_peer_xrlim_allow`),
    # which are those of `ip_error`, too: whether a second packet gets its error would depend on the order of packets of different ports.
    "net/ipv4/icmp_ratemask": 0,
    "net/ipv6/icmp/ratelimit": 0,
    "net/ipv6/auto_flowlabels": 0,
    "net/ipv6/conf/all/forwarding": 1,
    "net/ipv4/icmp_msgs_per_sec": 1000000,
    "net/ipv4/icmp_msgs_burst": 100000,
    "net/ipv4/fib_multipath_hash_policy": 1,
    "net/ipv6/fib_multipath_hash_policy": 1,
    "net/ipv4/ip_forward_use_pmtu": 0,
    "net/ipv4/nexthop_compat_mode": 1,
}
# Redirects use up what a kernel may send of other errors to the same host.
CONF_IPV4 = {
    "forwarding": 1,
    "send_redirects": 0,
    "rp_filter": 0,
    "accept_local": 0,
    "route_localnet": 0,
    "proxy_arp": 0,
    "accept_source_route": 0,
    "bc_forwarding": 0,
    "log_martians": 0,
    "ignore_routes_with_linkdown": 0,
    "drop_unicast_in_l2_multicast": 0,
}
CONF_IPV6 = {"disable_ipv6": 0, "forwarding": 1, "proxy_ndp": 0, "accept_ra": 0, "router_solicitations": 0}


def base_sysctls() -> str:
    """Writes the settings that every scenario begins with."""
    lines = [f"echo {value} > /proc/sys/{key}" for key, value in SYSCTLS.items()]
    for name in ("all", "default", *(f"s{port}" for port in PORTS)):
        lines += [f"echo {value} > /proc/sys/net/ipv4/conf/{name}/{key}" for key, value in CONF_IPV4.items()]
        lines += [f"echo {value} > /proc/sys/net/ipv6/conf/{name}/{key}" for key, value in CONF_IPV6.items()]
    for port in PORTS:
        # What nobody answers fails soon.
        lines += [f"echo 50 > /proc/sys/net/{family}/neigh/s{port}/retrans_time_ms" for family in ("ipv4", "ipv6")]
    return "\n".join(lines)


def base_batch(family: int) -> str:
    """Lines for `ip -4 -batch` and `ip -6 -batch` by which both routers have the same addresses, neighbours and routes."""
    lines = []
    network = "10.0.{}." if family == 4 else "2001:db8:{}::"
    for port in PORTS:
        if family == 4:
            lines += [
                f"link set s{port} nomaster",
                f"link set s{port} mtu 1500",
                f"link set s{port} address {router_mac(port).hex(':')} up",
            ]
        lines += [f"address flush dev s{port} scope global"]
    for port in PORTS:
        bits = "/24" if family == 4 else "/64 nodad"
        address, _, nodad = f"{network.format(port)}1{bits}".partition(" ")
        lines += [f"address add {address} dev s{port} {nodad}"]
        lines += [
            f"neigh replace {network.format(port)}{host} lladdr {host_mac(port, host).hex(':')} dev s{port} nud permanent"
            for host in (2, 3)
        ]
    for port in PORTS:
        to = f"172.16.{port}.0/24" if family == 4 else f"2001:db8:f00{port}::/64"
        lines += [f"route add {to} via {network.format(port)}2"]
    return "\n".join(lines)


RESET = """
nft flush ruleset 2>/dev/null || true
others=$(ip -o link show | sed 's/^[0-9]*: *\\([^:@]*\\).*/\\1/')
ip -force -batch - >/dev/null 2>&1 <<END || true
$(for d in $others; do case $d in lo|s1|s2|s3|s4) ;; *) echo link del $d;; esac; done)
xfrm policy flush
xfrm state flush
link set lo up
nexthop flush
address flush dev lo scope global
$(for p in 1 2 3 4; do echo link set s$p mtu 1500 up; done)
END
tc -force -batch - >/dev/null 2>&1 <<END || true
$(for p in 1 2 3 4; do echo qdisc del dev s$p root; echo qdisc del dev s$p clsact; done)
END
ip -4 -force -batch - >/dev/null 2>&1 <<'END' || true
rule flush
rule add pref 32766 lookup main
rule add pref 32767 lookup default
route flush table all proto boot
route flush table all proto static
neigh flush all nud permanent
neigh flush all nud noarp
neigh flush all
END
ip -6 -force -batch - >/dev/null 2>&1 <<'END' || true
rule flush
rule add pref 32766 lookup main
route flush table all proto boot
route flush table all proto static
neigh flush all nud permanent
neigh flush all nud noarp
neigh flush all
END
for f in -4 -6; do ip $f rule show | grep -q '^0:' || ip $f rule add pref 0 lookup local; done
%SYSCTLS%
ip -4 -batch - <<'END'
%BATCH4%
END
ip -6 -batch - <<'END'
%BATCH6%
END
""".replace("%SYSCTLS%", base_sysctls()).replace("%BATCH4%", base_batch(4)).replace("%BATCH6%", base_batch(6))


class Side:
    """One of the two: the router's namespace, its devices, and the hosts' ends of its links."""

    def __init__(self, name: str, namespace: Namespace, hosts: dict[int, socket.socket]):
        self.name, self.namespace, self.hosts = name, namespace, hosts
        self.shell = Shell(namespace)
        self.taps: dict[int, socket.socket] = {}
        self.arrived: list[tuple[int, bytes]] = []
        self.limited: set[tuple[int, bytes]] = set()
        self.silent: set[str] = set()
        self._token = 0
        self._seen: set[tuple[str, int, int]] = set()
        self._answered = False

    def ready(self) -> None:
        """The router's devices are there."""
        self.taps = sockets(self.namespace.name, {port: f"s{port}" for port in PORTS})

    def reset(self) -> None:
        self.silent = set()
        status, output = self.shell.run(RESET)
        if status:
            raise LabError(f"{self.name}: reset: {output}")

    def up(self) -> list[int]:
        """Ports whose devices are up."""
        _, output = self.shell.run("ip -o link show up")
        return [port for port in PORTS if f": s{port}:" in output or f": s{port}@" in output]

    def pump(self, timeout: float) -> None:
        """Takes frames that have arrived, and answers questions for addresses."""
        waiting = {sock.fileno(): (sock, port, True) for port, sock in self.hosts.items()}
        waiting |= {sock.fileno(): (sock, port, False) for port, sock in self.taps.items()}
        poll = select.poll()
        for number in waiting:
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll(timeout * 1000):
            sock, port, host = waiting[number]
            while True:
                try:
                    data, kind = receive(sock)
                except BlockingIOError:
                    break
                except OSError:
                    # The device went down or is gone.
                    break
                if kind != PACKET_OUTGOING:
                    self._take(port, host, data)

    def _take(self, port: int, host: bool, data: bytes) -> None:
        kind = struct.unpack_from("!H", data, 12)[0]
        if kind in (INWARD, OUTWARD):
            self._seen.add(("out" if host else "in", port, struct.unpack_from("!Q", data, 14)[0]))
            return
        if not host:
            return
        reply = answer(port, data, self.silent)
        if reply:
            self._answered = True
            self.send(port, reply)
        if not is_noise(data) or is_arp_reply(data):
            self.arrived.append((port, normal(data)))

    def _marker(self, way: str, ports: list[int]) -> None:
        """Waits until everything that was under way in one direction has passed."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._token += 1
            token = self._token
            for port in ports:
                body = struct.pack("!Q", token) + bytes(46)
                if way == "in":
                    self.send(port, LLDP_GROUP + host_mac(port) + struct.pack("!H", INWARD) + body)
                else:
                    self.taps[port].send(host_mac(port) + router_mac(port) + struct.pack("!H", OUTWARD) + body)
            again = time.monotonic() + 2
            while time.monotonic() < again:
                if all((way, port, token) in self._seen for port in ports):
                    return
                self.pump(0.05)
            if time.monotonic() > deadline:
                missing = [port for port in ports if (way, port, token) not in self._seen]
                raise LabError(f"{self.name}: markers {way} at ports {missing} do not arrive")

    def settle(self, ports: list[int]) -> None:
        """Waits until what has been sent, and what follows from that at once, is through the router."""
        while True:
            self._answered = False
            self._marker("in", ports)
            self._marker("out", ports)
            if not self._answered:
                return

    def send(self, port: int, data: bytes) -> None:
        """Sends a frame. It may be lost: without carrier, or if it is longer than the other end's MTU."""
        for _ in range(10):
            try:
                self.hosts[port].send(data)
                return
            except OSError as error:
                if error.errno in (errno.ENETDOWN, errno.EMSGSIZE):
                    return
                if error.errno != errno.ENOBUFS:
                    raise
                # The other end's queue may be full.
                self.pump(0.01)

    def close(self) -> None:
        self.shell.close()
        for sock in [*self.hosts.values(), *self.taps.values()]:
            sock.close()


class Ours(Side):
    """`hopwright ip`."""

    marks = 0

    def show(self, routes: bool = False) -> dict:
        """The router's state, as `hopwright ip show --json` has it."""
        with socket.socket(socket.AF_UNIX) as asked:
            asked.settimeout(PATIENCE)
            asked.connect(f"/run/hopwright/ip-{self.namespace.name}.sock")
            asked.sendall(json.dumps({"routes": routes}).encode() + b"\n")
            parts = []
            while part := asked.recv(1 << 20):
                parts.append(part)
        return json.loads(b"".join(parts))

    def follows(self, settings: bool) -> None:
        """Waits until the router has taken up what the kernel has: a route that was added last, and settings, if some have changed."""
        Ours.marks += 1
        marker = f"198.51.{100 + Ours.marks // 250 % 100}.{Ours.marks % 250}/32"
        status, output = self.shell.run(f"ip route add blackhole {marker} proto static")
        if status:
            raise LabError(f"the marker route: {output}")
        deadline, begin = time.monotonic() + PATIENCE, None
        while True:
            state = self.show(routes=True)
            begin = state["policy_readings"] if begin is None else begin
            there = any(route["prefix"] == marker for route in state["routes"])
            if there and state["settled"] and (not settings or state["policy_readings"] >= begin + 2):
                break
            if time.monotonic() > deadline:
                raise LabError(f"the router does not follow its kernel: {state}")
            time.sleep(0.01)
        self.shell.run(f"ip route del blackhole {marker}")


class World:
    """Both sides."""

    def __init__(self, prefix: str, hopwright: Path, folder: Path, arguments: list[str]):
        names = {name: f"{prefix}{name}" for name in ("hosts", "linux", "switch", "control")}
        self.namespaces: list[Namespace] = []
        self.process: Process | None = None
        self.sides: list[Side] = []
        try:
            hosts, linux, switch, control = (self._namespace(name, name not in ("hosts", "switch"), names[name]) for name in names)
            # The kernel joins other groups at devices that are there before: so both have theirs later.
            for key in ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"):
                linux.set(key, "1")
            self.devices = {side: {port: f"{side}{port}" for port in PORTS} for side in ("k", "o")}
            for side, router in (("k", linux), ("o", switch)):
                for port in PORTS:
                    # Nothing is left to devices, so that frames can be compared.
                    veth(
                        End(router, f"s{port}", mac=router_mac(port).hex(":"), offloads=Offloads.NONE),
                        End(hosts, self.devices[side][port], mac=host_mac(port).hex(":"), offloads=Offloads.NONE),
                        LINK_MTU,
                    )
                    hosts.ip("link", "set", self.devices[side][port], "arp", "off")
            hosts.set("net/ipv4/ip_forward", "0")
            interfaces = [word for port in PORTS for word in ("-i", f"{port}@s{port}")]
            self.log = folder / "hopwright.log"
            self.process = Process(
                "hopwright ip", [str(hopwright), "ip", *interfaces, "--namespace", names["control"], *arguments], self.log, namespace=switch
            )
            wait_until(lambda: f"the router to start\n{self.process.tail()}", lambda: self.process.check() or "routing;" in self.log.read_text())
            self.linux = Side("linux", linux, sockets(names["hosts"], self.devices["k"]))
            self.ours = Ours("hopwright", control, sockets(names["hosts"], self.devices["o"]))
            self.sides = [self.linux, self.ours]
            for side in self.sides:
                side.ready()
        except BaseException:
            self.close()
            raise

    def _namespace(self, _: str, ipv6: bool, name: str) -> Namespace:
        namespace = Namespace(name, ipv6=ipv6)
        self.namespaces.append(namespace)
        return namespace

    def reset(self) -> None:
        for side in self.sides:
            side.reset()

    def run(self, script: str) -> tuple[int, str]:
        """Runs the same commands on both sides; `$S` is nothing special. The status has to be the same."""
        found = [side.shell.run(script) for side in self.sides]
        if (found[0][0] == 0) != (found[1][0] == 0):
            raise LabError(f"`{script}` ends differently: {found}")
        return found[0]

    def exchange(self, packets: list[tuple[int, bytes]]) -> None:
        """Sends packets on both sides, and waits until what follows from them has arrived."""
        for side in self.sides:
            ports = side.up()
            side.pump(0)
            side.arrived.clear()
            for port, data in packets:
                side.send(port, data)
            side.settle(ports)

    def wait(self, seconds: float) -> None:
        """Takes what arrives late."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for side in self.sides:
                side.pump(0.02)

    def close(self) -> None:
        for side in self.sides:
            side.close()
        if self.process:
            self.process.stop()
        for namespace in self.namespaces:
            namespace.remove()
