"""A pytest plugin for FRR's topotests: `hopwright ip` forwards in place of the kernel of every router that FRR's library starts.

The devices of a router's links move to a namespace of their own, where a `hopwright ip` has them as ports. The router's namespace, with the
daemons, is its control plane. Without HOPWRIGHT in the environment the kernels forward, as ever. COUNTS names the file for what was counted,
and TOPOTESTS is FRR's folder of that name.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, os.environ["TOPOTESTS"])

from lib import topogen, topotest  # noqa: E402
from lib.micronet_compat import Mininet  # noqa: E402

HOPWRIGHT = os.environ.get("HOPWRIGHT")
COUNTS = pathlib.Path(os.environ["COUNTS"])
# Seconds for routers to start or to end.
PATIENCE = 240.0


def run(*command):
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL)


def kernel_forwarded(host):
    """Packets of IPv4 and IPv6 that the kernel of a router has forwarded."""
    lines = [line.split() for line in host.cmd("cat /proc/net/snmp /proc/net/snmp6").splitlines()]
    names, values = [words for words in lines if words and words[0] == "Ip:"]
    of_ipv6 = sum(int(words[1]) for words in lines if words and words[0] == "Ip6OutForwDatagrams")
    return int(values[names.index("ForwDatagrams")]) + of_ipv6


# Pings addresses side by side, three times at most, and prints those that answer.
PING = """for to in {}; do (for n in 1 2 3; do ping -n -c 1 -W 2 "$to" >/dev/null 2>&1 && echo "$to" && break; done) & done; wait"""


def reached(net):
    """Which routers reach which addresses of others, when a test is over and daemons still run."""
    routers = [host for host in net.hosts.values() if isinstance(host, topotest.Router)]
    listed = {host.name: host.cmd("ip -o address show scope global").split("\n") for host in routers}
    addresses = {name: [line.split()[3].split("/")[0] for line in lines if line] for name, lines in listed.items()}
    found = []
    for host in routers:
        others = [address for name, of_one in addresses.items() if name != host.name for address in of_one]
        found += [f"{host.name} {address}" for address in host.cmd(PING.format(" ".join(others))).split()] if others else []
    return sorted(found)


class FastPath:
    """The `hopwright ip` of a router."""

    def __init__(self, host, folder):
        self.name, self.ports = host.name, f"{host.name}-ports"
        self.log, self.stats = folder / f"{self.name}-hopwright.log", folder / f"{self.name}-hopwright.json"
        run("ip", "netns", "attach", self.name, host.pid)
        run("ip", "netns", "add", self.ports)
        # The devices have no addresses.
        run("ip", "netns", "exec", self.ports, "sh", "-c", "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done")
        command = [HOPWRIGHT, "ip", "--namespace", self.name, "--stats", self.stats]
        for number, device in enumerate(host.intfs, 1):
            run("ip", "-n", self.name, "link", "set", device, "netns", self.ports)
            run("ip", "-n", self.ports, "link", "set", device, "up")
            command += ["-i", f"{number}@{device}"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.ports, *map(str, command)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self):
        end = time.monotonic() + PATIENCE
        while "is running" not in self.log.read_text():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the router {self.name} does not start: {self.log.read_text()}")
            time.sleep(0.05)

    def stop(self):
        """Ends it, and returns what it has counted."""
        if self.process.poll() is not None:
            return {"crashed": self.process.returncode}
        self.process.terminate()
        self.process.wait(PATIENCE)
        for namespace in (self.ports, self.name):
            run("ip", "netns", "delete", namespace)
        return json.loads(self.stats.read_text())


def started(net):
    """Puts fast paths under the routers of a network whose links are made."""
    folder = pathlib.Path(topotest.get_logs_path(topotest.g_extra_config["rundir"]))
    routers = [host for host in net.hosts.values() if isinstance(host, topotest.Router) and host.intfs]
    addresses = {host.name: host.cmd("ip -o address show scope global").splitlines() for host in routers}
    net.fast_paths = {}
    try:
        for host in routers:
            net.fast_paths[host.name] = FastPath(host, folder)
        for fast_path in net.fast_paths.values():
            fast_path.wait()
    except Exception:
        stopped(net)
        raise
    # What a test has set before its network starts.
    for host in routers:
        for _, device, _, address, *_ in map(str.split, addresses[host.name]):
            if device != "lo":
                host.cmd_raises(f"ip address add {address} dev {device}")


def stopped(net):
    """Ends fast paths, and adds what they counted to the file."""
    counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else []
    if hasattr(net, "reached"):
        counts.append({"reached": net.reached})
    for host in net.hosts.values():
        if isinstance(host, topotest.Router):
            counted = {"router": host.name, "kernel": kernel_forwarded(host)}
            fast_path = getattr(net, "fast_paths", {}).pop(host.name, None)
            counts.append(counted | (fast_path.stop() if fast_path else {}))
    COUNTS.write_text(json.dumps(counts, indent=1))


def follow(kind, topology):
    """Has networks of FRR's library start and stop fast paths."""
    start, stop, end = kind.start, kind.stop, topology.stop_topology

    def starting(net):
        start(net)
        if HOPWRIGHT and not hasattr(net, "fast_paths"):
            started(net)

    def stopping(net):
        stopped(net)
        stop(net)

    def ending(topogen):
        topogen.net.reached = reached(topogen.net)
        return end(topogen)

    kind.start, kind.stop, topology.stop_topology = starting, stopping, ending


# It wants daemons and tools that few tests use.
topogen.diagnose_env = lambda rundir: True
# These are settings of the machine.
topotest.fix_host_limits = lambda: None
if not os.path.exists("/proc/modules"):
    topotest.module_present = lambda module, load=True: False
follow(Mininet, topogen.Topogen)
