#!/usr/bin/env python3
"""Changes the configuration of a running border router under traffic and counts packets.

One router between two hosts that play its neighbours. A steady stream of
numbered packets crosses it while its files change; the router may lose none. What a busy
machine loses elsewhere is attributed by counters (`lab/ledger.py`) and allowed.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import LabError, wait_until
from lab.ledger import Ledger, fresh
from lab.netns import End, Namespace, remove_lab, veth
from lab.router import RouterKind, read_stats, wait_ready
from lab.scion import Stream, hop_key, transit, udp_socket
from lab.scrape import metrics, total

PREFIX = f"hwr{os.getpid()}-"
PORT = 50000
METRICS = "127.0.0.1:30442"
RATE = 1000


class Lab:
    """The router, its files, and the neighbours' namespace."""

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="hopwright-reload-"))
        self.conf = self.directory / "conf"
        (self.conf / "keys").mkdir(parents=True)
        self.stats_file = self.directory / "stats.json"
        self.topology = {
            "isd_as": "1-ff00:0:1", "mtu": 1400, "attributes": [],
            "border_routers": {"r1": {"internal_addr": "10.0.0.1:30042", "interfaces": {
                "1": self.interface(1, "parent"), "2": self.interface(2, "child")}}},
            "control_service": {"cs": {"addr": "10.0.0.9:30252"}},
        }
        self.settings = {"watch_files": "true", "key_overlap": '"3s"'}
        self.write_key("master0.key", b"the first master")
        self.write_key("master1.key", b"the second one..")
        self.write_topology()
        self.write_settings()
        self.outside = Namespace(PREFIX + "outside", ipv6=False)
        self.inside = Namespace(PREFIX + "router", ipv6=False)
        self.device(0, "10.0.0.1/24", ("10.0.0.9/24",))
        for number in (1, 2):
            self.device(number, f"10.{number}.0.1/24", (f"10.{number}.0.2/24",))
        self.process = None

    @staticmethod
    def interface(number: int, relation: str, remote: int = 2, net: int | None = None) -> dict:
        net = net or number
        return {"isd_as": f"1-ff00:0:{10 + number}", "link_to": relation, "mtu": 1400,
                "bfd": {"disable": True},
                "underlay": {"local": f"10.{net}.0.1:{PORT}", "remote": f"10.{net}.0.{remote}:{PORT}"}}

    def device(self, number: int, address: str, others: tuple[str, ...]) -> None:
        veth(End(self.inside, f"if{number}", (address,)),
             End(self.outside, f"out{number}", others), 1500)

    @property
    def interfaces(self) -> dict:
        return self.topology["border_routers"]["r1"]["interfaces"]

    def replace(self, path: Path, text: str) -> None:
        """A new file in the old one's place, as tools do it."""
        self.put(path, lambda new: new.write_text(text))

    def put(self, path: Path, make) -> None:
        """Something new in a file's place."""
        new = path.with_suffix(".new")
        make(new)
        new.rename(path)

    def write_topology(self) -> None:
        self.replace(self.conf / "topology.json", json.dumps(self.topology, indent=1))

    def write_settings(self, name: str = "r1") -> None:
        settings = "\n".join(f"{key} = {value}" for key, value in self.settings.items())
        self.replace(self.conf / "router.toml",
                     f'[general]\nid = "{name}"\nconfig_dir = "{self.conf}"\n'
                     f'[metrics]\nprometheus = "{METRICS}"\n[router.bfd]\ndisable = true\n')
        self.replace(self.conf / "hopwright.toml", f"[reload]\n{settings}\n")

    def write_key(self, name: str, key: bytes) -> None:
        self.replace(self.conf / "keys" / name, base64.b64encode(key).decode() + "\n")

    def key(self, name: str = "master0.key") -> bytes:
        return hop_key(self.conf / "keys" / name)

    def start(self, kind: RouterKind) -> None:
        self.process = kind.start("router", self.inside, self.conf / "router.toml",
                                  self.directory / "router.log", self.stats_file)
        wait_ready(self.process)

    def figures(self) -> dict:
        return read_stats(self.stats_file).get("reloads") or \
            {"applied": 0, "unchanged": 0, "refused": 0, "error": None}

    def key_set(self) -> float:
        """Since when the router has its key, as its metrics say."""
        return total(metrics(self.inside, METRICS), "hopwright_key_set_timestamp_seconds")

    def wait_for(self, what: str, count: int) -> None:
        """Waits until a figure about reloads has a value; it is written once a second."""
        def there() -> bool:
            self.process.check()
            return self.figures()[what] >= count
        wait_until(f"{what} to be {count}", there)

    def figures_now(self) -> dict:
        """Those that are written after this call."""
        return fresh(self.stats_file, read_stats).get("reloads") or self.figures()

    def reload_once(self, change) -> None:
        """Makes a change and waits until it is in force."""
        before = self.figures_now()["applied"]
        change()
        self.wait_for("applied", before + 1)

    def stream(self, key: bytes, egress: int, *, rate: float = RATE, ingress: int = 1,
               inlets: tuple[str, ...] = ()) -> Stream:
        out = udp_socket(self.outside, f"10.{ingress}.0.2", PORT)
        made = Stream(out, (f"10.{ingress}.0.1", PORT),
                      lambda payload: transit(key, ingress, egress, payload), rate)
        made.ledger = self.ledger()
        for address in inlets or (f"10.{egress}.0.2",):
            made.into(udp_socket(self.outside, address, PORT))
        return made

    def losses(self) -> tuple[int, int]:
        """Packets lost by the router's receive rings, and by the router itself."""
        stats = fresh(self.stats_file, read_stats)
        dropped = sum(stats["ledger"]["lost"].values())
        return sum(port["lost"] for port in stats["ports"].values()) - stats["ledger"]["lost"].get("not_sent", 0), dropped

    def ledger(self) -> Ledger:
        return Ledger(self.process, self.inside, self.outside, self.losses)

    def packet_sockets(self) -> int:
        return len(Path(f"/proc/{self.process.pid}/net/packet").read_text().splitlines()) - 1

    def log(self) -> str:
        return (self.directory / "router.log").read_text(errors="replace")

    def close(self, keep: bool) -> None:
        if self.process:
            self.process.stop()
        remove_lab(PREFIX, self.directory, keep)


