"""What the underlay test builds: a router between two neighbours, a sibling and a host, with links of every kind.

Link 0 is the internal network, on which are the host and the sibling; links 1 and 2 lead to neighbours.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import struct
import threading
from dataclasses import dataclass
from typing import Callable

from lab.command import LabError
from lab.netns import End, Namespace, Offloads, veth
from lab.scion import socket_in

PREFIX = f"hwu{os.getpid()}-"
LOCAL_AS, OTHER_AS = "1-ff00:0:1", "1-ff00:0:66"
LINK_PORT, INTERNAL_PORT, PROBE_PORT = 50000, 30042, 40999
SIBLING_INTERFACE = 7
# Of a SCION packet on every link, as far as topology.json knows.
MTU = 1472
INTERNAL = 0


class Unsupported(Exception):
    """The kernel of this machine does not have such devices."""


# Which links a flow crosses: link 0 is the internal network, on which are the host and the sibling.
FLOWS = {
    "in": (1, "host"),
    "out": ("host", 1),
    "transit": (1, 2),
    "transit back": (2, 1),
    "to the sibling": (1, "sibling"),
    "from the sibling": ("sibling", 1),
}


def link_of(end: int | str) -> int:
    return end if isinstance(end, int) else INTERNAL


class Net:
    """The router's namespace and its neighbours', and who has which address.

    The router's device of link n is `if<n>`, the neighbours' `out<n>`.
    """

    def __init__(self, six: bool = False):
        self.six = six
        self.router = Namespace(PREFIX + "router", ipv6=six)
        self.outside = Namespace(PREFIX + "outside", ipv6=six)
        self.namespaces = [self.router, self.outside]
        for namespace in self.namespaces:
            self.prepare(namespace)
        self.local = {n: self.address(n, 1) for n in (0, 1, 2)}
        self.remote = {n: self.address(n, 2) for n in (1, 2)}
        self.host, self.sibling = self.address(0, 9), self.address(0, 8)
        # What senders' sockets are given, and what makes a sender instead of a socket.
        self.equip: Callable[[socket.socket], None] = lambda sock: None
        self.sender: Callable[[Net, int, str, int], object] | None = None
        self._closing: list[Callable[[], None]] = []

    def prepare(self, namespace: Namespace) -> None:
        for which in ("all", "default"):
            # Packets may come by another device than answers would go by.
            namespace.set(f"net/ipv4/conf/{which}/rp_filter", "0")
            # Who changes the Ethernet address says so, as machines that take an address over do.
            namespace.set(f"net/ipv4/conf/{which}/arp_notify", "1")
            if self.six:
                namespace.set(f"net/ipv6/conf/{which}/ndisc_notify", "1")

    def middle(self, name: str) -> Namespace:
        """A namespace that forwards, between the router and its neighbours."""
        namespace = Namespace(PREFIX + name, ipv6=self.six)
        self.namespaces.append(namespace)
        self.prepare(namespace)
        namespace.set("net/ipv4/ip_forward", "1")
        if self.six:
            namespace.set("net/ipv6/conf/all/forwarding", "1")
        return namespace

    def address(self, net: int, number: int) -> str:
        return f"fd00:{net}::{number}" if self.six else f"10.{net}.0.{number}"

    @property
    def bits(self) -> int:
        return 64 if self.six else 24

    @property
    def all_bits(self) -> int:
        return 128 if self.six else 32

    def there(self, n: int) -> list[str]:
        """The neighbours' addresses on a link."""
        return [self.remote[n]] if n else [self.host, self.sibling]

    def route(self, namespace: Namespace, to: str, *how: str) -> None:
        """A route to one address, in the place of another."""
        namespace.ip("route", "replace", f"{to}/{self.all_bits}", *how)

    def when_closing(self, what: Callable[[], None]) -> None:
        self._closing.append(what)

    def close(self) -> None:
        for what in self._closing:
            what()
        for namespace in self.namespaces:
            namespace.remove()


def try_ip(namespace: Namespace, *args: str) -> None:
    """`ip`, for devices that the kernel may lack."""
    try:
        namespace.ip(*args)
    except LabError as error:
        if "Unknown device type" in str(error) or "not supported" in str(error):
            raise Unsupported(str(error).rpartition(": ")[2]) from None
        raise


# How a link is made: devices at both ends, with the link's addresses on them.

def own_ends(net: Net, n: int, here: str, there: str) -> None:
    """Addresses on devices that exist, and the devices up."""
    net.router.ip("addr", "add", f"{net.local[n]}/{net.bits}", "dev", here)
    net.router.ip("link", "set", here, "up")
    for address in net.there(n):
        net.outside.ip("addr", "add", f"{address}/{net.bits}", "dev", there)
    net.outside.ip("link", "set", there, "up")


