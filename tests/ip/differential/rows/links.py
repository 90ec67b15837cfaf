"""VLANs of ports, and VRFs."""

from __future__ import annotations

from ..packets import arp_request, echo, frame, host_mac, ipv4, tagged
from ..scenario import p4, p6, row, send, several

SERVICE = 0x88A8


def vlan(port: int, number: int, options: str = "", address: bool = True) -> str:
    """Commands that make a VLAN device of a port: its hosts are 10.NUMBER.PORT.2 to 9, and 2001:db8:NUMBER0PORT::2 to 9."""
    name = f"v{port}{number}"
    lines = [
        f"ip link add link s{port} name {name} type vlan id {number} {options}",
        f"for f in ipv4 ipv6; do echo 200 > /proc/sys/net/$f/neigh/{name}/retrans_time_ms; done",
        f"ip link set {name} up",
    ]
    if address:
        lines += [f"ip addr add 10.{number}.{port}.1/24 dev {name}", f"ip addr add 2001:db8:{number}0{port}::1/64 dev {name} nodad"]
    return "; ".join(lines)


def v4(dst: str, number: int, port: int = 1, priority: int = 0, kind: int = 0x8100, src: str | None = None, **kwargs) -> tuple[int, bytes]:
    """From the host in a VLAN at a port, IPv4 to an address."""
    _, data = p4(dst, port, src=src or f"10.{number % 256}.{port}.2", **kwargs)
    return port, tagged(data, number, priority, kind)


def v6(dst: str, number: int, port: int = 1, priority: int = 0, src: str | None = None, **kwargs) -> tuple[int, bytes]:
    """The same, IPv6."""
    _, data = p6(dst, port, src=src or f"2001:db8:{number}0{port}::2", **kwargs)
    return port, tagged(data, number, priority)


def in_vlan(to: list[tuple[int, bytes]], number: int) -> list[tuple[int, bytes]]:
    return [(port, tagged(data, number)) for port, data in to]


BOTH = "; ".join((vlan(1, 5), vlan(2, 5), vlan(2, 6)))
ALL_WAYS = [
    v4("172.16.2.9", 5),
    v6("2001:db8:f002::9", 5),
    p4("10.5.2.3"),
    p6("2001:db8:502::3"),
    v4("10.5.2.3", 5),
    v6("2001:db8:502::3", 5),
    v4("10.6.2.4", 5),
    v6("2001:db8:602::4", 5),
    v4("10.6.2.4", 5, port=2),
    v6("2001:db8:602::4", 5, port=2),
    v4("10.0.2.2", 5, port=2),
    v4("10.5.2.4", 5, port=2),
]
row("VLANs", "all ways", BOTH, send(*ALL_WAYS, fast=True))
row(
    "VLANs",
    "to the router",
    BOTH,
    send(
        *in_vlan(several("10.5.1.1", src="10.5.1.2"), 5),
        *in_vlan(several("2001:db8:501::1", src="2001:db8:501::2"), 5),
        v4("10.5.2.1", 5, payload=echo),
        v4("10.0.1.1", 5, payload=echo),
        p4("10.5.1.1", payload=echo),
        v4("10.5.1.255", 5),
        (1, tagged(arp_request(1, "10.5.1.2", "10.5.1.1"), 5)),
        (1, tagged(arp_request(1, "10.5.1.2", "10.5.1.1"), 6)),
        (1, arp_request(1, "10.5.1.2", "10.5.1.1")),
    ),
)
row(
    "VLANs",
    "errors",
    BOTH,
    send(
        v4("172.16.2.9", 5, ttl=1),
        v6("2001:db8:f002::9", 5, hop_limit=1),
        v4("8.8.8.8", 5),
        v6("2600::1", 5),
        v4("10.5.2.99", 5, ttl=2),
        v4("172.16.2.9", 5, options=b"\x07\x07\x04" + bytes(5)),
        v4("172.16.2.9", 5, sum_error=1),
        v4("172.16.2.9", 5, length_error=1),
        v4("172.16.2.9", 5, length_error=4),
        v6("2001:db8:f002::9", 5, length_error=1),
        v4("127.0.0.1", 5),
        v4("172.16.2.9", 5, src="127.0.0.1"),
        v4("172.16.2.9", 5, src="10.5.1.1"),
        v4("224.0.0.9", 5),
    ),
)
row(
    "VLANs",
    "others",
    BOTH,
    send(
        v4("172.16.2.9", 6),
        v4("172.16.2.9", 4095),
        (1, tagged(p4("172.16.2.9")[1], 0)),
        (1, tagged(p4("10.5.2.3")[1], 0, priority=5)),
        v4("172.16.2.9", 5, kind=SERVICE),
        (1, tagged(v4("172.16.2.9", 7)[1], 5)),
        (1, tagged(v4("172.16.2.9", 5)[1], 0)),
        (1, tagged(frame(1, ipv4("10.5.1.2", "172.16.2.9"), dst=host_mac(1, 9)), 5)),
        (1, tagged(frame(1, ipv4("10.5.1.2", "172.16.2.9"), dst=b"\xff" * 6), 5)),
        (1, tagged(frame(1, ipv4("10.5.1.2", "172.16.2.9"), pad=20), 5)),
        (1, tagged(frame(1, b"\xaa\xaa\x03" + bytes(40), kind=43), 5)),
        v4("10.5.2.3", 5, priority=7),
    ),
)
for mtu in (1280, 1400):
    row(
        "VLANs",
        f"MTU {mtu} of a VLAN",
        BOTH + f"; ip link set v25 mtu {mtu}",
        send(
            *(v4("10.5.2.3", 5, df=df, data=bytes(mtu - 28 + more)) for df in (False, True) for more in (0, 1)),
            *(v6("2001:db8:502::3", 5, data=bytes(mtu - 48 + more)) for more in (0, 1)),
            v4("10.6.2.3", 5, data=bytes(1472)),
            p4("10.5.2.3", data=bytes(1472), df=True),
        ),
    )