# Behind other_remote links lead to another address.
STEPS = ("many_reloads", "other_remote", "new_device", "bad_files", "vanishing_address", "told_by_signal", "keys")


class Test:
    """The checks, in order; each leaves the router as the next expects it."""

    def __init__(self, lab: Lab, checks: Checks):
        self.lab, self.that = lab, checks.that

    def lossless(self, what: str, stream: Stream) -> None:
        account = stream.ledger.close(stream)
        self.that(what, stream.sent > 100 and not account.router and not stream.doubled,
                  f"{stream.sent} sent, {account} {stream.lost[:5]}, {stream.doubled} twice")

    def warm_up(self, egress: int = 2, **options) -> None:
        """Waits until neighbours are resolved and everything arrives."""
        for _ in range(100):
            stream = self.lab.stream(self.lab.key(), egress, rate=100, **options).start()
            stream.until(20).finish(0.1).close()
            if stream.received and not stream.lost:
                return
        raise LabError(f"the router forwards nothing\n{self.lab.process.tail()}")

    def many_reloads(self, seconds: float) -> None:
        lab = self.lab
        applied = lab.figures()["applied"]
        stream = lab.stream(lab.key(), 2).start()
        end, round_ = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            round_ += 1
            # Something else changes each time; the stream's links stay.
            routers = lab.topology["border_routers"]
            if round_ % 2:
                routers["r2"] = {"internal_addr": "10.0.0.9:30042",
                                 "interfaces": {"7": {"isd_as": "1-ff00:0:17", "link_to": "child"}}}
                lab.interfaces["8"] = lab.interface(8, "child", net=2, remote=200 + round_ % 40)
            else:
                routers.pop("r2", None)
                lab.interfaces.pop("8", None)
            lab.topology["control_service"]["cs"]["addr"] = f"10.0.0.{10 + round_ % 200}:30252"
            lab.write_topology()
            time.sleep(0.2)
        lab.topology["border_routers"].pop("r2", None)
        lab.interfaces.pop("8", None)
        lab.topology["control_service"]["cs"]["addr"] = "10.0.0.250:30252"
        lab.write_topology()
        self.lossless("changes every 200 ms", stream.finish())
        stream.close()
        wait_until("the last change", lambda: "service 2 changed: 10.0.0.250" in lab.log() and lab.figures()["applied"] > applied + 2)
        done = lab.figures()
        print(f"        {round_} changes, {done['applied'] - applied} taken on one by one")
        self.that("none is refused", done["refused"] == 0, done["error"] or "")

    def other_remote(self) -> None:
        lab = self.lab
        lab.outside.ip("addr", "add", "10.2.0.3/24", "dev", "out2")
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.2", "10.2.0.3")).start().until(RATE)

        def change() -> None:
            lab.interfaces["2"] = lab.interface(2, "child", remote=3)
            lab.write_topology()

        lab.reload_once(change)
        self.lossless("a link leads to another address", stream.until(stream.sent + RATE // 2).finish())
        last = max(stream.received)
        stream.close()
        probe = lab.stream(lab.key(), 2, rate=200, inlets=("10.2.0.3",)).start()
        self.lossless("the new address gets everything", probe.until(110).finish())
        probe.close()
        self.that("the log says so", "interface 2 changed" in lab.log(), f"last was {last}")

    def new_device(self) -> None:
        lab = self.lab
        before = lab.packet_sockets()
        lab.device(3, "10.3.0.1/24", ("10.3.0.2/24",))
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()

        def add() -> None:
            lab.interfaces["3"] = lab.interface(3, "child")
            lab.write_topology()

        lab.reload_once(add)
        self.that("a new device is opened", lab.packet_sockets() > before)

        def remove() -> None:
            del lab.interfaces["3"]
            lab.write_topology()

        lab.reload_once(remove)
        wait_until("the device to be closed", lambda: lab.packet_sockets() <= before)
        self.that("it is closed when its link is removed", lab.packet_sockets() <= before)
        self.lossless("meanwhile", stream.finish())
        stream.close()
        # Once more, with traffic over it.
        lab.reload_once(add)
        stream = lab.stream(lab.key(), 3).start()
        self.lossless("the new link carries traffic", stream.until(RATE).finish())
        stream.close()
        lab.reload_once(remove)
        lab.inside.ip("link", "del", "if3")

    def bad_files(self) -> None:
        lab = self.lab
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()
        good = (lab.conf / "topology.json").read_text()
        cases = [
            ("half a file", lambda: lab.replace(lab.conf / "topology.json", good[:200])),
            ("an address that no device has", lambda: lab.replace(
                lab.conf / "topology.json", good.replace("10.1.0.1:", "10.99.0.1:"))),
            ("another AS", lambda: lab.replace(
                lab.conf / "topology.json", good.replace('"1-ff00:0:1"', '"1-ff00:0:2"'))),
            ("a key that is none", lambda: lab.replace(lab.conf / "keys" / "master0.key", "?!")),
            ("no such router", lambda: lab.write_settings("r9")),
            ("an unknown key", lambda: lab.replace(lab.conf / "hopwright.toml", "watch_file = true\n")),
            ("a FIFO", lambda: lab.put(lab.conf / "topology.json", os.mkfifo)),
            ("a file without end", lambda: lab.put(
                lab.conf / "topology.json", lambda path: path.symlink_to("/dev/zero"))),
        ]
        for what, spoil in cases:
            before = lab.figures_now()["refused"]
            key = (lab.conf / "keys" / "master0.key").read_text()
            spoil()
            lab.wait_for("refused", before + 1)
            self.that(f"{what} is refused", True, lab.figures()["error"])
            unchanged = lab.figures_now()["unchanged"]
            lab.replace(lab.conf / "topology.json", good)
            lab.replace(lab.conf / "keys" / "master0.key", key)
            lab.write_settings()
            lab.wait_for("unchanged", unchanged + 1)
        self.lossless("the router goes on as before", stream.finish())
        stream.close()

    def vanishing_address(self) -> None:
        """What a change needs goes away while it is being taken on: the router goes on."""
        lab = self.lab
        lab.device(5, "10.5.0.1/24", ("10.5.0.2/24",))

        def link(remote: int) -> None:
            lab.interfaces["5"] = lab.interface(5, "child", remote=remote)
            lab.write_topology()

        lab.reload_once(lambda: link(2))
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()
        # Nobody has this address: for a second the router looks for it.
        before = lab.figures()
        link(77)
        time.sleep(0.5)
        lab.inside.ip("addr", "del", "10.5.0.1/24", "dev", "if5")
        wait_until("the change to be taken on or refused", lambda: lab.process.check() or lab.figures() != before)
        self.that("a device loses its address while links change", True, lab.figures())
        lab.inside.ip("link", "del", "if5")
        del lab.interfaces["5"]
        lab.reload_once(lab.write_topology)
        self.lossless("other links go on", stream.finish())
        stream.close()

    def told_by_signal(self) -> None:
        lab = self.lab
        lab.settings["watch_files"] = "false"
        lab.reload_once(lab.write_settings)
        lab.topology["control_service"]["cs"]["addr"] = "10.0.0.222:30252"
        lab.write_topology()
        time.sleep(2)
        self.that("without watching, files may change unnoticed", "10.0.0.222" not in lab.log())
        lab.reload_once(lambda: os.kill(lab.process.pid, signal.SIGHUP))
        self.that("SIGHUP has them read", "service 2 changed: 10.0.0.222" in lab.log())
        lab.settings["watch_files"] = "true"
        lab.write_settings()
        lab.reload_once(lambda: os.kill(lab.process.pid, signal.SIGHUP))

    def keys(self) -> None:
        lab = self.lab
        old, new = lab.key(), lab.key("master1.key")
        inlet = ("10.2.0.3",)

        def forwarded(key: bytes) -> bool:
            stream = lab.stream(key, 2, rate=200, inlets=inlet).start()
            stream.until(60).finish(2.0).close()
            return len(stream.received) > stream.sent / 2

        self.that("the next key is not accepted unasked", not forwarded(new))
        lab.settings["accept_next_key"] = "true"
        lab.settings["key_overlap"] = '"20s"'
        lab.reload_once(lab.write_settings)
        wait_until("the next key to be accepted early", lambda: forwarded(new) and forwarded(old))
        set_before = lab.key_set()
        stream = lab.stream(old, 2, inlets=inlet).start()
        # Old hops under traffic, across the change.
        lab.settings["accept_next_key"] = "false"
        lab.write_key("master0.key", b"the second one..")
        lab.write_key("master1.key", b"a third one.....")
        lab.reload_once(lab.write_settings)
        wait_until("the metrics to say that the key has changed", lambda: lab.key_set() > set_before > 0)
        self.lossless("hops of the key before are good while keys overlap", stream.finish())
        stream.close()
        wait_until("those of the current key to be good", lambda: forwarded(new))
        wait_until("the key before not to be accepted", lambda: not forwarded(old), interval=1.0)
        wait_until("only the current key to be accepted then", lambda: forwarded(new))
        secrets = [k.hex() for k in (old, new)] + [base64.b64encode(b"the second one..").decode()]
        self.that("no key is in the log", not any(secret in lab.log() for secret in secrets))

    def ledger(self) -> None:
        status = self.lab.process.stop()
        ledger = read_stats(self.lab.stats_file).get("ledger", {})
        self.that("it ends with status 0", status == 0, f"status {status}")
        self.that("packets in are packets out", bool(ledger) and
                  ledger["packets_in"] == ledger["packets_out"],
                  f"{ledger.get('packets_in')} = {ledger.get('packets_out')}")


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--router", default="hopwright",
                        help="hopwright (default), or a command with {config} and {stats} in it")
    parser.add_argument("--seconds", type=float, default=6,
                        help="how long to change files every 200 ms (default: %(default)s)")
    args = parser.parse_args()
    names = choose(args, STEPS, {step: ["other_remote"] for step in STEPS if step not in ("many_reloads", "told_by_signal")})

    def run(checks: Checks) -> None:
        lab, done = Lab(), False
        try:
            lab.start(RouterKind(args.router))
            test = Test(lab, checks)
            test.warm_up()
            for name in names:
                getattr(test, name)(*([args.seconds] if name == "many_reloads" else []))
            test.ledger()
            done = True
        finally:
            lab.close(keep=not done or checks.failed > 0)
    return carry_out(f"reload, {args.router}", run)


if __name__ == "__main__":
    sys.exit(main())