def pair(net: Net, here: str, there: str, mtu: int = 1500, offloads: Offloads = Offloads.VETH) -> None:
    """A veth pair without addresses between the router and its neighbours."""
    veth(End(net.router, here, offloads=offloads), End(net.outside, there, offloads=offloads), mtu)


def by_veth(net: Net, n: int, mtu: int = 1500, offloads: Offloads = Offloads.VETH) -> None:
    pair(net, f"if{n}", f"out{n}", mtu, offloads)
    own_ends(net, n, f"if{n}", f"out{n}")


def by_veth_without_offloads(net: Net, n: int) -> None:
    by_veth(net, n, offloads=Offloads.NONE)


def by_small_mtu(net: Net, n: int) -> None:
    """A device whose MTU is smaller than the packets: both kernels fragment."""
    by_veth(net, n, mtu=1280 if net.six else 1000)


def by_macvlan(net: Net, n: int) -> None:
    pair(net, f"under{n}", f"out{n}")
    net.router.ip("link", "set", f"under{n}", "up")
    try_ip(net.router, "link", "add", "link", f"under{n}", "name", f"if{n}", "type", "macvlan",
           "mode", "bridge")
    own_ends(net, n, f"if{n}", f"out{n}")


def by_macvlans(net: Net, n: int) -> None:
    """The router and its neighbours on one device of the machine, as containers are."""
    pair(net, f"under{n}", f"below{n}")
    net.router.ip("link", "set", f"under{n}", "up")
    net.outside.ip("link", "set", f"below{n}", "up")
    for more in ((f"if{n}",), (f"out{n}", "netns", net.outside.name)):
        try_ip(net.router, "link", "add", "link", f"under{n}", "name", *more, "type", "macvlan",
               "mode", "bridge")
    own_ends(net, n, f"if{n}", f"out{n}")


def by_vlan(net: Net, n: int) -> None:
    pair(net, f"under{n}", f"below{n}")
    for namespace, lower, upper in ((net.router, f"under{n}", f"if{n}"),
                                    (net.outside, f"below{n}", f"out{n}")):
        try_ip(namespace, "link", "add", "link", lower, "name", upper, "type", "vlan", "id", "5")
    own_ends(net, n, f"if{n}", f"out{n}")


def by_bond(net: Net, n: int) -> None:
    try_ip(net.router, "link", "add", f"if{n}", "type", "bond", "mode", "active-backup", "miimon", "20")
    net.outside.ip("link", "add", f"out{n}", "type", "bridge")
    for leg in "ab":
        pair(net, f"leg{n}{leg}", f"port{n}{leg}")
        net.router.ip("link", "set", f"leg{n}{leg}", "down")
        net.router.ip("link", "set", f"leg{n}{leg}", "master", f"if{n}")
        net.outside.ip("link", "set", f"port{n}{leg}", "master", f"out{n}")
    own_ends(net, n, f"if{n}", f"out{n}")


def by_bridge(net: Net, n: int) -> None:
    """The router's address on a bridge, its cable a port of it."""
    net.router.ip("link", "add", f"if{n}", "type", "bridge")
    pair(net, f"port{n}", f"out{n}")
    net.router.ip("link", "set", f"port{n}", "master", f"if{n}")
    own_ends(net, n, f"if{n}", f"out{n}")


def open_tun(namespace: Namespace, name: str) -> int:
    """A new TUN device; it lives as long as the descriptor."""
    def make():
        descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        # TUNSETIFF with IFF_TUN | IFF_NO_PI.
        fcntl.ioctl(descriptor, 0x400454CA, struct.pack("16sH22x", name.encode(), 0x1001))
        return descriptor
    return socket_in(namespace, make)


def by_tun(net: Net, n: int) -> None:
    """A tunnel that a program makes, as VPNs do: a device without Ethernet."""
    try:
        ends = [open_tun(net.router, f"if{n}"), open_tun(net.outside, f"out{n}")]
    except FileNotFoundError as error:
        raise Unsupported(str(error)) from None
    own_ends(net, n, f"if{n}", f"out{n}")
    over = threading.Event()

    def relay() -> None:
        other = {ends[0]: ends[1], ends[1]: ends[0]}
        while not over.is_set():
            for ready in select.select(ends, [], [], 0.1)[0]:
                try:
                    os.write(other[ready], os.read(ready, 65535))
                except OSError:
                    continue
        for end in ends:
            os.close(end)

    thread = threading.Thread(target=relay, daemon=True)
    thread.start()
    net.when_closing(lambda: (over.set(), thread.join()))


