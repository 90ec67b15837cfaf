"""`hopwright switch` on veth pairs in this network namespace, hosts at their other ends, and certificates for its clients."""

import functools
import json
import os
import pathlib
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from .command import HOPWRIGHT, PATIENCE, ROOT, end, hopwright, wait_until
from .netns import ip
from .schedstat import waited_for_cpu
from .switch import veth, wait_for_links

P4RUNTIME = "127.0.0.1:9559"
METRICS = "127.0.0.1:9090"


def on_a_busy_machine(test):
    """A test that counts packets or measures a rate: a busy machine loses packets outside the switch, and is late. It passes if one
    of six attempts does; a fault of the switch fails them all."""
    @functools.wraps(test)
    def attempts(self):
        for attempt in range(1, 6):
            try:
                return test(self)
            except AssertionError as error:
                print(f"{test.__name__}, attempt {attempt}: {error}", file=sys.stderr)
        return test(self)
    return attempts


class Certificates:
    """An authority, a certificate of the server, and certificates of clients."""

    def __init__(self, folder):
        self.folder = folder
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                      "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
        self.make("switch", "subjectAltName=DNS:localhost,IP:127.0.0.1")

    def make(self, name, extension="subjectAltName=DNS:client"):
        self._openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                      "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (self.folder / "extensions").write_text(extension)
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                      "-days", "2", "-extfile", "extensions", "-out", f"{name}.pem")

    def options(self, name):
        """Of a command that controls the switch as this client."""
        return ["--server", "localhost:9559", "--tls-ca", self.folder / "ca.pem",
                "--tls-cert", self.folder / f"{name}.pem", "--tls-key", self.folder / f"{name}.key"]

    def _openssl(self, *args):
        subprocess.run(["openssl", *args], cwd=self.folder, check=True, capture_output=True)


