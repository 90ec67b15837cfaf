#!/usr/bin/env python3
"""Checks a whole SCION network with the given border routers: the demo's network,
put to harder tests than the demo shows.

Exit status: 0 if everything passed, 1 if something failed, 2 if the network
could not be built.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Callable

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, wait_until
from lab.ledger import waited_for_cpu
from lab.reference import OLDEST, RELEASE
from lab.router import RouterKind
from lab.scrape import metrics, total

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "demo"))

from network import Network, built  # noqa: E402
from plan import LEAF_ROUTES, METRICS, THREE_ASES, Route  # noqa: E402

# Of namespaces: several of these tests may run at the same time.
PREFIX = f"hwn{os.getpid()}-"
# The longest headers in use: common header 12, addresses 36, path of two
# segments and four hops 68, UDP 8.
HEADERS = 124
# Seconds without a packet after which BFD takes a link for dead.
BFD_PATIENCE = 0.6
# SCMP types.
EXTERNAL_INTERFACE_DOWN = 5
INTERNAL_CONNECTIVITY_DOWN = 6
TO_CORE = (
    Route("leaf to core, one router", (("111", 0, 41), ("110", 1, 0))),
    Route("core to leaf over IPv6", (("110", 0, 2), ("112", 1, 0))),
    Route("leaf with IPv6 inside to core", (("112", 0, 3), ("110", 3, 0))),
)


def check_traceroute(network: Network, checks: Checks, routes: tuple[Route, ...]) -> None:
    """Every interface on the way answers."""
    for route in routes:
        ends = f"{route.hops[0][0]} to {route.hops[-1][0]}"

        def found() -> list[tuple]:
            return [(hop["isd_as"], hop["interface_id"]) for hop in network.traceroute(route)
                    if any(hop["round_trip_times"] or ())]

        # Every interface on the way: the number, and the AS it belongs to.
        want = [(network.plan.get(number).isd_as, interface)
                for number, *interfaces in route.hops for interface in interfaces if interface]
        checks.comes(f"traceroute {ends} {route.name}", found, lambda found, want=want: found == want)


def check_scmp(network: Network, checks: Checks, routes: tuple[Route, ...]) -> None:
    """What routers answer to packets that are not, or cannot be, forwarded."""
    check_traceroute(network, checks, routes)
    # A process beside the router: a dispatcher, which answers pings of the router's address.
    network.serve_beside("br112")
    for source in ("111", "110"):
        checks.comes(f"answers to three pings of br112 itself from {source}",
                     lambda: network.ping_router(source, "br112"), lambda answers: answers == 3)
    checks.comes("probing finds all paths alive", lambda: network.probed("111", "112"),
                 lambda states: states == ["alive"] * 3)

    for route in (LEAF_ROUTES[0], LEAF_ROUTES[0].reversed()):
        far = network.plan.get(route.hops[-1][0]).isd_as
        checks.comes(f"no such service in {far}", lambda: network.provoke(route, "-service", "7"),
                     lambda error: error == {"type": 1, "code": 0, "from": far})
    # More than the link's MTU, and more than its device carries whole. The reference lets IP fragment it.
    kind = network.routers["br111"].kind
    if kind.name != "reference" and not kind.by_tap:
        near = network.plan.get("111").isd_as
        checks.comes("too big for the link",
                     lambda: network.provoke(LEAF_ROUTES[0], "-size", str(network.plan.scion_mtu + 24 - HEADERS)),
                     lambda error: error == {"type": 2, "code": 0, "from": near, "mtu": network.plan.scion_mtu})


# What 100 packets and their echoes add to the routers' metrics: router, interface label, type.
TRANSIT = (
    (LEAF_ROUTES[0], (("br110a", "3", "br_transit"), ("br110a", "1", "br_transit"))),
    (LEAF_ROUTES[1], (("br110a", "sibling->10.110.0.12:30042", "in_transit"),
                      ("br110b", "2", "out_transit"),
                      ("br110b", "sibling->10.110.0.11:30042", "in_transit"),
                      ("br110a", "1", "out_transit"))),
)


def check_metrics(network: Network, checks: Checks) -> None:
    """Transit figures of the middle AS, to the packet and byte; only data is in transit there."""
    def scrape() -> dict[str, dict]:
        return {name: metrics(network.routers[name].namespace, METRICS)
                for name in ("br110a", "br110b")}

    # Common header, ISD-AS numbers, an IPv4 and an IPv6 host, path of two segments and four
    # hops, UDP header, payload.
    size = 12 + 16 + 4 + 16 + (4 + 2 * 8 + 4 * 12) + 8 + 501
    for route, added in TRANSIT:
        def counted(samples: dict[str, dict], router: str, interface: str, kind: str) -> list[float]:
            labels = {"interface": interface, "isd_as": "1-ff00:0:110", "type": kind}
            return [total(samples[router], name, **labels, **more)
                    for name, more in (("router_output_pkts_total", {"sizeclass": "512_1023"}),
                                       ("router_output_pkts_total", {}), ("router_output_bytes_total", {}))]

        # What the machine loses makes the count another: once more, then.
        start = time.monotonic()
        while True:
            before = settled(scrape)
            result = network.traffic(route, 100, 501)
            if result["echoed"] == 100 or time.monotonic() - start > PATIENCE:
                break
        checks.that(f"100 packets {route.name}", result["echoed"] == 100, f"{result}")
        for router, interface, kind in added:
            # Ours are posted a few times a second, so is what the reference has sent.
            checks.comes(f"{router} counts them as {kind} to {interface}",
                         lambda: [a - b for a, b in zip(counted(scrape(), router, interface, kind),
                                                        counted(before, router, interface, kind))],
                         lambda found: found == [100, 100, 100 * size])

    def behind(samples) -> float:
        busy = total(samples, "router_dropped_pkts_total", reason="busy_processor")
        return abs(total(samples, "router_input_pkts_total") - total(samples, "router_processed_pkts_total") - busy)

    for router in ("br110a", "br110b"):
        def page():
            return metrics(network.routers[router].namespace, METRICS)

        # Two links to other ASes and a sibling, or one and one.
        for name in ("router_interface_up", "router_sibling_reachable"):
            checks.comes(f"{router}: {name}", lambda: [value for (n, _), value in page().items() if n == name],
                         lambda values: set(values) == {1})
        # Behind TAP devices BFD is another router's.
        of_bfd = ("router_bfd_received_packets_total", "router_bfd_sent_sibling_packets_total")
        for name in () if network.routers[router].kind.by_tap else of_bfd:
            checks.comes(f"{router}: {name}", lambda: [value for (n, _), value in page().items() if n == name],
                         lambda values: min(values, default=0) > 10)

        def unprocessed() -> tuple[float, float]:
            samples = page()
            return behind(samples), total(samples, "router_input_pkts_total")

        # BFD goes on while the page is written. On a busy machine the reference's queues hold packets.
        checks.comes(f"{router} has processed what it received: left, received", unprocessed,
                     lambda found: found[0] <= 3 and found[1] > 0)
        if network.routers[router].kind.name != "reference":
            def ends() -> tuple[float, float]:
                samples = page()
                return total(samples, "router_input_pkts_total"), sum(total(samples, name) for name in (
                    "router_output_pkts_total", "router_dropped_pkts_total", "hopwright_punted_packets_total"))

            checks.comes(f"{router}'s packets end somewhere: in, out", ends, lambda found: found[1] >= found[0])


def settled(scrape: Callable[[], dict[str, dict]]) -> dict[str, dict]:
    """Metrics after all packets that are on their way have been counted: transit figures that do not change for a second, which is
    several times as long as counts take to be posted."""
    def figures(pages: dict[str, dict]) -> list[float]:
        return [total(page, "router_output_pkts_total", type=kind) for page in pages.values()
                for kind in ("br_transit", "in_transit", "out_transit")]

    last, since = scrape(), time.monotonic()
    deadline = since + PATIENCE
    while time.monotonic() - since < 1 and time.monotonic() < deadline:
        time.sleep(0.2)
        now = scrape()
        if figures(now) != figures(last):
            since = time.monotonic()
        last = now
    return last


def check_reload(network: Network, checks: Checks) -> None:
    """Configurations that change nothing about links, and then intervals, leave BFD sessions alone."""
    names = [name for name in ("br110a", "br110b") if network.routers[name].kind.name != "reference"]
    if not names:
        return
    # A session goes down if either end gets no CPU time for as long as BFD waits, and a busy machine loses packets: once more, then.
    for attempt in range(1, 4):
        found = reload_often(network, names)
        good = all(not changes for changes, _ in found["routers"]) and not found["lost"] and not found["changed"]
        if good:
            break
        print(f"  attempt {attempt}: {found}", flush=True)
        for route in LEAF_ROUTES:
            wait_ping(network, route)
    for name, (changes, applied) in zip(names, found["routers"]):
        checks.that(f"{name} takes changes of its configuration on", applied >= 6, f"{applied:.0f}")
    if not good and found["waited"] > BFD_PATIENCE:
        print(f"  not judged: a router has waited {found['waited']:.1f} s for a CPU", flush=True)
        return
    checks.that("no BFD session has noticed, and no traffic", good, f"{found}")


def reload_often(network: Network, names: list[str]) -> dict:
    """Changes a topology eight times under traffic: what becomes of the traffic, and by router how many BFD sessions change their
    state and how many changes are applied."""
    path = network.directory / network.routers[names[0]].an_as.folder / "topology.json"
    original = path.read_text()
    topology = json.loads(original)

    def figures() -> list[tuple[float, float]]:
        pages = [metrics(network.routers[name].namespace, METRICS) for name in names]
        return [(total(page, "router_bfd_state_changes_total")
                 + total(page, "router_bfd_sibling_state_changes_total"),
                 total(page, "hopwright_reloads_total", result="applied")) for page in pages]

    def write(text: str) -> None:
        """Writes the file, and waits until all have applied it."""
        before = [applied for _, applied in figures()]
        new = path.with_suffix(".new")
        new.write_text(text)
        new.rename(path)
        wait_until("the change to be applied",
                   lambda: all(now > then for (_, now), then in zip(figures(), before)))

    def waited() -> list[float]:
        return [waited_for_cpu(router.process.pid) for router in network.routers.values()]

    idle, before, results = waited(), figures(), []
    traffic = threading.Thread(
        target=lambda: results.append(network.traffic(LEAF_ROUTES[1], 20_000, 501)))
    traffic.start()
    for number in range(8):
        topology["discovery_service"] = {"ds": {"addr": f"10.110.0.{50 + number}:30252"}}
        for router in topology["border_routers"].values():
            for interface in router["interfaces"].values():
                interface["bfd"] = {"required_min_rx_interval": f"{200 + 50 * number}ms"}
        write(json.dumps(topology))
    traffic.join()
    write(original)
    after = figures()
    return {"lost": results[0]["lost"], "changed": results[0]["changed"],
            "waited": max(now - then for now, then in zip(waited(), idle)),
            "routers": [(now[0] - then[0], now[1] - then[1]) for now, then in zip(after, before)]}


def wait_ping(network: Network, route: Route) -> bool:
    """Whether three pings in a row are answered along a route before long."""
    start = time.monotonic()
    while time.monotonic() - start < PATIENCE:
        if network.ping(route, count=3)[0] == 3:
            return True
    return False


def check_told(network: Network, checks: Checks, what: str, route: Route, error_type: int, reporter: str) -> None:
    """The sender gets an SCMP error of a type from the AS where the fault is. Another AS, whose own BFD gets no time, may be
    heard first."""
    checks.comes(what, lambda: network.provoke(route),
                 lambda error: (error.get("type"), error.get("from")) == (error_type, reporter))


def check_failures(network: Network, checks: Checks) -> None:
    """A link is cut, a router dies; the sender is told, other paths work, and all is well after repair."""
    core, sibling, peering = LEAF_ROUTES
    device = network.routers["br111"].namespace
    device.ip("link", "set", "if41", "down")
    near, far = network.plan.get("111").isd_as, network.plan.get("110").isd_as
    for route, reporter in ((core, near), (core.reversed(), far)):
        check_told(network, checks, f"link cut: {route.hops[0][0]} to {route.hops[-1][0]} is told", route,
                   EXTERNAL_INTERFACE_DOWN, reporter)
    checks.that("link cut: the peering link works", wait_ping(network, peering))
    device.ip("link", "set", "if41", "up")
    checks.that("link repaired", wait_ping(network, core))

    dead = network.routers["br110b"]
    dead.process.kill()
    check_told(network, checks, "sibling killed: the sender is told", sibling, INTERNAL_CONNECTIVITY_DOWN, far)
    checks.that("sibling killed: the other router works", wait_ping(network, core))
    network.start_router(dead)
    checks.that("sibling restarted", wait_ping(network, sibling))


def check_pings(network: Network, checks: Checks, routes: tuple[Route, ...]) -> None:
    """Pings plain, as long as the path's MTU, and EPIC."""
    for route in routes:
        ends = f"{route.hops[0][0]} to {route.hops[-1][0]}"
        kinds = {"ping": {}, "ping at path MTU": {"fill": True}}
        # The reference's end hosts take half of the key of a peering hop from another hop field
        # (private/path/combinator, getAuthPeer): no router can find such packets good.
        if "peering" not in route.name:
            kinds["EPIC-HP ping"] = {"epic": True}
        if RELEASE != OLDEST:
            kinds["ping without a daemon"] = {"daemon": False}
        for kind, options in kinds.items():
            checks.comes(f"answers to three, {kind} {ends} {route.name}",
                         lambda: network.ping(route, count=3, **options)[0], lambda answers: answers == 3)