def by_elsewhere(net: Net, n: int, device: str) -> None:
    """Both sides' addresses on another device than the one that packets take."""
    pair(net, f"if{n}", f"out{n}")
    ends = (f"fd01:{n}::1", f"fd01:{n}::2") if net.six else (f"192.168.{n}.1", f"192.168.{n}.2")
    for namespace, near, address in ((net.router, f"if{n}", ends[0]), (net.outside, f"out{n}", ends[1])):
        namespace.ip("addr", "add", f"{address}/{net.bits}", "dev", near)
        namespace.ip("link", "set", near, "up")
    net.router.ip("addr", "add", f"{net.local[n]}/{net.all_bits}", "dev", device)
    for address in net.there(n):
        net.outside.ip("addr", "add", f"{address}/{net.all_bits}", "dev", "lo")
        net.route(net.router, address, "via", ends[1], "dev", f"if{n}", "src", net.local[n])
    net.route(net.outside, net.local[n], "via", ends[0], "dev", f"out{n}", "src", net.there(n)[0])


def by_lo(net: Net, n: int) -> None:
    by_elsewhere(net, n, "lo")


def by_dummy(net: Net, n: int) -> None:
    try_ip(net.router, "link", "add", f"dummy{n}", "type", "dummy")
    net.router.ip("link", "set", f"dummy{n}", "up")
    by_elsewhere(net, n, f"dummy{n}")


def second(net: Net, n: int) -> tuple[str, str]:
    """A second veth pair beside a link's, `ifx<n>` and `outx<n>`: the ends' addresses."""
    pair(net, f"ifx{n}", f"outx{n}")
    ends = (f"fd02:{n}::1", f"fd02:{n}::2") if net.six else (f"172.16.{n}.1", f"172.16.{n}.2")
    for namespace, device, address in ((net.router, f"ifx{n}", ends[0]), (net.outside, f"outx{n}", ends[1])):
        namespace.ip("addr", "add", f"{address}/{net.bits}", "dev", device)
        namespace.ip("link", "set", device, "up")
    return ends


def by_asymmetric(net: Net, n: int) -> None:
    """What comes in does so by another device than what goes out, and than the address's."""
    by_veth(net, n)
    here, _ = second(net, n)
    net.route(net.outside, net.local[n], "via", here, "dev", f"outx{n}", "src", net.there(n)[0])


def by_gateway(net: Net, n: int, mtu: int = 1500) -> None:
    """The neighbours behind a gateway; the MTU is that of the link behind it."""
    gateway = net.middle(f"gateway{n}")
    far = [net.address(100 + n, 2)] if n else [net.address(100, 9), net.address(100, 8)]
    near, beyond = net.address(n, 254), net.address(100 + n, 254)
    veth(End(net.router, f"if{n}", (f"{net.local[n]}/{net.bits}",)),
         End(gateway, "near", (f"{near}/{net.bits}",)), 1500)
    veth(End(gateway, "far", (f"{beyond}/{net.bits}",)),
         End(net.outside, f"out{n}", tuple(f"{a}/{net.bits}" for a in far)), mtu)
    if n:
        net.remote[n] = far[0]
    else:
        net.host, net.sibling = far
    for address in far:
        net.route(net.router, address, "via", near)
    net.route(net.outside, net.local[n], "via", beyond)


def by_small_path(net: Net, n: int) -> None:
    """A path whose MTU is smaller than the devices'."""
    by_gateway(net, n, mtu=1280 if net.six else 1000)


def by_other_device(net: Net, n: int) -> None:
    """The internal network's hosts behind another device than the internal address's."""
    if n != INTERNAL:
        return by_veth(net, n)
    pair(net, "if0", "out0")
    net.router.ip("addr", "add", f"{net.local[0]}/{net.bits}", "dev", "if0")
    net.router.ip("link", "set", "if0", "up")
    net.outside.ip("link", "set", "out0", "up")
    net.host, net.sibling = net.address(9, 9), net.address(9, 8)
    pair(net, "if9", "out9")
    net.router.ip("addr", "add", f"{net.address(9, 1)}/{net.bits}", "dev", "if9")
    net.router.ip("link", "set", "if9", "up")
    for address in (net.host, net.sibling):
        net.outside.ip("addr", "add", f"{address}/{net.bits}", "dev", "out9")
    net.outside.ip("link", "set", "out9", "up")
    net.route(net.outside, net.local[0], "via", net.address(9, 1), "src", net.host)


def in_one_namespace(net: Net) -> None:
    """Everybody on one machine, as in the reference's local topologies.

    The addresses are of 127.0.0.0/8, which no device lists, or IPv6 addresses on lo.
    """
    def address(n: int, number: int) -> str:
        return f"fd00:f00d:cafe::7f00:{n}{number}" if net.six else f"127.0.{n}.{number}"

    net.outside = net.router
    net.local = {n: address(n, 4) for n in (0, 1, 2)}
    net.remote = {n: address(n, 2) for n in (1, 2)}
    net.host, net.sibling = address(0, 9), address(0, 8)
    if net.six:
        for one in (*net.local.values(), *net.remote.values(), net.host, net.sibling):
            net.router.ip("addr", "add", f"{one}/128", "dev", "lo")


