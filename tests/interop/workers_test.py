#!/usr/bin/env python3
"""Has several workers share the packets of one link.

The router has a link with BFD to each of two reference routers. Numbered packets of many flows cross all three ASes in both
directions, so that each link carries many flows between one pair of underlay addresses and ports. The packets of each flow arrive
once and in order, and each worker has handled some of the flows. What a busy machine loses outside of the router is attributed by
counters and allowed; a direction in which BFD finds a router late is tried again.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import struct
import sys
import threading
import time

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import PATIENCE, wait_until
from lab.netns import remove_all
from lab.router import RouterKind
from lab.scion import PORT, SOURCE_PORT, pace, udp_socket
from lab.scrape import metrics
from take_over_test import INTERNAL, METRICS, NOBODY, PREFIX, Lab, neighbour, packet, warm_up

FLOWS = 32
# Packets of each flow, and of all in a second.
EACH = 150
RATE = 3000
# How often a direction is tried.
ATTEMPTS = 5


class Direction:
    """Flows from a host behind one reference router to one behind the other."""

    def __init__(self, lab: Lab, forth: bool):
        source, destination = (1, 2) if forth else (2, 1)
        keys = {name: lab.key(name) for name in ("as1", "own", "as2")}
        hops = [(keys["as1"], 0, 1), (keys["own"], 1, 2), (keys["as2"], 2, 0)]
        ends = tuple((neighbour(n), f"10.{10 + n}.0.9") for n in (source, destination))
        whole = packet(hops, ends, forth)
        # Flow ids tell the flows apart; addresses and ports are the same.
        self.packets = [struct.pack("!I", flow + 1) + whole[4:-8] for flow in range(FLOWS)]
        self.to = (f"10.{10 + source}.0.1", INTERNAL)
        self.out = udp_socket(lab.hosts, f"10.{10 + source}.0.9", SOURCE_PORT + 200)
        self.inlet = udp_socket(lab.hosts, f"10.{10 + destination}.0.9", PORT)
        self.inlet.settimeout(0.1)
        self.lab, self.bfd, self.excused = lab, lab.bfd(), lab.lost_elsewhere()
        self.sent, self.arrived, self.over = 0, [], threading.Event()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.take, self.send)]
        for thread in self.threads:
            thread.start()

    def send(self) -> None:
        due = time.monotonic()
        for number in range(EACH):
            for flow, start in enumerate(self.packets):
                self.out.sendto(start + struct.pack("!II", flow, number), self.to)
                self.sent += 1
                due = pace(due, 1 / RATE)

    def take(self) -> None:
        while not self.over.is_set():
            try:
                self.arrived.append(struct.unpack("!II", self.inlet.recv(9000)[-8:]))
            except TimeoutError:
                continue

    def finish(self) -> bool:
        """Waits until each packet has arrived or counters say who lost it: what is neither after all patience is the router's loss.
        Returns whether BFD has noticed nothing."""
        self.threads[1].join()
        deadline = time.monotonic() + PATIENCE
        while (steady := self.lab.bfd() == self.bfd) and len(self.arrived) + self.lost_elsewhere() < self.sent \
                and time.monotonic() < deadline:
            time.sleep(0.1)
        self.over.set()
        self.threads[0].join()
        # The counters of a socket go with it.
        self.elsewhere = self.lost_elsewhere()
        self.out.close()
        self.inlet.close()
        return steady

    def lost_elsewhere(self) -> int:
        """Packets that the machine has lost outside of the router since the beginning."""
        return self.lab.lost_elsewhere() - self.excused

    @property
    def reordered(self) -> list[int]:
        """Flows of which a packet has arrived behind a later one, or twice."""
        numbers = {flow: [n for f, n in self.arrived if f == flow] for flow in range(FLOWS)}
        return [flow for flow, found in numbers.items() if found != sorted(set(found))]


def by_worker(lab: Lab) -> dict[str, float]:
    """Packets that each worker has handled."""
    return {dict(labels)["worker"]: value for (name, labels), value in metrics(lab.inside, METRICS).items()
            if name == "hopwright_worker_packets_total"}


def share(lab: Lab, checks: Checks, workers: int) -> None:
    for forth in (True, False):
        what = "forth" if forth else "back"
        for attempt in range(ATTEMPTS):
            wait_until("the links are up", lambda: all(up for _, up in lab.bfd()))
            before, direction = by_worker(lab), Direction(lab, forth)
            if direction.finish():
                break
            # A link that is down loses packets. That is BFD's doing, which measures time.
            print(f"  {what}: the machine was so busy that BFD noticed, attempt {attempt + 1} of {ATTEMPTS}", flush=True)
        lost = direction.sent - len(direction.arrived)
        excused = direction.elsewhere
        checks.that(f"{what}: nothing is lost", direction.sent == FLOWS * EACH and 0 <= lost <= excused,
                    f"{direction.sent} sent, {lost} lost, {excused} of them not by the router")
        checks.that(f"{what}: each flow keeps its order", not direction.reordered, f"flows {direction.reordered}")

        def handled() -> list[float]:
            return [value - before.get(worker, 0) for worker, value in sorted(by_worker(lab).items())]

        # Counters are posted a few times a second. A worker has whole flows.
        checks.comes(f"{what}: each of {workers} workers has flows of the link", handled,
                     lambda counts: len(counts) == workers and sum(counts) >= direction.sent - lost
                     and all(count >= EACH - lost for count in counts))


def run(choice: str, ports: str, as_user: str | None, workers: int, checks: Checks) -> None:
    print(f"{choice}{', without privileges' if as_user else ''}", flush=True)
    failed, done = checks.failed, False
    try:
        lab = Lab(RouterKind(choice), as_user)
    except BaseException:
        remove_all(PREFIX)
        raise
    try:
        warm_up(lab.router, lab.streams)
        lab.wait_for_ports(ports)
        share(lab, checks, workers)
        checks.that("the router ends with status 0", lab.router.stop() == 0)
        done = True
    finally:
        lab.close(keep=not done or checks.failed > failed)


def main() -> int:
    # A veth device has one receive queue, which AF_XDP could not distribute.
    cases = {"af_packet": ("hopwright+cpus=[0,1]", "af_packet", None, 2), "udp": ("hopwright+cpus=[0,1,0]", "udp", NOBODY, 3)}
    names = choose(case_options(__doc__).parse_args(), cases)
    return carry_out("several workers", lambda checks: [run(*cases[name], checks) for name in names])


if __name__ == "__main__":
    sys.exit(main())
