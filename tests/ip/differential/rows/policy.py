"""Interfaces, settings, rules, filters, devices on top of ports, and changes of all that."""

from __future__ import annotations

from ..packets import arp_request, echo, frame, host_mac, ipv4, ipv6, tcp, udp
from ..scenario import LASTING, flows, p4, p6, row, send, several

# -- interfaces ----------------------------------------------------------------------------------------------------------

row(
    "interfaces",
    "output down",
    "ip link set s2 down",
    send(p4("172.16.2.9"), p4("10.0.2.2"), p4("10.0.2.1", payload=echo), p6("2001:db8:f002::9"), p4("172.16.3.9")),
)
row(
    "interfaces",
    "output down and up",
    "ip link set s2 down",
    send(p4("10.0.2.2")),
    "ip link set s2 up; ip neigh replace 10.0.2.2 lladdr 02:00:00:00:02:02 dev s2 nud permanent",
    send(p4("10.0.2.2"), p4("172.16.2.9")),
)
row(
    "interfaces",
    "input down",
    "ip link set s1 down",
    send(p4("172.16.2.9"), p6("2001:db8:f002::9"), (1, arp_request(1, "10.0.1.2", "10.0.1.1")), p4("172.16.2.9", port=3)),
)
row(
    "interfaces",
    "no multicast or ARP",
    "ip link set s2 arp off",
    send(p4("172.16.2.9"), p4("10.0.2.5")),
    "ip link set s2 arp on",
    send(p4("172.16.2.9")),
)

# -- settings ------------------------------------------------------------------------------------------------------------

for name in ("s1", "s2", "all"):
    for family, to in (("ipv4", "172.16.2.9"), ("ipv6", "2001:db8:f002::9")):
        row(
            "settings",
            f"forwarding of {name} off, {family}",
            f"echo 0 > /proc/sys/net/{family}/conf/{name}/forwarding",
            send(*several(to), *several(to, port=3), *several("10.0.1.1" if family == "ipv4" else "2001:db8:1::1")),
            f"echo 1 > /proc/sys/net/{family}/conf/{name}/forwarding",
            send(*several(to)),
        )
row(
    "settings",
    "ip_forward off and on",
    "echo 0 > /proc/sys/net/ipv4/ip_forward",
    send(p4("172.16.2.9"), p6("2001:db8:f002::9")),
    "echo 1 > /proc/sys/net/ipv4/ip_forward",
    send(p4("172.16.2.9"), fast=True),
)
row(
    "settings",
    "no IPv6 at a port",
    "echo 1 > /proc/sys/net/ipv6/conf/s1/disable_ipv6",
    send(p6("2001:db8:f002::9"), p4("172.16.2.9")),
    "echo 0 > /proc/sys/net/ipv6/conf/s1/disable_ipv6",
    send(p6("2001:db8:f002::9", src="2001:db8:9::1")),
)
row(
    "settings",
    "no IPv6 at the output",
    "echo 1 > /proc/sys/net/ipv6/conf/s2/disable_ipv6",
    send(p6("2001:db8:f002::9"), p6("2001:db8:2::2"), p4("172.16.2.9")),
)
for mode in (1, 2):
    for where in ("s1", "all"):
        row(
            "rp_filter",
            f"{mode} of {where}",
            f"echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter",
            send(
                p4("172.16.2.9"),
                p4("172.16.2.9", src="10.0.3.2"),
                p4("172.16.2.9", src="172.16.1.7"),
                p4("172.16.2.9", src="172.16.3.7"),
                p4("172.16.2.9", src="8.8.8.8"),
                p4("172.16.2.9", port=3, src="10.0.1.2"),
                p4("172.16.2.9", src="10.0.2.1"),
            ),
            f"echo 0 > /proc/sys/net/ipv4/conf/{where}/rp_filter",
            send(p4("172.16.2.9", src="8.8.8.8"), fast=True),
        )
        row(
            "rp_filter",
            f"{mode} of {where}, with a default route",
            f"ip route add default via 10.0.4.2; echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter",
            send(p4("172.16.2.9", src="8.8.8.8"), p4("172.16.2.9", port=4, src="8.8.8.8"), p4("8.8.8.8")),
        )
        row(
            "rp_filter",
            f"{mode} of {where}, with a blackhole",
            f"ip route add blackhole 192.168.1.0/24; echo {mode} > /proc/sys/net/ipv4/conf/{where}/rp_filter",
            send(p4("172.16.2.9", src="192.168.1.1")),
        )

