#!/usr/bin/env python3
"""Four routers on one switch, each with a control plane of its own, in network namespaces.

    four_routers.py          the test
    four_routers.py demo     the same network, shown: who talks to whom, and figures by tenant

Exit status: 0 if everything passed, 1 if something failed, 2 if it could not be carried out.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lab.cases import case_options, choose, status_of
from lab.command import HOPWRIGHT, ROOT, Failed, run, wait_for
from lab.node import PREFIX, RECEIVE, SEND, Node, ping

# The clients of the other tests, each in its own environment.
FINSY = ROOT / "tests/p4runtime/.venv-finsy/bin/python"
OSKEN = ROOT / "tests/openflow/.venv/bin/python"

SLICES = 4
SPLICING_MAC = "020000000301"

PICTURE = """
  namespace v4              namespace v6              P4Runtime                 OpenFlow 1.3
  FRR: OSPF, BGP            BIRD: OSPFv3              finsy                     os-ken: simple_switch_13
       |                         |                         |                         |
  +----+-------------------------+-------------------------+-------------------------+----------------+
  |  tenant ipv4              tenant ipv6               tenant splicing           tenant openflow     |
  |  ip.p4                    ip.p4                     path_splicing.p4          openflow.p4         |
  +--+-----+-----+-----+------+-----+-----+-------------+-----+---+---+---+-------+-----+-----+-------+
     |     |     |     |      |     |     |             |     |   |   |   |       |     |     |
     h1    rb    ra   isp     h1    rb    ra         source   0   1   2   3       a     b     c
                                                              slices
  One hopwright process. rb and ra are Linux routers with FRR and BIRD; they have a link, and behind rb is h2. isp speaks BGP.
"""

# Both ends of each link: node, device, and of IPv4 and IPv6 the network and the ends' numbers.
# The switch's devices belong to the control plane that has their addresses.
LINKS = [
    ("h1", "eth4", "v4", "v4h", "10.0.1", None),
    ("rb", "v4", "v4", "v4b", "10.0.12", None),
    ("ra", "v4", "v4", "v4a", "10.0.13", None),
    ("isp", "eth0", "v4", "v4i", "10.0.14", None),
    ("h1", "eth6", "v6", "v6h", None, "2001:db8:1"),
    ("rb", "v6", "v6", "v6b", None, "2001:db8:12"),
    ("ra", "v6", "v6", "v6a", None, "2001:db8:13"),
    ("ra", "rb", "rb", "ra", "10.0.34", "2001:db8:34"),
    ("rb", "h2", "h2", "eth0", "10.0.5", "2001:db8:5"),
    *(("sp", f"sp{n}", None, f"ps{n}", None, None) for n in range(SLICES + 1)),
    *((name, "eth0", None, f"of-{name}", None, None) for name in "abc"),
]
CONTROL_PLANES = ("v4", "v6")
NODES = ["h1", "h2", "ra", "rb", "isp", "sp", "a", "b", "c", *CONTROL_PLANES]

CONFIG = """
[switch]
socket = "switch.sock"
ports = "af_packet"

{devices}

[[tenant]]
name = "ipv4"
ports = {{ 1 = "v4h", 2 = "v4b", 3 = "v4a", 4 = "v4i" }}
device_id = 1
[tenant.agent]
kind = "ip"
namespace = "{v4}"

[[tenant]]
name = "ipv6"
ports = {{ 1 = "v6h", 2 = "v6b", 3 = "v6a" }}
device_id = 2
[tenant.agent]
kind = "ip"
namespace = "{v6}"

[[tenant]]
name = "splicing"
program = "{splicing}"
ports = {{ 1 = "ps0", 2 = "ps1", 3 = "ps2", 4 = "ps3", 5 = "ps4" }}
device_id = 3

[[tenant]]
name = "openflow"
ports = {{ 1 = "of-a", 2 = "of-b", 3 = "of-c" }}
device_id = 4
[tenant.agent]
kind = "openflow"
controllers = ["tcp:127.0.0.1:6653"]
versions = ["1.3"]
probe_interval = 2