# What senders do that not all senders do.

def with_ip_options(sock: socket.socket) -> None:
    """IPv4 options (three no-operations, end of list), or IPv6 extension headers for each hop and the
    destination, each with padding."""
    if sock.family == socket.AF_INET:
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_OPTIONS, b"\x01\x01\x01\0")
    else:
        for option in (socket.IPV6_HOPOPTS, socket.IPV6_DSTOPTS):
            sock.setsockopt(socket.IPPROTO_IPV6, option, b"\0\0\x01\x04\0\0\0\0")


class Tagged:
    """Sends UDP datagrams in priority-tagged Ethernet frames (VLAN 0), whatever the kernel would do."""

    def __init__(self, net: Net, n: int, address: str, port: int):
        def mac(namespace: Namespace, device: str) -> bytes:
            link = json.loads(namespace.ip("-json", "link", "show", device))[0]
            return bytes.fromhex(link["address"].replace(":", ""))

        def make() -> socket.socket:
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            sock.bind((f"out{n}", 0))
            return sock

        self._sock = socket_in(net.outside, make)
        self._from = (address, port)
        # Priority 5, VLAN 0.
        self._ethernet = (mac(net.router, f"if{n}") + mac(net.outside, f"out{n}")
                          + b"\x81\0\xa0\0" + (b"\x86\xdd" if net.six else b"\x08\0"))
        self.close = self._sock.close

    def sendto(self, data: bytes, to: tuple[str, int]) -> None:
        family = socket.AF_INET6 if ":" in to[0] else socket.AF_INET
        source, destination = (socket.inet_pton(family, a) for a in (self._from[0], to[0]))
        size = 8 + len(data)
        udp = struct.pack("!HHHH", self._from[1], to[1], size, 0) + data
        check = ones_complement(source + destination + struct.pack("!HH", 17, size) + udp) or 0xFFFF
        udp = udp[:6] + struct.pack("!H", check) + data
        if family == socket.AF_INET6:
            header = struct.pack("!IHBB", 6 << 28, size, 17, 64) + source + destination
        else:
            header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + size, 0, 0x4000, 64, 17, 0) + source + destination
            header = header[:10] + struct.pack("!H", ones_complement(header)) + header[12:]
        self._sock.send(self._ethernet + header + udp)


def ones_complement(data: bytes) -> int:
    """The internet checksum."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


@dataclass(frozen=True)
class Kind:
    """A kind of underlay: how a link of the kind is made, and what its packets are like."""

    name: str
    make: Callable[[Net, int], None]
    payload: int = 64
    equip: Callable[[socket.socket], None] | None = None
    tagged: bool = False
    # Which links are of this kind.
    links: tuple[int, ...] = (0, 1, 2)
    alone: bool = False
    # How many packets of a flow get lost by chance.
    tolerance: int = 0


LONG = 1300
KINDS = {kind.name: kind for kind in (
    Kind("veth", by_veth),
    Kind("veth without offloads", by_veth_without_offloads),
    Kind("loopback", by_veth, alone=True),
    Kind("addresses on lo", by_lo),
    Kind("addresses on dummy", by_dummy),
    Kind("macvlan", by_macvlan),
    Kind("macvlans of one device", by_macvlans),
    Kind("tun", by_tun),
    Kind("vlan", by_vlan),
    Kind("bond", by_bond),
    Kind("bridge", by_bridge),
    Kind("gateway", by_gateway),
    Kind("hosts behind another device", by_other_device, links=(0,)),
    Kind("asymmetric arrival", by_asymmetric),
    Kind("device MTU too small", by_small_mtu, payload=LONG),
    # What is sent before the path's MTU is known is lost.
    Kind("path MTU too small", by_small_path, payload=LONG, tolerance=3),
    Kind("IP options", by_veth, equip=with_ip_options),
    Kind("priority tags", by_veth, tagged=True),
)}


def build(kind: Kind, links: tuple[int, ...], six: bool) -> Net:
    """The network with these links of a kind, and the others plain."""
    net = Net(six)
    try:
        if kind.alone:
            in_one_namespace(net)
        else:
            for n in (0, 1, 2):
                (kind.make if n in links else by_veth)(net, n)
        if kind.equip:
            net.equip = kind.equip
        if kind.tagged:
            net.sender = lambda net, n, address, port: Tagged(net, n, address, port)
    except BaseException:
        net.close()
        raise
    return net