row(
    "VLANs",
    "come and go",
    vlan(1, 5),
    send(v4("172.16.2.9", 5), p4("10.5.2.3")),
    vlan(2, 5),
    send(v4("172.16.2.9", 5), p4("10.5.2.3"), v4("10.5.2.3", 5)),
    "ip link set v25 down",
    send(p4("10.5.2.3"), v4("172.16.1.9", 5, port=2), v4("10.0.1.2", 5, port=2)),
    "ip link set v25 up",
    send(p4("10.5.2.3"), v4("10.0.1.2", 5, port=2)),
    "ip link set s2 down",
    send(p4("10.5.2.3"), v4("10.0.1.2", 5, port=2)),
    "ip link set s2 up; ip link set v25 up; ip addr replace 10.5.2.1/24 dev v25",
    send(p4("10.5.2.3"), v4("10.0.1.2", 5, port=2)),
    "ip link set v25 down; ip link set v25 name w; ip link set w up; ip route add 192.168.1.0/24 via 10.5.2.4",
    send(p4("192.168.1.1"), fast=True),
    "ip link del w",
    send(p4("10.5.2.3"), p4("192.168.1.1"), v4("10.0.1.2", 5, port=2)),
    vlan(2, 5),
    send(p4("10.5.2.3"), v4("10.0.1.2", 5, port=2), fast=True),
)
row(
    "VLANs",
    "routes and neighbours",
    BOTH + "; ip route add 192.168.1.0/24 via 10.5.2.4; ip route add 192.168.2.0/24 via 10.6.2.4 mtu 1300; ip -6 route add 2001:db8:77::/64"
    " via 2001:db8:602::5; ip neigh replace 10.5.2.7 lladdr 02:00:00:00:09:07 dev v25 nud permanent",
    send(
        p4("192.168.1.1"),
        v4("192.168.1.1", 5),
        p4("192.168.2.1", data=bytes(1400), df=True),
        v4("192.168.2.1", 5, data=bytes(1000)),
        p6("2001:db8:77::1"),
        p4("10.5.2.7"),
    ),
    "ip route replace 192.168.1.0/24 via 10.0.3.2; ip neigh del 10.5.2.7 dev v25",
    send(p4("192.168.1.1"), v4("192.168.1.1", 5), p4("10.5.2.7")),
    "ip route replace 192.168.1.0/24 nexthop via 10.5.2.4 nexthop via 10.5.2.5 weight 2",
    send(*(p4("192.168.1.1", sport=3000 + n) for n in range(8)), any_path=True),
    "ip nexthop add id 7 via 10.6.2.4 dev v26; ip route replace 192.168.1.0/24 nhid 7",
    send(p4("192.168.1.1"), fast=True),
    "ip link set v26 down",
    send(p4("192.168.1.1")),
)
for name in ("v15", "s1"):
    row(
        "VLANs",
        f"settings of {name}",
        BOTH + f"; echo 0 > /proc/sys/net/ipv4/conf/{name}/forwarding",
        send(*several("172.16.2.9"), *in_vlan(several("172.16.2.9", src="10.5.1.2"), 5), v4("10.5.1.1", 5, payload=echo)),
        f"echo 1 > /proc/sys/net/ipv4/conf/{name}/forwarding; echo 1 > /proc/sys/net/ipv6/conf/{name}/disable_ipv6",
        send(v6("2001:db8:f002::9", 5), p6("2001:db8:f002::9"), v4("172.16.2.9", 5)),
        f"echo 0 > /proc/sys/net/ipv6/conf/{name}/disable_ipv6",
        send(v4("172.16.2.9", 5), p4("172.16.2.9"), fast=True),
    )
    for mode in (1, 2):
        row(
            "VLANs",
            f"rp_filter {mode} of {name}",
            BOTH + f"; echo {mode} > /proc/sys/net/ipv4/conf/{name}/rp_filter",
            send(
                v4("172.16.2.9", 5),
                v4("172.16.2.9", 5, src="10.0.1.2"),
                v4("172.16.2.9", 5, src="8.8.8.8"),
                p4("172.16.2.9", src="10.5.1.2"),
                p4("172.16.2.9", src="10.5.2.2"),
                p4("172.16.2.9"),
            ),
        )