# -- rules ---------------------------------------------------------------------------------------------------------------

TABLE = "ip route add default via 10.0.4.2 table 100; ip -6 route add default via 2001:db8:4::2 table 100; "
MANY4 = [
    p4("172.16.2.9"),
    p4("172.16.2.9", port=3),
    p4("172.16.3.9"),
    p4("8.8.8.8"),
    p4("172.16.2.9", tos=0x10),
    p4("172.16.2.9", tos=0x14),
    p4("172.16.2.9", payload=tcp),
    p4("172.16.2.9", payload=echo),
    p4("172.16.2.9", dport=53),
    p4("172.16.2.9", sport=77),
    p4("10.0.1.1", payload=echo),
    p4("172.16.2.9", mf=True),
    p4("172.16.2.9", src="10.0.1.3"),
    p4("172.16.2.9", ttl=1),
]
MANY6 = [
    p6("2001:db8:f002::9"),
    p6("2001:db8:f002::9", port=3),
    p6("2001:db8:f003::9"),
    p6("2600::1"),
    p6("2001:db8:f002::9", traffic_class=0x10),
    p6("2001:db8:f002::9", payload=tcp),
    p6("2001:db8:f002::9", payload=echo),
    p6("2001:db8:f002::9", dport=53),
    p6("2001:db8:1::1", payload=echo),
    p6("2001:db8:f002::9", hop_limit=1),
    p6("2001:db8:f002::9", first=60, extensions=bytes.fromhex("1100010400000000")),
    p6("2001:db8:f002::9", src="2001:db8:1::3"),
]
for family, selectors, many in (
    ("", ("from 10.0.1.0/24", "from 10.0.1.2", "to 172.16.2.0/24", "from 10.0.1.0/24 to 172.16.0.0/16", "to 8.0.0.0/8"), MANY4),
    ("-6 ", ("from 2001:db8:1::/64", "from 2001:db8:1::2", "to 2001:db8:f002::/64", "to 2600::/16"), MANY6),
):
    common = (
        "iif s1",
        "iif s3",
        "iif lo",
        "oif s4",
        "tos 0x10",
        "ipproto tcp",
        "ipproto udp dport 53",
        "sport 77",
        "dport 2000-2100",
        "fwmark 7",
        "fwmark 0/0x1",
        "uidrange 0-100",
        "from all",
        "not from all to 1.2.3.4" if not family else "not to 2001:db8:9::/64",
        "iif d0",
    )
    for selector in (*selectors, *common):
        row(
            "rules",
            f"{family}{selector}",
            TABLE + f"ip {family}rule add pref 100 {selector} lookup 100",
            send(*many),
            f"ip {family}rule del pref 100",
            send(*many),
        )
    for action in (
        "blackhole",
        "unreachable",
        "prohibit",
        "nop",
        "goto 32766",
        "lookup main",
        "lookup main suppress_prefixlength 0",
        "lookup main suppress_prefixlength 24",
        "lookup 101",
        "lookup default",
    ):
        row("rules", f"{family}{action}", TABLE + f"ip {family}rule add pref 100 {selectors[0]} {action}", send(*many))
        row("rules", f"{family}all {action}", TABLE + f"ip {family}rule add pref 100 {action}", send(*many))
    row("rules", f"{family}behind the main table", TABLE + f"ip {family}rule add pref 40000 lookup 100", send(*many))
    row(
        "rules",
        f"{family}two",
        TABLE + f"ip {family}rule add pref 100 {selectors[0]} lookup main; ip {family}rule add pref 200 lookup 100",
        send(*many),
    )
    row("rules", f"{family}no main table", TABLE + f"ip {family}rule del pref 32766", send(*many))
    row(
        "rules",
        f"{family}local table later",
        f"ip {family}rule add pref 50 lookup local; ip {family}rule del pref 0",
        send(*many),
        f"ip {family}rule del pref 50; ip {family}rule add pref 0 lookup local",
        send(*many),
    )
    row(
        "rules",
        f"{family}main table first",
        f"ip {family}rule add pref 50 lookup local; ip {family}rule add pref 40 lookup main; ip {family}rule del pref 0",
        send(*many),
        f"ip {family}rule del pref 50; ip {family}rule add pref 0 lookup local; ip {family}rule del pref 40",
    )
