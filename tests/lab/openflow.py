"""A switch, ours or Open vSwitch, with hosts around it, in the network namespace of this process."""

import ctypes
import errno
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time

from .command import HOPWRIGHT, ROOT, end, run, wait_until
from .frames import checksum

HERE = ROOT / "tests/openflow"
PYTHON = HERE / ".venv/bin/python"
CONTROLLER, LISTEN, REST = 6653, 6654, 8080
ETH_P_ALL = 3
SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 263, 8, 23
PACKET_OUTGOING = 4
CLONE_NEWNET = 0x40000000


class Process:
    """A process with a log file, ended by its number."""

    def __init__(self, folder, name, *command, **options):
        self.log = folder / f"{name}.log"
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([str(c) for c in command], stdout=log, stderr=log, **options)

    def stop(self, how=signal.SIGTERM):
        return end(self.process, how=how)

    def alive(self):
        return self.process.poll() is None


class Host:
    """A network namespace with `eth0`, whose other end is a port of the switch."""

    def __init__(self, number):
        self.number = number
        self.device = f"p{number}"
        self.mac = f"02:00:00:00:00:{number:02x}"
        self.address = f"10.0.0.{number}"
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        wait_until("a namespace", lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") != own)
        run("ip", "link", "add", self.device, "type", "veth", "peer", "name", "eth0", "netns", self.process.pid)
        run("ip", "link", "set", self.device, "up")
        # Nothing but the tests' packets.
        pathlib.Path(f"/proc/sys/net/ipv6/conf/{self.device}/disable_ipv6").write_text("1")
        self("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
        self("ip", "link", "set", "eth0", "address", self.mac)
        self("ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        self("ip", "link", "set", "eth0", "up")
        self.socket = self.open()

    def __call__(self, *command, check=True):
        return run("nsenter", "-t", self.process.pid, "-n", *command, check=check)

    def open(self):
        """A packet socket in the namespace."""
        libc = ctypes.CDLL(None, use_errno=True)
        with open("/proc/self/ns/net") as back, open(f"/proc/{self.process.pid}/ns/net") as there:
            assert libc.setns(there.fileno(), CLONE_NEWNET) == 0
            try:
                packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
                packets.bind(("eth0", 0))
            finally:
                assert libc.setns(back.fileno(), CLONE_NEWNET) == 0
        packets.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        packets.settimeout(0.05)
        return packets

    def send(self, frame):
        self.socket.send(frame)

    def received(self, count=0, seconds=60, wanted=None):
        """Frames with UDP, or those that are wanted, that came, with the VLAN tags that the kernel took off: waits for this many, and a moment for more."""
        frames, deadline = [], time.monotonic() + (seconds if count else 0.15)
        while time.monotonic() < deadline:
            if count and len(frames) == count:
                count, deadline = 0, time.monotonic() + 0.15
            try:
                frame, extra, _, sender = self.socket.recvmsg(65536, 256)
            except TimeoutError:
                continue
            except OSError as error:
                # Said once, after the device was down.
                if error.errno != errno.ENETDOWN:
                    raise
                continue
            if sender[2] == PACKET_OUTGOING:
                continue
            for level, kind, data in extra:
                if level == SOL_PACKET and kind == PACKET_AUXDATA:
                    status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
                    if status & 1 << 4:
                        frame = frame[:12] + struct.pack("!HH", tpid if status & 1 << 6 else 0x8100, tci) + frame[12:]
            if (wanted or is_udp)(frame):
                frames.append(frame)
        return frames

    def ping(self, other, count=1, check=True):
        """Whether all requests are answered. With `check` they must be, of some attempts: on a busy machine answers come late."""
        def reached():
            return f" {count} received" in self("ping", "-c", count, "-i", "0.2", "-W", "2", other.address, check=False)
        return wait_until(f"{other.address} answers {self.address}", reached) if check else reached()

    def stop(self):
        self.socket.close()
        run("ip", "link", "del", self.device, check=False)
        self.process.kill()
        self.process.wait()


class Hopwright:
    name = "hopwright"
    # Seconds until packets are treated as the flows say.
    settles = 0

    def __init__(self, folder, hosts, versions, options=()):
        interfaces = [o for h in hosts for o in ("-i", f"{h.number}@{h.device}")]
        command = [HOPWRIGHT, "openflow", *interfaces, "--controller", f"tcp:127.0.0.1:{CONTROLLER}",
                   "--listen", f"ptcp:{LISTEN}", "--version", versions, "--probe-interval", "2",
                   "--ports", "af_packet", *options]
        self.process = Process(folder, "switch", *command)

    def resident(self):
        """Bytes of memory."""
        status = pathlib.Path(f"/proc/{self.process.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def stop(self):
        assert self.process.alive(), self.process.log.read_text()
        code = self.process.stop(signal.SIGINT)
        log = self.process.log.read_text()
        assert code == 0 and "panicked" not in log, log


class OpenVSwitch:
    name = "openvswitch"
    # Its caches follow the flows with a delay.
    settles = 0.5

    def __init__(self, folder, hosts, versions, options=()):
        self.folder = folder
        # The daemons look for their files there.
        self.environment = dict(os.environ, OVS_RUNDIR=str(folder), OVS_LOGDIR=str(folder), OVS_DBDIR=str(folder))
        self.database = f"unix:{folder}/db.sock"
        self.processes = []
        try:
            self.start(hosts, versions, options)
        except BaseException:
            self.end()
            raise

    def start(self, hosts, versions, options):
        folder = self.folder
        run("ovsdb-tool", "create", folder / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.processes.append(Process(folder, "ovsdb", "ovsdb-server", folder / "conf.db", f"--remote=p{self.database}",
                                      f"--unixctl={folder}/ovsdb.ctl", env=self.environment))
        wait_until("a database", lambda: (folder / "db.sock").exists())
        self.vsctl("--no-wait", "init")
        self.processes.append(Process(folder, "vswitchd", "ovs-vswitchd", self.database, f"--unixctl={folder}/ovs.ctl",
                                      env=self.environment))
        protocols = ",".join({"1.0": "OpenFlow10", "1.3": "OpenFlow13"}[v] for v in versions.split(","))
        ports = [o for h in hosts for o in ("--", "add-port", "br0", h.device, "--", "set", "interface", h.device,
                                            f"ofport_request={h.number}")]
        mode = "standalone" if "--standalone" in options else "secure"
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "other_config:disable-in-band=true", f"protocols={protocols}",
                   f"fail_mode={mode}", *ports,
                   "--", "--id=@to", "create", "controller", f'target="tcp:127.0.0.1:{CONTROLLER}"',
                   "inactivity_probe=2000", "max_backoff=1000",
                   "--", "--id=@from", "create", "controller", f'target="ptcp:{LISTEN}:127.0.0.1"',
                   "--", "set", "bridge", "br0", "controller=[@to,@from]")

    def vsctl(self, *command):
        return run("ovs-vsctl", f"--db={self.database}", "--timeout=60", *command)

    def stop(self):
        try:
            self.vsctl("del-br", "br0")
        finally:
            self.end()

    def end(self):
        for process in reversed(self.processes):
            process.stop()


class Controller:
    """os-ken with some of its own applications."""

    def __init__(self, folder, *applications, verbose=False):
        options = ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", CONTROLLER, "--wsapi-host", "127.0.0.1",
                   "--wsapi-port", REST]
        if verbose:
            options.append("--verbose")
        self.process = Process(folder, "controller", PYTHON, HERE / "osken.py", *options,
                               *(f"os_ken.app.{a}" for a in applications))

    def log(self):
        return self.process.log.read_text()

    def stop(self, how=signal.SIGTERM):
        self.process.stop(how)


class Lab:
    """Hosts, a switch and, if applications are given, a controller."""

    def __init__(self, switch, hosts=3, versions="1.0,1.3", applications=(), options=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="openflow-"))
        self.hosts, self.switch, self.controller = [], None, None
        self.how = (switch, versions, options)
        self.applications = applications
        self.count = hosts

    def __enter__(self):
        switch, versions, options = self.how
        try:
            self.hosts = [Host(n) for n in range(1, self.count + 1)]
            if self.applications:
                self.start_controller()
            self.switch = switch(self.folder, self.hosts, versions, options)
            wait_until(self.logs, lambda: "n_tables" in self.ofctl("show", version=versions.split(",")[0], check=False)
                       or "OFPT_FEATURES_REPLY" in self.ofctl("show", version=versions.split(",")[0], check=False))
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.logs())
        self.end()

    def end(self):
        try:
            if self.controller:
                self.controller.stop()
            if self.switch:
                self.switch.stop()
        finally:
            for host in self.hosts:
                host.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def start_controller(self):
        self.controller = Controller(self.folder, *self.applications)

    def logs(self):
        return "\n".join(f"--- {log.name}\n{log.read_text()[-4000:]}" for log in sorted(self.folder.glob("*.log")))

    def monitor(self):
        """`ovs-ofctl monitor` of 1.3."""
        return Process(self.folder, "monitor", "ovs-ofctl", "-O", "OpenFlow13", "monitor", f"tcp:127.0.0.1:{LISTEN}", "65535",
                       env=dict(os.environ, OVS_RUNDIR=str(self.folder)))

    def ofctl(self, command, *arguments, version="1.3", check=True, target=None):
        """Runs `ovs-ofctl` on the switch."""
        protocol = {"1.0": "OpenFlow10", "1.3": "OpenFlow13"}[version]
        target = target or f"tcp:127.0.0.1:{LISTEN}"
        return run("ovs-ofctl", "-O", protocol, "--timeout=60", command, target, *arguments, check=check)


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(dst, src, kind, payload, tags=()):
    head = mac(dst) + mac(src)
    for tpid, tci in tags:
        head += struct.pack("!HH", tpid, tci)
    return head + struct.pack("!H", kind) + payload


def is_udp(frame):
    at = 12
    while frame[at:at + 2] in (b"\x81\0", b"\x88\xa8"):
        at += 4
    return frame[at:at + 2] == b"\x08\0" and frame[at + 11] == 17


def ipv4(src, dst, protocol, payload, ttl=64, tos=0):
    src, dst = socket.inet_aton(src), socket.inet_aton(dst)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, tos, 20 + len(payload), 1, 0, ttl, protocol, 0, src, dst)
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def udp(src, dst, sport, dport, data=b"some data here"):
    pseudo = socket.inet_aton(src) + socket.inet_aton(dst) + struct.pack("!HH", 17, 8 + len(data))
    head = struct.pack("!HHHH", sport, dport, 8 + len(data), 0)
    return head[:6] + struct.pack("!H", checksum(pseudo + head + data) or 0xFFFF) + data
