#!/usr/bin/env python3
"""A border router that is a tenant of a switch, beside a layer-2 switch on the same devices.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could
not be carried out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from lab.cases import carry_out, case_options, choose
from lab.checks import Checks
from lab.command import wait_until
from lab.router import BRIDGED_MAC, RouterKind, hopwright_binary
from lab.scion import Stream, deliver, socket_in, transit, udp_socket
from reload_test import PORT, RATE, Lab, Test

METRICS = "127.0.0.1:30443"
# A router of another AS, on devices that the first one has, too.
SECOND = """[[tenant]]
name = "second"
ports = {{ 1 = "if3", 2 = "if4" }}
match = [{{ mac = "{macs[0]}" }}, {{ mac = "{macs[1]}" }}]
[tenant.agent]
kind = "scion"
config = "router.toml"
"""
VLAN = bytes.fromhex(f"{BRIDGED_MAC}020000000001" "8100" "000a" "88b5")


class Frames:
    """Sends and receives frames of VLAN 10, as a stream's sockets do datagrams."""

    def __init__(self, lab: Lab, device: str):
        def make() -> socket.socket:
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            sock.bind((device, 0))
            return sock
        self._sock = socket_in(lab.outside, make)

    def sendto(self, frame: bytes, _to: object) -> int:
        return self._sock.send(frame)

    def settimeout(self, seconds: float) -> None:
        self._sock.settimeout(seconds)

    def recv(self, size: int) -> bytes:
        """The next frame to the bridged address; the kernel takes its VLAN tag off."""
        while True:
            frame, address = self._sock.recvfrom(size)
            if address[2] != socket.PACKET_OUTGOING and frame[:6] == VLAN[:6]:
                return frame

    def close(self) -> None:
        self._sock.close()


def metrics(lab: Lab) -> dict[str, float]:
    """The switch's metrics: values by name with labels."""
    done = lab.inside.run(sys.executable, "-c",
                          f"import urllib.request as r; print(r.urlopen('http://{METRICS}/metrics').read().decode())")
    lines = (line.rsplit(" ", 1) for line in done.stdout.splitlines() if line and line[0] != "#")
    return {name: float(value) for name, value in lines}


class TenantLab(Lab):
    """The same with a switch in the router's place."""

    def losses(self) -> tuple[int, int]:
        values = metrics(self)
        ring = sum(value for name, value in values.items() if 'reason="rx_' in name)
        dropped = sum(value for name, value in values.items()
                      if name.startswith(("hopwright_tenant_dropped_packets_total", "hopwright_port_lost_packets_total"))
                      and 'reason="rx_' not in name)
        return int(ring), int(dropped)


# Behind another_remote a link leads to another address.
STEPS = ("side_by_side", "hosts", "kernel", "reassembled", "another_remote", "second_router", "another_file", "refused")


