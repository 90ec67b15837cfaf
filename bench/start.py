#!/usr/bin/env python3
"""How long border routers take to start and to stop, and what they then occupy.

Each router runs in turn, in the same network of a namespace with this many devices, an external link on each but
one, while packets cross it from the first link to the second at a steady rate. Per router and number of devices,
medians over the rounds:

  start_ms    from the call that starts the process to the first packet that arrives behind it
  restart_ms  how long no packet arrives when it is told to stop (SIGTERM) and started again as soon as it has ended
  stop_ms     from SIGTERM to the end of the process
  rss_mb      memory it occupies a second after its start
"""

from __future__ import annotations

import argparse
import base64
import ctypes
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from lab.command import LabError
from lab.netns import End, Namespace, remove_all, require_root, veth
from lab.process import unwind_on_signals
from lab.reference import tool
from lab.router import hopwright_binary
from lab.scion import hop_key, transit, udp_socket

PREFIX = f"hws{os.getpid()}-"
PORT = 50000
RATE = 2000
ROUTERS = ("reference", "hopwright", "hopwright+ports=af_packet")
LIBC = ctypes.CDLL(None, use_errno=True)


class Probe:
    """A steady stream of packets, and when they arrive."""

    def __init__(self, out: socket.socket, to: tuple[str, int], packet: bytes, inlet: socket.socket):
        self.arrivals: list[float] = []
        self._out, self._to, self._packet, self._inlet = out, to, packet, inlet
        self._stop = threading.Event()
        inlet.settimeout(0.1)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._take)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def first_after(self, begin: float, timeout: float = 60) -> float:
        """When the first packet after this moment arrived."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.arrivals and self.arrivals[-1] > begin:
                return next(at for at in self.arrivals if at > begin)
            time.sleep(0.005)
        raise LabError(f"no packet has arrived for {timeout:.0f} s")

    def _send(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                self._out.sendto(self._packet, self._to)
            except OSError:
                pass
            due = max(due + 1 / RATE, time.monotonic() - 0.01)
            time.sleep(max(0.0, due - time.monotonic()))

    def _take(self) -> None:
        while not self._stop.is_set():
            try:
                self._inlet.recv(9000)
                self.arrivals.append(time.monotonic())
            except (TimeoutError, ConnectionError):
                pass


class Bench:
    """The network, and a router's files."""

    def __init__(self, devices: int):
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-start-"))
        (self.directory / "keys").mkdir()
        for name in ("master0.key", "master1.key"):
            (self.directory / "keys" / name).write_text(base64.b64encode(b"the first master").decode() + "\n")
        interfaces = {}
        self.outside, self.inside = Namespace(PREFIX + "outside", ipv6=False), Namespace(PREFIX + "router", ipv6=False)
        for number in range(devices):
            others = (f"10.{number}.0.2/24",) + (("10.0.0.9/24",) if number == 0 else ())
            veth(End(self.inside, f"if{number}", (f"10.{number}.0.1/24",)),
                 End(self.outside, f"out{number}", others), 1500)
            if number > 0:
                interfaces[str(number)] = {
                    "isd_as": f"1-ff00:0:{10 + number:x}", "link_to": "parent" if number == 1 else "child", "mtu": 1400,
                    "bfd": {"disable": True},
                    "underlay": {"local": f"10.{number}.0.1:{PORT}", "remote": f"10.{number}.0.2:{PORT}"}}
        (self.directory / "topology.json").write_text(json.dumps({
            "isd_as": "1-ff00:0:1", "mtu": 1400, "attributes": [],
            "border_routers": {"r1": {"internal_addr": "10.0.0.1:30042", "interfaces": interfaces}},
            "control_service": {"cs": {"addr": "10.0.0.9:30252"}}}))
        packet = transit(hop_key(self.directory / "keys" / "master0.key"), 1, 2, b"probe")
        self.probe = Probe(udp_socket(self.outside, "10.1.0.2", PORT), ("10.1.0.1", PORT), packet,
                           udp_socket(self.outside, "10.2.0.2", PORT))
        self.namespace = os.open(f"/run/netns/{self.inside.name}", os.O_RDONLY)
        self.child: subprocess.Popen | None = None

    def command(self, choice: str) -> list[str]:
        folder = self.directory / choice
        folder.mkdir(exist_ok=True)
        config = folder / "router.toml"
        kind, *settings = choice.split("+")
        lines = ["[general]", 'id = "r1"', f'config_dir = "{self.directory}"', "[router.bfd]", "disable = true"]
        config.write_text("\n".join(lines) + "\n")
        if settings:
            pairs = (setting.split("=") for setting in settings)
            (folder / "hopwright.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in pairs))
        program = [tool("router")] if kind == "reference" else [hopwright_binary(), "scion"]
        return [*program, "--config", str(config)]

    def start(self, command: list[str]) -> float:
        """Starts a router; the moment of that."""
        def enter() -> None:
            LIBC.prctl(1, signal.SIGKILL)
            if LIBC.setns(self.namespace, 0x40000000):
                os._exit(127)

        with open(self.directory / "router.log", "ab") as log:
            begin = time.monotonic()
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                          preexec_fn=enter)
        return begin

    def stop(self) -> float:
        """Stops the router; how long that took."""
        begin = time.monotonic()
        self.child.send_signal(signal.SIGTERM)
        status = self.child.wait(60)
        if status not in (0, 143, -signal.SIGTERM):
            log = (self.directory / "router.log").read_text(errors="replace")
            raise LabError(f"the router ended with status {status}\n{log[-2000:]}")
        return time.monotonic() - begin

    def round(self, choice: str) -> dict[str, float]:
        command = self.command(choice)
        begin = self.start(command)
        started = self.probe.first_after(begin) - begin
        time.sleep(1)
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        rss = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
        self.stop()
        begin = self.start(command)
        self.probe.first_after(begin)
        time.sleep(0.5)
        self.probe.arrivals.clear()
        time.sleep(0.05)
        self.stop()
        begin = self.start(command)
        back = self.probe.first_after(begin)
        last = max(at for at in self.probe.arrivals if at < begin)
        time.sleep(0.3)
        stopped = self.stop()
        return {"start_ms": 1000 * started, "restart_ms": 1000 * (back - last), "stop_ms": 1000 * stopped,
                "rss_mb": rss / 1024}

    def close(self) -> None:
        self.probe.stop()
        if self.child and self.child.poll() is None:
            self.child.kill()
            self.child.wait()
        os.close(self.namespace)
        remove_all(PREFIX)
        shutil.rmtree(self.directory, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="3,102", help="how many devices, several numbers by commas")
    parser.add_argument("--router", action="append", help=f"what to measure (default: {', '.join(ROUTERS)})")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    rows = []
    try:
        require_root("measuring routers")
        unwind_on_signals()
        for devices in map(int, args.devices.split(",")):
            bench = None
            try:
                bench = Bench(devices)
                routers = args.router or ROUTERS
                rounds: dict[str, list[dict[str, float]]] = {choice: [] for choice in routers}
                for _ in range(args.rounds):
                    for choice in routers:
                        rounds[choice].append(bench.round(choice))
            finally:
                if bench:
                    bench.close()
                else:
                    remove_all(PREFIX)
            for choice, found in rounds.items():
                medians = {key: round(statistics.median(one[key] for one in found), 1) for key in found[0]}
                rows.append({"router": choice, "devices": devices, **medians})
                if not args.json:
                    print("  ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    except LabError as error:
        print(f"start: {error}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