def check_traffic(network: Network, checks: Checks, routes: tuple[Route, ...],
                  sizes: tuple[int, ...], count: int = 300) -> None:
    """What an application sends arrives whole, and so do the answers. A busy machine may lose some, but changes none."""
    for route in routes:
        for size in sizes:
            changed, start, attempts = 0, time.monotonic(), 0
            while True:
                result, attempts = network.traffic(route, count, size), attempts + 1
                changed += result["changed"]
                if result["echoed"] == count or time.monotonic() - start > PATIENCE:
                    break
                time.sleep(0.2)
            checks.that(f"{route.hops[0][0]} to {route.hops[-1][0]} {route.name}, {size} bytes",
                        result["echoed"] == count and changed == 0,
                        f"{result['lost']} lost, {changed} changed, attempt {attempts}")


def check_end2end(network: Network, checks: Checks) -> None:
    """The reference's own tool, plain and with EPIC, whichever path it takes."""
    for source, destination in (("111", "110"), ("110", "112"), ("112", "111")):
        for options in ((), ("-epic",)):
            checks.comes(f"end2end {' '.join(options)} {source} to {destination}",
                         lambda: network.end2end(source, destination, *options), bool)


# EPIC-HP packets with a fault: route, fault, and the router that drops them, if any. The router where the path changes segments does not
# look at the hop that it goes on to, as the reference's does not.
EPIC_FAULTS = (
    (TO_CORE[0], "phvf", "br111"),
    (TO_CORE[0], "lhvf", "br110a"),
    (TO_CORE[1], "phvf", "br110b"),
    (LEAF_ROUTES[1], "phvf", "br110b"),
    (LEAF_ROUTES[1], "lhvf", "br112"),
    (LEAF_ROUTES[1], "old", "br110b"),
    (LEAF_ROUTES[1].reversed(), "future", "br110a"),
    (LEAF_ROUTES[0], "phvf", None),
    (LEAF_ROUTES[0], "future", "br112"),
)
EPIC_REASONS = {"phvf": "epic_hvf", "lhvf": "epic_hvf", "old": "epic_too_old", "future": "epic_from_future"}


