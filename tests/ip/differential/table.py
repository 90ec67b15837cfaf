"""The scenarios: a row each. Both routers begin with four ports: `s1` to `s4` with 10.0.N.1/24 and 2001:db8:N::1/64, hosts 2 and 3
on each link, and routes to 172.16.N.0/24 and 2001:db8:f00N::/64 by host 2.

What only one kernel in some has (VLANs, VRFs, bonds) is skipped, loudly, where the kernel says so.
"""

from __future__ import annotations

from .packets import arp_request, echo, frame, host_mac, ipv4, ipv6, router_mac, solicitation, tcp, udp
from .scenario import LASTING, Silent, flows, p4, p6, row, send, several

# -- forwarding ----------------------------------------------------------------------------------------------------------

for port in (2, 3, 4):
    row("forwarding", f"to a host of port {port}", send(*several(f"10.0.{port}.2"), *several(f"2001:db8:{port}::2"), fast=True))
    row("forwarding", f"to a network behind port {port}",
        send(*several(f"172.16.{port}.9"), *several(f"2001:db8:f00{port}::9"), fast=True))
row("forwarding", "back by the same port", send(p4("172.16.1.9"), p6("2001:db8:f001::9")))
row("forwarding", "no route", send(*several("192.168.9.9"), *several("2001:db9::9"), least=6))
row("forwarding", "to the router itself", send(*several("10.0.1.1"), *several("2001:db8:1::1"), *several("10.0.2.1"), *several("2001:db8:2::1"), least=4))
row("forwarding", "all types of service", send(*(p4("172.16.2.9", tos=4 * n) for n in range(64)),
                                               *(p6("2001:db8:f002::9", traffic_class=4 * n) for n in range(64)), fast=True))
row("forwarding", "every protocol", send(*(p4("172.16.2.9", protocol=n, payload=bytes(20)) for n in range(0, 256, 5))))
row("forwarding", "flow labels", send(*(p6("2001:db8:f002::9", label=n) for n in (0, 1, 0xFFFFF)), fast=True))
row("forwarding", "sizes", send(*(p4("172.16.2.9", data=bytes(n)) for n in (0, 1, 17, 18, 19, 500, 1472)),
                                *(p6("2001:db8:f002::9", data=bytes(n)) for n in (0, 1, 500, 1452)), fast=True))