row(
    "rules",
    "the table changes",
    TABLE + "ip rule add pref 100 from 10.0.1.0/24 lookup 100",
    send(p4("172.16.2.9")),
    "ip route replace default via 10.0.3.2 table 100",
    send(p4("172.16.2.9")),
    "ip route del default table 100",
    send(p4("172.16.2.9")),
)
for family, source, net, other, hop, wide in (
    ("", "10.0.1.0/24", "172.16.2.0/24", "172.16.3.0/24", "10.0.{}.2", "172.16.0.0/12"),
    ("-6 ", "2001:db8:1::/64", "2001:db8:f002::/64", "2001:db8:f003::/64", "2001:db8:{}::2", "2001:db8:f000::/36"),
):
    make, one, two, outside = (p6, "2001:db8:f002::9", "2001:db8:f003::9", "2600::1") if family else (p4, "172.16.2.9", "172.16.3.9", "8.8.8.8")
    route, rule = f"ip {family}route", f"ip {family}rule"
    # Table 100 for what port 1 sends: another way for one network, none for the rest of a wide one. Table 101 for port 4.
    row(
        "rules",
        f"{family}tables of some routes",
        f"{route} add {net} via {hop.format(4)} table 100; {route} add blackhole {wide} table 100;"
        f" {route} add default via {hop.format(3)} table 101; {rule} add pref 100 from {source} lookup 100; {rule} add pref 200 iif s4 lookup 101",
        send(make(one), make(outside, port=4), make(one, port=3), fast=True),
        send(make(two), make(outside), make(one, payload=tcp), make(one, payload=echo)),
        f"{route} replace {net} via {hop.format(2)} table 100; {route} add {other} via {hop.format(4)} table 100",
        send(make(one), make(two), fast=True),
        f"{route} del {net} table 100",
        send(make(one), make(two), make(outside)),
        f"{route} add throw {net} table 100",
        send(make(one), make(two), make(outside)),
        f"{rule} del pref 100",
        send(make(one), make(two), make(outside, port=4), fast=True),
        send(make(outside)),
    )
    row(
        "rules",
        f"{family}a table beside no route",
        f"{route} add default via {hop.format(4)} table 100; {rule} add pref 100 from {source} lookup 100",
        send(make(outside), make(one), fast=True),
        send(make(outside, port=3)),
    )
    row(
        "rules",
        f"{family}groups and objects in a table",
        f"{route} add default table 100 nexthop via {hop.format(3)} nexthop via {hop.format(4)}; {rule} add pref 100 to {net} lookup 100",
        send(*flows(one), any_path=True, fast=True),
        f"ip nexthop add id 7 via {hop.format(2)} dev s2; {route} replace default nhid 7 table 100",
        send(*flows(one), any_path=True, fast=True),
        "ip nexthop replace id 7 via {} dev s3".format(hop.format(3)),
        send(*flows(one), any_path=True, fast=True),
        "ip nexthop del id 7",
        send(*flows(one), any_path=True, fast=True),
        f"{route} replace default via {hop.format(4)} table 100; ip link set s4 down",
        send(make(one), make(two)),
        "ip link set s4 up",
        send(make(one), make(two)),
    )
row(
    "rules",
    "own sources with rules",
    TABLE + "ip rule add pref 100 to 9.9.9.9 lookup 100",
    send(p4("172.16.2.9", src="10.0.3.255"), p4("172.16.2.9", src="10.0.3.1")),
)

# -- filters -------------------------------------------------------------------------------------------------------------

