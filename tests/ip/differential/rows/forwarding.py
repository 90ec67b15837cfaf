"""What packets are like, and where they come from and go to."""

from __future__ import annotations

from ..packets import arp_request, echo, frame, ipv4, ipv6, router_mac, solicitation
from ..scenario import Silent, p4, p6, row, send, several

# -- forwarding ----------------------------------------------------------------------------------------------------------

for port in (2, 3, 4):
    row("forwarding", f"to a host of port {port}", send(*several(f"10.0.{port}.2"), *several(f"2001:db8:{port}::2"), fast=True))
    row("forwarding", f"to a network behind port {port}", send(*several(f"172.16.{port}.9"), *several(f"2001:db8:f00{port}::9"), fast=True))
row("forwarding", "back by the same port", send(p4("172.16.1.9"), p6("2001:db8:f001::9")))
row("forwarding", "no route", send(*several("192.168.9.9"), *several("2001:db9::9"), least=6))
row(
    "forwarding",
    "to the router itself",
    send(*several("10.0.1.1"), *several("2001:db8:1::1"), *several("10.0.2.1"), *several("2001:db8:2::1"), least=4),
)
row(
    "forwarding",
    "all types of service",
    send(*(p4("172.16.2.9", tos=4 * n) for n in range(64)), *(p6("2001:db8:f002::9", traffic_class=4 * n) for n in range(64)), fast=True),
)
row("forwarding", "every protocol", send(*(p4("172.16.2.9", protocol=n, payload=bytes(20)) for n in range(0, 256, 5))))
row("forwarding", "flow labels", send(*(p6("2001:db8:f002::9", label=n) for n in (0, 1, 0xFFFFF)), fast=True))
row(
    "forwarding",
    "sizes",
    send(
        *(p4("172.16.2.9", data=bytes(n)) for n in (0, 1, 17, 18, 19, 500, 1472)),
        *(p6("2001:db8:f002::9", data=bytes(n)) for n in (0, 1, 500, 1452)),
        fast=True,
    ),
)
row(
    "forwarding",
    "padding behind the packet",
    send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), pad=14)), (1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9"), pad=9))),
)
row("forwarding", "checksum of all ones", send(*(p4("172.16.2.9", number=n) for n in range(0, 65536, 1999)), fast=True))

# -- TTL and hop limit ---------------------------------------------------------------------------------------------------

for ttl in (0, 1, 2, 255):
    for dst in ("172.16.2.9", "10.0.2.2", "10.0.1.1", "192.168.9.9"):
        row("TTL", f"{ttl} to {dst}", send(p4(dst, ttl=ttl), p4(dst, ttl=ttl, payload=echo)))
    for dst in ("2001:db8:f002::9", "2001:db8:2::2", "2001:db8:1::1", "2001:db9::9"):
        row("hop limit", f"{ttl} to {dst}", send(p6(dst, hop_limit=ttl), p6(dst, hop_limit=ttl, payload=echo)))
row("TTL", "1 in a blackhole", "ip route add blackhole 192.168.7.0/24", send(p4("192.168.7.7", ttl=1), p4("192.168.7.7")))

# -- headers that are wrong ----------------------------------------------------------------------------------------------

