"""The demo's network as data, and the configuration files made from it.

Three ASes: a core AS with two border routers and two leaf ASes, which also peer
with each other. One inter-AS link runs over IPv6, and so does the inside of the
second leaf. What runs where lives in `network`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from lab.command import LabError
from lab.reference import tool

ISD = 1
INTERNAL_PORT = 30042
EXTERNAL_PORT = 50000
CONTROL_PORT = 30252
END_HOST_PORT = 30041  # of the dispatcher, fixed by the reference
TRAFFIC_PORT = 31500
DAEMON = "127.0.0.1:30255"
# Where each router serves its metrics, in its own namespace.
METRICS = "127.0.0.1:30442"


@dataclass(frozen=True)
class Router:
    """A border router and its address inside the AS."""

    name: str
    internal: str


@dataclass(frozen=True)
class As:
    """An AS: its routers, and one host with control service, daemon and end host."""

    number: str
    core: bool
    subnet: int  # prefix length of the internal network
    host: str  # address of the end host
    control: str  # address of the control service, on the same machine
    routers: tuple[Router, ...]

    @property
    def isd_as(self) -> str:
        return f"{ISD}-ff00:0:{self.number}"

    @property
    def folder(self) -> str:
        """Name of the AS's folder as scion-pki chooses it."""
        return f"ASff00_0_{self.number}"


@dataclass(frozen=True)
class LinkEnd:
    """One end of an inter-AS link."""

    as_number: str
    router: str
    interface: int
    address: str


@dataclass(frozen=True)
class Link:
    """An inter-AS link; `kind` is `child` (b is a's child) or `peer`."""

    a: LinkEnd
    b: LinkEnd
    kind: str
    prefix: int

    def ends(self) -> tuple[LinkEnd, LinkEnd]:
        return self.a, self.b


@dataclass(frozen=True)
class Route:
    """A way between two ASes: what is special about it, and where it passes.

    `hops` holds, per AS on the way, its number and the ingress and egress
    interfaces there; 0 at the two ends.
    """

    name: str
    hops: tuple[tuple[str, int, int], ...]

    @property
    def interfaces(self) -> str:
        """Interface ids in the order a packet passes them, without the ends."""
        return ",".join(str(i) for _, *pair in self.hops for i in pair if i)

    @property
    def sequence(self) -> str:
        """The hop predicates that select this path in the reference's tools."""
        return " ".join(f"{ISD}-ff00:0:{number}#{ingress},{egress}"
                        for number, ingress, egress in self.hops)

    def reversed(self) -> Route:
        return Route(self.name, tuple((n, e, i) for n, i, e in reversed(self.hops)))


@dataclass(frozen=True)
class Plan:
    ases: tuple[As, ...]
    links: tuple[Link, ...]
    device_mtu: int = 1500

    @property
    def scion_mtu(self) -> int:
        """Bytes of a SCION packet on a link: the device's less IPv6 and UDP headers."""
        return self.device_mtu - 48

    def get(self, number: str) -> As:
        return next(a for a in self.ases if a.number == number)


THREE_ASES = Plan(
    ases=(
        As("110", True, 24, "10.110.0.1", "10.110.0.2",
           (Router("br110a", "10.110.0.11"), Router("br110b", "10.110.0.12"))),
        As("111", False, 24, "10.111.0.1", "10.111.0.2", (Router("br111", "10.111.0.11"),)),
        As("112", False, 64, "fd00:112::1", "fd00:112::2", (Router("br112", "fd00:112::11"),)),
    ),
    links=(
        Link(LinkEnd("110", "br110a", 1, "10.1.1.1"),
             LinkEnd("111", "br111", 41, "10.1.1.2"), "child", 30),
        Link(LinkEnd("110", "br110b", 2, "fd00:1:2::1"),
             LinkEnd("112", "br112", 1, "fd00:1:2::2"), "child", 64),
        Link(LinkEnd("110", "br110a", 3, "10.1.3.1"),
             LinkEnd("112", "br112", 3, "10.1.3.2"), "child", 30),
        Link(LinkEnd("111", "br111", 42, "10.1.4.1"),
             LinkEnd("112", "br112", 42, "10.1.4.2"), "peer", 30),
    ),
)


# The three ways from the first leaf to the second.
LEAF_ROUTES = (
    Route("over the core, through one router", (("111", 0, 41), ("110", 1, 3), ("112", 3, 0))),
    Route("over the core, router to router", (("111", 0, 41), ("110", 1, 2), ("112", 1, 0))),
    Route("over the peering link", (("111", 0, 42), ("112", 42, 0))),
)


def host_port(address: str, port: int) -> str:
    """`address:port`, with brackets around IPv6."""
    return f"[{address}]:{port}" if ip_address(address).version == 6 else f"{address}:{port}"


