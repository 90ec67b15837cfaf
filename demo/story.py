"""What `make demo` shows: the network at work, and the routers' figures.

Building the network is in `network`.
"""

from __future__ import annotations

import argparse
import sys

from lab.router import RouterKind
from hardware import show_crossing, show_pipeline, show_rates
from network import Network, RunningRouter
from page import Page, number, total
from plan import LEAF_ROUTES, Route

PAYLOAD = 1000
# A router with simulated hardware as its data plane.
HARDWARE = "hopwright+engine=rtl"


class Loads:
    """CPU time and received packets of the routers over the bulk traffic."""

    def __init__(self, network: Network):
        self._network = network
        self._before = self._read()

    def _read(self) -> dict[str, tuple[float, int]]:
        return {
            name: (router.process.cpu_seconds(),
                   sum(port["rx_packets"] for port in router.port_counters().values()))
            for name, router in self._network.routers.items() if not router.process.has_machine
        }

    def nanoseconds_per_packet(self) -> dict[str, float]:
        """CPU time per packet since this object was made; 0 without packets."""
        result = {}
        for name, (cpu, packets) in self._read().items():
            cpu -= self._before[name][0]
            packets -= self._before[name][1]
            result[name] = cpu * 1e9 / packets if packets else 0.0
        return result


def describe(path: dict) -> str:
    """A path as `111 41>1 110 2>1 112`."""
    words: list[str] = []
    hops = path["hops"]
    for here, there in zip(hops[::2], hops[1::2]):
        if not words:
            words.append(here["isd_as"])
        words += [f"{here['interface']}>{there['interface']}", there["isd_as"]]
    return " ".join(words)


def show_paths(network: Network, page: Page) -> None:
    page.heading("Paths from AS 1-ff00:0:111 to AS 1-ff00:0:112 (scion showpaths)")
    for path in network.wait_paths("111", "112", len(LEAF_ROUTES)):
        page.line(f"{describe(path)}   MTU {path['mtu']}")


def show_pings(network: Network, page: Page) -> None:
    page.heading("Pings (scion ping), IPv4 host to IPv6 host")
    for route in (*LEAF_ROUTES, LEAF_ROUTES[2].reversed()):
        answers, milliseconds = network.ping(route)
        ends = f"{route.hops[0][0]} to {route.hops[-1][0]}"
        page.outcome(answers == 3, f"{ends} {route.name + ',':<36} "
                                   f"{answers} of 3 answers, {milliseconds:.2f} ms")


def show_traffic(network: Network, page: Page, packets: int) -> Loads:
    page.heading(f"Bulk traffic: {packets:,} UDP packets of {PAYLOAD} bytes along each path, "
                 "echoed and compared")
    network.serve_traffic("112")
    loads = Loads(network)
    for route in LEAF_ROUTES:
        result = network.traffic(route, packets, PAYLOAD)
        rate = 2 * result["echoed"] / result["seconds"]
        good = result["lost"] == 0 and result["changed"] == 0
        page.outcome(good, f"{route.name + ',':<36} {result['echoed']:,} echoed, "
                           f"{result['lost']:,} lost, {result['changed']:,} changed, "
                           f"{rate:,.0f} packets/s both ways")
    return loads


def show_picture(network: Network, page: Page) -> None:
    def packets(router: str, port: str) -> str:
        counters = network.routers[router].port_counters().get(port, {})
        return f"{counters.get('rx_packets', 0) + counters.get('tx_packets', 0):,}"

    a, b, c = packets("br111", "if41"), packets("br112", "if3"), packets("br112", "if1")
    peer = packets("br111", "if42")
    page.heading("The network, and the packets on its links")
    for text in (
        "             ┌──────────────── AS 110, core ─────────────────┐",
        "             │    br110a ───────────────────── br110b        │",
        "             └────┬──────────────────┬───────────┬───────────┘",
        "        IPv4      │             IPv4 │           │ IPv6",
        f"  {a:>14}  │   {b:>14} │           │ {c}",
        "             ┌────┴────┐         ┌───┴───────────┴────┐",
        "             │  br111  │  IPv4   │       br112        │",
        "             │         ├─────────┤                    │",
        f"             │ AS 111  │ {peer:^7} │ AS 112, IPv6 inside│",
        "             └─────────┘ peering └────────────────────┘",
    ):
        page.line(text)


