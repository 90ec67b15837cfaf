"""Routes, addresses, next hops."""

from __future__ import annotations

from ..packets import echo, ipv4
from ..scenario import Silent, flows, p4, p6, row, send, several

# -- routes --------------------------------------------------------------------------------------------------------------

for kind in ("blackhole", "unreachable", "prohibit", "throw"):
    row(
        "routes",
        kind,
        f"ip route add {kind} 172.16.2.0/25; ip -6 route add {kind} 2001:db8:f002::/96",
        send(*several("172.16.2.9"), p4("172.16.2.200"), *several("2001:db8:f002::9"), p6("2001:db8:f002:0:1::9")),
    )
    row(
        "routes",
        f"{kind} instead of another",
        f"ip route replace {kind} 172.16.2.0/24",
        send(*several("172.16.2.9")),
        "ip route replace 172.16.2.0/24 via 10.0.3.2",
        send(*several("172.16.2.9"), fast=True),
    )
row(
    "routes",
    "default",
    "ip route add default via 10.0.4.2; ip -6 route add default via 2001:db8:4::2",
    send(p4("8.8.8.8"), p6("2600::1"), fast=True),
    "ip route del default; ip -6 route del default",
    send(p4("8.8.8.8"), p6("2600::1")),
)
row(
    "routes",
    "longest prefix",
    "ip route add 172.16.0.0/16 via 10.0.3.2; ip route add 172.16.2.128/25 via 10.0.4.2; ip route add 172.16.2.129/32 via 10.0.2.3",
    send(*(p4(f"172.16.{a}") for a in ("9.9", "2.1", "2.128", "2.129", "2.255")), fast=True),
)
row(
    "routes",
    "metrics",
    "ip route add 192.168.1.0/24 via 10.0.2.2 metric 20; ip route add 192.168.1.0/24 via 10.0.3.2 metric 10",
    send(p4("192.168.1.1"), fast=True),
    "ip route del 192.168.1.0/24 via 10.0.3.2 metric 10",
    send(p4("192.168.1.1"), fast=True),
)
row(
    "routes",
    "metrics of IPv6",
    "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 metric 20; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2 metric 10",
    send(p6("2001:db8:77::1"), fast=True),
    "ip -6 route del 2001:db8:77::/64 via 2001:db8:3::2 metric 10",
    send(p6("2001:db8:77::1"), fast=True),
)
for tos in (0x04, 0x08, 0x10):
    row(
        "routes",
        f"for type of service {tos:#x}",
        f"ip route add 172.16.2.0/24 tos {tos:#x} via 10.0.3.2",
        send(*(p4("172.16.2.9", tos=t) for t in (0, 4, 8, 0x10, 0x14, tos | 1, 0xE0 | tos))),
        f"ip route del 172.16.2.0/24 tos {tos:#x}",
        send(p4("172.16.2.9"), fast=True),
    )
    row(
        "routes",
        f"only for type of service {tos:#x}",
        f"ip route add default via 10.0.4.2; ip route add 192.168.1.0/24 tos {tos:#x} via 10.0.3.2",
        send(*(p4("192.168.1.1", tos=t) for t in (0, tos))),
    )