[p4runtime]
address = "127.0.0.1:9559"
[metrics]
address = "127.0.0.1:9090"
"""

# Run by an interpreter that has finsy: slice n has port n + 2.
SPLICING_ENTRIES = f"""
import asyncio, finsy as fy
async def main():
    async with fy.Switch("switch", "127.0.0.1:9559", fy.SwitchOptions(device_id=3)) as sw:
        entries = [+fy.P4TableEntry("ports", match=fy.Match(**{{"std.ingress_port": 1}}),
                                    action=fy.Action("receive", mac=0x{SPLICING_MAC}, hash_seed=0))]
        for n in range({SLICES}):
            entries.append(+fy.P4TableEntry("next_hops", match=fy.Match(**{{"meta.next_hop": n + 1}}),
                action=fy.Action("forward", port=n + 2, src=0x{SPLICING_MAC}, dst=0x060000000000 + n, mtu=1500)))
            via = fy.Action("route_spliced.via" if n else "ipv4.via", next_hop=n + 1, route=n + 1)
            match = {{"hdr.ipv4.dst": "10.0.0.0/8"}}
            entries.append(+fy.P4TableEntry("routes_spliced", match=fy.Match(**{{"meta.slice": n, **match}}), action=via) if n
                           else +fy.P4TableEntry("routes_ipv4", match=fy.Match(**match), action=via))
        await sw.write(entries)
asyncio.run(main())
"""

# Sends this many packets of each slice by the first device, this many a second, and counts what the others get.
SPLICING_TRAFFIC = """
import json, select, socket, sys, time
from lab.frames import ethernet, ipv4, splicing, udp
count, rate, slices, mac = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
def device(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)
    s.bind((name, 0)); s.setblocking(False)
    return s
source, *others = [device(f"sp{n}") for n in range(slices + 1)]
frames = [ethernet(mac, 0x0800, ipv4("192.0.2.1", "10.1.0.1", splicing(n, udp(1, 2)), protocol=253)) for n in range(slices)]
received = [0] * slices
def receive(seconds):
    ready = select.select(others, [], [], seconds)[0]
    for s in ready:
        try:
            while True:
                frame, address = s.recvfrom(2000)
                # Out of the right device, with its next hop's address and the slice's index shifted out.
                n = others.index(s)
                received[n] += address[2] != 4 and frame[:6] == (0x060000000000 + n).to_bytes(6, "big") and frame[36:50] == bytes(14)
        except BlockingIOError:
            pass
    return ready
begin = time.monotonic()
for n in range(count):
    for frame in frames:
        source.send(frame)
    receive(0)
    while (left := begin + n / rate - time.monotonic()) > 0:
        receive(left)
while receive(1):
    pass
