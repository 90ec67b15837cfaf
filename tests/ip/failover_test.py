#!/usr/bin/env python3
"""How many packets are lost when BGP and OSPF change ways, beside a Linux kernel.

              a
            /   \\
    h1 -- r       h2
            \\   /
              b

Two such networks, in one of which r is `hopwright ip`, and in the other a kernel. All others are kernels in both, and FRR runs on r, a and b. a is
the better way, to one network by BGP and to another one by OSPF. Both get the same packets at a steady rate while links go down and come
back, a session ends, and a cost changes; for each is printed how many are lost on their way.

Exit status: 0 if no event loses more packets in one of `--tries` by `hopwright ip` than by the kernel, but for `--tolerance`; 1 if one does;
2 if the test could not be carried out.
"""

import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lab.cases import case_options, choose, status_of
from lab.command import Failed, LabError, run, wait_for
from lab.node import Node, Router

# How long both are watched when their ways have changed, in seconds.
AFTERWARDS = 2
NETWORKS = {"BGP": "10.0.9.0/24", "OSPF": "10.0.8.0/24"}
# Both ends of each link, and the third byte of its network.
LINKS = [("h1", "eth0", "r", "eth1", 1), ("r", "eth2", "a", "eth1", 2), ("r", "eth3", "b", "eth1", 3), ("a", "eth2", "h2", "eth0", 4), ("b", "eth2", "h2", "eth1", 5)]
RECEIVE = """
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
s.bind(('', 6000)); s.settimeout(60); print('ready', flush=True)
seen = set()
while True:
    number = struct.unpack('!Q', s.recv(2000)[:8])[0]
    if number == 2**64 - 1:
        break
    if not seen:
        print('first', flush=True)
    seen.add(number)
print(len(seen), flush=True)
"""
SEND = """
import socket, struct, sys, select, time
to, rate = sys.argv[1], int(sys.argv[2])
sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(32)]
[s.connect((to, 6000)) for s in sockets]
begin, n = time.monotonic(), 0
while not select.select([sys.stdin], [], [], max(0, begin + n / rate - time.monotonic()))[0]:
    sockets[n % 32].send(struct.pack('!Q', n) + bytes(100)); n += 1
sys.stdin.readline()
# The end comes behind the last packet, and again until standard input ends, because it has arrived.
while not select.select([sys.stdin], [], [], 0.05)[0]:
    sockets[0].send(b'\\xff' * 8)
print(n, flush=True)
"""


class Lab:
    """A network whose router is ours, or a kernel."""

    def __init__(self, name, folder, ours):
        self.name, self.ours = name, ours
        self.nodes = {}
        for node in ("h1", "r", "a", "b", "h2"):
            kind = Router if ours and node == "r" else Node
            self.nodes[node] = kind(f"{name}-{node}", folder)

    def __getitem__(self, name):
        return self.nodes[name]

    def build(self):
        for node in self.nodes.values():
            node.make()
        if self.ours:
            run("ip", "netns", "add", self["r"].switch)
            run("ip", "netns", "exec", self["r"].switch, "sh", "-c", "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done")
        for left, left_device, right, right_device, _ in LINKS:
            self[left].devices.append(left_device)
            self[right].devices.append(right_device)
            nets = [getattr(self[end], "switch", self[end].net) for end in (left, right)]
            run("ip", "link", "add", left_device, "netns", nets[0], "type", "veth", "peer", "name", right_device, "netns", nets[1])
            run("ip", "-n", nets[0], "link", "set", left_device, "up")
            run("ip", "-n", nets[1], "link", "set", right_device, "up")
        if self.ours:
            self["r"].start_switch()
            wait_for("the router runs", lambda: "routing" in self["r"].log("hopwright"))
        for left, left_device, right, right_device, link in LINKS:
            self[left].ip("address", "add", f"10.0.{link}.{2 if left == 'h1' else 1}/24", "dev", left_device)
            self[right].ip("address", "add", f"10.0.{link}.{1 if left == 'h1' else 2}/24", "dev", right_device)
        for name in ("r", "a", "b"):
            self[name].sysctl("net/ipv4/ip_forward", 1)
        self["h1"].ip("route", "add", "default", "via", "10.0.1.1")
        for network, (name, via) in ((n, w) for n in NETWORKS.values() for w in (("a", "10.0.4.2"), ("b", "10.0.5.2"))):
            self[name].ip("route", "add", network, "via", via)
        for network in NETWORKS.values():
            self["h2"].ip("address", "add", network.replace(".0/24", ".2/32"), "dev", "lo")
        for number, name in enumerate(("r", "a", "b"), 1):
            self.start_frr(name, number)

    def start_frr(self, name, number):
        links = {"r": {"eth2": 10, "eth3": 20}}.get(name, {"eth1": 10})
        ospf = []
        for device, cost in links.items():
            ospf += [f"interface {device}", " ip ospf area 0", " ip ospf network point-to-point", " ip ospf hello-interval 1",
                     " ip ospf dead-interval 4", f" ip ospf cost {cost}", "exit"]
        ospf += ["router ospf", f" ospf router-id 10.255.0.{number}", " timers throttle spf 50 100 1000"]
        ospf += [] if name == "r" else [" redistribute kernel metric-type 1"]
        bgp = [f"router bgp {65000 + number}", f" bgp router-id 10.255.0.{number}", " no bgp ebgp-requires-policy", " timers bgp 3 9"]
        if name == "r":
            bgp += [line for n in (2, 3) for line in (f" neighbor 10.0.{n}.2 remote-as {65000 + n}", f" neighbor 10.0.{n}.2 timers connect 1")]
            bgp += [" address-family ipv4 unicast", "  neighbor 10.0.2.2 weight 100", " exit-address-family"]
        else:
            bgp += [f" neighbor 10.0.{number}.1 remote-as 65001", f" neighbor 10.0.{number}.1 timers connect 1",
                    " address-family ipv4 unicast", f"  network {NETWORKS['BGP']}", " exit-address-family"]
        self[name].start_frr({"zebra": [], "ospfd": ospf, "bgpd": bgp})

    def configure(self, name, *lines):
        commands = [word for line in ("configure terminal", *lines) for word in ("-c", line)]
        self[name].run("vtysh", "--vty_socket", self[name].folder, *commands)

    def goes_by(self, network, device):
        return f"dev {device}" in self["r"].ip("route", "show", network)

    def remove(self):
        for node in self.nodes.values():
            node.stop()
        for node in self.nodes.values():
            for net in (node.net, getattr(node, "switch", None)):
                if net:
                    run("ip", "netns", "delete", net, check=False)