row(
    "routes",
    "of sources",
    "ip -6 route add 2001:db8:77::/64 from 2001:db8:1::/64 via 2001:db8:2::2; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2",
    send(p6("2001:db8:77::1"), p6("2001:db8:77::1", src="2001:db8:9::1"), p6("2001:db8:77::1", port=4)),
)
row(
    "routes",
    "onlink",
    "ip route add 192.168.1.0/24 via 192.168.99.2 dev s2 onlink; ip neigh replace 192.168.99.2 lladdr 02:00:00:00:02:09 dev s2 nud"
    " permanent",
    send(p4("192.168.1.1"), fast=True),
)
row("routes", "on a link", "ip route add 192.168.1.0/24 dev s2", send(p4("192.168.1.3"), least=1), send(p4("192.168.1.3")))
row("routes", "on a link, silent", Silent(("192.168.1.3",)), "ip route add 192.168.1.0/24 dev s2", send(p4("192.168.1.3"), least=1))
row("routes", "by IPv6", "ip route add 192.168.1.0/24 via inet6 2001:db8:2::2", send(p4("192.168.1.1"), fast=True))
row(
    "routes",
    "by link-local next hops",
    "ip neigh replace fe80::22 lladdr 02:00:00:00:02:02 dev s2 nud permanent; ip -6 route add 2001:db8:77::/64 via fe80::22 dev s2; ip"
    " route add 192.168.1.0/24 via inet6 fe80::22 dev s2",
    send(p6("2001:db8:77::1"), p4("192.168.1.1"), fast=True),
)
row("routes", "source hints", "ip route add 192.168.1.0/24 via 10.0.2.2 src 10.0.3.1", send(p4("192.168.1.1"), p4("192.168.1.1", ttl=1)))
row(
    "routes",
    "realms and other attributes",
    "ip route add 192.168.1.0/24 via 10.0.2.2 realm 7 advmss 1000 rtt 20ms window 4096",
    send(p4("192.168.1.1"), fast=True),
)
row(
    "routes",
    "local",
    "ip route add local 192.168.1.0/24 dev lo; ip route add 192.168.1.128/25 via 10.0.2.2",
    send(*several("192.168.1.1"), *several("192.168.1.129")),
    "ip route del local 192.168.1.0/24 dev lo",
    send(*several("192.168.1.1"), p4("192.168.1.129")),
)
row(
    "routes",
    "local, after the longer one",
    "ip route add 192.168.1.128/25 via 10.0.2.2",
    send(p4("192.168.1.129"), fast=True),
    "ip route add local 192.168.1.0/24 dev lo",
    send(p4("192.168.1.129"), p4("192.168.1.129", payload=echo)),
)
row(
    "routes",
    "local IPv6",
    "ip -6 route add local 2001:db8:77::/48 dev lo; ip -6 route add 2001:db8:77:1::/64 via 2001:db8:2::2",
    send(*several("2001:db8:77::1"), *several("2001:db8:77:1::1")),
)
row(
    "routes",
    "broadcast in the local table",
    "ip route add broadcast 192.168.1.255 dev s2 table local; ip route add 192.168.1.0/24 via 10.0.2.2",
    send(p4("192.168.1.255"), p4("192.168.1.1")),
)
row(
    "routes",
    "a neighbour by another way",
    "ip route add 10.0.2.3/32 via 10.0.3.2",
    send(p4("10.0.2.3"), fast=True),
    "ip route del 10.0.2.3/32",
    send(p4("10.0.2.3"), fast=True),
)
row("routes", "in table default", "ip route add 192.168.1.0/24 via 10.0.2.2 table default", send(p4("192.168.1.1"), p4("192.168.2.1")))
row(
    "routes",
    "by a device that is no port",
    "ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 10.9.0.1/24 dev d0; ip route add"
    " 192.168.1.0/24 via 10.9.0.2",
    send(p4("192.168.1.1"), p4("10.9.0.1", payload=echo)),
)
row(
    "routes",
    "encapsulated",
    "ip route add 192.168.1.0/24 encap ip6 id 5 dst 2001:db8:3::2 src 2001:db8:3::1 dev s3 via 10.0.3.2",
    send(p4("192.168.1.1")),
)
row(
    "routes",
    "encapsulated by segment routing",
    "ip -6 route add 2001:db8:77::/64 encap seg6 mode encap segs 2001:db8:f003::9 dev s3",
    send(p6("2001:db8:77::1")),
)
row(
    "routes",
    "appended",
    "ip route add 192.168.1.0/24 via 10.0.2.2; ip route append 192.168.1.0/24 via 10.0.3.2",
    send(p4("192.168.1.1"), fast=True),
    "ip route del 192.168.1.0/24 via 10.0.2.2",
    send(p4("192.168.1.1"), fast=True),
)
row(
    "routes",
    "prepended",
    "ip route add 192.168.1.0/24 via 10.0.2.2; ip route prepend 192.168.1.0/24 via 10.0.3.2",
    send(p4("192.168.1.1"), fast=True),
)
row(
    "routes",
    "changed",
    "ip route add 192.168.1.0/24 via 10.0.2.2",
    send(p4("192.168.1.1")),
    "ip route change 192.168.1.0/24 via 10.0.3.3",
    send(p4("192.168.1.1"), fast=True),
    "ip route del 192.168.1.0/24",
    send(p4("192.168.1.1")),
)
row("routes", "expire", "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 expires 100", send(p6("2001:db8:77::1"), fast=True))
row(
    "routes",
    "preference",
    "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 pref low; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2 metric 2048 pref high",
    send(p6("2001:db8:77::1"), fast=True),
)
row(
    "routes",
    "with its source address",
    "ip addr add 10.77.0.1/32 dev lo; ip route add 192.168.1.0/24 via 10.0.2.2 src 10.77.0.1",
    send(p4("192.168.1.1"), fast=True),
    "ip addr del 10.77.0.1/32 dev lo",
    send(p4("192.168.1.1")),
)