class TenantTest(Test):
    """The checks, in order."""

    def side_by_side(self) -> None:
        lab = self.lab
        scion = lab.stream(lab.key(), 2)
        bridged = Stream(Frames(lab, "out1"), None, lambda payload: VLAN + bytes(40) + payload, RATE)
        bridged.into(Frames(lab, "out2"))
        bridged.ledger = lab.ledger()
        for stream in (scion, bridged):
            stream.start()
        for stream in (scion, bridged):
            stream.until(3 * RATE)
        for stream in (scion, bridged):
            stream.finish()
        for stream, name in ((scion, "SCION packets"), (bridged, "frames of the other tenant")):
            self.lossless(name, stream)
        scion.close()
        bridged.close()
        name = 'hopwright_scion_forwarded_packets_total{tenant="border"}'
        # Counters are posted a few times a second.
        wait_until("the switch to count them", lambda: metrics(lab).get(name, 0) >= len(scion.received))
        values = metrics(lab)
        self.that("the switch counts them", True, f"{values[name]:.0f} forwarded")
        self.that("the agent works", values['hopwright_scion_running{tenant="border"}'] == 1)

    def hosts(self) -> None:
        """A host of the AS has no entry at first: the kernel's sockets reach it."""
        lab = self.lab
        # The kernel loses packets while it asks for the host's address, on a busy machine for long: once more, then.
        for _ in range(5):
            inlet = udp_socket(lab.outside, "10.0.0.9", 31000)
            out = udp_socket(lab.outside, "10.1.0.2", PORT)
            stream = Stream(out, ("10.1.0.1", PORT),
                            lambda payload: deliver(lab.key(), 1, "1-ff00:0:1", "10.0.0.9", 31000, payload), 200)
            stream.ledger = lab.ledger()
            stream.into(inlet).start().until(400).finish()
            stream.close()
            if not stream.lost:
                break
        self.lossless("to a host of the AS", stream)

    def kernel(self) -> None:
        """The devices' addresses remain the kernel's."""
        lab = self.lab
        lab.outside.ip("neigh", "flush", "all")
        done = lab.outside.run("ping", "-c", "3", "-i", "0.2", "-W", "30", "10.1.0.1")
        self.that("the kernel answers ARP and ping", " 3 received" in done.stdout, done.stdout.split("\n")[-3:-2])
        for port, refused in ((PORT, False), (PORT + 1, True)):
            sock = udp_socket(lab.outside, "10.1.0.2", 0)
            sock.settimeout(30 if refused else 0.5)
            sock.connect(("10.1.0.1", port))
            sock.send(b"no SCION packet")
            try:
                sock.recv(1)
                answer = "an answer"
            except ConnectionRefusedError:
                answer = "refused"
            except TimeoutError:
                answer = "nothing"
            sock.close()
            self.that(f"a datagram to UDP port {port}", answer == ("refused" if refused else "nothing"), answer)

    def reassembled(self) -> None:
        """Datagrams that come in fragments reach the router by the kernel."""
        lab = self.lab
        for namespace, device in ((lab.inside, "if1"), (lab.outside, "out1")):
            namespace.ip("link", "set", device, "mtu", "1300")
        out = udp_socket(lab.outside, "10.1.0.2", PORT)
        out.setsockopt(socket.IPPROTO_IP, 10, 0)  # IP_MTU_DISCOVER: they may be fragmented
        stream = Stream(out, ("10.1.0.1", PORT),
                        lambda payload: transit(lab.key(), 1, 2, bytes(1200) + payload), 100)
        stream.ledger = lab.ledger()
        stream.into(udp_socket(lab.outside, "10.2.0.2", PORT)).start()
        stream.until(110)
        self.lossless("datagrams in fragments", stream.finish())
        stream.close()
        for namespace, device in ((lab.inside, "if1"), (lab.outside, "out1")):
            namespace.ip("link", "set", device, "mtu", "1500")

    def reload(self, what: str) -> None:
        """SIGHUP with the same switch.toml: the router reads its own files."""
        lab = self.lab
        name = 'hopwright_scion_reloads_total{tenant="border"}'
        before = metrics(lab)[name]
        lab.write_topology()
        os.kill(lab.process.pid, signal.SIGHUP)
        wait_until(what, lambda: metrics(lab).get(name) == before + 1)
        self.that(f"SIGHUP applies {what}", "nothing has changed" in lab.log())

    def another_remote(self) -> None:
        lab = self.lab
        lab.outside.ip("addr", "add", "10.2.0.3/24", "dev", "out2")
        lab.interfaces["2"] = lab.interface(2, "child", remote=3)
        self.reload("another remote address")
        self.warm_up(inlets=("10.2.0.3",))
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()
        self.lossless("to another remote address", stream.until(RATE).finish())
        stream.close()

    def second_router(self) -> None:
        """Another router comes, goes and comes back, while the first one forwards."""
        lab = self.lab
        conf = lab.directory / "second"
        shutil.copytree(lab.conf / "keys", conf / "keys")
        interfaces = {str(n): lab.interface(n, relation) for n, relation in ((3, "parent"), (4, "child"))}
        (conf / "topology.json").write_text(json.dumps({
            "isd_as": "1-ff00:0:2", "mtu": 1400, "attributes": [],
            "border_routers": {"r1": {"internal_addr": "10.3.0.1:30042", "interfaces": interfaces}}}))
        # The folder of topology.json is that of router.toml.
        (conf / "router.toml").write_text('[general]\nid = "r1"\n')
        links = json.loads(lab.inside.ip("-j", "link"))
        macs = [link["address"] for link in links if link["ifname"] in ("if3", "if4")]
        (conf / "second.toml").write_text(SECOND.format(macs=macs))
        first = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()

        def administer(*words: str) -> None:
            done = subprocess.run([hopwright_binary(), "tenant", *words, "--socket",
                                   str(lab.conf / "router-switch" / "switch.sock")],
                                  capture_output=True, text=True)
            self.that(f"tenant {words[0]}", done.returncode == 0, done.stdout.strip() + done.stderr)

        for _ in range(2):
            administer("add", str(conf / "second.toml"))
            self.warm_up(4, ingress=3)
            second = lab.stream(lab.key(), 4, ingress=3).start()
            self.lossless("through the second router", second.until(RATE).finish())
            second.close()
            names = [name for name in metrics(lab) if name.startswith("hopwright_port_received_packets")]
            self.that("each has a port of sockets", sum('"agent:' in name for name in names) == 2, "")
            administer("remove", "second")

        def left() -> list[str]:
            return [name for name in metrics(lab) if 'tenant="second"' in name or "agent:second" in name]
        wait_until("it to be gone", lambda: not left())
        self.that("then it is gone", True)
        self.lossless("through the first router all the time", first.finish())
        first.close()

    def another_file(self) -> None:
        """Another router.toml: the agent starts anew, with the same addresses."""
        lab = self.lab
        file = lab.conf / "router-switch" / "switch.toml"
        text = file.read_text()
        (lab.conf / "other.toml").write_text((lab.conf / "router.toml").read_text())
        file.write_text(text.replace("router.toml", "other.toml"))
        os.kill(lab.process.pid, signal.SIGHUP)
        wait_until("another agent", lambda: "tenant border: another agent" in lab.log())
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()
        self.lossless("with another agent", stream.until(RATE).finish())
        stream.close()
        # An agent that cannot start changes nothing.
        file.write_text(text.replace("router.toml", "missing.toml"))
        os.kill(lab.process.pid, signal.SIGHUP)
        wait_until("the refusal", lambda: "missing.toml: No such file" in lab.log())
        self.that("a missing file is refused", metrics(lab)['hopwright_scion_running{tenant="border"}'] == 1)
        done = subprocess.run([hopwright_binary(), "switch", "--config", str(file), "--check"],
                              capture_output=True, text=True)
        self.that("and --check says so", done.returncode == 1 and "missing.toml: No such file" in done.stderr,
                  done.stderr.strip())
        file.write_text(text)
        os.kill(lab.process.pid, signal.SIGHUP)
        wait_until("the first agent again", lambda: lab.log().count("tenant border: another agent") >= 2)

    def refused(self) -> None:
        """A file with errors changes nothing."""
        lab = self.lab
        name = 'hopwright_scion_reload_failed{tenant="border"}'
        good = (lab.conf / "topology.json").read_text()
        lab.replace(lab.conf / "topology.json", good[:200])
        os.kill(lab.process.pid, signal.SIGHUP)
        wait_until("the refusal", lambda: metrics(lab).get(name) == 1)
        stream = lab.stream(lab.key(), 2, inlets=("10.2.0.3",)).start()
        self.lossless("the router goes on with half a file", stream.until(RATE).finish())
        stream.close()
        lab.replace(lab.conf / "topology.json", good)

    def end(self) -> None:
        status = self.lab.process.stop()
        self.that("the switch ends with status 0", status == 0, f"status {status}")
        log = re.sub(r"\x1b\[[0-9;]*m", "", self.lab.log())
        found = re.search(r"received=(\d+).*accounted=(\d+)", log)
        self.that("packets in are packets out", bool(found) and found[1] == found[2], found and found[0])
        key = self.lab.key()
        self.that("no key is in the log", key.hex() not in log and "the first master" not in log)
        self.that("no panic", "panicked" not in log)


def main() -> int:
    names = choose(case_options(__doc__).parse_args(), STEPS, {step: ["another_remote"] for step in STEPS[STEPS.index("another_remote") + 1:]})

    def run(checks: Checks) -> None:
        lab, done = TenantLab(), False
        try:
            lab.settings = {"watch_files": "false"}
            lab.write_settings()
            for number in (3, 4):
                lab.device(number, f"10.{number}.0.1/24", (f"10.{number}.0.2/24",))
            lab.start(RouterKind("tenant"))
            test = TenantTest(lab, checks)
            test.warm_up()
            for name in names:
                getattr(test, name)()
            test.end()
            done = True
        finally:
            lab.close(keep=not done or checks.failed > 0)
    return carry_out("tenant", run)


if __name__ == "__main__":
    sys.exit(main())