def check_epic(network: Network, checks: Checks) -> None:
    """What the reference's hosts send by EPIC-HP arrives; with one fault it is dropped where the fault shows, and counted."""
    for route in (*LEAF_ROUTES[:2], *TO_CORE):
        checks.comes(f"EPIC-HP, {route.hops[0][0]} to {route.hops[-1][0]} {route.name}",
                     lambda: network.traffic(route, 100, 501, epic="good"),
                     lambda found: found["echoed"] == 100 and found["changed"] == 0)
    for route, fault, name in EPIC_FAULTS:
        # Each old packet waits for four seconds.
        count = 2 if fault == "old" else 10
        router = network.routers[name] if name else None

        def dropped() -> float:
            if not router:
                return 0
            page = metrics(router.namespace, METRICS)
            if router.kind.name == "reference":
                return total(page, "router_dropped_pkts_total", reason="invalid")
            return total(page, "hopwright_dropped_packets_total", reason=EPIC_REASONS[fault])

        def lost_and_dropped() -> tuple[int, float]:
            before, lost = dropped(), network.traffic(route, count, 501, epic=fault)["lost"]
            # Ours are posted a few times a second.
            deadline = time.monotonic() + 2
            while dropped() - before < count and name and time.monotonic() < deadline:
                time.sleep(0.1)
            return lost, dropped() - before

        wanted = count if name else 0
        checks.comes(f"EPIC-HP with a fault ({fault}), {route.hops[0][0]} to {route.hops[-1][0]} {route.name}: lost, dropped by {name}",
                     lost_and_dropped, lambda found: found == (wanted, wanted))


