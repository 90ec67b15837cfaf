"""Scenarios by chance: a seed makes commands and packets. Half of them are about VLANs and VRFs; where the kernel lacks these, their
commands fail, on both sides."""

from __future__ import annotations

import random

from .packets import echo, tagged, tcp, udp
from .rows.links import DEFAULT, RULES, vlan as vlan_commands
from .scenario import Scenario, do, p4, p6, send

# Networks that commands route and packets go to, by family.
NETS = {
    "": ["172.16.2.0/24", "172.16.3.0/24", "192.168.1.0/24", "192.168.0.0/16", "default", "172.16.2.128/25", "10.0.2.3/32", "10.0.2.5/32"],
    "-6 ": ["2001:db8:f002::/64", "2001:db8:f003::/64", "2001:db8:77::/64", "2001:db8::/32", "default", "2001:db8:2::5/128"],
}
TARGETS = {
    "": [
        "172.16.2.9",
        "172.16.2.200",
        "172.16.3.9",
        "192.168.1.1",
        "192.168.7.7",
        "8.8.8.8",
        "10.0.2.2",
        "10.0.2.3",
        "10.0.2.5",
        "10.0.3.1",
        "10.0.1.1",
        "10.0.2.255",
    ],
    "-6 ": [
        "2001:db8:f002::9",
        "2001:db8:f003::9",
        "2001:db8:77::1",
        "2001:db8:99::1",
        "2600::1",
        "2001:db8:2::2",
        "2001:db8:2::5",
        "2001:db8:3::1",
        "2001:db8:1::1",
    ],
}


def via(rng: random.Random, family: str) -> str:
    port, host = rng.choice((2, 3, 4)), rng.choice((2, 3))
    return f"10.0.{port}.{host}" if not family else f"2001:db8:{port}::{host}"


def command(rng: random.Random, number: int) -> str:
    """One change. It may fail, as the kernel sees fit: on both sides, then."""
    family = rng.choice(("", "-6 "))
    net = rng.choice(NETS[family])
    port = rng.choice((1, 2, 3, 4))
    hop = via(rng, family)
    table = rng.choice(("", "", "", " table 100"))
    metric = rng.choice(("", "", f" metric {rng.choice((5, 10, 2000))}"))
    selector = rng.choice(
        (
            f"from {'10.0.1.0/24' if not family else '2001:db8:1::/64'}",
            f"to {net}" if net != "default" else "from all",
            f"iif s{port}",
            "tos 0x10",
            "ipproto tcp",
            "dport 2000",
            "fwmark 3",
            "from all",
        )
    )
    return rng.choice(
        (
            f"ip {family}route replace {net} via {hop}{metric}{table}",
            f"ip {family}route add {net} via {hop}{metric}{table}",
            f"ip {family}route add {net} dev s{port}{metric}",
            f"ip {family}route del {net}{metric}{table}",
            f"ip {family}route replace {rng.choice(('blackhole', 'unreachable', 'prohibit', 'throw'))} {net}{metric}{table}",
            f"ip {family}route replace {net} via {hop} mtu {rng.choice(('', 'lock '))}{rng.choice((1300, 1400))}",
            f"ip {family}route add local {net} dev lo",
            f"ip route add 192.168.1.0/24 via {via(rng, '')} tos {rng.choice((4, 8, 16))}",
            f"ip nexthop replace id {rng.choice((1, 2))} via {hop} dev s{hop.split('.')[2] if not family else hop.split(':')[2]}",
            "ip nexthop replace id 10 group 1/2",
            f"ip nexthop del id {rng.choice((1, 2, 10))}",
            f"ip {family}route replace {net} nhid {rng.choice((1, 2, 10))}",
            f"ip {family}rule add pref {100 + number} {selector} lookup {rng.choice((100, 254))}",
            f"ip {family}rule add pref {100 + number} {selector} {rng.choice(('prohibit', 'blackhole', 'unreachable'))}",
            f"ip {family}rule del pref {100 + rng.randrange(number + 1)}",
            f"ip link set s{port} {rng.choice(('up', 'down', 'up'))}",
            # Not that of port 1: how long received frames may be is a device's own business.
            f"ip link set s{rng.choice((2, 3, 4))} mtu {rng.choice((1280, 1400, 1500))}",
            f"ip addr add 192.168.{port}.1/24 dev s{port}",
            f"ip addr del 192.168.{port}.1/24 dev s{port}",
            f"ip addr del 10.0.{port}.1/24 dev s{port}",
            (
                f"ip neigh replace {hop} lladdr 02:00:00:00:0{port}:0{rng.randrange(2, 9)} dev"
                f" s{hop.split('.')[2] if not family else hop.split(':')[2]} nud permanent"
            ),
            f"ip neigh del {hop} dev s{hop.split('.')[2] if not family else hop.split(':')[2]}",
            f"echo {rng.randrange(3)} > /proc/sys/net/ipv4/conf/s{port}/rp_filter",
            f"echo {rng.randrange(2)} > /proc/sys/net/ipv4/conf/s{port}/forwarding",
            f"echo {rng.randrange(2)} > /proc/sys/net/ipv6/conf/all/forwarding",
            f"echo {rng.randrange(2)} > /proc/sys/net/ipv6/conf/s{port}/disable_ipv6",
            "nft add table inet f; nft 'add chain inet f c { type filter hook forward priority 0; policy drop; }'",
            "nft flush ruleset",
            f"ip link add mv{number} link s{port} address 02:00:00:00:66:0{port} type macvlan mode bridge",
        )
    )