print(json.dumps(received))
"""


class Switch(Node):
    """The switch, its devices and its OpenFlow controller."""

    def begin(self, network):
        self.file, self.socket = self.folder / "switch.toml", self.folder / "switch.sock"
        devices = "\n".join(f'[[port]]\ndevice = "{device}"' for device in self.devices)
        self.config = CONFIG.format(devices=devices, splicing=ROOT / "p4/router/path_splicing.p4",
                                    **{name: network[name].net for name in CONTROL_PLANES})
        self.file.write_text(self.config)
        self.process = self.start("switch", HOPWRIGHT, "switch", "--config", self.file)
        wait_for("the switch runs", lambda: self.ended() or self.socket.exists() and "tenant openflow" in self.log("switch"))

    def ended(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the switch has ended:\n{self.log('switch')}")

    def change(self, old, new):
        """Has the switch read its file again, with something replaced."""
        before = self.log("switch").count("configuration read again")
        self.file.write_text(self.config.replace(old, new))
        run("kill", "-HUP", self.process.pid)
        wait_for("the change", lambda: self.log("switch").count("configuration read again") > before, interval=0.02)

    def tenant(self, *arguments):
        return run(HOPWRIGHT, "tenant", *arguments, "--socket", self.socket)

    def write_splicing_entries(self):
        self.run(FINSY, "-c", SPLICING_ENTRIES)


class Network(dict):
    """The nodes, by name."""

    def __init__(self, folder):
        # Names of namespaces begin with this process's prefix.
        self.folder = folder
        super().__init__({name: Node(name, folder) for name in NODES})
        self.switch = Switch("sw", folder)

    def build(self):
        for node in (self.switch, *self.values()):
            node.make()
        for node in (self.switch, *(self[name] for name in ("sp", "a", "b", "c"))):
            for key in ("all", "default"):
                node.sysctl(f"net/ipv6/conf/{key}/disable_ipv6", 1)
        for left, left_device, right, right_device, *_ in LINKS:
            a = self[left]
            # What the switch has no control plane for, or one of its own.
            b = self.switch if right in (None, *CONTROL_PLANES) else self[right]
            run("ip", "link", "add", left_device, "netns", a.net, "type", "veth", "peer", "name", right_device, "netns", b.net)
            for node, device in ((a, left_device), (b, right_device)):
                node.ip("link", "set", device, "up")
                node.devices.append(device)
        self.switch.begin(self)
        for left, left_device, right, right_device, v4, v6 in LINKS:
            for end, (name, device) in enumerate(((left, left_device), (right, right_device)), 1):
                for net in filter(None, (v4 and f"{v4}.{end}/24", v6 and f"{v6}::{end}/64")):
                    self[name].ip("address", "add", net, "dev", device)
        for n, name in enumerate("abc", 1):
            self[name].ip("address", "add", f"10.7.0.{n}/24", "dev", "eth0")
        self["isp"].ip("address", "add", "10.9.0.1/32", "dev", "lo")
        for name in ("ra", "rb"):
            for key in ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"):
                self[name].sysctl(key, 1)
        self["h1"].ip("route", "add", "default", "via", "10.0.1.2")
        self["h1"].ip("-6", "route", "add", "default", "via", "2001:db8:1::2")
        self["h2"].ip("route", "add", "default", "via", "10.0.5.1")
        self["h2"].ip("-6", "route", "add", "default", "via", "2001:db8:5::1")

    def start_control_planes(self):
        fast = [" ip ospf area 0", " ip ospf network point-to-point", " ip ospf hello-interval 1", " ip ospf dead-interval 20"]
        cost = {"v4b": 10, "v4a": 20, "v4": 10, "rb": 10, "ra": 10}
        for n, (name, active, passive) in enumerate(
                (("v4", ["v4b", "v4a"], ["v4h"]), ("ra", ["v4", "rb"], []), ("rb", ["v4", "ra"], ["h2"])), 1):
            lines = []
            for device in active:
                lines += [f"interface {device}", *fast, f" ip ospf cost {cost[device]}", "exit"]
            for device in passive:
                lines += [f"interface {device}", " ip ospf area 0", " ip ospf passive", "exit"]
            lines += ["router ospf", f" ospf router-id 10.255.0.{n}", " timers throttle spf 50 100 1000",
                      *([" redistribute bgp"] if name == "v4" else []), "exit"]
            self[name].start_frr({"zebra": [], "ospfd": lines})
        bgp = ["no bgp ebgp-requires-policy", "timers bgp 3 60"]
        self["v4"].start_frr({"bgpd": ["router bgp 65001", " bgp router-id 10.255.0.1", *(f" {line}" for line in bgp),
                                       " neighbor 10.0.14.1 remote-as 65002", " neighbor 10.0.14.1 timers connect 1",
                                       " address-family ipv4 unicast", "  network 10.0.1.0/24", "  redistribute ospf",
                                       " exit-address-family", "exit"]})
        self["isp"].start_frr({"zebra": [], "bgpd": ["router bgp 65002", " bgp router-id 10.255.0.9", *(f" {line}" for line in bgp),
                                                     " neighbor 10.0.14.2 remote-as 65001", " neighbor 10.0.14.2 timers connect 1",
                                                     " address-family ipv4 unicast", "  network 10.9.0.1/32", " exit-address-family", "exit"]})
        for n, (name, active, passive) in enumerate(
                (("v6", ["v6b", "v6a"], ["v6h"]), ("ra", ["v6", "rb"], []), ("rb", ["v6", "ra"], ["h2"])), 1):
            interfaces = "".join(f'interface "{d}" {{ type ptp; hello 1; dead 20; cost {20 if d == "v6a" else 10}; }}; ' for d in active)
            interfaces += "".join(f'interface "{d}" {{ stub; }}; ' for d in passive)
            self.start("bird", name, f"""router id 10.254.0.{n};