row(
    "VLANs",
    "rules",
    BOTH + "; ip route add default via 10.5.2.4 table 100; ip rule add pref 100 iif v15 lookup 100",
    send(v4("172.16.2.9", 5), p4("172.16.2.9"), v4("10.5.1.1", 5, payload=echo), fast=False),
    "ip rule del pref 100; ip rule add pref 100 iif s1 lookup 100",
    send(v4("172.16.2.9", 5), p4("172.16.2.9")),
    "ip rule del pref 100; ip rule add pref 100 iif v26 prohibit",
    send(v4("172.16.2.9", 5), v4("10.0.1.2", 6, port=2), v4("10.0.1.2", 5, port=2)),
)
row(
    "VLANs",
    "filters",
    BOTH + "; nft add table inet f; nft 'add chain inet f c { type filter hook forward priority 0; }'; nft add rule inet f c iifname v15 drop",
    send(v4("172.16.2.9", 5), p4("172.16.2.9"), v4("10.0.1.2", 6, port=2)),
    "nft flush ruleset",
    send(v4("172.16.2.9", 5), fast=True),
)
for what, options, change in (
    ("802.1ad", "proto 802.1ad", ""),
    ("priorities", "egress-qos-map 0:3 ingress-qos-map 2:4", ""),
    ("reorder_hdr off", "reorder_hdr off", ""),
    ("loose_binding", "loose_binding on", "; ip link set s2 down"),
    ("another Ethernet address", "", "; for d in v15 v25; do ip link set $d address 02:00:00:00:55:01; done"),
    ("bridge", "", "; ip link add b0 type bridge; ip link set v25 master b0; ip link set b0 up; ip addr add 10.5.22.1/24 dev b0"),
    ("macvlan", "", "; ip link add m0 link v25 address 02:00:00:00:66:05 type macvlan mode bridge; ip link set m0 up"),
    ("VLAN in a VLAN", "", "; ip link add link v25 name q type vlan id 7; ip link set q up; ip addr add 10.7.2.1/24 dev q"),
    ("shaping", "", "; tc qdisc add dev v25 root tbf rate 1gbit burst 100k latency 50ms"),
):
    kind = SERVICE if what == "802.1ad" else 0x8100
    row(
        "VLANs",
        what,
        vlan(1, 5) + "; " + vlan(2, 5, options) + change,
        send(
            p4("10.5.2.3"),
            v4("10.5.2.3", 5),
            v4("10.0.1.2", 5, port=2, kind=kind),
            v4("10.0.1.2", 5, port=2, kind=kind, priority=2),
            v4("10.0.1.2", 5, port=2),
            v4("172.16.3.9", 5),
            p4("10.7.2.3"),
            (2, tagged(v4("10.0.1.2", 7, port=2)[1], 5)),
            (2, tagged(frame(2, ipv4("10.5.2.2", "10.0.1.2"), dst=bytes.fromhex("020000005501")), 5)),
            (2, tagged(frame(2, ipv4("10.5.2.2", "10.0.1.2"), dst=bytes.fromhex("020000006605")), 5)),
            p4("172.16.2.9"),
        ),
    )