BOTH = [
    p4("172.16.2.9"),
    p6("2001:db8:f002::9"),
    p4("172.16.2.9", payload=tcp),
    p4("172.16.2.9", payload=echo),
    p6("2001:db8:f002::9", payload=echo),
    p4("10.0.1.1", payload=echo),
    p4("172.16.3.9", port=2),
    p4("172.16.2.9", ttl=1),
]


for name, rules in (
    ("drop policy", "table inet f { chain c { type filter hook forward priority 0; policy drop; } }"),
    ("accept policy", "table inet f { chain c { type filter hook forward priority 0; policy accept; } }"),
    ("drop by port", "table inet f { chain c { type filter hook forward priority 0; udp dport 2000 drop; } }"),
    (
        "reject",
        "table inet f { chain c { type filter hook forward priority 0; ip daddr 172.16.2.0/24 reject with icmp type admin-prohibited; } }",
    ),
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
    (
        "states",
        "table inet f { chain c { type filter hook forward priority 0; policy drop; ct state established accept; iifname s1 accept; } }",
    ),
    ("no base chain", "table inet f { chain c { drop; } }"),
):
    only = " ".join(rules.replace("; } }", "\n}\n}").replace("{ chain", "{\nchain").replace("; policy", ";\npolicy").split(" "))
    script = "nft -f - <<'RULES'\n" + only + "\nRULES"
    row("filters", name, script, send(*BOTH), "nft flush ruleset", send(*BOTH))
row(
    "filters",
    "marks and rules",
    TABLE
    + "ip rule add pref 100 fwmark 7 lookup 100; nft -f - <<'RULES'\ntable ip m {\nchain c { type filter hook prerouting priority -150\nudp"
    " dport 2000 meta mark set 7\n}\n}\nRULES",
    send(*BOTH),
)
row("filters", "iptables-nft", "iptables-nft -A FORWARD -p udp -j DROP", send(*BOTH), "iptables-nft -F FORWARD", send(*BOTH))
row(
    "filters",
    "IPsec policies that block",
    "ip xfrm policy add src 10.0.1.0/24 dst 172.16.2.0/24 dir fwd action block",
    send(*BOTH),
    "ip xfrm policy flush",
    send(*BOTH),
)
row(
    "filters",
    "tc at the input",
    "tc qdisc add dev s1 clsact; tc filter add dev s1 ingress protocol ip u32 match ip dport 2000 0xffff action mirred egress redirect"
    " dev s3",
    send(*BOTH),
)
row(
    "filters",
    "tc at the output",
    "tc qdisc add dev s2 root tbf rate 100mbit burst 10k latency 50ms",
    send(*BOTH),
    "tc qdisc del dev s2 root",
    send(*BOTH),
)

# -- devices on top of ports ---------------------------------------------------------------------------------------------

