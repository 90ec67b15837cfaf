"""Scenarios by chance: a seed makes commands and packets."""

from __future__ import annotations

import random

from .packets import echo, tcp, udp
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
    steps: list = [do("ip route add default via 10.0.4.2 table 100; ip -6 route add default via 2001:db8:4::2 table 100")]
    for number in range(rng.randrange(2, 6)):
        steps += [
            do("\n".join(f"{command(rng, number)} || true" for _ in range(rng.randrange(1, 4)))),
            send(*(packet(rng) for _ in range(12)), any_path=True),
        ]
    return Scenario("by chance", f"seed {seed}", steps)