row(
    "headers",
    "checksum",
    send(p4("172.16.2.9", sum_error=1), p4("172.16.2.9", sum_error=0x8000), p4("10.0.1.1", sum_error=4, payload=echo)),
)
row(
    "headers",
    "version",
    send(
        *((1, frame(1, ipv4("10.0.1.2", "172.16.2.9", version=n), kind=0x0800)) for n in (0, 5, 6, 15)),
        *((1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9", version=n), kind=0x86DD)) for n in (0, 4, 7)),
    ),
)
row(
    "headers",
    "length",
    send(
        *(p4("172.16.2.9", length_error=n) for n in (-20, -13, -12, -1, 1, 100)),
        *(p6("2001:db8:f002::9", length_error=n) for n in (-12, -1, 1, 100)),
    ),
)
row(
    "headers",
    "cut",
    send(
        *((1, frame(1, ipv4("10.0.1.2", "172.16.2.9")[:n])) for n in (1, 10, 19, 20, 25)),
        *((1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9")[:n])) for n in (1, 10, 39, 40, 45)),
    ),
)
row("headers", "reserved bit", send(p4("172.16.2.9", reserved=True)))
row("headers", "unknown types of frames", send(*((1, frame(1, bytes(50), kind=kind)) for kind in (0x0842, 0x8847, 0x88CA, 0x9000, 100))))
row(
    "headers",
    "a tag with priority only, and others",
    *(
        send((1, frame(1, tag.to_bytes(2, "big") + b"\x08\x00" + ipv4("10.0.1.2", "172.16.2.9"), kind=kind)))
        for kind in (0x8100, 0x88A8)
        for tag in (0, 0xE000, 5)
    ),
)

# -- options and extension headers ---------------------------------------------------------------------------------------

for name, options in (
    ("router alert", "94040000"),
    ("no operation", "01010100"),
    ("end", "00000000"),
    ("record route", "0707040000000000"),
    ("timestamp without room", "4408090000000000"),
    ("loose source route", "8307040a00030200"),
    ("strict source route", "8907040a00030200"),
    ("unknown", "9e040000"),
    ("too long", "07ff0400"),
    ("security", "820b0000000000000000000000000000"[:24]),
):
    row(
        "options",
        name,
        send(p4("172.16.2.9", options=bytes.fromhex(options)), p4("10.0.1.1", options=bytes.fromhex(options), payload=echo)),
    )
row(
    "options",
    "source routes that are accepted",
    "for i in all s1 s2 s3 s4; do echo 1 > /proc/sys/net/ipv4/conf/$i/accept_source_route; done",
    send(p4("10.0.1.1", options=bytes.fromhex("8307040a00030200"))),
)
for name, first, headers in (
    ("hop-by-hop, padding", 0, "1100010400000000"),
    ("hop-by-hop, router alert", 0, "1100050200000100"),
    ("hop-by-hop, unknown, skip", 0, "11001e0400000000"),
    ("hop-by-hop, unknown, discard", 0, "11005e0400000000"),
    ("hop-by-hop, unknown, report", 0, "11009e0400000000"),
    ("hop-by-hop, unknown, report unicast", 0, "1100de0400000000"),
    ("destination options", 60, "1100010400000000"),
    ("routing, type 0", 43, "1100000000000000"),
    ("routing, type 2", 43, "1102020120010db8f0030000000000000000000200000000"[:48]),
    ("fragment", 44, "110000010000abcd"),
    ("later fragment", 44, "110005d90000abcd"),
    ("authentication", 51, "1104000000000001000000010000000000000000000000000"[:48]),
    ("nothing behind", 59, ""),
    ("mobility", 135, "3b00010000000000"),
    ("experimental", 253, ""),
):
    row(
        "extension headers",
        name,
        send(
            p6("2001:db8:f002::9", first=first, extensions=bytes.fromhex(headers)),
            p6("2001:db8:1::1", first=first, extensions=bytes.fromhex(headers)),
        ),
    )

# -- fragments and MTUs --------------------------------------------------------------------------------------------------

row(
    "fragments",
    "as they are",
    send(
        p4("172.16.2.9", mf=True),
        p4("172.16.2.9", offset=3),
        p4("172.16.2.9", mf=True, offset=8000),
        p4("172.16.2.9", df=True, mf=True),
        fast=True,
    ),
)
for where in ("s2", "route", "locked route"):
    script = {
        "s2": "ip link set s2 mtu 1400",
        "route": "ip route replace 172.16.2.0/24 via 10.0.2.2 mtu 1400; ip -6 route replace 2001:db8:f002::/64 via 2001:db8:2::2 mtu 1400",
        "locked route": (
            "ip route replace 172.16.2.0/24 via 10.0.2.2 mtu lock 1400; ip -6 route replace 2001:db8:f002::/64 via 2001:db8:2::2 mtu lock"
            " 1400"
        ),
    }[where]
    for size in (1400, 1401, 1500):
        row(
            "MTU",
            f"1400 of {where}, packets of {size}",
            script,
            send(
                p4("172.16.2.9", data=bytes(size - 28)),
                p4("172.16.2.9", data=bytes(size - 28), df=True),
                p6("2001:db8:f002::9", data=bytes(size - 48)),
            ),
        )
row(
    "MTU",
    "of IPv6 alone",
    "echo 1300 > /proc/sys/net/ipv6/conf/s2/mtu",
    send(p4("172.16.2.9", data=bytes(1400)), p6("2001:db8:f002::9", data=bytes(1252)), p6("2001:db8:f002::9", data=bytes(1253))),
)
row(
    "MTU",
    "too small for IPv6",
    "ip link set s2 mtu 1000",
    send(p4("172.16.2.9", data=bytes(1100)), p6("2001:db8:f002::9"), p6("2001:db8:1::9", port=2, src="2001:db8:2::2")),
)
row(
    "MTU",
    "small, and back",
    "ip link set s2 mtu 1300",
    send(p4("172.16.2.9", df=True, data=bytes(1400))),
    "ip link set s2 mtu 1500",
    send(p4("172.16.2.9", df=True, data=bytes(1400))),
)
row(
    "MTU",
    "fragments of fragments",
    "ip link set s2 mtu 600",
    send(p4("172.16.2.9", data=bytes(1000), mf=True), p4("172.16.2.9", payload=bytes(1000), offset=100)),
)
row(
    "MTU",
    "paths' MTUs count",
    "echo 1 > /proc/sys/net/ipv4/ip_forward_use_pmtu",
    send(p4("172.16.2.9"), p4("172.16.2.9", data=bytes(1400), df=True)),
)

# -- addresses that are special ------------------------------------------------------------------------------------------

for source in (
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.9.9.9",
    "169.254.1.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.254",
    "255.255.255.255",
    "10.0.1.1",
    "10.0.2.1",
    "10.0.3.255",
    "10.0.1.255",
    "10.0.1.0",
    "192.168.77.7",
    "100.64.0.1",
    "192.0.2.1",
    "198.18.0.1",
):
    row("sources", source, send(p4("172.16.2.9", src=source), p4("10.0.2.2", src=source)))
for destination in (
    "0.0.0.0",
    "0.1.2.3",
    "127.0.0.1",
    "127.9.9.9",
    "169.254.1.1",
    "224.0.0.5",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.254",
    "255.255.255.255",
    "10.0.2.255",
    "10.0.2.0",
    "10.0.1.255",
    "100.64.0.1",
    "192.0.2.1",
):
    row("destinations", destination, send(p4(destination)))
    row(
        "destinations",
        f"{destination}, with a default route",
        "ip route add default via 10.0.4.2",
        send(p4(destination), p4(destination, payload=echo)),
    )
for source in (
    "::",
    "::1",
    "ff02::1",
    "::ffff:10.0.1.2",
    "::10.0.1.2",
    "fe80::9",
    "fec0::1",
    "fc00::1",
    "2002:a00:102::1",
    "64:ff9b::a00:102",
    "2001:db8:1::1",
    "2001:db8:1::",
    "100::1",
):
    row("sources", source, send(p6("2001:db8:f002::9", src=source), p6("2001:db8:2::2", src=source)))
for destination in (
    "::",
    "::1",
    "ff01::1",
    "ff02::1",
    "ff05::2",
    "ff0e::1",
    "::ffff:10.0.2.2",
    "fe80::9",
    "fec0::1",
    "fc00::1",
    "2001:db8:2::",
    "2002:a00:102::1",
):
    row("destinations", destination, send(p6(destination)))
    row(
        "destinations",
        f"{destination}, with a default route",
        "ip -6 route add default via 2001:db8:4::2",
        send(p6(destination), p6(destination, payload=echo)),
    )
row(
    "sources",
    "own ones that are accepted",
    "for i in all s1 s2; do echo 1 > /proc/sys/net/ipv4/conf/$i/accept_local; done",
    send(p4("172.16.2.9", src="10.0.3.1"), p4("172.16.2.9", src="10.0.1.1")),
)
row(
    "sources",
    "an own one that is gone",
    "ip addr add 10.77.0.1/32 dev s3",
    send(p4("172.16.2.9", src="10.77.0.1")),
    "ip addr del 10.77.0.1/32 dev s3",
    send(p4("172.16.2.9", src="10.77.0.1"), fast=True),
)
row(
    "destinations",
    "loopback is routed",
    "echo 1 > /proc/sys/net/ipv4/conf/s1/route_localnet",
    send(p4("127.0.0.1", payload=echo), p4("172.16.2.9", src="127.0.0.1")),
)
row(
    "destinations",
    "directed broadcasts are forwarded",
    "for i in all s1 s2; do echo 1 > /proc/sys/net/ipv4/conf/$i/bc_forwarding; done",
    send(p4("10.0.2.255")),
)

# -- frames --------------------------------------------------------------------------------------------------------------

for name, mac in (
    ("broadcast", b"\xff" * 6),
    ("multicast", bytes.fromhex("01005e000005")),
    ("other", b"\2\0\0\0\x63\1"),
    ("another port's", router_mac(2)),
):
    row(
        "frames",
        f"to {name} address",
        send(
            (1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=mac)),
            (1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9"), dst=mac)),
            (1, frame(1, ipv4("10.0.1.2", "192.168.9.9"), dst=mac)),
            (1, frame(1, ipv4("10.0.1.2", "10.0.1.1", payload=echo), dst=mac)),
        ),
    )
row("frames", "from a group", send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), src=b"\xff" * 6))))
row(
    "frames",
    "a new address of the port",
    "ip link set s1 address 02:00:00:00:77:01",
    send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000007701"))), p4("172.16.2.9")),
    "ip link set s1 address 02:00:00:00:01:01",
    send(p4("172.16.2.9")),
)
row(
    "frames",
    "by a new address of the port",
    "ip link set s2 address 02:00:00:00:77:02",
    send(p4("172.16.2.9"), p6("2001:db8:f002::9")),
    "ip link set s2 address 02:00:00:00:02:01",
    send(p4("172.16.2.9")),
)