def check_kill(network: Network, checks: Checks) -> None:
    """A router that is killed leaves no program on its devices."""
    router = network.routers["br111"]

    def programs() -> list[str]:
        links = json.loads(router.namespace.ip("-json", "link", "show"))
        return [link["ifname"] for link in links if "xdp" in link]

    with_xdp = programs()
    if "ports=af_xdp" in network.kind.name:
        checks.that("programs are on the devices", len(with_xdp) > 0, f"{with_xdp}")
    router.process.kill()
    # The kernel may take them off a little later.
    checks.comes("a killed router leaves no program on a device", programs, lambda left: left == [])


ROUTES = LEAF_ROUTES + tuple(route.reversed() for route in LEAF_ROUTES) + TO_CORE
PARTS = {
    "pings": lambda network, checks: check_pings(network, checks, ROUTES),
    # The shortest, an odd and an even number, and what fills the links' MTU.
    "traffic": lambda network, checks: check_traffic(network, checks, ROUTES, (8, 501, 502, network.plan.scion_mtu - HEADERS)),
    "end2end": check_end2end,
    "epic": check_epic,
    "scmp": lambda network, checks: check_scmp(network, checks, ROUTES),
    "metrics": check_metrics,
    "reload": check_reload,
    "failures": check_failures,
    "kill": check_kill,
}