VLANS = (5, 6)
TABLES = {"red": 10, "blue": 20}
# VLANs of each port, some more networks behind them, and those of the ports.
LINK_TARGETS = {
    "": [f"10.{vlan}.{port}.{host}" for vlan in VLANS for port in (1, 2, 3) for host in (1, 2, 3, 7)]
    + ["192.168.1.1", "192.168.2.1", "10.0.2.2", "10.0.3.3", "10.0.2.1", "172.16.2.9", "172.16.3.9", "8.8.8.8"],
    "-6 ": [f"2001:db8:{vlan}0{port}::{host}" for vlan in VLANS for port in (1, 2, 3) for host in (1, 2, 3)]
    + ["2001:db8:77::1", "2001:db8:2::2", "2001:db8:3::3", "2001:db8:2::1", "2001:db8:f002::9", "2600::1"],
}


def link_command(rng: random.Random, number: int) -> str:
    """One change of VLANs and VRFs, or of what routes lead by them."""
    port, vlan = rng.choice((1, 1, 2, 2, 3)), rng.choice(VLANS)
    device = f"v{port}{vlan}"
    family = rng.choice(("", "-6 "))
    address = f"10.{vlan}.{port}.1/24" if not family else f"2001:db8:{vlan}0{port}::1/64 nodad"
    of_member = f"2001:db8:{vlan}0{port}::1/64"
    member = rng.choice((device, device, f"s{port}"))
    if member != device:
        of_member = f"2001:db8:{port}::1/64"
    name, table = rng.choice(list(TABLES.items()))
    in_table = rng.choice(("", f" table {table}", f" table {table}"))
    net = rng.choice(("192.168.1.0/24", "192.168.2.0/24", "default", "172.16.2.0/24", "10.5.2.0/24"))
    if family:
        net = rng.choice(("2001:db8:77::/64", "default", "2001:db8:f002::/64", "2001:db8:502::/64"))
    by_vlan = f"10.{vlan}.{port}.{rng.choice((2, 3))}" if not family else f"2001:db8:{vlan}0{port}::{rng.choice((2, 3))}"
    by_port = f"10.0.{port}.{rng.choice((2, 3))}" if not family else f"2001:db8:{port}::{rng.choice((2, 3))}"
    add = f"ip link add link s{port} name {device} type vlan id {vlan}"
    up = f"ip link set {device} up; ip addr add {address} dev {device}"
    common = (
        f"{add}; {up}",
        f"{add}; {up}",
        f"ip addr add {address} dev {device}",
        f"ip link set {member} master {name}; ip -6 addr add {of_member} dev {member} nodad",
        f"ip link set {member} master {name}",
        f"ip link set {member} nomaster",
        f"ip {family}route replace {net} via {by_vlan} dev {device}{in_table}",
        f"ip {family}route replace {net} via {by_vlan}{in_table}",
        f"ip {family}route replace {net} via {by_port} dev s{port}{in_table}",
    )
    rare = (
        f"ip link del {device}",
        f"{add} {rng.choice(('proto 802.1ad', 'egress-qos-map 0:3', 'reorder_hdr off', 'ingress-qos-map 2:3'))}; {up}",
        f"ip link set {device} {rng.choice(('up', 'down', 'mtu 1300', 'mtu 1500', 'address 02:00:00:00:55:05'))}",
        f"ip link set s{port} {rng.choice(('down', 'up'))}",
        # Not that of port 1: how long received frames may be is a device's own business.
        f"ip link set s{rng.choice((2, 3))} mtu {rng.choice((1400, 1500))}",
        f"ip addr del {address} dev {device}",
        f"ip {family}route replace {net} dev {rng.choice((device, name))}{in_table}",
        f"ip {family}route del {net}{in_table}",
        f"ip {family}route replace {rng.choice(('blackhole', 'unreachable', 'prohibit', 'throw'))} {net}{in_table}",
        DEFAULT.format(table, table),
        f"ip {family}rule add pref 32765 lookup local; ip {family}rule del pref 0",
        f"ip {family}rule add pref {500 + number} {rng.choice((f'iif {device}', f'iif {name}', 'from all', 'tos 0x10'))} lookup {table}",
        f"ip {family}rule del pref {500 + rng.randrange(number + 1)}",
        f"ip {family}rule {rng.choice(('add', 'del'))} pref 1000 l3mdev",
        f"echo {rng.randrange(2)} > /proc/sys/net/ipv4/conf/{rng.choice((device, name))}/{rng.choice(('forwarding', 'rp_filter'))}",
        f"echo {rng.randrange(2)} > /proc/sys/net/ipv6/conf/{device}/disable_ipv6",
        f"ip neigh replace {by_vlan} lladdr 02:00:00:00:0{port}:07 dev {device} nud permanent",
        f"ip link set {name} {rng.choice(('up', 'down'))}",
        f"ip link del {name}; ip link add {name} type vrf table {table}; ip link set {name} up",
        f"ip link add link {device} name q{number} type vlan id 7; ip link set q{number} up",
        f"ip link add b{number} type bridge; ip link set {device} master b{number}; ip link set b{number} up",
        f"ip link add mv{number} link {device} address 02:00:00:00:66:0{port} type macvlan mode bridge",
        "nft add table inet f; nft 'add chain inet f c { type filter hook forward priority 0; policy drop; }'",
        "nft flush ruleset",
    )
    return rng.choice(common if rng.random() < 0.6 else rare)


