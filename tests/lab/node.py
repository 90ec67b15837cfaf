"""Namespaces with processes: hosts, the control planes of routers, and FRR's daemons in these."""

import os
import pathlib
import re
import subprocess

from .command import HOPWRIGHT, end, run, wait_for

FRR = pathlib.Path("/usr/lib/frr")
PREFIX = f"hwnode{os.getpid()}-"
# Two programs. RECEIVE ADDRESS COUNT prints how many datagrams came: it ends when it has COUNT, or none has come for ten seconds.
# SEND ADDRESS COUNT FLOWS RATE sends them.
RECEIVE = """
import socket, sys, time, struct
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
s.bind((sys.argv[1], 6000)); print('ready', flush=True)
seen, wanted = set(), int(sys.argv[2]); s.settimeout(10)
try:
    while len(seen) < wanted:
        seen.add(s.recv(2000)[:8])
except TimeoutError:
    pass
print(len(seen), flush=True)
"""
SEND = """
import socket, sys, time, struct
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
count, flows, rate = map(int, sys.argv[2:5])
sockets = [socket.socket(family, socket.SOCK_DGRAM) for _ in range(flows)]
[s.connect((sys.argv[1], 6000)) for s in sockets]
begin = time.monotonic()
for n in range(count):
    sockets[n % flows].send(struct.pack('!Q', n) + bytes(100))
    if n % 50 == 49:
        time.sleep(max(0, begin + n / rate - time.monotonic()))
"""


class Node:
    """A namespace: a host, or the control plane of a router. Its processes end with it."""

    def __init__(self, name, folder):
        self.name, self.net = name, PREFIX + name
        self.folder = folder / name
        self.folder.mkdir()
        self.folder.chmod(0o755)
        self.processes = []
        self.devices = []

    def make(self):
        run("ip", "netns", "add", self.net)
        self.settle()

    def settle(self):
        for key in ("all", "default"):
            self.sysctl(f"net/ipv6/conf/{key}/accept_dad", 0)
        self.ip("link", "set", "lo", "up")

    def sysctl(self, key, value):
        run("ip", "netns", "exec", self.net, "sh", "-c", f"echo {value} > /proc/sys/{key}")

    def ip(self, *args, **kwargs):
        return run("ip", "-n", self.net, *args, **kwargs)

    def run(self, *command, **kwargs):
        return run("ip", "netns", "exec", self.net, *map(str, command), **kwargs)

    def start(self, name, *command, net=None):
        log = open(self.folder / f"{name}.log", "w")
        process = subprocess.Popen(["ip", "netns", "exec", net or self.net, *map(str, command)], stdout=log,
                                   stderr=subprocess.STDOUT)
        self.processes.append((name, process))
        return process

    def start_frr(self, daemons):
        """Starts daemons of FRR with the lines of their configurations, and waits until they take commands."""
        run("chown", "frr:frr", self.folder)
        for daemon, lines in daemons.items():
            config = self.folder / f"{daemon}.conf"
            config.write_text("\n".join(["log stdout", *lines]) + "\n")
            run("chown", "frr:frr", config)
            # BIRD may have the port of BGP over IPv6.
            options = ["-l", "0.0.0.0"] if daemon == "bgpd" else []
            self.start(daemon, FRR / daemon, "-f", config, "--vty_socket", self.folder, "-z", self.folder / "zserv",
                       "-i", self.folder / f"{daemon}.pid", "-A", "127.0.0.1", *options)
            wait_for(f"{daemon} of {self.name}", lambda: (self.folder / f"{daemon}.vty").exists())

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def stop(self):
        end(*(process for _, process in reversed(self.processes)), timeout=10)


class Router(Node):
    """One of ours: the switch's devices are in a namespace of their own."""

    def __init__(self, name, folder):
        super().__init__(name, folder)
        self.switch = f"{self.net}-sw"
        self.stats = self.folder / "stats.json"

    def memory(self):
        """What the process has."""
        ((_, process),) = (pair for pair in self.processes if pair[0] == "hopwright")
        (line,) = (line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("VmRSS:"))
        return f"{int(line.split()[1]) // 1024} MiB of memory"

    def start_switch(self):
        interfaces = [arg for n, device in enumerate(self.devices, 1) for arg in ("-i", f"{n}@{device}")]
        self.start("hopwright", HOPWRIGHT, "ip", *interfaces, "--namespace", self.net, "--stats", self.stats,
                   net=self.switch)


def ping(node, to, count=3, *options):
    out = node.run("ping", "-n", "-i", "0.2", "-c", count, "-W", "2", *options, to, check=False)
    found = re.search(r"(\d+) packets transmitted, (\d+) received", out)
    return int(found[2]) if found else 0