class Lab:
    """A switch; use it with `with`. `devices` are numbered: sw0 with host0 at its other end, and so on. `prefix`: of its command.
    Without `sockets` nobody listens at the other ends. `settings`: more keys of [switch]. `options`: of its command. `command`: what reads the
    file."""

    def __init__(self, config, devices=2, prefix=(), sockets=True, settings="", options=(),
                 command=(HOPWRIGHT, "switch", "--config")):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-switch-"))
        self.file, self.socket = self.folder / "switch.toml", self.folder / "switch.sock"
        self.devices, self.prefix, self.sockets, self.settings = devices, prefix, sockets, settings
        self.options, self.command = options, command
        self.write(config)

    def write(self, config):
        """The text behind the switch's own settings, in which {root} is the checkout."""
        ports = "".join(f'[[port]]\ndevice = "sw{n}"\n' for n in range(self.devices))
        kind = os.environ.get("HOPWRIGHT_PORTS", "af_packet")
        head = f'[switch]\nsocket = "switch.sock"\nports = "{kind}"\n{self.settings}{ports}'
        self.file.write_text(head + config.replace("{root}", str(ROOT)))

    def __enter__(self):
        self.hosts, self.unread = [], 0
        for n in range(self.devices):
            s = veth(f"sw{n}", f"host{n}")
            if self.sockets:
                s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
                self.hosts.append(s)
            else:
                s.close()
        wait_for_links(*(f"sw{n}" for n in range(self.devices)))
        self.log = self.folder / "log"
        with self.log.open("w") as log:
            command = [*self.prefix, *self.command, self.file, *self.options]
            self.process = subprocess.Popen(command, stderr=log, stdout=log)
        try:
            wait_until("the switch runs", lambda: "tenant" in self.output() and self.socket.exists() or self.ended())
        except BaseException:
            # Nobody else removes the devices.
            self.process.kill()
            self.process.wait()
            self.remove()
            raise
        return self

    def remove(self):
        for s in self.hosts:
            s.close()
        for n in range(self.devices):
            ip("link", "del", f"sw{n}")

    def ended(self):
        assert self.process.poll() is None, f"the switch has ended:\n{self.output()}"

    def __exit__(self, kind, *_):
        status = end(self.process)
        self.remove()
        output = self.output()
        if kind is not None:
            print(output, file=sys.stderr)
        assert status == 0, f"the switch ended with {status}:\n{output}"
        assert "panicked" not in output, output
        assert not self.socket.exists(), "the administration socket is still there"
        received, accounted = re.search(r"received=(\d+).*accounted=(\d+)", output).groups()
        assert received == accounted, f"{received} packets received, {accounted} accounted for"

    def output(self):
        return re.sub(r"\x1b\[[0-9;]*m", "", self.log.read_text())

    def reload(self):
        """Has the switch read its file again; returns what it says to that."""
        before = self.output().count("configuration read again")
        self.process.send_signal(signal.SIGHUP)
        wait_until("the configuration is read", lambda: self.output().count("configuration read again") > before)
        return [line for line in self.output().splitlines() if "configuration read again" in line][-1]

    def tenant(self, *args, ok=True):
        return hopwright("tenant", *args, "--socket", self.socket, ok=ok)

    def show(self, name):
        return json.loads(self.tenant("show", name, "--json"))

    def lost_elsewhere(self):
        """Packets that the machine has lost outside of the switch until now: devices, whose queues were not emptied; sockets of hosts,
        which were not read; and receive rings, and the seconds that the switch has waited for a CPU."""
        links = json.loads(subprocess.run(["ip", "-s", "-j", "link"], check=True, capture_output=True, text=True).stdout)
        devices = sum(link["stats64"][way]["dropped"] for link in links for way in ("rx", "tx"))
        for s in self.hosts:
            # PACKET_STATISTICS, which begin anew with each call: packets, and those that were dropped.
            self.unread += struct.unpack("II", s.getsockopt(263, 6, 8))[1]
        rings = sum(int(value) for name, value in self.metrics().items() if 'reason="rx_' in name)
        return devices + self.unread, rings, waited_for_cpu(self.process.pid)

    def metrics(self):
        """Values by name with labels."""
        text = urllib.request.urlopen(f"http://{METRICS}/metrics", timeout=PATIENCE).read().decode()
        return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))

    def send(self, host, frame):
        self.hosts[host].send(frame)

    def receive(self, host, timeout=PATIENCE):
        """The next frame that a host gets, or None."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.hosts[host]], [], [], left)[0]:
                frame, address = self.hosts[host].recvfrom(65536)
                if address[2] != socket.PACKET_OUTGOING:
                    return frame
        return None


class Flow:
    """Frames of several kinds, sent evenly by one host until told to stop, and counted where another receives them."""

    def __init__(self, lab, frames, per_second, sender=0, receiver=1, kind=lambda frame: frame[-1]):
        self.lab, self.frames, self.pause = lab, frames, 1 / per_second
        self.sender, self.receiver, self.kind = sender, receiver, kind
        self.sent, self.received, self.times = {}, {}, {}
        self.stop = threading.Event()

    def __enter__(self):
        self.begun, self.elsewhere = time.monotonic(), self.lab.lost_elsewhere()
        self.threads = [threading.Thread(target=t) for t in (self._send, self._receive)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Ends the flow, and waits for what is under way."""
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def lost(self, *kinds):
        """How many frames of these kinds were lost by the switch, or by nobody who counts. What a full ring has lost is the machine's as
        far as the switch has waited for a CPU."""
        lost = sum(self.sent[kind] - self.received.get(kind, 0) for kind in kinds)
        # One that comes twice does not make up for one that is lost.
        assert all(self.received.get(kind, 0) <= self.sent[kind] for kind in kinds), f"{self.received} of {self.sent}"
        outside, rings, waited = (now - then for now, then in zip(self.lab.lost_elsewhere(), self.elsewhere))
        rate = sum(self.sent.values()) / (time.monotonic() - self.begun)
        # Threads that have ended are not counted any more.
        return max(0, lost - outside - min(rings, int(max(0.0, waited) * rate) + 1))

    def _send(self):
        due = time.monotonic()
        while not self.stop.is_set():
            for kind, frame in self.frames.items():
                self.lab.send(self.sender, frame)
                self.sent[kind] = self.sent.get(kind, 0) + 1
            # Who is late does not make up for more than a little: a burst would overflow what takes the steady rate.
            due = max(due + self.pause, time.monotonic() - 20 * self.pause)
            time.sleep(max(0, due - time.monotonic()))

    def _receive(self):
        quiet = 0
        while quiet < 10:
            frame = self.lab.receive(self.receiver, 0.05)
            quiet = quiet + 1 if frame is None and self.stop.is_set() else 0
            if frame is not None:
                kind = self.kind(frame)
                self.received[kind] = self.received.get(kind, 0) + 1
                self.times.setdefault(kind, []).append(time.monotonic())
