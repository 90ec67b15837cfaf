#!/usr/bin/env python3
"""Puts a border router under everything at once and balances its books.

For the given time: the reference's load generator at saturation over one pair of
links; a steady stream of numbered packets over a second pair; a flood of which a
part is malformed and a part must be answered, over a link of its own; a link that
goes down and up; a configuration that changes each second. At the end a ledger:

  packets in = packets sent + handed to the agent + lost, by reason

to the packet. The steady stream must arrive complete, and memory must stay flat.

Exit status: 0 if all of that holds, 1 if something does not, 2 if the soak could
not be carried out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "interop"))

from lab.netns import End, LabError, Namespace, remove_all, require_root, veth  # noqa: E402
from lab.process import Process, unwind_on_signals, wait_until  # noqa: E402
from lab.reference import copy_tree, module_dir, tool  # noqa: E402
from lab.router import RouterKind, read_stats, wait_ready  # noqa: E402
from lab.scion import Stream, hop_key, transit, udp_socket  # noqa: E402

# As in brload.py: label, the router's address, the generator's MAC address, an address to ask from.
LINKS = {
    "1_0": ("10.123.10.1/24", "f0:0d:ca:fe:10:02", "10.123.10.200/24"),
    "1_2": ("10.123.2.1/24", "f0:0d:ca:fe:02:02", "10.123.2.200/24"),
    "1_3": ("10.123.3.1/24", "f0:0d:ca:fe:03:03", "10.123.3.200/24"),
}
# Our own links: the steady stream's two, the flapping one, the flood's.
STEADY_IN, STEADY_OUT, FLAP, FLOOD = 11, 12, 13, 14
PORT = 50000
MTU = 9000
MALFORMED = ("length", "segments", "type")
ANSWERED = ("mac", "expired", "ingress", "egress")


def flood(namespace: str, key: bytes, share: float) -> int:
    """Sends bad packets until it is ended: the work of a process of its own."""
    with open(f"/run/netns/{namespace}", "rb") as target:
        import ctypes
        if ctypes.CDLL(None).setns(target.fileno(), 0x40000000):
            return 2
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind((f"10.{FLOOD}.0.2", PORT))
    sock.connect((f"10.{FLOOD}.0.1", PORT))
    bad = [transit(key, FLOOD, STEADY_OUT, b"x" * 40, spoil) for spoil in MALFORMED]
    asked = [transit(key, FLOOD, STEADY_OUT, b"x" * 40, spoil) for spoil in ANSWERED]
    burst = []
    while len(burst) < 100:
        burst += bad if len(burst) % 10 < 10 * share else asked
    while True:
        for packet in burst:
            try:
                sock.send(packet)
            except OSError:
                time.sleep(0.001)


class Soak:
    """The network, and what goes on in it."""

    def __init__(self, args: argparse.Namespace):
        self.args = args
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-soak-"))
        self._prefix = f"hws{os.getpid()}-"
        self._processes: list[Process] = []
        self._children: list[subprocess.Popen] = []
        self._stop = threading.Event()
        self.changes = 0
        self.flaps = 0
        self.memory: list[int] = []

    def build(self) -> None:
        self.conf = self.directory / "conf"
        copy_tree(module_dir() / "acceptance" / "router_benchmark" / "conf", self.conf)
        self.config = self.conf / "router.toml"
        text = self.config.read_text().replace('"/etc/scion"', f'"{self.conf}"')
        self.config.write_text(text)
        self.topology = json.loads((self.conf / "topology.json").read_text())
        interfaces = self.topology["border_routers"]["br1a"]["interfaces"]
        for number in (STEADY_IN, STEADY_OUT, FLAP, FLOOD):
            interfaces[str(number)] = {
                "isd_as": f"1-ff00:0:{number}", "link_to": "core", "mtu": 1400,
                "underlay": {"local": f"10.{number}.0.1:{PORT}",
                             "remote": f"10.{number}.0.2:{PORT}"}}
        self.write_topology()
        self.router_side, self.load_side = (
            Namespace(self._prefix + role, ipv6=False) for role in ("router", "load"))
        for label, (address, _, own) in LINKS.items():
            veth(End(self.router_side, f"br{label}", (address,)),
                 End(self.load_side, f"gen{label}", (own,)), MTU)
        for number in (STEADY_IN, STEADY_OUT, FLAP, FLOOD):
            veth(End(self.router_side, f"if{number}", (f"10.{number}.0.1/24",)),
                 End(self.load_side, f"out{number}", (f"10.{number}.0.2/24",)), 1500)
        # What comes back for the flood is nobody's: the host must not answer it.
        self.load_side.set("net/ipv4/icmp_ratemask", "0xffff")
        self.load_side.set("net/ipv4/icmp_ratelimit", "100000")

    def write_topology(self) -> None:
        new = self.conf / "topology.new"
        new.write_text(json.dumps(self.topology))
        new.rename(self.conf / "topology.json")

    def close(self, keep: bool) -> None:
        self._stop.set()
        for child in self._children:
            child.kill()
        for process in self._processes:
            process.stop()
        remove_all(self._prefix)
        if keep:
            print(f"files are kept in {self.directory}", file=sys.stderr)
        else:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _change(self) -> None:
        """A service moves, a sibling's link comes and goes."""
        routers = self.topology["border_routers"]
        while not self._stop.wait(1.0):
            self.changes += 1
            self.topology["control_service"] = {
                "cs": {"addr": f"10.123.10.{100 + self.changes % 50}:30252"}}
            if self.changes % 2:
                routers["br1c"] = {"internal_addr": "10.123.10.3:30042", "interfaces": {
                    "21": {"isd_as": "2-ff00:0:5", "link_to": "core", "mtu": 1400}}}
            else:
                routers.pop("br1c", None)
            self.write_topology()

    def _flap(self) -> None:
        while not self._stop.wait(2.5):
            self.flaps += 1
            self.router_side.ip("link", "set", f"if{FLAP}", "down")
            if self._stop.wait(1.0):
                break
            self.router_side.ip("link", "set", f"if{FLAP}", "up")

    def _watch_memory(self, router: Process) -> None:
        page = os.sysconf("SC_PAGE_SIZE") // 1024
        while not self._stop.wait(1.0):
            try:
                statm = Path(f"/proc/{router.pid}/statm").read_text()
            except OSError:
                return
            self.memory.append(int(statm.split()[1]) * page)

    def run(self) -> bool:
        args = self.args
        kind = RouterKind(args.router)
        stats_file = self.directory / "stats.json"
        router = kind.start("router", self.router_side, self.config, self.directory / "router.log",
                            stats_file, cpus=args.router_cpu)
        self._processes.append(router)
        wait_ready(router)
        key = hop_key(self.conf / "keys" / "master0.key")
        # The way must be known before the books are opened on it.
        self._ping(key)
        steady = Stream(udp_socket(self.load_side, f"10.{STEADY_IN}.0.2", PORT),
                        (f"10.{STEADY_IN}.0.1", PORT),
                        lambda payload: transit(key, STEADY_IN, STEADY_OUT, payload), args.rate)
        steady.into(udp_socket(self.load_side, f"10.{STEADY_OUT}.0.2", PORT))
        flapping = Stream(udp_socket(self.load_side, f"10.{FLAP}.0.2", PORT),
                          (f"10.{FLAP}.0.1", PORT),
                          lambda payload: transit(key, FLAP, FLOOD, payload), 100)
        command = [tool("brload"), "run", "--artifacts", str(self.directory), "--case",
                   "br_transit", "--packet-size", "172", "--num-streams", "840",
                   "--duration", f"{args.seconds}s"]
        for label, (_, mac, _) in LINKS.items():
            command += ["--interface", f"{label}=gen{label},{mac}"]
        load = Process("brload", command, self.directory / "brload.log",
                       namespace=self.load_side, cpus=args.load_cpu)
        self._processes.append(load)
        self._children.append(subprocess.Popen(
            [sys.executable, __file__, "--flood", self.load_side.name, "--key", key.hex(),
             "--share", str(args.malformed)]))
        for work in (self._change, self._flap, lambda: self._watch_memory(router)):
            threading.Thread(target=work, daemon=True).start()
        steady.start()
        flapping.start()
        end = time.monotonic() + args.seconds
        while time.monotonic() < end:
            router.check()
            time.sleep(min(1.0, max(0.0, end - time.monotonic())))
        flapping.finish(0)
        steady.finish(1.0)
        self._stop.set()
        for child in self._children:
            child.kill()
            child.wait()
        load.wait(30)
        time.sleep(1.5)
        status = router.stop(15)
        return self.report(read_stats(stats_file), steady, status)

    def _ping(self, key: bytes) -> None:
        for number in (STEADY_IN, STEADY_OUT, FLAP, FLOOD):
            # Resolves both ends.
            udp_socket(self.load_side, f"10.{number}.0.2", 0).sendto(b"?", (f"10.{number}.0.1", 9))
        out = udp_socket(self.load_side, f"10.{STEADY_IN}.0.2", PORT)
        back = udp_socket(self.load_side, f"10.{STEADY_OUT}.0.2", PORT)
        back.settimeout(0.2)

        def there() -> bool:
            out.sendto(transit(key, STEADY_IN, STEADY_OUT, b"are you?"),
                       (f"10.{STEADY_IN}.0.1", PORT))
            try:
                return bool(back.recv(2000))
            except TimeoutError:
                return False

        wait_until("the router to forward", there, 15)
        out.close()
        back.close()

    def report(self, stats: dict, steady: Stream, status: int | None) -> bool:
        ledger, reloads = stats.get("ledger", {}), stats.get("reloads", {})
        if not ledger:
            raise LabError("the router wrote no ledger")
        faults: list[str] = []

        def check(good: bool, what: str) -> None:
            if not good:
                faults.append(what)

        overrun = sum(p["lost"] for p in stats["ports"].values()) - ledger["lost"].get("not_sent", 0)
        dropped, punted = stats["packets_dropped"], stats["packets_punted"]
        malformed = sum(dropped.get(k, 0) for k in
                        ("malformed", "unsupported_path_type", "singleton_segment"))
        share = malformed / max(1, ledger["received"])
        print(f"{'received by the router':<44}{ledger['received']:>14,}")
        print(f"{'sent by its agent':<44}{ledger['injected']:>14,}")
        print(f"{'packets in':<44}{ledger['packets_in']:>14,}")
        print(f"{'forwarded or answered: sent by devices':<44}{ledger['sent']:>14,}")
        print(f"{'handed to the agent':<44}{ledger['punted']:>14,}")
        for reason, count in sorted(punted.items()):
            print(f"  {'of which ' + reason:<42}{count:>14,}")
        for reason, count in sorted(ledger["lost"].items()):
            print(f"{'dropped: ' + reason:<44}{count:>14,}")
        print(f"{'packets out':<44}{ledger['packets_out']:>14,}")
        print(f"{'before the router: receive rings full':<44}{overrun:>14,}")
        print(f"{'malformed of those received':<44}{share:>14.1%}")
        slow = stats.get("slow_path", {})
        for what, count in sorted(slow.items()):
            print(f"  {'agent: ' + what:<42}{count:>14,}")
        print(f"{'steady stream: sent, lost, twice':<44}"
              f"{steady.sent:>14,}{len(steady.lost):>8,}{steady.doubled:>8,}")
        print(f"{'configurations: changes, applied, refused':<44}{self.changes:>14,}"
              f"{reloads.get('applied', 0):>8,}{reloads.get('refused', 0):>8,}")
        print(f"{'link flaps':<44}{self.flaps:>14,}")
        settled = self.memory[len(self.memory) // 3:] or [0]
        growth = max(settled[len(settled) // 2:]) - max(settled[:len(settled) // 2] or [0])
        print(f"{'memory KiB: first third, end, growth':<44}{self.memory[len(self.memory) // 3]:>14,}"
              f"{self.memory[-1]:>10,}{growth:>8,}")

        check(status == 0, f"the router ended with status {status}")
        check(ledger["packets_in"] == ledger["packets_out"], "the ledger does not balance")
        check("without_reason" not in ledger["lost"], "packets were dropped without a reason")
        starved = stats["ports"][f"if{STEADY_IN}"]["lost"] if self.args.may_starve else 0
        check(len(steady.lost) <= starved, f"{len(steady.lost)} packets of the steady stream are "
                                           f"lost: {steady.lost[:10]}")
        check(not steady.doubled, "packets of the steady stream came twice")
        check(growth < 2048, f"memory has grown by {growth} KiB")
        check(reloads.get("refused") == 0, f"a configuration was refused: {reloads.get('error')}")
        check(reloads.get("applied", 0) >= self.changes * 0.8, "changes were not taken on")
        check(malformed > 0 and ledger["punted"] > 0, "the flood did not arrive")
        for fault in faults:
            print(f"FAULT: {fault}")
        print(f"soak, {self.args.seconds} s: {'FAILED' if faults else 'passed'}")
        return not faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--router", default="hopwright", help="as for the other tests")
    parser.add_argument("--seconds", type=int, default=600, help="default: %(default)s")
    parser.add_argument("--rate", type=float, default=500,
                        help="packets per second of the steady stream (default: %(default)s)")
    parser.add_argument("--malformed", type=float, default=0.9,
                        help="share of the flood that is malformed; the rest must be answered "
                             "(default: %(default)s)")
    parser.add_argument("--may-starve", action="store_true",
                        help="on a machine that is busy otherwise: the steady stream may lose what "
                             "its receive ring counts as lost while the router gets no CPU")
    parser.add_argument("--router-cpu", help="CPUs the router may use (default: all)")
    parser.add_argument("--load-cpu", help="CPUs the generator may use (default: all)")
    parser.add_argument("--flood", help=argparse.SUPPRESS)
    parser.add_argument("--key", help=argparse.SUPPRESS)
    parser.add_argument("--share", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.flood:
        return flood(args.flood, bytes.fromhex(args.key), args.share)
    unwind_on_signals()
    try:
        require_root("The soak")
        soak = Soak(args)
        good = False
        try:
            soak.build()
            good = soak.run()
        finally:
            soak.close(keep=not good)
    except LabError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