class Stream:
    """Packets from h1 to h2, from the first one that arrives until they are counted. Its processes end with it."""

    def __init__(self, lab, to, rate):
        self.name = lab.name
        start = lambda node, *command: subprocess.Popen(
            ["ip", "netns", "exec", lab[node].net, "python3", "-c", *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.receiver = start("h2", RECEIVE)
        self.receiver.stdout.readline()
        self.sender = start("h1", SEND, to, rate)
        self.receiver.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.sender, self.receiver):
            process.kill()
            process.wait()

    def lost(self):
        """Ends it."""
        try:
            self.sender.stdin.write("\n")
            self.sender.stdin.flush()
            arrived = int(self.receiver.communicate(timeout=60)[0])
            sent = int(self.sender.communicate(timeout=60)[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            raise Failed(f"{self.name}: packets cannot be counted: {error}") from error
        if not arrived:
            raise Failed(f"{self.name}: none of {sent} packets arrived")
        return sent - arrived


def link(state):
    return lambda lab: lab["a"].ip("link", "set", "eth1", state)


def session(shut):
    return lambda lab: lab.configure("a", "router bgp 65002", f"{'' if shut else 'no '}neighbor 10.0.2.1 shutdown")


def cost(value):
    return lambda lab: lab.configure("r", "interface eth2", f"ip ospf cost {value}")


# Protocol, what happens, and how; every second event undoes the one before.
EVENTS = [
    ("BGP", "link down", link("down")), ("BGP", "link up", link("up")), ("BGP", "session ends", session(True)), ("BGP", "session begins", session(False)),
    ("OSPF", "link down", link("down")), ("OSPF", "link up", link("up")), ("OSPF", "cost higher", cost(100)), ("OSPF", "cost lower", cost(10)),
]


def measure(labs, protocol, what, event, rate, better):
    """How many packets each lost. `better`: whether a is the way afterwards."""
    network = NETWORKS[protocol]

    def wait_for_way(device):
        for lab in labs:
            wait_for(f"{lab.name}, {protocol}, {what}: the way by {device}", lambda: lab.goes_by(network, device))

    # Events of the other protocol change this one's way, too.
    before, after = ("eth3", "eth2") if better else ("eth2", "eth3")
    wait_for_way(before)
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(Stream(lab, network.replace(".0/24", ".2"), rate)) for lab in labs]
        for lab in labs:
            event(lab)
        wait_for_way(after)
        time.sleep(AFTERWARDS)
        lost = {stream.name: stream.lost() for stream in streams}
    print(f"  {protocol}, {what}: lost {', '.join(f'{name} {count}' for name, count in lost.items())}", flush=True)
    return lost


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--rate", type=int, default=1000, help="packets a second")
    parser.add_argument("--tries", type=int, default=5, help="a busy machine may be late")
    parser.add_argument("--tolerance", type=int, default=20, help="packets that one may lose more than the other")
    args = parser.parse_args()
    events = {f"{protocol}, {what}": (protocol, what, event) for protocol, what, event in EVENTS}
    names = choose(args, events)
    found = {name: [] for name in names}

    def test():
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-failover-"))
        folder.chmod(0o755)
        labs = [Lab("linux", folder, False), Lab("hopwright", folder, True)]
        try:
            for lab in labs:
                lab.build()
            for lab in labs:
                for network in NETWORKS.values():
                    wait_for(f"{lab.name}: {network}", lambda: lab.goes_by(network, "eth2"))
            for attempt in range(args.tries):
                print(f"try {attempt + 1}, {args.rate} packets a second:", flush=True)
                for number, name in enumerate(names):
                    found[name].append(measure(labs, *events[name], args.rate, number % 2 == 1))
        except subprocess.SubprocessError as error:
            raise LabError(str(error)) from error
        finally:
            for lab in labs:
                lab.remove()
            shutil.rmtree(folder, ignore_errors=True)
        failed = False
        for name, lost in found.items():
            worse = all(one["hopwright"] > one["linux"] + args.tolerance for one in lost)
            failed |= worse
            median = {who: sorted(one[who] for one in lost)[len(lost) // 2] for who in ("linux", "hopwright")}
            print(f"{name}: median lost linux {median['linux']}, hopwright {median['hopwright']}{': FAILED' if worse else ''}")
        return failed
    return status_of("failover", test)


if __name__ == "__main__":
    sys.exit(main())