protocol device {{ scan time 1; }}
protocol kernel {{ ipv6 {{ import none; export where source != RTS_DEVICE; }}; }}
protocol ospf v3 {{ tick 1; ipv6 {{ import all; export none; }}; area 0 {{ {interfaces} }}; }}
""")
        self.switch.start("controller", OSKEN, ROOT / "tests/openflow/osken.py", "--ofp-listen-host", "127.0.0.1",
                          "--ofp-tcp-listen-port", "6653", "os_ken.app.simple_switch_13")
        wait_for("P4Runtime", lambda: "P4Runtime" in self.switch.log("switch"))
        self.switch.write_splicing_entries()

    def start(self, daemon, name, config):
        node = self[name]
        file = node.folder / "bird.conf"
        file.write_text(config)
        node.start(daemon, "bird", "-f", "-c", file, "-s", node.folder / "bird.ctl", "-P", node.folder / "bird.pid")

    def state(self):
        text = [self.switch.log("switch")[-4000:], self.switch.log("controller")[-1000:] if (self.switch.folder / "controller.log").exists() else ""]
        for name in ("h1", "v4", "v6", "ra", "rb"):
            text.append(f"===== {name}")
            for command in (["ip", "route"], ["ip", "-6", "route"], ["ip", "neigh"], ["ip", "-br", "link"]):
                text.append(self[name].run(*command, check=False))
            text += [f"--- {log.name}\n{log.read_text()[-1500:]}" for log in sorted(self[name].folder.glob("*.log"))]
        return "\n".join(text)

    def remove(self):
        for node in (*self.values(), self.switch):
            node.stop()
        for node in (*self.values(), self.switch):
            run("ip", "netns", "delete", node.net, check=False)


class Flow:
    """Counted datagrams between hosts, each of a flow of its own."""

    def __init__(self, name, source, target, address, seconds, rate):
        self.name, self.count = name, int(seconds * rate)
        self.receiver = subprocess.Popen(["ip", "netns", "exec", target.net, "python3", "-c", RECEIVE, address, str(self.count)],
                                         stdout=subprocess.PIPE, text=True)
        self.receiver.stdout.readline()
        self.sender = subprocess.Popen(["ip", "netns", "exec", source.net, "python3", "-c", SEND, address, str(self.count), "16", str(rate)])

    def end(self):
        try:
            self.sender.wait(120)
            return {self.name: (self.count, int(self.receiver.stdout.readline()))}
        finally:
            for process in (self.sender, self.receiver):
                process.kill()
                process.wait()


class SplicedFlow:
    """Counted packets of each slice."""

    def __init__(self, node, seconds, rate):
        self.count = int(seconds * rate)
        command = ["ip", "netns", "exec", node.net, "python3", "-c", SPLICING_TRAFFIC, str(self.count), str(rate), str(SLICES), SPLICING_MAC]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT / "tests/switchblade")

    def end(self):
        try:
            out, _ = self.process.communicate(timeout=120)
            return {f"splicing, slice {n}": (self.count, received) for n, received in enumerate(json.loads(out))}
        finally:
            self.process.kill()
            self.process.wait()


class Lost(RuntimeError):
    """Packets were lost: by a router, or by a busy machine."""


def flows(network, seconds, rate=400):
    """Traffic through all four routers, which they have room for while a busy machine does not run them."""
    h1, h2, isp = network["h1"], network["h2"], network["isp"]
    return [Flow("ipv4, by OSPF", h1, h2, "10.0.5.2", seconds, rate), Flow("ipv4, by BGP", h1, isp, "10.9.0.1", seconds, rate),
            Flow("ipv6", h1, h2, "2001:db8:5::2", seconds, rate), Flow("openflow", network["a"], network["b"], "10.7.0.2", seconds, rate),
            SplicedFlow(network["sp"], seconds, rate // 4)]


def end(flows, may_lose=()):
    """Ends them, and says what became of their packets."""
    lost = []
    for name, (sent, received) in [item for flow in flows for item in flow.end().items()]:
        print(f"  {name + ':':<22}{sent:>7} sent, {received:>7} received", flush=True)
        if received != sent and not name.startswith(tuple(may_lose)) or not received:
            lost.append(name)
    if lost:
        raise Lost(f"packets of {', '.join(lost)} were lost")


def converge(network):
    h1 = network["h1"]
    for what, node, to in (("OSPF", h1, "10.0.5.2"), ("BGP", h1, "10.9.0.1"), ("OSPFv3", h1, "2001:db8:5::2"),
                           ("simple_switch_13", network["a"], "10.7.0.2"), ("simple_switch_13", network["b"], "10.7.0.3")):
        took = wait_for(f"{node.name} reaches {to}", lambda: ping(node, to, 1))
        print(f"  {node.name} reaches {to} by {what} after {took:.1f} s more", flush=True)
    # The first route may be the longer one: the neighbors become adjacent one after the other.
    for router, network_behind, device in (("v4", "10.0.5.0/24", "v4b"), ("rb", "10.0.1.0/24", "v4"),
                                           ("v6", "2001:db8:5::/64", "v6b"), ("rb", "2001:db8:1::/64", "v6")):
        family = "-6" if ":" in network_behind else "-4"
        wait_for(f"{router}'s shortest path to {network_behind}",
                 lambda: f"dev {device} " in network[router].ip(family, "route", "show", network_behind))
    # BGP's routes at the ISP, OSPF's at the other end.
    wait_for("a route back from the ISP", lambda: "10.0.1.0/24" in network["isp"].ip("route"))


def trace(network, paths):
    for to, expected in paths.items():
        def path():
            out = network["h1"].run("traceroute", "-n", "-I", "-q", "1", "-N", "1", "-w", "10", "-m", "8", to)
            found = [line.split()[1] for line in out.splitlines()[1:]]
            # The kernel limits how often it answers: `*`.
            if any(hop not in ("*", wanted) for hop, wanted in zip(found, expected)):
                raise Failed(f"traceroute to {to}: {found}, not {expected}\n{out}")
            return found == expected
        wait_for(f"traceroute to {to}: {expected}", path)
        print(f"  traceroute to {to}: {' '.join(expected)}", flush=True)


DIRECT = {"10.0.5.2": ["10.0.1.2", "10.0.12.1", "10.0.5.2"], "2001:db8:5::2": ["2001:db8:1::2", "2001:db8:12::1", "2001:db8:5::2"],
          "10.9.0.1": ["10.0.1.2", "10.9.0.1"]}
AROUND = {"10.0.5.2": ["10.0.1.2", "10.0.13.1", "10.0.34.2", "10.0.5.2"], "2001:db8:5::2": DIRECT["2001:db8:5::2"]}


def replaced(network, seconds=5):
    """A tenant gets another program and its own again. The others lose nothing."""
    begun = flows(network, seconds)
    time.sleep(1)
    switch = network.switch
    switch.change("p4/router/path_splicing.p4", "examples/l2.p4")
    time.sleep(0.5)
    switch.change("", "")
    switch.write_splicing_entries()
    time.sleep(0.5)
    end(begun, may_lose=["splicing"])


def cut(network, seconds=8):
    """The link that OSPF prefers goes down and comes back. The other tenants lose nothing."""
    begun = flows(network, seconds)
    time.sleep(1)
    network["rb"].ip("link", "set", "v4", "down")
    route = lambda: network["v4"].ip("route", "show", "10.0.5.0/24")
    took = wait_for("a way around", lambda: "dev v4a" in route(), interval=0.02)
    print(f"  cut: OSPF's way around after {took * 1000:.0f} ms", flush=True)
    trace(network, AROUND)
    network["rb"].ip("link", "set", "v4", "up")
    network["rb"].ip("address", "replace", "10.0.12.1/24", "dev", "v4")
    took = wait_for("the link is used again", lambda: "dev v4b" in route(), interval=0.02)
    print(f"  healed: used again after {took:.1f} s", flush=True)
    end(begun, may_lose=["ipv4, by OSPF"])
    trace(network, DIRECT)


def steps(demo):
    yield "Four routers find their routes", converge
    yield "Their routes are right", lambda network: trace(network, DIRECT)
    if demo:
        yield "Traffic through all of them", lambda network: end(flows(network, 3))
    yield "One router becomes a layer-2 switch and a router again; the others forward", lambda network: replaced(network, 4)
    yield "A link of one goes down and comes back", cut


def main():
    parser = case_options(__doc__)
    parser.add_argument("what", nargs="?", choices=["test", "demo"], default="test")
    parser.add_argument("--keep", action="store_true", help="leave the network when something fails")
    args = parser.parse_args()
    cases = dict(steps(args.what == "demo"))
    names = choose(args, cases, {name: list(cases)[:1] for name in cases})
    return status_of("four routers", lambda: run_steps({name: cases[name] for name in names}, args))


def run_steps(cases, args):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-four-"))
    folder.chmod(0o755)
    network, passed, begin = Network(folder), False, time.monotonic()
    try:
        if args.what == "demo":
            print(PICTURE, flush=True)
        network.build()
        network.start_control_planes()
        for what, step in cases.items():
            print(f"{what}:", flush=True)
            # What a busy machine loses is not lost each time.
            for attempt in (1, 2, 3):
                try:
                    step(network)
                    break
                except Lost as lost:
                    if attempt == 3:
                        raise Failed(str(lost)) from lost
                    print(f"  {lost}; once more", flush=True)
        print(f"\n{network.switch.tenant('list')}")
        network.switch.ended()
        log = network.switch.log("switch")
        if "panicked" in log or "ERROR" in log:
            raise Failed(log)
        print(f"four routers: passed in {time.monotonic() - begin:.0f} s")
        passed = True
    except (Failed, RuntimeError) as failure:
        print(f"FAILED: {failure}")
        print(network.state())
        raise
    finally:
        if not passed and args.keep:
            print(f"the network stays: namespaces {PREFIX}*, files {folder}")
        else:
            network.remove()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