row("forwarding", "padding behind the packet", send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), pad=14)), (1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9"), pad=9))))
row("forwarding", "checksum of all ones", send(*(p4("172.16.2.9", number=n) for n in range(0, 65536, 1999)), fast=True))

# -- TTL and hop limit ---------------------------------------------------------------------------------------------------

for ttl in (0, 1, 2, 255):
    for dst in ("172.16.2.9", "10.0.2.2", "10.0.1.1", "192.168.9.9"):
        row("TTL", f"{ttl} to {dst}", send(p4(dst, ttl=ttl), p4(dst, ttl=ttl, payload=echo)))
    for dst in ("2001:db8:f002::9", "2001:db8:2::2", "2001:db8:1::1", "2001:db9::9"):
        row("hop limit", f"{ttl} to {dst}", send(p6(dst, hop_limit=ttl), p6(dst, hop_limit=ttl, payload=echo)))
row("TTL", "1 in a blackhole", "ip route add blackhole 192.168.7.0/24", send(p4("192.168.7.7", ttl=1), p4("192.168.7.7")))

# -- headers that are wrong ----------------------------------------------------------------------------------------------

row("headers", "checksum", send(p4("172.16.2.9", sum_error=1), p4("172.16.2.9", sum_error=0x8000), p4("10.0.1.1", sum_error=4, payload=echo)))
row("headers", "version", send(*(( 1, frame(1, ipv4("10.0.1.2", "172.16.2.9", version=n), kind=0x0800)) for n in (0, 5, 6, 15)),
                               *((1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9", version=n), kind=0x86DD)) for n in (0, 4, 7))))
row("headers", "length", send(*(p4("172.16.2.9", length_error=n) for n in (-20, -13, -12, -1, 1, 100)),
                              *(p6("2001:db8:f002::9", length_error=n) for n in (-12, -1, 1, 100))))
row("headers", "cut", send(*((1, frame(1, ipv4("10.0.1.2", "172.16.2.9")[:n])) for n in (1, 10, 19, 20, 25)),
                           *((1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9")[:n])) for n in (1, 10, 39, 40, 45))))
row("headers", "reserved bit", send(p4("172.16.2.9", reserved=True)))
row("headers", "unknown types of frames", send(*((1, frame(1, bytes(50), kind=kind)) for kind in (0x0842, 0x8847, 0x88CA, 0x9000, 100))))
row("headers", "a tag with priority only, and others",
    *(send((1, frame(1, tag.to_bytes(2, "big") + b"\x08\x00" + ipv4("10.0.1.2", "172.16.2.9"), kind=kind))) for kind in (0x8100, 0x88A8) for tag in (0, 0xE000, 5)))

# -- options and extension headers ---------------------------------------------------------------------------------------

for name, options in (("router alert", "94040000"), ("no operation", "01010100"), ("end", "00000000"), ("record route", "0707040000000000"),
                      ("timestamp without room", "4408090000000000"), ("loose source route", "8307040a00030200"), ("strict source route", "8907040a00030200"),
                      ("unknown", "9e040000"), ("too long", "07ff0400"), ("security", "820b0000000000000000000000000000"[:24])):
    row("options", name, send(p4("172.16.2.9", options=bytes.fromhex(options)), p4("10.0.1.1", options=bytes.fromhex(options), payload=echo)))
row("options", "source routes that are accepted", "for i in all s1 s2 s3 s4; do echo 1 > /proc/sys/net/ipv4/conf/$i/accept_source_route; done",
    send(p4("10.0.1.1", options=bytes.fromhex("8307040a00030200"))))
for name, first, headers in (("hop-by-hop, padding", 0, "1100010400000000"), ("hop-by-hop, router alert", 0, "1100050200000100"),
                             ("hop-by-hop, unknown, skip", 0, "11001e0400000000"), ("hop-by-hop, unknown, discard", 0, "11005e0400000000"),
                             ("hop-by-hop, unknown, report", 0, "11009e0400000000"), ("hop-by-hop, unknown, report unicast", 0, "1100de0400000000"),
                             ("destination options", 60, "1100010400000000"), ("routing, type 0", 43, "1100000000000000"), ("routing, type 2", 43, "1102020120010db8f0030000000000000000000200000000"[:48]),
                             ("fragment", 44, "110000010000abcd"), ("later fragment", 44, "110005d90000abcd"), ("authentication", 51, "1104000000000001000000010000000000000000000000000"[:48]),
                             ("nothing behind", 59, ""), ("mobility", 135, "3b00010000000000"), ("experimental", 253, "")):
    row("extension headers", name, send(p6("2001:db8:f002::9", first=first, extensions=bytes.fromhex(headers)), p6("2001:db8:1::1", first=first, extensions=bytes.fromhex(headers))))

# -- fragments and MTUs --------------------------------------------------------------------------------------------------

row("fragments", "as they are", send(p4("172.16.2.9", mf=True), p4("172.16.2.9", offset=3), p4("172.16.2.9", mf=True, offset=8000), p4("172.16.2.9", df=True, mf=True), fast=True))
for where in ("s2", "route", "locked route"):
    script = {"s2": "ip link set s2 mtu 1400", "route": "ip route replace 172.16.2.0/24 via 10.0.2.2 mtu 1400; ip -6 route replace 2001:db8:f002::/64 via 2001:db8:2::2 mtu 1400",
              "locked route": "ip route replace 172.16.2.0/24 via 10.0.2.2 mtu lock 1400; ip -6 route replace 2001:db8:f002::/64 via 2001:db8:2::2 mtu lock 1400"}[where]
    for size in (1400, 1401, 1500):
        row("MTU", f"1400 of {where}, packets of {size}", script,
            send(p4("172.16.2.9", data=bytes(size - 28)), p4("172.16.2.9", data=bytes(size - 28), df=True), p6("2001:db8:f002::9", data=bytes(size - 48))))
row("MTU", "of IPv6 alone", "echo 1300 > /proc/sys/net/ipv6/conf/s2/mtu", send(p4("172.16.2.9", data=bytes(1400)), p6("2001:db8:f002::9", data=bytes(1252)), p6("2001:db8:f002::9", data=bytes(1253))))
row("MTU", "too small for IPv6", "ip link set s2 mtu 1000", send(p4("172.16.2.9", data=bytes(1100)), p6("2001:db8:f002::9"), p6("2001:db8:1::9", port=2, src="2001:db8:2::2")))
row("MTU", "small, and back", "ip link set s2 mtu 1300", send(p4("172.16.2.9", df=True, data=bytes(1400))), "ip link set s2 mtu 1500", send(p4("172.16.2.9", df=True, data=bytes(1400))))
row("MTU", "fragments of fragments", "ip link set s2 mtu 600", send(p4("172.16.2.9", data=bytes(1000), mf=True), p4("172.16.2.9", payload=bytes(1000), offset=100)))
row("MTU", "paths' MTUs count", "echo 1 > /proc/sys/net/ipv4/ip_forward_use_pmtu", send(p4("172.16.2.9"), p4("172.16.2.9", data=bytes(1400), df=True)))

# -- addresses that are special ------------------------------------------------------------------------------------------

for source in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.9.9.9", "169.254.1.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.254", "255.255.255.255", "10.0.1.1",
               "10.0.2.1", "10.0.3.255", "10.0.1.255", "10.0.1.0", "192.168.77.7", "100.64.0.1", "192.0.2.1", "198.18.0.1"):
    row("sources", source, send(p4("172.16.2.9", src=source), p4("10.0.2.2", src=source)))
for destination in ("0.0.0.0", "0.1.2.3", "127.0.0.1", "127.9.9.9", "169.254.1.1", "224.0.0.5", "239.1.1.1", "240.0.0.1", "255.255.255.254", "255.255.255.255", "10.0.2.255",
                    "10.0.2.0", "10.0.1.255", "100.64.0.1", "192.0.2.1"):
    row("destinations", destination, send(p4(destination)))
    row("destinations", f"{destination}, with a default route", "ip route add default via 10.0.4.2", send(p4(destination), p4(destination, payload=echo)))
for source in ("::", "::1", "ff02::1", "::ffff:10.0.1.2", "::10.0.1.2", "fe80::9", "fec0::1", "fc00::1", "2002:a00:102::1", "64:ff9b::a00:102", "2001:db8:1::1", "2001:db8:1::", "100::1"):
    row("sources", source, send(p6("2001:db8:f002::9", src=source), p6("2001:db8:2::2", src=source)))
for destination in ("::", "::1", "ff01::1", "ff02::1", "ff05::2", "ff0e::1", "::ffff:10.0.2.2", "fe80::9", "fec0::1", "fc00::1", "2001:db8:2::", "2002:a00:102::1"):
    row("destinations", destination, send(p6(destination)))
    row("destinations", f"{destination}, with a default route", "ip -6 route add default via 2001:db8:4::2", send(p6(destination), p6(destination, payload=echo)))
row("sources", "own ones that are accepted", "for i in all s1 s2; do echo 1 > /proc/sys/net/ipv4/conf/$i/accept_local; done", send(p4("172.16.2.9", src="10.0.3.1"), p4("172.16.2.9", src="10.0.1.1")))
row("sources", "an own one that is gone", "ip addr add 10.77.0.1/32 dev s3", send(p4("172.16.2.9", src="10.77.0.1")), "ip addr del 10.77.0.1/32 dev s3", send(p4("172.16.2.9", src="10.77.0.1"), fast=True))
row("destinations", "loopback is routed", "echo 1 > /proc/sys/net/ipv4/conf/s1/route_localnet", send(p4("127.0.0.1", payload=echo), p4("172.16.2.9", src="127.0.0.1")))
row("destinations", "directed broadcasts are forwarded", "for i in all s1 s2; do echo 1 > /proc/sys/net/ipv4/conf/$i/bc_forwarding; done", send(p4("10.0.2.255")))

# -- frames --------------------------------------------------------------------------------------------------------------

for name, mac in (("broadcast", b"\xff" * 6), ("multicast", bytes.fromhex("01005e000005")), ("other", b"\2\0\0\0\x63\1"), ("another port's", router_mac(2))):
    row("frames", f"to {name} address", send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=mac)), (1, frame(1, ipv6("2001:db8:1::2", "2001:db8:f002::9"), dst=mac)),
                                             (1, frame(1, ipv4("10.0.1.2", "192.168.9.9"), dst=mac)), (1, frame(1, ipv4("10.0.1.2", "10.0.1.1", payload=echo), dst=mac))))
row("frames", "from a group", send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), src=b"\xff" * 6))))
row("frames", "a new address of the port", "ip link set s1 address 02:00:00:00:77:01",
    send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000007701"))), p4("172.16.2.9")), "ip link set s1 address 02:00:00:00:01:01", send(p4("172.16.2.9")))
row("frames", "by a new address of the port", "ip link set s2 address 02:00:00:00:77:02", send(p4("172.16.2.9"), p6("2001:db8:f002::9")), "ip link set s2 address 02:00:00:00:02:01", send(p4("172.16.2.9")))

# -- neighbours ----------------------------------------------------------------------------------------------------------

row("neighbours", "that is found", send(p4("10.0.2.5"), p6("2001:db8:2::5"), least=2), send(p4("10.0.2.5"), p6("2001:db8:2::5")))
row("neighbours", "that does not answer", Silent(("10.0.2.6", "2001:db8:2::6")), send(p4("10.0.2.6"), p6("2001:db8:2::6"), least=2))
row("neighbours", "next hop that does not answer", Silent(("10.0.2.6",)), "ip route add 192.168.1.0/24 via 10.0.2.6", send(p4("192.168.1.1"), least=1))
row("neighbours", "next hop that is found", "ip route add 192.168.1.0/24 via 10.0.2.5; ip -6 route add 2001:db8:77::/64 via 2001:db8:2::5", send(p4("192.168.1.1"), p6("2001:db8:77::1"), least=2))
row("neighbours", "another address", "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:44 dev s2 nud permanent", send(p4("172.16.2.9"), p4("10.0.2.2"), fast=True))
row("neighbours", "removed", "ip neigh del 10.0.2.2 dev s2", send(p4("172.16.2.9"), p4("10.0.2.2"), least=2))
row("neighbours", "NOARP and stale", "ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:55 dev s2 nud noarp; ip neigh replace 10.0.2.3 lladdr 02:00:00:00:02:03 dev s2 nud stale",
    send(p4("172.16.2.9"), p4("10.0.2.3")))
row("neighbours", "questions for the router", send((1, arp_request(1, "10.0.1.2", "10.0.1.1")), (1, arp_request(1, "10.0.1.2", "10.0.2.1")), (1, arp_request(1, "10.0.1.2", "10.0.1.9")),
                                                   (1, solicitation(1, "2001:db8:1::2", "2001:db8:1::1")), least=3))
row("neighbours", "proxy ARP", "echo 1 > /proc/sys/net/ipv4/conf/s1/proxy_arp", send((1, arp_request(1, "10.0.1.2", "10.0.2.2")), (1, arp_request(1, "10.0.1.2", "172.16.3.3"))), send(p4("10.0.2.2")))
row("neighbours", "proxy of one", "ip neigh add proxy 10.0.1.77 dev s1; echo 1 > /proc/sys/net/ipv6/conf/s1/proxy_ndp; ip neigh add proxy 2001:db8:1::77 dev s1; echo 0 > /proc/sys/net/ipv4/neigh/s1/proxy_delay; echo 0 > /proc/sys/net/ipv6/neigh/s1/proxy_delay",
    send((1, arp_request(1, "10.0.1.2", "10.0.1.77")), (1, solicitation(1, "2001:db8:1::2", "2001:db8:1::77"))))

# -- routes --------------------------------------------------------------------------------------------------------------

for kind in ("blackhole", "unreachable", "prohibit", "throw"):
    row("routes", kind, f"ip route add {kind} 172.16.2.0/25; ip -6 route add {kind} 2001:db8:f002::/96", send(*several("172.16.2.9"), p4("172.16.2.200"), *several("2001:db8:f002::9"), p6("2001:db8:f002:0:1::9")))
    row("routes", f"{kind} instead of another", f"ip route replace {kind} 172.16.2.0/24", send(*several("172.16.2.9")), "ip route replace 172.16.2.0/24 via 10.0.3.2", send(*several("172.16.2.9"), fast=True))
row("routes", "default", "ip route add default via 10.0.4.2; ip -6 route add default via 2001:db8:4::2", send(p4("8.8.8.8"), p6("2600::1"), fast=True), "ip route del default; ip -6 route del default", send(p4("8.8.8.8"), p6("2600::1")))
row("routes", "longest prefix", "ip route add 172.16.0.0/16 via 10.0.3.2; ip route add 172.16.2.128/25 via 10.0.4.2; ip route add 172.16.2.129/32 via 10.0.2.3",
    send(*(p4(f"172.16.{a}") for a in ("9.9", "2.1", "2.128", "2.129", "2.255")), fast=True))
row("routes", "metrics", "ip route add 192.168.1.0/24 via 10.0.2.2 metric 20; ip route add 192.168.1.0/24 via 10.0.3.2 metric 10", send(p4("192.168.1.1"), fast=True),
    "ip route del 192.168.1.0/24 via 10.0.3.2 metric 10", send(p4("192.168.1.1"), fast=True))
row("routes", "metrics of IPv6", "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 metric 20; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2 metric 10", send(p6("2001:db8:77::1"), fast=True),
    "ip -6 route del 2001:db8:77::/64 via 2001:db8:3::2 metric 10", send(p6("2001:db8:77::1"), fast=True))
for tos in (0x04, 0x08, 0x10):
    row("routes", f"for type of service {tos:#x}", f"ip route add 172.16.2.0/24 tos {tos:#x} via 10.0.3.2", send(*(p4("172.16.2.9", tos=t) for t in (0, 4, 8, 0x10, 0x14, tos | 1, 0xE0 | tos))),
        f"ip route del 172.16.2.0/24 tos {tos:#x}", send(p4("172.16.2.9"), fast=True))
    row("routes", f"only for type of service {tos:#x}", f"ip route add default via 10.0.4.2; ip route add 192.168.1.0/24 tos {tos:#x} via 10.0.3.2", send(*(p4("192.168.1.1", tos=t) for t in (0, tos))))
row("routes", "of sources", "ip -6 route add 2001:db8:77::/64 from 2001:db8:1::/64 via 2001:db8:2::2; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2",
    send(p6("2001:db8:77::1"), p6("2001:db8:77::1", src="2001:db8:9::1"), p6("2001:db8:77::1", port=4)))
row("routes", "onlink", "ip route add 192.168.1.0/24 via 192.168.99.2 dev s2 onlink; ip neigh replace 192.168.99.2 lladdr 02:00:00:00:02:09 dev s2 nud permanent", send(p4("192.168.1.1"), fast=True))
row("routes", "on a link", "ip route add 192.168.1.0/24 dev s2", send(p4("192.168.1.3"), least=1), send(p4("192.168.1.3")))
row("routes", "on a link, silent", Silent(("192.168.1.3",)), "ip route add 192.168.1.0/24 dev s2", send(p4("192.168.1.3"), least=1))
row("routes", "by IPv6", "ip route add 192.168.1.0/24 via inet6 2001:db8:2::2", send(p4("192.168.1.1"), fast=True))
row("routes", "by link-local next hops", "ip neigh replace fe80::22 lladdr 02:00:00:00:02:02 dev s2 nud permanent; ip -6 route add 2001:db8:77::/64 via fe80::22 dev s2; ip route add 192.168.1.0/24 via inet6 fe80::22 dev s2",
    send(p6("2001:db8:77::1"), p4("192.168.1.1"), fast=True))
row("routes", "source hints", "ip route add 192.168.1.0/24 via 10.0.2.2 src 10.0.3.1", send(p4("192.168.1.1"), p4("192.168.1.1", ttl=1)))
row("routes", "realms and other attributes", "ip route add 192.168.1.0/24 via 10.0.2.2 realm 7 advmss 1000 rtt 20ms window 4096", send(p4("192.168.1.1"), fast=True))
row("routes", "local", "ip route add local 192.168.1.0/24 dev lo; ip route add 192.168.1.128/25 via 10.0.2.2", send(*several("192.168.1.1"), *several("192.168.1.129")),
    "ip route del local 192.168.1.0/24 dev lo", send(*several("192.168.1.1"), p4("192.168.1.129")))
row("routes", "local, after the longer one", "ip route add 192.168.1.128/25 via 10.0.2.2", send(p4("192.168.1.129"), fast=True), "ip route add local 192.168.1.0/24 dev lo", send(p4("192.168.1.129"), p4("192.168.1.129", payload=echo)))
row("routes", "local IPv6", "ip -6 route add local 2001:db8:77::/48 dev lo; ip -6 route add 2001:db8:77:1::/64 via 2001:db8:2::2", send(*several("2001:db8:77::1"), *several("2001:db8:77:1::1")))
row("routes", "broadcast in the local table", "ip route add broadcast 192.168.1.255 dev s2 table local; ip route add 192.168.1.0/24 via 10.0.2.2", send(p4("192.168.1.255"), p4("192.168.1.1")))
row("routes", "a neighbour by another way", "ip route add 10.0.2.3/32 via 10.0.3.2", send(p4("10.0.2.3"), fast=True), "ip route del 10.0.2.3/32", send(p4("10.0.2.3"), fast=True))
row("routes", "in table default", "ip route add 192.168.1.0/24 via 10.0.2.2 table default", send(p4("192.168.1.1"), p4("192.168.2.1")))
row("routes", "by a device that is no port", "ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 10.9.0.1/24 dev d0; ip route add 192.168.1.0/24 via 10.9.0.2", send(p4("192.168.1.1"), p4("10.9.0.1", payload=echo)))
row("routes", "encapsulated", "ip route add 192.168.1.0/24 encap ip6 id 5 dst 2001:db8:3::2 src 2001:db8:3::1 dev s3 via 10.0.3.2", send(p4("192.168.1.1")))
row("routes", "encapsulated by segment routing", "ip -6 route add 2001:db8:77::/64 encap seg6 mode encap segs 2001:db8:f003::9 dev s3", send(p6("2001:db8:77::1")))
row("routes", "appended", "ip route add 192.168.1.0/24 via 10.0.2.2; ip route append 192.168.1.0/24 via 10.0.3.2", send(p4("192.168.1.1"), fast=True), "ip route del 192.168.1.0/24 via 10.0.2.2", send(p4("192.168.1.1"), fast=True))
row("routes", "prepended", "ip route add 192.168.1.0/24 via 10.0.2.2; ip route prepend 192.168.1.0/24 via 10.0.3.2", send(p4("192.168.1.1"), fast=True))
row("routes", "changed", "ip route add 192.168.1.0/24 via 10.0.2.2", send(p4("192.168.1.1")), "ip route change 192.168.1.0/24 via 10.0.3.3", send(p4("192.168.1.1"), fast=True), "ip route del 192.168.1.0/24", send(p4("192.168.1.1")))
row("routes", "expire", "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 expires 100", send(p6("2001:db8:77::1"), fast=True))
row("routes", "preference", "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2 pref low; ip -6 route add 2001:db8:77::/64 via 2001:db8:3::2 metric 2048 pref high", send(p6("2001:db8:77::1"), fast=True))
row("routes", "with its source address", "ip addr add 10.77.0.1/32 dev lo; ip route add 192.168.1.0/24 via 10.0.2.2 src 10.77.0.1", send(p4("192.168.1.1"), fast=True), "ip addr del 10.77.0.1/32 dev lo", send(p4("192.168.1.1")))

# -- addresses -----------------------------------------------------------------------------------------------------------

row("addresses", "added and removed", "ip addr add 192.168.1.1/24 dev s2; ip addr add 2001:db8:77::1/64 dev s2 nodad", send(*several("192.168.1.1"), *several("2001:db8:77::1"), p4("192.168.1.255"), p4("192.168.1.3"), p6("2001:db8:77::3")),
    "ip addr del 192.168.1.1/24 dev s2; ip addr del 2001:db8:77::1/64 dev s2", send(*several("192.168.1.1"), *several("2001:db8:77::1"), p4("192.168.1.3")))
row("addresses", "on the loopback device", "ip addr add 192.168.1.1/32 dev lo; ip addr add 2001:db8:77::1/128 dev lo", send(*several("192.168.1.1"), *several("2001:db8:77::1")))
row("addresses", "of a neighbour becomes the router's", "ip addr add 10.0.2.3/24 dev s2", send(*several("10.0.2.3")), "ip addr del 10.0.2.3/24 dev s2", send(*several("10.0.2.3")))
row("addresses", "with a peer", "ip addr add 192.168.5.1 peer 192.168.5.2/32 dev s2", send(p4("192.168.5.1", payload=echo), p4("192.168.5.2"), least=2))
row("addresses", "secondary", "ip addr add 10.0.2.101/24 dev s2", send(p4("10.0.2.101", payload=echo)), "ip addr del 10.0.2.1/24 dev s2", send(p4("10.0.2.101", payload=echo), p4("172.16.2.9"), p4("10.0.2.2")))
row("addresses", "none at a port", "ip addr flush dev s1 scope global", send(p4("172.16.2.9"), p6("2001:db8:f002::9"), p4("172.16.2.9", ttl=1)))
row("addresses", "removed with their routes", "ip addr del 10.0.2.1/24 dev s2; ip -6 addr del 2001:db8:2::1/64 dev s2", send(p4("172.16.2.9"), p4("10.0.2.2"), p6("2001:db8:f002::9"), p6("2001:db8:2::2")))
row("addresses", "anycast to the subnet", send(p6("2001:db8:1::", payload=echo), p6("2001:db8:2::", payload=echo)))

# -- several paths -------------------------------------------------------------------------------------------------------

MULTI = "ip route add 192.168.1.0/24 nexthop via 10.0.2.2 {} nexthop via 10.0.3.2 {}"
row("several paths", "IPv4", MULTI.format("", ""), send(*flows("192.168.1.1"), any_path=True, fast=True))
row("several paths", "weights", MULTI.format("weight 1", "weight 200"), send(*flows("192.168.1.1"), any_path=True, fast=True))
row("several paths", "IPv6", "ip -6 route add 2001:db8:77::/64 nexthop via 2001:db8:2::2 nexthop via 2001:db8:3::2", send(*flows("2001:db8:77::1"), any_path=True, fast=True))
row("several paths", "IPv6, one by one", "ip -6 route add 2001:db8:77::/64 via 2001:db8:2::2; ip -6 route append 2001:db8:77::/64 via 2001:db8:3::2", send(*flows("2001:db8:77::1"), any_path=True, fast=True), "ip -6 route del 2001:db8:77::/64 via 2001:db8:2::2", send(*flows("2001:db8:77::1"), fast=True))
row("several paths", "of both protocols", "ip route add 192.168.1.0/24 nexthop via inet6 2001:db8:2::2 nexthop via 10.0.3.2", send(*flows("192.168.1.1"), any_path=True, fast=True))
row("several paths", "one goes down", MULTI.format("", ""), "ip link set s2 down", send(*flows("192.168.1.1")))
row("several paths", "one is another device", "ip link add d0 type veth peer name d1; ip link set d0 up; ip link set d1 up; ip addr add 10.9.0.1/24 dev d0; ip route add 192.168.1.0/24 nexthop via 10.0.2.2 nexthop via 10.9.0.2", send(p4("192.168.1.1", ttl=1)))
row("several paths", "the same twice", "ip route add 192.168.1.0/24 nexthop via 10.0.2.2 nexthop via 10.0.2.2 weight 3", send(*flows("192.168.1.1"), fast=True))
row("several paths", "fragments", MULTI.format("", ""), send(*(p4("192.168.1.1", mf=True, number=n) for n in range(9)), any_path=True))

for group, kind in (("21/31", ""), ("21,3/31,7", ""), ("21/31", " type resilient buckets 16")):
    for family, net, hops in (("", "192.168.1.0/24", ("10.0.2.2", "10.0.3.2", "10.0.4.2")), ("-6 ", "2001:db8:77::/64", ("2001:db8:2::2", "2001:db8:3::2", "2001:db8:4::2"))):
        to = "192.168.1.1" if not family else "2001:db8:77::1"
        made = f"ip nexthop add id 21 via {hops[0]} dev s2; ip nexthop add id 31 via {hops[1]} dev s3; ip nexthop add id 41 via {hops[2]} dev s4; ip nexthop add id 100 group {group}{kind}; ip {family}route add {net} nhid 100"
        row("next-hop objects", f"group {group}{kind} {family}", made, send(*flows(to), any_path=True, fast=True), "ip nexthop del id 31", send(*flows(to), fast=True))
        row("next-hop objects", f"changed member of {group}{kind} {family}", made, f"ip nexthop replace id 31 via {hops[2]} dev s4", send(*flows(to), any_path=True, fast=True))
        row("next-hop objects", f"changed group {group}{kind} {family}", made, f"ip nexthop replace id 100 group 41{' type resilient' if kind else ''}", send(*flows(to), fast=True))
        row("next-hop objects", f"without group {group}{kind} {family}", made, "ip nexthop del id 100", send(*flows(to, 3)))
row("next-hop objects", "one", "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21", send(p4("192.168.1.1"), fast=True), "ip nexthop replace id 21 via 10.0.3.2 dev s3", send(p4("192.168.1.1"), fast=True), "ip nexthop del id 21", send(p4("192.168.1.1")))
row("next-hop objects", "blackhole", "ip nexthop add id 5 blackhole; ip route add 192.168.1.0/24 nhid 5", send(p4("192.168.1.1")), "ip nexthop replace id 5 via 10.0.2.2 dev s2", send(p4("192.168.1.1"), fast=True))
row("next-hop objects", "of IPv6 for IPv4", "ip nexthop add id 6 via 2001:db8:2::2 dev s2; ip route add 192.168.1.0/24 nhid 6; ip -6 route add 2001:db8:77::/64 nhid 6", send(p4("192.168.1.1"), p6("2001:db8:77::1"), fast=True))
row("next-hop objects", "that the kernel does not describe", "echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode; ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21", send(p4("192.168.1.1")), "ip nexthop replace id 21 via 10.0.3.2 dev s3", send(p4("192.168.1.1")))
row("next-hop objects", "flushed", "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21", send(p4("192.168.1.1")), "ip nexthop flush", send(p4("192.168.1.1")))
row("next-hop objects", "many routes", "ip nexthop add id 21 via 10.0.2.2 dev s2; for n in $(seq 1 100); do echo route add 192.168.$n.0/24 nhid 21; done | ip -batch -", send(*(p4(f"192.168.{n}.1") for n in range(1, 101, 9)), fast=True),
    "ip nexthop replace id 21 via 10.0.3.2 dev s3", send(*(p4(f"192.168.{n}.1") for n in range(1, 101, 9)), fast=True))
row("next-hop objects", "whose port goes", "ip nexthop add id 21 via 10.0.2.2 dev s2; ip route add 192.168.1.0/24 nhid 21", send(p4("192.168.1.1")), "ip link set s2 down", send(p4("192.168.1.1")), "ip link set s2 up", send(p4("192.168.1.1")))

# -- interfaces ----------------------------------------------------------------------------------------------------------

row("interfaces", "output down", "ip link set s2 down", send(p4("172.16.2.9"), p4("10.0.2.2"), p4("10.0.2.1", payload=echo), p6("2001:db8:f002::9"), p4("172.16.3.9")))
row("interfaces", "output down and up", "ip link set s2 down", send(p4("10.0.2.2")), "ip link set s2 up; ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev s2 nud permanent", send(p4("10.0.2.2"), p4("172.16.2.9")))
row("interfaces", "input down", "ip link set s1 down", send(p4("172.16.2.9"), p6("2001:db8:f002::9"), (1, arp_request(1, "10.0.1.2", "10.0.1.1")), p4("172.16.2.9", port=3)))
row("interfaces", "no multicast or ARP", "ip link set s2 arp off", send(p4("172.16.2.9"), p4("10.0.2.5")), "ip link set s2 arp on", send(p4("172.16.2.9")))

# -- settings ------------------------------------------------------------------------------------------------------------

for name in ("s1", "s2", "all"):
    for family, to in (("ipv4", "172.16.2.9"), ("ipv6", "2001:db8:f002::9")):
        row("settings", f"forwarding of {name} off, {family}", f"echo 0 > /proc/sys/net/{family}/conf/{name}/forwarding", send(*several(to), *several(to, port=3), *several("10.0.1.1" if family == "ipv4" else "2001:db8:1::1")),
            f"echo 1 > /proc/sys/net/{family}/conf/{name}/forwarding", send(*several(to)))
row("settings", "ip_forward off and on", "echo 0 > /proc/sys/net/ipv4/ip_forward", send(p4("172.16.2.9"), p6("2001:db8:f002::9")), "echo 1 > /proc/sys/net/ipv4/ip_forward", send(p4("172.16.2.9"), fast=True))
row("settings", "no IPv6 at a port", "echo 1 > /proc/sys/net/ipv6/conf/s1/disable_ipv6", send(p6("2001:db8:f002::9"), p4("172.16.2.9")), "echo 0 > /proc/sys/net/ipv6/conf/s1/disable_ipv6", send(p6("2001:db8:f002::9", src="2001:db8:9::1")))
row("settings", "no IPv6 at the output", "echo 1 > /proc/sys/net/ipv6/conf/s2/disable_ipv6", send(p6("2001:db8:f002::9"), p6("2001:db8:2::2"), p4("172.16.2.9")))
for mode in (1, 2):
    for where in ("s1", "all"):
        row("rp_filter", f"{mode} of {where}", f"echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter", send(p4("172.16.2.9"), p4("172.16.2.9", src="10.0.3.2"), p4("172.16.2.9", src="172.16.1.7"), p4("172.16.2.9", src="172.16.3.7"), p4("172.16.2.9", src="8.8.8.8"),
                                                                                                               p4("172.16.2.9", port=3, src="10.0.1.2"), p4("172.16.2.9", src="10.0.2.1")),
            f"echo 0 > /proc/sys/net/ipv4/conf/{where}/rp_filter", send(p4("172.16.2.9", src="8.8.8.8"), fast=True))
        row("rp_filter", f"{mode} of {where}, with a default route", f"ip route add default via 10.0.4.2; echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter", send(p4("172.16.2.9", src="8.8.8.8"), p4("172.16.2.9", port=4, src="8.8.8.8"), p4("8.8.8.8")))
        row("rp_filter", f"{mode} of {where}, with a blackhole", f"ip route add blackhole 192.168.1.0/24; echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter", send(p4("172.16.2.9", src="192.168.1.1")))

# -- rules ---------------------------------------------------------------------------------------------------------------

TABLE = "ip route add default via 10.0.4.2 table 100; ip -6 route add default via 2001:db8:4::2 table 100; "
MANY4 = [p4("172.16.2.9"), p4("172.16.2.9", port=3), p4("172.16.3.9"), p4("8.8.8.8"), p4("172.16.2.9", tos=0x10), p4("172.16.2.9", tos=0x14), p4("172.16.2.9", payload=tcp), p4("172.16.2.9", payload=echo), p4("172.16.2.9", dport=53), p4("172.16.2.9", sport=77),
         p4("10.0.1.1", payload=echo), p4("172.16.2.9", mf=True), p4("172.16.2.9", src="10.0.1.3"), p4("172.16.2.9", ttl=1)]
MANY6 = [p6("2001:db8:f002::9"), p6("2001:db8:f002::9", port=3), p6("2001:db8:f003::9"), p6("2600::1"), p6("2001:db8:f002::9", traffic_class=0x10), p6("2001:db8:f002::9", payload=tcp), p6("2001:db8:f002::9", payload=echo), p6("2001:db8:f002::9", dport=53),
         p6("2001:db8:1::1", payload=echo), p6("2001:db8:f002::9", hop_limit=1), p6("2001:db8:f002::9", first=60, extensions=bytes.fromhex("1100010400000000")), p6("2001:db8:f002::9", src="2001:db8:1::3")]
for family, selectors, many in (("", ("from 10.0.1.0/24", "from 10.0.1.2", "to 172.16.2.0/24", "from 10.0.1.0/24 to 172.16.0.0/16", "to 8.0.0.0/8"), MANY4), ("-6 ", ("from 2001:db8:1::/64", "from 2001:db8:1::2", "to 2001:db8:f002::/64", "to 2600::/16"), MANY6)):
    common = ("iif s1", "iif s3", "iif lo", "oif s4", "tos 0x10", "ipproto tcp", "ipproto udp dport 53", "sport 77", "dport 2000-2100", "fwmark 7", "fwmark 0/0x1", "uidrange 0-100", "from all", "not from all to 1.2.3.4" if not family else "not to 2001:db8:9::/64", "iif d0")
    for selector in (*selectors, *common):
        row("rules", f"{family}{selector}", TABLE + f"ip {family}rule add pref 100 {selector} lookup 100", send(*many), f"ip {family}rule del pref 100", send(*many))
    for action in ("blackhole", "unreachable", "prohibit", "nop", "goto 32766", "lookup main", "lookup main suppress_prefixlength 0", "lookup main suppress_prefixlength 24", "lookup 101", "lookup default"):
        row("rules", f"{family}{action}", TABLE + f"ip {family}rule add pref 100 {selectors[0]} {action}", send(*many))
        row("rules", f"{family}all {action}", TABLE + f"ip {family}rule add pref 100 {action}", send(*many))
    row("rules", f"{family}behind the main table", TABLE + f"ip {family}rule add pref 40000 lookup 100", send(*many))
    row("rules", f"{family}two", TABLE + f"ip {family}rule add pref 100 {selectors[0]} lookup main; ip {family}rule add pref 200 lookup 100", send(*many))
    row("rules", f"{family}no main table", TABLE + f"ip {family}rule del pref 32766", send(*many))
    row("rules", f"{family}local table later", f"ip {family}rule add pref 50 lookup local; ip {family}rule del pref 0", send(*many), f"ip {family}rule del pref 50; ip {family}rule add pref 0 lookup local", send(*many))
    row("rules", f"{family}main table first", f"ip {family}rule add pref 50 lookup local; ip {family}rule add pref 40 lookup main; ip {family}rule del pref 0", send(*many), f"ip {family}rule del pref 50; ip {family}rule add pref 0 lookup local; ip {family}rule del pref 40")
row("rules", "the table changes", TABLE + "ip rule add pref 100 from 10.0.1.0/24 lookup 100", send(p4("172.16.2.9")), "ip route replace default via 10.0.3.2 table 100", send(p4("172.16.2.9")), "ip route del default table 100", send(p4("172.16.2.9")))
row("rules", "own sources with rules", TABLE + "ip rule add pref 100 to 9.9.9.9 lookup 100", send(p4("172.16.2.9", src="10.0.3.255"), p4("172.16.2.9", src="10.0.3.1")))

# -- filters -------------------------------------------------------------------------------------------------------------

BOTH = [p4("172.16.2.9"), p6("2001:db8:f002::9"), p4("172.16.2.9", payload=tcp), p4("172.16.2.9", payload=echo), p6("2001:db8:f002::9", payload=echo), p4("10.0.1.1", payload=echo), p4("172.16.3.9", port=2), p4("172.16.2.9", ttl=1)]


def nft(text: str) -> str:
    return f"nft '{text}'"


for name, rules in (
        ("drop policy", "table inet f { chain c { type filter hook forward priority 0; policy drop; } }"),
        ("accept policy", "table inet f { chain c { type filter hook forward priority 0; policy accept; } }"),
        ("drop by port", "table inet f { chain c { type filter hook forward priority 0; udp dport 2000 drop; } }"),
        ("reject", "table inet f { chain c { type filter hook forward priority 0; ip daddr 172.16.2.0/24 reject with icmp type admin-prohibited; } }"),
        ("reject IPv6", "table ip6 f { chain c { type filter hook forward priority 0; reject; } }"),
        ("by interfaces", "table inet f { chain c { type filter hook forward priority 0; policy drop; iifname s1 oifname s2 accept; } }"),
        ("source translation", "table ip n { chain c { type nat hook postrouting priority 100; oifname s2 snat to 10.0.2.77; } }"),
        ("masquerade", "table ip n { chain c { type nat hook postrouting priority 100; oifname s2 masquerade; } }"),
        ("destination translation", "table ip n { chain c { type nat hook prerouting priority -100; ip daddr 172.16.2.9 dnat to 10.0.3.2; } }"),
        ("marks", "table ip m { chain c { type filter hook prerouting priority -150; udp dport 2000 meta mark set 7; } }"),
        ("TTL", "table ip m { chain c { type filter hook forward priority 0; ip ttl set 33; } }"),
        ("input only", "table inet f { chain c { type filter hook input priority 0; icmp type echo-request drop; } }"),
        ("output only", "table inet f { chain c { type filter hook output priority 0; policy drop; } }"),
        ("ingress of a port", "table netdev d { chain c { type filter hook ingress device s1 priority 0; udp dport 2000 drop; } }"),
        ("egress of a port", "table netdev d { chain c { type filter hook egress device s2 priority 0; udp dport 2000 drop; } }"),
        ("states", "table inet f { chain c { type filter hook forward priority 0; policy drop; ct state established accept; iifname s1 accept; } }"),
        ("no base chain", "table inet f { chain c { drop; } }")):
    only = " ".join(rules.replace("; } }", "\n}\n}").replace("{ chain", "{\nchain").replace("; policy", ";\npolicy").split(" "))
    script = "nft -f - <<'RULES'\n" + only + "\nRULES"
    row("filters", name, script, send(*BOTH), "nft flush ruleset", send(*BOTH))
row("filters", "marks and rules", TABLE + "ip rule add pref 100 fwmark 7 lookup 100; nft -f - <<'RULES'\ntable ip m {\nchain c { type filter hook prerouting priority -150\nudp dport 2000 meta mark set 7\n}\n}\nRULES", send(*BOTH))
row("filters", "iptables-nft", "iptables-nft -A FORWARD -p udp -j DROP", send(*BOTH), "iptables-nft -F FORWARD", send(*BOTH))
row("filters", "IPsec policies that block", "ip xfrm policy add src 10.0.1.0/24 dst 172.16.2.0/24 dir fwd action block", send(*BOTH), "ip xfrm policy flush", send(*BOTH))
row("filters", "tc at the input", "tc qdisc add dev s1 clsact; tc filter add dev s1 ingress protocol ip u32 match ip dport 2000 0xffff action mirred egress redirect dev s3", send(*BOTH))
row("filters", "tc at the output", "tc qdisc add dev s2 root tbf rate 100mbit burst 10k latency 50ms", send(*BOTH), "tc qdisc del dev s2 root", send(*BOTH))

# -- devices on top of ports ---------------------------------------------------------------------------------------------

row("devices", "bridge of two ports", "ip link add br0 type bridge forward_delay 0 mcast_snooping 0; ip link set br0 up; ip addr flush dev s1 scope global; ip addr flush dev s2 scope global; ip link set s1 master br0; ip link set s2 master br0; ip addr add 10.0.1.1/24 dev br0",
    send((1, frame(1, ipv4("10.0.1.2", "10.0.1.3"), dst=host_mac(2, 3))), (1, frame(1, bytes(50), kind=0x9000, dst=host_mac(2, 3))), (1, frame(1, ipv4("10.0.1.2", "10.0.1.3"), dst=b"\xff" * 6)), p4("172.16.3.9"), p4("172.16.3.9", port=4)))
row("devices", "macvlan", "ip link add mv0 link s1 address 02:00:00:00:66:01 type macvlan mode bridge; ip link set mv0 up; ip addr add 10.0.1.66/24 dev mv0",
    send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000006601"))), (1, frame(1, ipv4("10.0.1.2", "10.0.1.66", payload=echo), dst=bytes.fromhex("020000006601"))), p4("172.16.2.9")),
    "ip link del mv0", send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000006601"))), p4("172.16.2.9")))
row("devices", "routes by a macvlan", "ip link add mv0 link s2 address 02:00:00:00:66:02 type macvlan mode bridge; ip link set mv0 up; ip addr add 192.168.66.1/24 dev mv0; ip neigh replace 192.168.66.2 lladdr 02:00:00:00:02:02 dev mv0 nud permanent; ip route add 192.168.1.0/24 via 192.168.66.2",
    send(p4("192.168.1.1"), p4("192.168.66.2"), p4("172.16.2.9")))
row("devices", "VLAN", "ip link add link s1 name v5 type vlan id 5; ip link set v5 up; ip addr add 192.168.5.1/24 dev v5", send((1, frame(1, b"\0\x05\x08\0" + ipv4("192.168.5.2", "172.16.2.9"), kind=0x8100))))
row("devices", "VRF", "ip link add red type vrf table 10; ip link set red up; ip link set s1 master red; ip route add 192.168.1.0/24 via 10.0.2.2 table 10", send(p4("192.168.1.1"), p4("172.16.2.9"), p4("192.168.1.1", port=3)))
row("devices", "bond", "ip link add bond0 type bond; ip link set s1 down; ip link set s1 master bond0; ip link set bond0 up", send(p4("172.16.2.9")))
row("devices", "VXLAN", "ip link add vx0 address 02:00:00:00:88:01 type vxlan id 7 remote 10.0.2.2 dstport 4789 srcport 5000 5001 local 10.0.2.1; ip link set vx0 up; ip addr add 192.168.7.1/24 dev vx0; ip neigh replace 192.168.7.2 lladdr 02:00:00:00:77:77 dev vx0 nud permanent", send(p4("192.168.7.2"), p4("192.168.7.1", payload=echo)))

# -- redirects -----------------------------------------------------------------------------------------------------------

for state in (0, 1):
    row("redirects", f"{state}", f"for i in all s1; do echo {state} > /proc/sys/net/ipv4/conf/$i/send_redirects; done; ip route add 192.168.1.0/24 via 10.0.1.3",
        send(*several("192.168.1.1"), p4("192.168.1.1", src="10.0.1.255"), p4("192.168.1.1", src="10.0.1.1"), p4("192.168.1.1", src="8.8.8.8")))

# -- while packets flow --------------------------------------------------------------------------------------------------

row("changes", "filter, route, filter", send(p4("172.16.2.9"), fast=True), "nft add table inet f; nft 'add chain inet f c { type filter hook forward priority 0; policy drop; }'", send(p4("172.16.2.9")),
    "ip route replace 172.16.2.0/24 via 10.0.3.2", send(p4("172.16.2.9")), "nft flush ruleset", send(p4("172.16.2.9"), fast=True))
row("changes", "rule, device, rule", TABLE + "ip rule add pref 100 iif s1 lookup 100", send(p4("172.16.2.9")), "ip link set s4 down", send(p4("172.16.2.9")), "ip rule del pref 100", send(p4("172.16.2.9"), fast=True))
row("changes", "everything about a port", "ip link set s2 mtu 1400; ip addr add 10.0.22.1/24 dev s2; ip link set s2 address 02:00:00:00:22:01", send(p4("172.16.2.9", df=True, data=bytes(1450)), p4("10.0.22.3"), p4("172.16.2.9")), "ip link set s2 address 02:00:00:00:02:01", send(p4("172.16.2.9")))

# -- what stays until the namespace goes ---------------------------------------------------------------------------------

for tool in ("iptables-legacy", "ip6tables-legacy"):
    row(LASTING, tool, f"{tool} -A FORWARD -p udp -j DROP", send(*BOTH), f"{tool} -F FORWARD", send(*BOTH))