row(
    "devices",
    "bridge of two ports",
    "ip link add br0 type bridge forward_delay 0 mcast_snooping 0; ip link set br0 up; ip addr flush dev s1 scope global; ip addr flush dev"
    " s2 scope global; ip link set s1 master br0; ip link set s2 master br0; ip addr add 10.0.1.1/24 dev br0",
    send(
        (1, frame(1, ipv4("10.0.1.2", "10.0.1.3"), dst=host_mac(2, 3))),
        (1, frame(1, bytes(50), kind=0x9000, dst=host_mac(2, 3))),
        (1, frame(1, ipv4("10.0.1.2", "10.0.1.3"), dst=b"\xff" * 6)),
        p4("172.16.3.9"),
        p4("172.16.3.9", port=4),
    ),
)
row(
    "devices",
    "macvlan",
    "ip link add mv0 link s1 address 02:00:00:00:66:01 type macvlan mode bridge; ip link set mv0 up; ip addr add 10.0.1.66/24 dev mv0",
    send(
        (1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000006601"))),
        (1, frame(1, ipv4("10.0.1.2", "10.0.1.66", payload=echo), dst=bytes.fromhex("020000006601"))),
        p4("172.16.2.9"),
    ),
    "ip link del mv0",
    send((1, frame(1, ipv4("10.0.1.2", "172.16.2.9"), dst=bytes.fromhex("020000006601"))), p4("172.16.2.9")),
)
row(
    "devices",
    "routes by a macvlan",
    "ip link add mv0 link s2 address 02:00:00:00:66:02 type macvlan mode bridge; ip link set mv0 up; ip addr add 192.168.66.1/24 dev mv0;"
    " ip neigh replace 192.168.66.2 lladdr 02:00:00:00:02:02 dev mv0 nud permanent; ip route add 192.168.1.0/24 via 192.168.66.2",
    send(p4("192.168.1.1"), p4("192.168.66.2"), p4("172.16.2.9")),
)
row(
    "devices",
    "VLAN",
    "ip link add link s1 name v5 type vlan id 5; ip link set v5 up; ip addr add 192.168.5.1/24 dev v5",
    send((1, frame(1, b"\0\x05\x08\0" + ipv4("192.168.5.2", "172.16.2.9"), kind=0x8100))),
)
row(
    "devices",
    "VRF",
    "ip link add red type vrf table 10; ip link set red up; ip link set s1 master red; ip route add 192.168.1.0/24 via 10.0.2.2 table 10",
    send(p4("192.168.1.1"), p4("172.16.2.9"), p4("192.168.1.1", port=3)),
)
row(
    "devices",
    "bond",
    "ip link add bond0 type bond; ip link set s1 down; ip link set s1 master bond0; ip link set bond0 up",
    send(p4("172.16.2.9")),
)
row(
    "devices",
    "VXLAN",
    "ip link add vx0 address 02:00:00:00:88:01 type vxlan id 7 remote 10.0.2.2 dstport 4789 srcport 5000 5001 local 10.0.2.1; ip link set"
    " vx0 up; ip addr add 192.168.7.1/24 dev vx0; ip neigh replace 192.168.7.2 lladdr 02:00:00:00:77:77 dev vx0 nud permanent",
    send(p4("192.168.7.2"), p4("192.168.7.1", payload=echo)),
)

# -- redirects -----------------------------------------------------------------------------------------------------------

for state in (0, 1):
    row(
        "redirects",
        f"{state}",
        f"for i in all s1; do echo {state} > /proc/sys/net/ipv4/conf/$i/send_redirects; done; ip route add 192.168.1.0/24 via 10.0.1.3",
        send(
            *several("192.168.1.1"),
            p4("192.168.1.1", src="10.0.1.255"),
            p4("192.168.1.1", src="10.0.1.1"),
            p4("192.168.1.1", src="8.8.8.8"),
        ),
    )

# -- while packets flow --------------------------------------------------------------------------------------------------

row(
    "changes",
    "filter, route, filter",
    send(p4("172.16.2.9"), fast=True),
    "nft add table inet f; nft 'add chain inet f c { type filter hook forward priority 0; policy drop; }'",
    send(p4("172.16.2.9")),
    "ip route replace 172.16.2.0/24 via 10.0.3.2",
    send(p4("172.16.2.9")),
    "nft flush ruleset",
    send(p4("172.16.2.9"), fast=True),
)
row(
    "changes",
    "rule, device, rule",
    TABLE + "ip rule add pref 100 iif s1 lookup 100",
    send(p4("172.16.2.9")),
    "ip link set s4 down",
    send(p4("172.16.2.9")),
    "ip rule del pref 100",
    send(p4("172.16.2.9"), fast=True),
)
row(
    "changes",
    "everything about a port",
    "ip link set s2 mtu 1400; ip addr add 10.0.22.1/24 dev s2; ip link set s2 address 02:00:00:00:22:01",
    send(p4("172.16.2.9", df=True, data=bytes(1450)), p4("10.0.22.3"), p4("172.16.2.9")),
    "ip link set s2 address 02:00:00:00:02:01",
    send(p4("172.16.2.9")),
)

# -- what stays until the namespace goes ---------------------------------------------------------------------------------

for tool in ("iptables-legacy", "ip6tables-legacy"):
    row(LASTING, tool, f"{tool} -A FORWARD -p udp -j DROP", send(*BOTH), f"{tool} -F FORWARD", send(*BOTH))