def router_row(router: RunningRouter, cpu: float | None) -> tuple[list[str], list[str]]:
    """One table row and the notes below the table."""
    stats = router.stats()
    received = sum(port["rx_packets"] for port in router.port_counters().values())
    row = [router.name, number(received), number(stats.get("packets_forwarded")),
           number(stats.get("ns_per_packet")), number(cpu)]
    notes = []
    for key, word in (("packets_punted", "punted"), ("packets_dropped", "dropped")):
        value = stats.get(key)
        row.append(number(total(value)) if value is not None else "–")
        if isinstance(value, dict):
            for reason, count in sorted(value.items()):
                if count:
                    notes.append(f"{router.name} {word} {count:,}: {reason}")
    return row, notes


def show_routers(network: Network, page: Page, cpu: dict[str, float], simulated: list[str]) -> None:
    page.heading("The border routers")
    columns = ["router", "frames in", "forwarded", "ns/packet", "CPU ns/packet", "punted",
               "dropped"]
    widths = [8, 11, 11, 11, 15, 9, 9]
    page.line("".join(f"{c:>{w}}" for c, w in zip(columns, widths)))
    notes: list[str] = []
    for name, router in network.routers.items():
        row, more = router_row(router, cpu.get(name))
        notes += more
        page.line("".join(f"{c:>{w}}" for c, w in zip(row, widths)))
    page.line()
    page.line("ns/packet: the router's own figure, packet processing alone. CPU ns/packet: all of")
    page.line("the process's CPU time over the bulk traffic, with packet input and output.")
    for name in simulated:
        page.line(f"{name}: the simulation is a process of its own, whose time is in the first figure only.")
    for note in notes:
        page.line(note)


def check_forwarded(network: Network, page: Page, routes: tuple[Route, ...]) -> None:
    """Every router must have carried traffic: otherwise the demo showed less than it says."""
    for name, router in network.routers.items():
        received = sum(port["rx_packets"] for port in router.port_counters().values())
        if received < len(routes):
            page.outcome(False, f"{name} saw no traffic")


def tell(args: argparse.Namespace) -> int:
    """Runs the demo; returns the exit status."""
    page = Page()
    kind = RouterKind(args.router)
    page.heading(f"Three SCION ASes, four border routers ({kind.name})")
    hardware = [name for name in args.hardware.split(",") if name]
    if hardware:
        page.line(f"The data plane of {', '.join(hardware)} is simulated hardware.")
        show_pipeline(page)
        page.heading("The network")
    network = Network(kind, {name: RouterKind(HARDWARE) for name in hardware}, progress=page.step)
    try:
        network.build()
        for ends in (("111", "112"), ("112", "111")):
            network.wait_paths(*ends, len(LEAF_ROUTES))
        page.step("beacons have travelled: paths exist")
        show_paths(network, page)
        show_pings(network, page)
        loads = show_traffic(network, page, args.packets)
        cpu = loads.nanoseconds_per_packet()
        network.check()
        network.stop_routers()
        show_picture(network, page)
        show_routers(network, page, cpu, hardware)
        for name in hardware:
            show_crossing(network, name, page)
        check_forwarded(network, page, LEAF_ROUTES)
    finally:
        failed = page.failures > 0 or isinstance(sys.exc_info()[1], Exception)
        network.close(keep_files=failed)
        if failed:
            page.line(f"logs are kept in {network.directory}")
    if hardware:
        show_rates(page)
    page.heading("Everything worked." if not page.failures else
                 f"{page.failures} things did not work.")
    return 0 if page.failures == 0 else 1