# -- neighbours ----------------------------------------------------------------------------------------------------------

row("neighbours", "that is found", send(p4("10.0.2.5"), p6("2001:db8:2::5"), least=2), send(p4("10.0.2.5"), p6("2001:db8:2::5")))
row("neighbours", "that does not answer", Silent(("10.0.2.6", "2001:db8:2::6")), send(p4("10.0.2.6"), p6("2001:db8:2::6"), least=2))
row(
    "neighbours",
    "next hop that does not answer",
    Silent(("10.0.2.6",)),
    "ip route add 192.168.1.0/24 via 10.0.2.6",
    send(p4("192.168.1.1"), least=1),
)
row(
    "neighbours",
    "next hop that is found",
    "ip route add 192.168.1.0/24 via 10.0.2.5; ip -6 route add 2001:db8:77::/64 via 2001:db8:2::5",
    send(p4("192.168.1.1"), p6("2001:db8:77::1"), least=2),
)
row(
    "neighbours",
    "another address",
    "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:44 dev s2 nud permanent",
    send(p4("172.16.2.9"), p4("10.0.2.2"), fast=True),
)
row("neighbours", "removed", "ip neigh del 10.0.2.2 dev s2", send(p4("172.16.2.9"), p4("10.0.2.2"), least=2))
row(
    "neighbours",
    "NOARP and stale",
    "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:55 dev s2 nud noarp; ip neigh replace 10.0.2.3 lladdr 02:00:00:00:02:03 dev s2 nud"
    " stale",
    send(p4("172.16.2.9"), p4("10.0.2.3")),
)
row(
    "neighbours",
    "questions for the router",
    send(
        (1, arp_request(1, "10.0.1.2", "10.0.1.1")),
        (1, arp_request(1, "10.0.1.2", "10.0.2.1")),
        (1, arp_request(1, "10.0.1.2", "10.0.1.9")),
        (1, solicitation(1, "2001:db8:1::2", "2001:db8:1::1")),
        least=3,
    ),
)
row(
    "neighbours",
    "proxy ARP",
    "echo 1 > /proc/sys/net/ipv4/conf/s1/proxy_arp",
    send((1, arp_request(1, "10.0.1.2", "10.0.2.2")), (1, arp_request(1, "10.0.1.2", "172.16.3.3"))),
    send(p4("10.0.2.2")),
)
row(
    "neighbours",
    "proxy of one",
    "ip neigh add proxy 10.0.1.77 dev s1; echo 1 > /proc/sys/net/ipv6/conf/s1/proxy_ndp; ip neigh add proxy 2001:db8:1::77 dev s1; echo 0 >"
    " /proc/sys/net/ipv4/neigh/s1/proxy_delay; echo 0 > /proc/sys/net/ipv6/neigh/s1/proxy_delay",
    send((1, arp_request(1, "10.0.1.2", "10.0.1.77")), (1, solicitation(1, "2001:db8:1::2", "2001:db8:1::77"))),
)