def link_packet(rng: random.Random) -> tuple[int, bytes]:
    port, family = rng.choice((1, 1, 2, 3)), rng.choice(("", "-6 "))
    vlan = rng.choice((None, *VLANS, *VLANS, 5, 9, 0))
    payload = rng.choice((udp, udp, tcp, echo))
    size = rng.choice((4, 4, 4, 1260, 1330, 1440)) if port == 1 else 4
    options = {"data": rng.randbytes(size), "payload": payload}
    make, life, own = (p4, "ttl", "10.{}.{}.2") if not family else (p6, "hop_limit", "2001:db8:{}::2")
    if vlan in VLANS:
        src = own.format(vlan, port) if not family else own.format(f"{vlan}0{port}")
        options["src"] = rng.choice((src, src, src, None, "10.5.2.1" if not family else "2001:db8:502::1"))
    options[life] = rng.choice((64, 64, 64, 1))
    _, data = make(rng.choice(LINK_TARGETS[family]), port, **options)
    return port, data if vlan is None else tagged(data, vlan, rng.choice((0, 0, 3)))


def link_scenario(rng: random.Random) -> list:
    vrfs = "; ".join(f"ip link add {name} type vrf table {table}; ip link set {name} up" for name, table in TABLES.items())
    first = [vrfs, RULES]
    for port in (1, 2, 3):
        for vlan in VLANS:
            if rng.random() < 0.7:
                first.append(vlan_commands(port, vlan))
                if rng.random() < 0.4:
                    device, name = f"v{port}{vlan}", rng.choice(list(TABLES))
                    first.append(f"ip link set {device} master {name}; ip addr add 2001:db8:{vlan}0{port}::1/64 dev {device} nodad")
    steps: list = [do("\n".join(f"({command}) || true" for command in first))]
    for number in range(rng.randrange(3, 6)):
        commands = [link_command(rng, number) for _ in range(rng.randrange(2, 5))]
        steps += [
            do("\n".join(f"({command}) || true" for command in commands)),
            send(*(link_packet(rng) for _ in range(16)), any_path=True),
        ]
    return steps


def packet(rng: random.Random) -> tuple[int, bytes]:
    port = rng.choice((1, 1, 1, 2, 3, 4))
    family = rng.choice(("", "-6 "))
    dst = rng.choice(TARGETS[family])
    payload = rng.choice((udp, udp, tcp, echo))
    size = rng.choice((4, 4, 4, 1260, 1330, 1440)) if port == 1 else 4
    options = {"data": rng.randbytes(size), "payload": payload}
    if payload is not echo:
        options |= {"sport": rng.choice((77, 1000)), "dport": rng.choice((53, 2000))}
    if family:
        return p6(
            dst,
            port,
            hop_limit=rng.choice((64, 64, 64, 1, 2)),
            traffic_class=rng.choice((0, 0, 16)),
            src=rng.choice((None, None, "2001:db8:1::3", "2001:db8:f003::7", "2001:db8:2::1", "fe80::5")),
            **options,
        )
    return p4(
        dst,
        port,
        ttl=rng.choice((64, 64, 64, 1, 2)),
        tos=rng.choice((0, 0, 8, 16)),
        df=rng.random() < 0.3,
        number=rng.randrange(65536),
        src=rng.choice((None, None, "10.0.1.3", "172.16.3.7", "10.0.2.1", "8.8.4.4", "169.254.3.3")),
        **options,
    )


def scenario(seed: int) -> Scenario:
    rng = random.Random(seed)
    if seed % 2:
        return Scenario("by chance, links", f"seed {seed}", link_scenario(rng))
    steps: list = [do("ip route add default via 10.0.4.2 table 100; ip -6 route add default via 2001:db8:4::2 table 100")]
    for number in range(rng.randrange(2, 6)):
        steps += [
            do("\n".join(f"{command(rng, number)} || true" for _ in range(rng.randrange(1, 4)))),
            send(*(packet(rng) for _ in range(12)), any_path=True),
        ]
    return Scenario("by chance", f"seed {seed}", steps)