row(
    "VLANs",
    "port in a bridge",
    BOTH + "; ip link add b0 type bridge; ip link set s2 master b0; ip link set b0 up",
    send(p4("10.5.2.3"), v4("10.0.1.2", 5, port=2), p4("172.16.2.9"), p4("10.0.1.2", port=2)),
)

# -- VRFs ----------------------------------------------------------------------------------------------------------------

# The kernel makes the rule with the first VRF only.
RULES = "for f in -4 -6; do ip $f rule show | grep -q l3mdev || ip $f rule add pref 1000 l3mdev; done"


def vrf(name: str, table: int, *members: str) -> str:
    """Commands that make a VRF. Addresses of IPv6 go when their devices become members."""
    lines = [f"ip link add {name} type vrf table {table}", RULES, f"ip link set {name} up"]
    for member in members:
        lines += [f"ip link set {member} master {name}"]
        port, number = member[1], member[2:]
        address = f"2001:db8:{number}0{port}::1" if number else f"2001:db8:{port}::1"
        lines += [f"ip addr replace {address}/64 dev {member} nodad"]
    return "; ".join(lines)


RED = vrf("red", 10, "s1", "s2")
DEFAULT = "; ".join(f"ip {family} route add table {{}} unreachable default metric 4278198272" for family in ("-4", "-6"))
row(
    "VRFs",
    "within a VRF, and from and to it",
    RED + "; ip route add 192.168.1.0/24 via 10.0.2.3 vrf red; ip -6 route add 2001:db8:77::/64 via 2001:db8:2::3 vrf red",
    send(p4("10.0.2.2"), p6("2001:db8:2::2"), p4("192.168.1.1"), p6("2001:db8:77::1"), p4("10.0.4.2", port=3), fast=True),
    send(
        # Behind the VRF's routes come the main ones.
        p4("172.16.3.9"),
        p4("10.0.3.2"),
        p4("8.8.8.8"),
        p4("10.0.2.2", port=3),
        p4("192.168.1.1", port=3),
        *several("10.0.1.1"),
        *several("10.0.2.1"),
        p4("10.0.3.1", payload=echo),
        p4("10.0.1.1", port=3, payload=echo),
        *several("2001:db8:1::1"),
        p6("2001:db8:3::1", payload=echo),
        p6("2001:db8:1::1", port=3, payload=echo),
        p4("10.0.2.2", ttl=1),
        p6("2001:db8:2::2", hop_limit=1),
        p4("10.0.2.255"),
    ),
)
row(
    "VRFs",
    "with an unreachable default",
    RED + "; " + DEFAULT.format(10, 10),
    send(p4("10.0.2.2"), p4("172.16.3.9"), p4("10.0.3.2"), p6("2001:db8:3::2"), p6("2001:db8:2::2"), p4("10.0.3.1", payload=echo)),
    "for f in -4 -6; do ip $f rule add pref 32765 lookup local; ip $f rule del pref 0; done",
    send(p4("10.0.2.2"), p4("10.0.3.1", payload=echo), p6("2001:db8:3::1", payload=echo), p4("10.0.1.1", payload=echo), p4("10.0.3.2")),
)
row(
    "VRFs",
    "of VLANs, with the same networks",
    "; ".join((vlan(1, 5), vlan(2, 5), vlan(1, 6, address=False), vlan(2, 6, address=False)))
    + "; "
    + vrf("red", 10, "v15", "v25")
    + "; "
    + vrf("blue", 20)
    + "; for p in 1 2; do ip link set v${p}6 master blue; ip addr add 10.5.$p.1/24 dev v${p}6;"
    " ip addr add 2001:db8:50$p::1/64 dev v${p}6 nodad; done; " + DEFAULT.format(10, 10) + "; " + DEFAULT.format(20, 20),
    send(
        v4("10.5.2.3", 5),
        (1, tagged(p4("10.5.2.3", src="10.5.1.2")[1], 6)),
        v6("2001:db8:502::3", 5),
        (1, tagged(p6("2001:db8:502::3", src="2001:db8:501::2")[1], 6)),
        p4("172.16.3.9"),
        fast=True,
    ),
    send(
        v4("10.0.3.2", 5),
        p4("10.5.2.3"),
        *in_vlan(several("10.5.1.1", src="10.5.1.2"), 5),
        *in_vlan(several("10.5.2.1", src="10.5.1.2"), 6),
        v4("10.5.2.3", 5, ttl=1),
        v4("10.5.2.3", 5, src="10.5.2.1"),
    ),
    "ip link set v25 master blue; ip addr replace 10.5.7.1/24 dev v25",
    send(v4("10.5.2.3", 5), (1, tagged(p4("10.5.7.3", src="10.5.1.2")[1], 6))),
    "ip link set v15 nomaster",
    send(v4("10.5.2.3", 5), v4("172.16.3.9", 5), v4("10.5.1.1", 5, payload=echo)),
)
row(
    "VRFs",
    "leaks",
    RED
    + "; "
    + vrf("blue", 20, "s3")
    + "; ip route add 10.0.3.0/24 dev s3 vrf red; ip route add 192.168.3.0/24 via 10.0.3.2 dev s3 vrf red"
    "; ip route add 10.0.1.0/24 dev s1 vrf blue; ip route add 192.168.4.0/24 via 10.0.4.2 vrf red"
    "; ip route add 192.168.2.0/24 via 10.0.2.3 dev s2; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2 dev s3 vrf red"
    "; ip route add 192.168.9.0/24 dev blue",
    send(
        p4("10.0.3.2"),
        p4("192.168.3.1"),
        p4("10.0.1.2", port=3),
        p4("192.168.4.1"),
        p4("192.168.2.1", port=4),
        p4("10.0.2.2", port=3),
        p6("2001:db8:77::1"),
        p4("192.168.9.1", port=4),
    ),
    "ip route del 192.168.3.0/24 vrf red; ip route replace blackhole 192.168.4.0/24 vrf red; ip link set s3 down",
    send(p4("10.0.3.2"), p4("192.168.3.1"), p4("192.168.4.1"), p4("192.168.2.1", port=4)),
)
row(
    "VRFs",
    "settings and rules",
    RED + "; echo 0 > /proc/sys/net/ipv4/conf/red/forwarding",
    send(p4("10.0.2.2"), p6("2001:db8:2::2"), p4("172.16.4.9", port=3)),
    "echo 1 > /proc/sys/net/ipv4/conf/red/forwarding; echo 0 > /proc/sys/net/ipv4/conf/s1/forwarding",
    send(p4("10.0.2.2")),
    "echo 1 > /proc/sys/net/ipv4/conf/s1/forwarding; echo 1 > /proc/sys/net/ipv4/conf/red/rp_filter",
    send(p4("10.0.2.2"), p4("10.0.2.2", src="10.0.3.9"), p4("10.0.2.2", src="8.8.8.8")),
    "echo 0 > /proc/sys/net/ipv4/conf/red/rp_filter; ip route add default via 10.0.4.2 table 100; ip rule add pref 500 iif red lookup 100",
    send(p4("10.0.2.2"), p4("10.0.4.3", port=3)),
    "ip rule del pref 500; ip rule add pref 500 iif s1 lookup 100",
    send(p4("10.0.2.2"), p4("10.0.4.3", port=3)),
    "ip rule del pref 500; ip rule add pref 2000 from 10.0.1.0/24 lookup 100",
    send(p4("10.0.2.2"), p4("172.16.3.9"), p4("8.8.8.8")),
    "ip rule del pref 2000; ip rule del pref 1000",
    send(p4("10.0.2.2"), p4("172.16.3.9"), p4("10.0.1.1", payload=echo)),
    "ip rule add pref 1000 l3mdev",
    send(p4("10.0.2.2"), fast=True),
    "ip link set red down",
    send(p4("10.0.2.2"), p4("172.16.4.9", port=3)),
    "ip link del red",
    send(p4("10.0.2.2"), p4("172.16.4.9"), fast=True),
)