# -- addresses -----------------------------------------------------------------------------------------------------------

row(
    "addresses",
    "added and removed",
    "ip addr add 192.168.1.1/24 dev s2; ip addr add 2001:db8:77::1/64 dev s2 nodad",
    send(*several("192.168.1.1"), *several("2001:db8:77::1"), p4("192.168.1.255"), p4("192.168.1.3"), p6("2001:db8:77::3")),
    "ip addr del 192.168.1.1/24 dev s2; ip addr del 2001:db8:77::1/64 dev s2",
    send(*several("192.168.1.1"), *several("2001:db8:77::1"), p4("192.168.1.3")),
)
row(
    "addresses",
    "on the loopback device",
    "ip addr add 192.168.1.1/32 dev lo; ip addr add 2001:db8:77::1/128 dev lo",
    send(*several("192.168.1.1"), *several("2001:db8:77::1")),
)
row(
    "addresses",
    "of a neighbour becomes the router's",
    "ip addr add 10.0.2.3/24 dev s2",
    send(*several("10.0.2.3")),
    "ip addr del 10.0.2.3/24 dev s2",
    send(*several("10.0.2.3")),
)
row(
    "addresses",
    "with a peer",
    "ip addr add 192.168.5.1 peer 192.168.5.2/32 dev s2",
    send(p4("192.168.5.1", payload=echo), p4("192.168.5.2"), least=2),
)
row(
    "addresses",
    "secondary",
    "ip addr add 10.0.2.101/24 dev s2",
    send(p4("10.0.2.101", payload=echo)),
    "ip addr del 10.0.2.1/24 dev s2",
    send(p4("10.0.2.101", payload=echo), p4("172.16.2.9"), p4("10.0.2.2")),
)
row(
    "addresses",
    "none at a port",
    "ip addr flush dev s1 scope global",
    send(p4("172.16.2.9"), p6("2001:db8:f002::9"), p4("172.16.2.9", ttl=1)),
)
row(
    "addresses",
    "removed with their routes",
    "ip addr del 10.0.2.1/24 dev s2; ip -6 addr del 2001:db8:2::1/64 dev s2",
    send(p4("172.16.2.9"), p4("10.0.2.2"), p6("2001:db8:f002::9"), p6("2001:db8:2::2")),
)
row("addresses", "anycast to the subnet", send(p6("2001:db8:1::", payload=echo), p6("2001:db8:2::", payload=echo)))

# -- several paths -------------------------------------------------------------------------------------------------------

MULTI = "ip route add 192.168.1.0/24 nexthop via 10.0.2.2 {} nexthop via 10.0.3.2 {}"
row("several paths", "IPv4", MULTI.format("", ""), send(*flows("192.168.1.1"), any_path=True, fast=True))
row("several paths", "weights", MULTI.format("weight 1", "weight 200"), send(*flows("192.168.1.1"), any_path=True, fast=True))
row(
    "several paths",
    "IPv6",
    "ip -6 route add 2001:db8:77::/64 nexthop via 2001:db8:2::2 nexthop via 2001:db8:3::2",
    send(*flows("2001:db8:77::1"), any_path=True, fast=True),
)
row(
    "several paths",
    "IPv6, one by one",
    "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2; ip -6 route append 2001:db8:77::/64 via 2001:db8:3::2",
    send(*flows("2001:db8:77::1"), any_path=True, fast=True),
    "ip -6 route del 2001:db8:77::/64 via 2001:db8:2::2",
    send(*flows("2001:db8:77::1"), fast=True),
)
row(
    "several paths",
    "of both protocols",
    "ip route add 192.168.1.0/24 nexthop via inet6 2001:db8:2::2 nexthop via 10.0.3.2",
    send(*flows("192.168.1.1"), any_path=True, fast=True),
)
row("several paths", "one goes down", MULTI.format("", ""), "ip link set s2 down", send(*flows("192.168.1.1")))
row(
    "several paths",
    "one is another device",
    "ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 10.9.0.1/24 dev d0; ip route add"
    " 192.168.1.0/24 nexthop via 10.0.2.2 nexthop via 10.9.0.2",
    send(p4("192.168.1.1", ttl=1)),
)
row(
    "several paths",
    "the same twice",
    "ip route add 192.168.1.0/24 nexthop via 10.0.2.2 nexthop via 10.0.2.2 weight 3",
    send(*flows("192.168.1.1"), fast=True),
)
row("several paths", "fragments", MULTI.format("", ""), send(*(p4("192.168.1.1", mf=True, number=n) for n in range(9)), any_path=True))