def check_network(network: Network, names: list[str], checks: Checks) -> None:
    for number in ("110", "111", "112"):
        network.serve_traffic(number)
    for name in names:
        PARTS[name](network, checks)
        if name != "kill":
            network.check()
    for router in network.routers.values():
        if not router.process.running():
            continue
        status = router.process.stop()
        checks.that(f"{router.name} ends with status 0 on SIGTERM", status == 0, f"status {status}")


def check_mixes(network: Network, checks: Checks) -> None:
    """Every mix of ours and the reference's: from one to the next one router is exchanged."""
    for number in ("110", "111", "112"):
        network.serve_traffic(number)
    names, kinds = sorted(network.routers), (network.kind, RouterKind("reference"))
    routes = LEAF_ROUTES + TO_CORE
    is_reference = [False] * len(names)
    # Which routers are the reference's, and how many checks failed with them.
    mixes: list[tuple[str, int]] = []
    for step in range(2 ** len(names)):
        if step:
            # The reflected binary code: the bit to change is the number of zeros at the end.
            which = (step & -step).bit_length() - 1
            is_reference[which] = not is_reference[which]
            network.exchange_router(names[which], kinds[is_reference[which]])
        theirs = [name for name, is_theirs in zip(names, is_reference) if is_theirs]
        before = checks.failed
        print(f"mix {step + 1}: the reference's are {', '.join(theirs) or 'none'}", flush=True)
        for route in routes:
            checks.that(f"{route.name} works", wait_ping(network, route))
        check_pings(network, checks, LEAF_ROUTES)
        check_traceroute(network, checks, LEAF_ROUTES)
        check_traffic(network, checks, LEAF_ROUTES, (501,), 100)
        check_failures(network, checks)
        network.check()
        mixes.append((", ".join(theirs) or "none", checks.failed - before))
    for theirs, failed in mixes:
        print(f"reference: {theirs}: {f'{failed} failed' if failed else 'passed'}")


def run(args: argparse.Namespace, names: list[str], checks: Checks) -> None:
    """Builds the network and puts it to the test."""
    others = {name: RouterKind("reference") for name in args.reference.split(",") if name}
    hardware = "+".join(["hopwright", "engine=rtl", *(f"define={macro}" for macro in args.define)])
    others |= {name: RouterKind(hardware) for name in args.hardware.split(",") if name}
    network = built(lambda: Network(RouterKind(args.router), others, replace(THREE_ASES, device_mtu=args.mtu),
                                    prefix=PREFIX))
    try:
        if args.mixes:
            check_mixes(network, checks)
        else:
            check_network(network, names, checks)
    finally:
        network.close_after(checks)


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="reference, hopwright (default), hopwright+ports=af_packet (or other "
                             "settings), or a command with {config} in it")
    parser.add_argument("--reference", default="", metavar="ROUTERS",
                        help="these routers, e.g. br110b,br112, are the reference's: "
                             "a network of both kinds")
    parser.add_argument("--hardware", default="", metavar="ROUTERS",
                        help="these routers' data plane is simulated hardware, which "
                             "`hopwright rtl p4/scion/border_router.p4 --simulation` has built")
    parser.add_argument("-D", "--define", action="append", default=[], metavar="MACRO",
                        help="the hardware leaves out what this macro of p4/scion/features.p4 says, and "
                             "software does it")
    parser.add_argument("--mixes", action="store_true",
                        help="every mix of these routers and the reference's, one after the other, with "
                             "the most important checks")
    parser.add_argument("--mtu", type=int, default=THREE_ASES.device_mtu, metavar="BYTES",
                        help="MTU of all devices (default %(default)s)")
    args = parser.parse_args()
    names = choose(args, ["mixes"] if args.mixes else PARTS, {"metrics": ["pings", "traffic", "end2end", "epic", "scmp"]})
    return carry_out(f"network, {args.router}", lambda checks: run(args, names, checks), prefix=PREFIX)


if __name__ == "__main__":
    sys.exit(main())
