#!/usr/bin/env python3
"""Checks authenticators of SCMP messages by DRKeys: hosts get the keys from the reference's daemons and control services, and verify
what our routers answer with the reference's library.

Exit status: 0 if everything passed, 1 if something failed, 2 if the network could not be built.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.reference import tool
from lab.router import RouterKind

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "demo"))

from network import Network, built  # noqa: E402
from plan import LEAF_ROUTES, THREE_ASES, TRAFFIC_PORT, Route, host_port  # noqa: E402

PREFIX = f"hwa{os.getpid()}-"
DRKEY = RouterKind("hopwright+scmp_authentication=drkey")
# Where a host listens for traceroute replies: among the dispatched ports.
PROBE_PORT = 31600


def asking_host(network: Network, route: Route) -> str:
    """The source's address that its daemon asks the control service from, which gives the keys of that host only."""
    source = network.plan.get(route.hops[0][0])
    return json.loads(network.hosts[source.number].ip("-json", "route", "get", source.control))[0]["prefsrc"]


def provoked(network: Network, route: Route) -> dict:
    """The error for a service that does not exist at the far end."""
    return network.provoke(route, "-listen", host_port(asking_host(network, route), 0), "-service", "7", "-authentic")


def probed(network: Network, route: Route, *options: str) -> dict:
    """The reply to an authenticated traceroute request."""
    source, destination = (network.plan.get(route.hops[i][0]) for i in (0, -1))
    done = network.hosts[source.number].run(
        tool("traffic"), "probe", "-listen", host_port(asking_host(network, route), PROBE_PORT),
        "-remote", f"{destination.isd_as},{host_port(destination.host, TRAFFIC_PORT)}",
        "-interfaces", route.interfaces, *options)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip()}


def check(network: Network, checks: Checks) -> None:
    routes = (*LEAF_ROUTES, *(route.reversed() for route in LEAF_ROUTES))
    for route in routes:
        near, far = (network.plan.get(route.hops[i][0]).isd_as for i in (0, -1))
        ends = f"{route.hops[0][0]} to {route.hops[-1][0]} {route.name}"
        checks.comes(f"error, {ends}", lambda: provoked(network, route),
                     lambda found: found == {"type": 1, "code": 0, "from": far, "authentic": "yes"})
        for options, isd_as, interface in (((), near, route.hops[0][2]), (("-last",), far, route.hops[-1][1])):
            reply = {"from": isd_as, "interface": interface}
            checks.comes(f"traceroute reply of {isd_as}, {ends}", lambda: probed(network, route, *options),
                         lambda found: found == {**reply, "authentic": "yes"})
            checks.comes(f"traceroute reply of {isd_as} to a wrong authenticator, {ends}",
                         lambda: probed(network, route, "-spoil", *options),
                         lambda found: found == {**reply, "authentic": "no end-to-end extension"})

    # As the reference's router, which has a stand-in for keys.
    router = network.routers["br112"]
    config = network.directory / router.an_as.folder / f"{router.name}.toml"
    config.write_text(config.read_text() + "\n[features]\nexperimental_scmp_authentication = true\n")
    for kind in (RouterKind("hopwright"), RouterKind("reference")):
        network.exchange_router("br112", kind)
        checks.comes(f"error of a router without DRKeys ({kind.name})", lambda: provoked(network, LEAF_ROUTES[0]),
                     lambda found: found.get("authentic") == "the authenticator is wrong")
    network.check()


def main() -> int:
    choose(case_options(__doc__).parse_args(), ["authentication"])

    def test(checks: Checks) -> None:
        network = built(lambda: Network(DRKEY, {}, THREE_ASES, prefix=PREFIX))
        try:
            check(network, checks)
        finally:
            network.close_after(checks)
    return carry_out("authentication", test, prefix=PREFIX)


if __name__ == "__main__":
    sys.exit(main())