for group, kind in (("21/31", ""), ("21,3/31,7", ""), ("21/31", " type resilient buckets 16")):
    for family, net, hops in (
        ("", "192.168.1.0/24", ("10.0.2.2", "10.0.3.2", "10.0.4.2")),
        ("-6 ", "2001:db8:77::/64", ("2001:db8:2::2", "2001:db8:3::2", "2001:db8:4::2")),
    ):
        to = "192.168.1.1" if not family else "2001:db8:77::1"
        made = (
            f"ip nexthop add id 21 via {hops[0]} dev s2; ip nexthop add id 31 via {hops[1]} dev s3; ip nexthop add id 41 via {hops[2]} dev"
            f" s4; ip nexthop add id 100 group {group}{kind}; ip {family}route add {net} nhid 100"
        )
        row(
            "next-hop objects",
            f"group {group}{kind} {family}",
            made,
            send(*flows(to), any_path=True, fast=True),
            "ip nexthop del id 31",
            send(*flows(to), fast=True),
        )
        row(
            "next-hop objects",
            f"changed member of {group}{kind} {family}",
            made,
            f"ip nexthop replace id 31 via {hops[2]} dev s4",
            send(*flows(to), any_path=True, fast=True),
        )
        row(
            "next-hop objects",
            f"changed group {group}{kind} {family}",
            made,
            f"ip nexthop replace id 100 group 41{' type resilient' if kind else ''}",
            send(*flows(to), fast=True),
        )
        row("next-hop objects", f"without group {group}{kind} {family}", made, "ip nexthop del id 100", send(*flows(to, 3)))
row(
    "next-hop objects",
    "one",
    "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21",
    send(p4("192.168.1.1"), fast=True),
    "ip nexthop replace id 21 via 10.0.3.2 dev s3",
    send(p4("192.168.1.1"), fast=True),
    "ip nexthop del id 21",
    send(p4("192.168.1.1")),
)
row(
    "next-hop objects",
    "blackhole",
    "ip nexthop add id 5 blackhole; ip route add 192.168.1.0/24 nhid 5",
    send(p4("192.168.1.1")),
    "ip nexthop replace id 5 via 10.0.2.2 dev s2",
    send(p4("192.168.1.1"), fast=True),
)
row(
    "next-hop objects",
    "of IPv6 for IPv4",
    "ip nexthop add id 6 via 2001:db8:2::2 dev s2; ip route add 192.168.1.0/24 nhid 6; ip -6 route add 2001:db8:77::/64 nhid 6",
    send(p4("192.168.1.1"), p6("2001:db8:77::1"), fast=True),
)
row(
    "next-hop objects",
    "that the kernel does not describe",
    "echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode; ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21",
    send(p4("192.168.1.1")),
    "ip nexthop replace id 21 via 10.0.3.2 dev s3",
    send(p4("192.168.1.1")),
)
row(
    "next-hop objects",
    "flushed",
    "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21",
    send(p4("192.168.1.1")),
    "ip nexthop flush",
    send(p4("192.168.1.1")),
)
row(
    "next-hop objects",
    "many routes",
    "ip nexthop add id 21 via 10.0.2.2 dev s2; for n in $(seq 1 100); do echo route add 192.168.$n.0/24 nhid 21; done | ip -batch -",
    send(*(p4(f"192.168.{n}.1") for n in range(1, 101, 9)), fast=True),
    "ip nexthop replace id 21 via 10.0.3.2 dev s3",
    send(*(p4(f"192.168.{n}.1") for n in range(1, 101, 9)), fast=True),
)
row(
    "next-hop objects",
    "whose port goes",
    "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21",
    send(p4("192.168.1.1")),
    "ip link set s2 down",
    send(p4("192.168.1.1")),
    "ip link set s2 up",
    send(p4("192.168.1.1")),
)