def interface_json(plan: Plan, link: Link, local: LinkEnd, remote: LinkEnd) -> dict:
    """One interface of a router in topology.json."""
    if link.kind == "peer":
        link_to = "peer"
    else:
        link_to = "child" if local is link.a else "parent"
    entry = {
        "underlay": {
            "local": host_port(local.address, EXTERNAL_PORT),
            "remote": host_port(remote.address, EXTERNAL_PORT),
        },
        "isd_as": plan.get(remote.as_number).isd_as,
        "link_to": link_to,
        "mtu": plan.scion_mtu,
    }
    if link.kind == "peer":
        entry["remote_interface_id"] = remote.interface
    return entry


def topology_json(plan: Plan, an_as: As) -> dict:
    """The AS's topology.json."""
    routers = {}
    for router in an_as.routers:
        interfaces = {}
        for link in plan.links:
            for local, remote in (link.ends(), link.ends()[::-1]):
                if local.as_number == an_as.number and local.router == router.name:
                    interfaces[str(local.interface)] = interface_json(plan, link, local, remote)
        routers[router.name] = {
            "internal_addr": host_port(router.internal, INTERNAL_PORT),
            "interfaces": interfaces,
        }
    control = {f"cs{an_as.number}": {"addr": host_port(an_as.control, CONTROL_PORT)}}
    return {
        "isd_as": an_as.isd_as,
        "mtu": plan.scion_mtu,
        "attributes": ["core"] if an_as.core else [],
        "dispatched_ports": "31000-32767",
        "border_routers": routers,
        "control_service": control,
        "discovery_service": control,
    }


def router_toml(router: Router, directory: Path) -> str:
    return f"""[general]
id = "{router.name}"
config_dir = "{directory}"

[metrics]
prometheus = "{METRICS}"

[log.console]
level = "info"
"""


def control_toml(an_as: As, directory: Path) -> str:
    name = f"cs{an_as.number}"
    return f"""[general]
id = "{name}"
config_dir = "{directory}"

[beacon_db]
connection = "{directory}/{name}.beacon.db"

[trust_db]
connection = "{directory}/{name}.trust.db"

[path_db]
connection = "{directory}/{name}.path.db"

[drkey.level1_db]
connection = "{directory}/{name}.drkey-level1.db"

[drkey.secret_value_db]
connection = "{directory}/{name}.drkey-secret.db"

[beaconing]
epic = true
origination_interval = "1s"
propagation_interval = "1s"
registration_interval = "1s"

[log.console]
level = "info"
"""


def daemon_toml(an_as: As, directory: Path) -> str:
    name = f"sd{an_as.number}"
    return f"""[general]
id = "{name}"
config_dir = "{directory}"

[path_db]
connection = "{directory}/{name}.path.db"

[trust_db]
connection = "{directory}/{name}.trust.db"

[drkey_level2_db]
connection = "{directory}/{name}.drkey-level2.db"

[sd]
address = "{DAEMON}"

[log.console]
level = "info"
"""


def dispatcher_toml(an_as: As) -> str:
    control = host_port(an_as.control, CONTROL_PORT)
    return f"""[dispatcher]
id = "disp{an_as.number}"

[dispatcher.service_addresses]
"{an_as.isd_as},CS" = "{control}"
"{an_as.isd_as},DS" = "{control}"

[log.console]
level = "info"
"""


def write_crypto(plan: Plan, directory: Path) -> None:
    """Certificates, trust root and forwarding keys for every AS."""
    core = next(a for a in plan.ases if a.core)
    lines = ["ASes:"]
    for an_as in plan.ases:
        lines.append(f'  "{an_as.isd_as}":')
        if an_as.core:
            lines += [f"    {role}: true"
                      for role in ("core", "voting", "authoritative", "issuing")]
        else:
            lines.append(f"    cert_issuer: {core.isd_as}")
    topo = directory / "ases.topo"
    topo.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [tool("scion-pki"), "testcrypto", "-t", str(topo), "-o", str(directory)],
        capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"scion-pki testcrypto: {done.stderr.strip()}")
    roots = list(directory.glob("*/trcs/*.trc"))
    for an_as in plan.ases:
        for folder in ("certs", "keys"):
            (directory / an_as.folder / folder).mkdir(parents=True, exist_ok=True)
        for root in roots:
            (directory / an_as.folder / "certs" / root.name).write_bytes(root.read_bytes())
        for n in (0, 1):
            key = directory / an_as.folder / "keys" / f"master{n}.key"
            key.write_text(base64.b64encode(os.urandom(16)).decode())


def write_files(plan: Plan, directory: Path) -> None:
    """Everything that the routers and services read, below `directory`."""
    write_crypto(plan, directory)
    for an_as in plan.ases:
        base = directory / an_as.folder
        (base / "topology.json").write_text(json.dumps(topology_json(plan, an_as), indent=2))
        for router in an_as.routers:
            (base / f"{router.name}.toml").write_text(router_toml(router, base))
        (base / "control.toml").write_text(control_toml(an_as, base))
        (base / "daemon.toml").write_text(daemon_toml(an_as, base))
        (base / "dispatcher.toml").write_text(dispatcher_toml(an_as))
