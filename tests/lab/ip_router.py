"""`hopwright ip` between two hosts, in this network namespace and two more."""

import json
import pathlib
import subprocess
import sys
import tempfile

from .command import HOPWRIGHT, end, wait_until
from .netns import ip


def links(namespace=None):
    """The interfaces of a namespace as `ip -s link` shows them, by name."""
    inside = ["-n", namespace] if namespace else []
    shown = ip(*inside, "-j", "-s", "-d", "link")
    return {link["ifname"]: link for link in json.loads(shown)}


def kernel_received():
    """Packets that the control plane's kernel has received on its ports."""
    return sum(links("blue")[f"sw{n}"]["stats64"]["rx"]["packets"] for n in range(2))


class Process:
    """A program whose output is kept; use it with `with`."""

    def __init__(self, *command, **options):
        self.command, self.options = [str(word) for word in command], options

    def __enter__(self):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log")
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, **self.options)
        return self

    def output(self):
        return pathlib.Path(self.log.name).read_text()

    def says(self, text, times=1):
        """Waits until it has said something this often."""
        def said():
            assert self.process.poll() is None, f"{self.command} has ended:\n{self.output()}"
            return self.output().count(text) >= times
        wait_until(f"{self.command[0]} says {text}", said)

    def __exit__(self, kind, *_):
        status = end(self.process)
        if kind is not None:
            print(self.output(), file=sys.stderr)
        if self.command[0] == str(HOPWRIGHT):
            assert status == 0, f"{self.command} ended with {status}:\n{self.output()}"


def listens(port):
    """Waits until a UDP socket of this namespace has a port: what is sent to it before is lost."""
    wait_until(f"somebody listens at {port}", lambda: _udp(port))


def has_read(port):
    """Waits until whoever listens at a UDP port has read all that was sent to it."""
    wait_until(f"everything is read at {port}", lambda: all(queue.endswith(":00000000") for queue in _udp(port)))


def _udp(port):
    """The queues of the UDP sockets that have a port (proc_net(5)): what waits to be sent, and to be read."""
    sockets = [line.split() for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]]
    return [socket[4] for socket in sockets if socket[1].endswith(f":{port:04X}")]


class Router:
    """The router, whose control plane is the namespace `blue`, with a host at each of its ports. `host0` pings `host1` through it."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        for n in range(2):
            ip("netns", "add", f"host{n}")
            # An address whose bytes net-snmp's tools do not take for text.
            ip("link", "add", f"sw{n}", "address", f"02:00:00:00:00:0{n}", "type", "veth", "peer", "name", "eth0", "netns", f"host{n}")
            # Nobody sends anything before the router counts.
            pathlib.Path(f"/proc/sys/net/ipv6/conf/sw{n}/disable_ipv6").write_text("1")
            ip("netns", "exec", f"host{n}", "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            ip("link", "set", f"sw{n}", "up")
            ip("-n", f"host{n}", "link", "set", "eth0", "up")
            ip("-n", f"host{n}", "address", "add", f"10.0.{n}.2/24", "dev", "eth0")
            ip("-n", f"host{n}", "route", "add", "default", "via", f"10.0.{n}.1")
        self.process = Process(HOPWRIGHT, "ip", "-i", "1@sw0", "-i", "2@sw1", "--namespace", "blue", *self.options)
        self.process.__enter__()
        try:
            # Its workers forward then, and everything that its options name is served.
            self.process.says("is running")
            for n in range(2):
                ip("-n", "blue", "address", "add", f"10.0.{n}.1/24", "dev", f"sw{n}")
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def ping(self, count):
        """Some pings until the fast path forwards them, and then this many."""
        wait_until("the fast path forwards pings", self._by_the_fast_path)
        assert self._ping(count), "pings were lost"

    def _by_the_fast_path(self):
        """Whether a ping comes back, and the kernel has forwarded neither it nor its answer."""
        before = kernel_received()
        return self._ping(1) and kernel_received() == before

    def _ping(self, count):
        command = ["ip", "netns", "exec", "host0", "ping", "-q", "-c", str(count), "-i", "0.01", "-W", "20", "10.0.1.2"]
        return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0

    def __exit__(self, *error):
        self.process.__exit__(*error)
        for name in ("host0", "host1", "blue"):
            ip("netns", "delete", name)
        for n in range(2):
            subprocess.run(["ip", "link", "delete", f"sw{n}"], stderr=subprocess.DEVNULL)
