#!/usr/bin/env python3
"""Four of our IP routers and a Linux router, driven by unmodified routing daemons, in network namespaces.

              r2
            /    \\
    h1 -- r1      r4 -- peer -- h2
            \\    /
              r3

Each router is a process with devices of its own and a namespace as control plane. In these, and in the peer's, which
forwards by its kernel, run FRR's zebra, ospfd and bgpd for IPv4 and BIRD for IPv6: OSPF inside, BGP to the peer.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import ipaddress
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from lab.cases import case_options, choose, in_turn, status_of
from lab.command import PATIENCE, Failed, run, wait_for
from lab.node import PREFIX, RECEIVE, SEND, Node, Router, ping

ROUTERS = ["r1", "r2", "r3", "r4"]
# Both ends of each link: router, device, address by protocol.
LINKS = [
    ("h1", "eth0", "r1", "eth1", 1),
    ("r1", "eth2", "r2", "eth1", 12),
    ("r1", "eth3", "r3", "eth1", 13),
    ("r2", "eth2", "r4", "eth1", 24),
    ("r3", "eth2", "r4", "eth2", 34),
    ("r4", "eth3", "peer", "eth1", 45),
    ("peer", "eth2", "h2", "eth0", 5),
]
AS = {"r1": 65001, "r2": 65001, "r3": 65001, "r4": 65001, "peer": 65005}
SMALL_MTU = 1400


def address(link, end, v6):
    """Address of the end 1 or 2 of a link, with its length."""
    return f"2001:db8:{link}::{end}/64" if v6 else f"10.0.{link}.{end}/24"


class Lab:
    def __init__(self, folder, routes):
        self.folder, self.routes = folder, routes
        self.nodes = {name: Router(name, folder) if name in ROUTERS else Node(name, folder)
                      for name in ["h1", "h2", "peer", *ROUTERS]}

    def __getattr__(self, name):
        return self.nodes[name]

    def build(self):
        for node in self.nodes.values():
            node.make()
            if isinstance(node, Router):
                run("ip", "netns", "add", node.switch)
                # Devices of the switch have no addresses.
                run("ip", "netns", "exec", node.switch, "sh", "-c",
                    "for f in all default; do echo 1 > /proc/sys/net/ipv6/conf/$f/disable_ipv6; done")
        for left, left_device, right, right_device, _ in LINKS:
            ends = []
            for name, device in ((left, left_device), (right, right_device)):
                node = self.nodes[name]
                node.devices.append(device)
                ends.append((node, device, getattr(node, "switch", node.net)))
            (a, a_device, a_net), (b, b_device, b_net) = ends
            run("ip", "link", "add", a_device, "netns", a_net, "type", "veth", "peer", "name", b_device, "netns", b_net)
            for device, net in ((a_device, a_net), (b_device, b_net)):
                run("ip", "-n", net, "link", "set", device, "up")
        for router in ROUTERS:
            self.nodes[router].start_switch()
        for router in ROUTERS:
            node = self.nodes[router]
            wait_for(f"{router} runs", lambda: "routing" in node.log("hopwright"))
        for left, left_device, right, right_device, link in LINKS:
            for end, (name, device) in enumerate(((left, left_device), (right, right_device)), 1):
                for v6 in (False, True):
                    self.nodes[name].ip("address", "add", address(link, end, v6), "dev", device)
        for n, router in enumerate([*ROUTERS, "peer"], 1):
            node = self.nodes[router]
            node.ip("address", "add", f"10.255.0.{n}/32", "dev", "lo")
            node.ip("address", "add", f"2001:db8:ffff::{n}/128", "dev", "lo")
        for key in ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"):
            self.peer.sysctl(key, 1)
        for host, link, end in ((self.h1, 1, 2), (self.h2, 5, 1)):
            for v6 in (False, True):
                host.ip("-6" if v6 else "-4", "route", "add", "default", "via", address(link, end, v6).split("/")[0])

    def counts(self, *names):
        """Counters of routers as they are now: they are written each second."""
        files = {name: self.nodes[name].stats for name in names or ROUTERS}
        for _ in range(2):
            before = {name: file.stat().st_mtime_ns for name, file in files.items()}
            for name, file in files.items():
                wait_for("counters", lambda: file.stat().st_mtime_ns > before[name], interval=0.05)
        return {name: json.loads(file.read_text()) for name, file in files.items()}

    # -- routing daemons ----------------------------------------------------------------------------------

    def start_daemons(self):
        for n, name in enumerate([*ROUTERS, "peer"], 1):
            self.start_frr(name, n)
            self.start_bird(name, n)

    def inner(self, name):
        """Devices that OSPF runs on, and those that it only announces."""
        links = [(device, link) for a, a_device, b, b_device, link in LINKS
                 for node, device in ((a, a_device), (b, b_device)) if node == name]
        active = [device for device, link in links if link in (12, 13, 24, 34)]
        return active, [device for device, _ in links if device not in active]

    def start_frr(self, name, n):
        active, passive = self.inner(name)
        ospf, bgp = [], []
        if name != "peer":
            for device in active:
                ospf += [f"interface {device}", " ip ospf area 0", " ip ospf network point-to-point",
                          " ip ospf hello-interval 1", " ip ospf dead-interval 20", " ip ospf cost 10", "exit"]
            for device in passive + ["lo"]:
                ospf += [f"interface {device}", " ip ospf area 0", " ip ospf passive", "exit"]
            ospf += ["router ospf", f" ospf router-id 10.255.0.{n}", " timers throttle spf 50 100 1000"]
            ospf += ["exit"]
        bgp += [f"router bgp {AS[name]}", f" bgp router-id 10.255.0.{n}", " no bgp ebgp-requires-policy",
                  " timers bgp 3 60"]
        if name == "peer":
            bgp += [" neighbor 10.0.45.1 remote-as 65001", " address-family ipv4 unicast",
                      "  network 10.0.5.0/24", "  network 10.255.0.5/32"]
        else:
            others = [m for m, other in enumerate(ROUTERS, 1) if other != name]
            for m in others:
                bgp += [f" neighbor 10.255.0.{m} remote-as 65001", f" neighbor 10.255.0.{m} update-source lo",
                          f" neighbor 10.255.0.{m} timers connect 1"]
            if name == "r4":
                bgp += [" neighbor 10.0.45.2 remote-as 65005", " neighbor 10.0.45.2 timers connect 1"]
            bgp += [" address-family ipv4 unicast"]
            if name == "r4":
                bgp += [f"  neighbor 10.255.0.{m} next-hop-self" for m in others]
                bgp += ["  network 10.0.1.0/24", "  network 10.255.0.1/32", "  network 10.0.12.0/24",
                          "  network 10.0.13.0/24", "  network 10.0.24.0/24", "  network 10.0.34.0/24"]
        bgp += [" exit-address-family", "exit"]
        # With next-hop objects, FRR 8.4 loses a path when a device loses its carrier and gets it back: the kernel removes the
        # next hop from its group, and zebra takes the group for installed. Linux routers between veth devices show the same.
        daemons = {"zebra": ["no zebra nexthop kernel enable"], **({} if name == "peer" else {"ospfd": ospf}), "bgpd": bgp}
        self.nodes[name].start_frr(daemons)

    def start_bird(self, name, n):
        node = self.nodes[name]
        active, passive = self.inner(name)
        text = f"""router id 10.255.0.{n};
protocol device {{ scan time 1; }}
protocol direct {{ ipv6; interface "eth*", "lo"; }}
protocol kernel {{ merge paths on; ipv6 {{ import none; export where source != RTS_DEVICE; }}; }}
"""
        if name != "peer":
            stubs = ", ".join(f'"{device}"' for device in passive) or '"none"'
            fast = "".join(f'interface "{d}" {{ type ptp; hello 1; dead 20; ecmp weight 1; }};\n' for d in active)
            text += f"""protocol ospf v3 inner {{ ecmp yes; tick 1; ipv6 {{ import all; export none; }};
    area 0 {{ stubnet 2001:db8:ffff::{n}/128; {fast} interface {stubs} {{ stub; }}; }};
}}
"""
            exported = 'where proto = "outside"' if name == "r4" else "none"
            for m, other in enumerate(ROUTERS, 1):
                if other != name and "r4" in (other, name):
                    text += f"""protocol bgp to_{other} {{ local 2001:db8:ffff::{n} as 65001; neighbor 2001:db8:ffff::{m} as 65001;
    multihop; connect retry time 1; connect delay time 1; error wait time 1, 2;
    ipv6 {{ import all; export {exported}; next hop self; }}; }}
"""
        if name in ("r4", "peer"):
            here, there = (1, 2) if name == "r4" else (2, 1)
            text += f"""protocol bgp outside {{ local 2001:db8:45::{here} as {AS[name]};
    neighbor 2001:db8:45::{there} as {AS["peer" if name == "r4" else "r4"]}; connect retry time 1; connect delay time 1;
    error wait time 1, 2;
    ipv6 {{ import all; export where source = RTS_DEVICE || source ~ [RTS_OSPF, RTS_OSPF_IA]; }}; }}
"""
        config = node.folder / "bird.conf"
        config.write_text(text)
        node.start("bird", "bird", "-f", "-c", config, "-s", node.folder / "bird.ctl", "-P", node.folder / "bird.pid")

    def vtysh(self, name, command):
        return self.nodes[name].run("vtysh", "--vty_socket", self.nodes[name].folder, "-c", command)

    def state(self, name):
        """What helps to find out what went wrong."""
        node = self.nodes[name]
        text = []
        for command in (["ip", "route"], ["ip", "-6", "route"], ["ip", "neigh"], ["ip", "-br", "link"]):
            text.append(node.run(*command, check=False))
        if (node.folder / "bird.ctl").exists():
            text.append(node.run("birdc", "-s", node.folder / "bird.ctl", "show", "protocols", check=False))
        for log in sorted(node.folder.glob("*.log")):
            text.append(f"--- {log.name}\n" + "\n".join(log.read_text().splitlines()[-15:]))
        return f"===== {name}\n" + "\n".join(text)

    def remove(self):
        for node in self.nodes.values():
            node.stop()
        for node in self.nodes.values():
            for net in (node.net, getattr(node, "switch", None)):
                if net:
                    run("ip", "netns", "delete", net, check=False)


# -- what is checked -------------------------------------------------------------------------------------------


def reachable(lab):
    for v6, to in ((False, "10.0.5.2"), (True, "2001:db8:5::2")):
        took = wait_for(f"h1 reaches {to}", lambda: ping(lab.h1, to, 1))
        print(f"  {to} reached after {took:.1f} s more")
    # Addresses of the routers themselves.
    for n in range(1, 6):
        for to in (f"10.255.0.{n}", f"2001:db8:ffff::{n}"):
            wait_for(f"h1 reaches {to}", lambda: ping(lab.h1, to, 1))


def both_ways(lab, to):
    """Waits until r1 has both of its routes to the peer's network."""
    family, net = ("-6", "2001:db8:5::/64") if ":" in to else ("-4", "10.0.5.0/24")
    routes = lambda: lab.r1.ip(family, "route", "show", net)
    wait_for(f"both ways to {to}", lambda: "dev eth2" in routes() and "dev eth3" in routes())


def trace(lab):
    """Every router answers, and the packets of a flow take one path. With two ways back, Linux's answer has the address of the port
    that it leaves by (RFC 1812, 4.3.2.4), so routers are compared, not addresses."""
    for to in ("10.0.5.2", "2001:db8:5::2"):
        names = {address(link, end, ":" in to).split("/")[0]: name
                 for left, _, right, _, link in LINKS for end, name in ((1, left), (2, right))}

        def path():
            out = lab.h1.run("traceroute", "-n", "-I", "-q", "1", "-N", "1", "-w", "10", "-m", "8", to)
            return [names.get(line.split()[1], line) for line in out.splitlines()[1:]]

        # While the second of two equal routes comes up, packets change to it between two hops.
        both_ways(lab, to)
        paths = [["r1", way, "r4", "peer", "h2"] for way in ("r2", "r3")]
        # Linux sends a host one ICMP error a second.
        wait_for(f"traceroute to {to} by one of {paths}", lambda: path() in paths, interval=1)
        found = []
        # Without those to which a router has not answered.
        wait_for(f"two more answers of all to {to}", lambda: found.append(path()) or sum("*" not in str(one) for one in found) >= 2, interval=1)
        found, again = [one for one in found if "*" not in str(one)]
        if found not in paths or again != found:
            raise Failed(f"traceroute to {to}: {found}, then {again}, not one of {paths}")
        print(f"  traceroute to {to}: {' '.join(found)}")


SERVER = """
import socket, sys, hashlib
family = socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET
with socket.socket(family) as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((sys.argv[1], 5001)); server.listen()
    print('ready', flush=True)
    connection, _ = server.accept()
    digest, count = hashlib.sha256(), 0
    while data := connection.recv(65536):
        digest.update(data); count += len(data)
    connection.sendall(f'{count} {digest.hexdigest()}'.encode()); connection.close()
"""
CLIENT = """
import socket, sys, hashlib
data = bytes(i * 7 % 251 for i in range(1 << 20)) * int(sys.argv[2])
with socket.create_connection((sys.argv[1], 5001), timeout=60) as c:
    c.sendall(data); c.shutdown(socket.SHUT_WR)
    answer = c.recv(200).decode()
assert answer == f'{len(data)} {hashlib.sha256(data).hexdigest()}', answer
"""


def tcp(lab):
    for to in ("10.0.5.2", "2001:db8:5::2"):
        begin = time.monotonic()
        server = subprocess.Popen(["ip", "netns", "exec", lab.h2.net, "python3", "-c", SERVER, to], stdout=subprocess.PIPE)
        try:
            server.stdout.readline()
            lab.h1.run("python3", "-c", CLIENT, to, "8", timeout=120)
        finally:
            server.kill()
            server.wait()
        print(f"  8 MiB by TCP to {to}: {time.monotonic() - begin:.1f} s")


def udp(lab, to, count, flows=32, rate=4000):
    """Sends a counted run, and returns how many arrived."""
    receiver = subprocess.Popen(["ip", "netns", "exec", lab.h2.net, "python3", "-c", RECEIVE, to, str(count)],
                                stdout=subprocess.PIPE, text=True)
    try:
        receiver.stdout.readline()
        lab.h1.run("python3", "-c", SEND, to, count, flows, rate, timeout=120)
        return int(receiver.stdout.readline())
    finally:
        receiver.kill()
        receiver.wait()


def counted(lab):
    """Every packet arrives, by the fast path, and flows take both ways."""
    # Enough flows that both ways have a fifth of them for certain: each takes either by chance.
    count, flows = 8000, 250
    for to in ("10.0.5.2", "2001:db8:5::2"):
        # OSPF may still have to find one of them, after it was cut for the other family, too.
        both_ways(lab, to)
        # A busy machine may lose some, or make OSPF lose a neighbour: once more, then.
        for _ in range(5):
            before = lab.counts()
            arrived = udp(lab, to, count, flows)
            after = lab.counts()
            rise = {n: after[n]["reasons"]["forwarded"] - before[n]["reasons"]["forwarded"] for n in ROUTERS}
            punted = {n: after[n]["to_kernel"]["packets"] - before[n]["to_kernel"]["packets"] for n in ROUTERS}
            wrong = []
            if arrived != count:
                wrong.append(f"{arrived} of {count} datagrams to {to} arrived")
            for name in ("r1", "r4"):
                if rise[name] < count:
                    wrong.append(f"{name} forwarded {rise[name]} of {count} packets to {to} by its fast path")
            if min(rise["r2"], rise["r3"]) < count // 5 or rise["r2"] + rise["r3"] < count:
                wrong.append(f"flows do not use both ways: {rise}")
            # Hellos, keepalives, ARP.
            if max(punted.values()) > count // 10:
                wrong.append(f"packets went by the kernel: {punted}")
            if not wrong:
                break
            print(f"  {'; '.join(wrong)}; once more", flush=True)
            both_ways(lab, to)
        else:
            raise Failed("; ".join(wrong))
        print(f"  {count} datagrams to {to}: all arrived; forwarded by the fast paths {rise}, punted {punted}")


def path_mtu(lab):
    """The link to the peer gets a small MTU: senders are told, and IPv4 packets that may be fragmented are."""
    for node, device in ((lab.r4, "eth3"),):
        run("ip", "-n", node.switch, "link", "set", device, "mtu", SMALL_MTU)
    lab.peer.ip("link", "set", "eth1", "mtu", SMALL_MTU)
    wait_for("the MTU of r4's port", lambda: f"mtu {SMALL_MTU}" in lab.r4.ip("link", "show", "eth3"))
    for to, overhead in (("10.0.5.2", 28), ("2001:db8:5::2", 48)):
        big, fits = 1500 - overhead, SMALL_MTU - overhead

        def refused():
            out = lab.h1.run("ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", big, to, check=False).lower()
            return "mtu" in out or "too big" in out
        wait_for(f"somebody says that the packet to {to} is too big", refused)
        wait_for(f"packets of {SMALL_MTU} bytes reach {to}", lambda: ping(lab.h1, to, 2, "-M", "do", "-s", str(fits)) == 2)
    lab.h1.run("ip", "route", "flush", "cache")
    wait_for("IPv4 packets are fragmented", lambda: ping(lab.h1, "10.0.5.2", 2, "-M", "dont", "-s", "1472"))
    tcp(lab)
    run("ip", "-n", lab.r4.switch, "link", "set", "eth3", "mtu", "1500")
    lab.peer.ip("link", "set", "eth1", "mtu", "1500")
    lab.h1.run("ip", "route", "flush", "cache")
    lab.h1.run("ip", "-6", "route", "flush", "cache")


def redirects(lab):
    """h1 sends by r1 what has its next hop on h1's own link: r1 forwards it, and its kernel tells h1 now and then."""
    # The next hop is another address of h1, and a link-local one (RFC 4861, 8.2): the packets come back and are dropped.
    lab.h1.ip("address", "add", "10.0.1.77/24", "dev", "eth0")
    (link_local,) = re.findall(r"inet6 (fe80:\S+)/", lab.h1.ip("-6", "address", "show", "dev", "eth0", "scope", "link"))
    routes = (("-4", "203.0.113.0/24", "10.0.1.77"), ("-6", "2001:db8:9999::/64", link_local))
    for family, to, via in routes:
        lab.r1.ip(family, "route", "add", to, "via", via, "dev", "eth1")

    def told(v6):
        if v6:
            return int(re.search(r"Icmp6InRedirects\s+(\d+)", lab.h1.run("cat", "/proc/net/snmp6"))[1])
        names, values = (line.split() for line in lab.h1.run("cat", "/proc/net/snmp").splitlines() if line.startswith("Icmp:"))
        return int(dict(zip(names, values))["InRedirects"])

    for v6, first in ((False, "203.0.113.1"), (True, "2001:db8:9999::1")):
        before, counts = told(v6), lab.counts("r1")["r1"]["reasons"]
        wait_for("a redirect", lambda: lab.h1.run("python3", "-c", SPREAD, first, 2000, 0) or told(v6) > before)
        after = lab.counts("r1")["r1"]["reasons"]
        rise = {name: after[name] - counts[name] for name in ("forwarded", "redirect")}
        print(f"  {told(v6) - before} redirects; {rise}")
        if rise["redirect"] == 0 or rise["redirect"] > rise["forwarded"] / 4:
            raise Failed(f"packets went by the kernel, or none did: {rise}")
    for family, to, _ in routes:
        lab.r1.ip(family, "route", "del", to)
    lab.h1.ip("address", "del", "10.0.1.77/24", "dev", "eth0")


def ospf_interfaces(node):
    """What BIRD says of its interfaces."""
    return node.run("birdc", "-s", node.folder / "bird.ctl", "show", "ospf", "interface", check=False)


def used_again(lab, family):
    """Waits until OSPF uses the link between r1 and r2 again. A daemon may miss a link that was down for moments: if packets of this link
    reach the other end, and OSPF does not see it, the link goes down until the daemons have noticed, and up again."""
    uses = lambda: "dev eth2" in lab.r1.ip(family, "route", "show", "10.255.0.4" if family == "-4" else "2001:db8:ffff::4")
    for _ in range(3):
        try:
            return wait_for("OSPF uses the link again", uses, 40)
        except Failed:
            link_local = re.search(r"inet6 (fe80::\S+)/", lab.r2.ip("-6", "address", "show", "dev", "eth1"))
            said = [ospf_interfaces(lab.r1), ospf_interfaces(lab.r2)]
            addresses = [lab.r1.ip("address", "show", "dev", "eth2"), lab.r2.ip("address", "show", "dev", "eth1")]
            there = ping(lab.r1, "10.0.12.2") if family == "-4" else link_local and ping(lab.r1, f"{link_local[1]}%eth2")
            print("  OSPF does not see a link that carries packets" if there else "  the link carries no packets", *said, *addresses, sep="\n")
            if not there:
                raise
        run("ip", "-n", lab.r2.switch, "link", "set", "eth1", "down")
        for node, device in (lab.r1, "eth2"), (lab.r2, "eth1"):
            wait_for(f"{node.name} sees the cut", lambda: "NO-CARRIER" in node.ip("link", "show", device))
            wait_for(f"BIRD of {node.name} sees it", lambda: "State: PtP" not in
                     ospf_interfaces(node).partition(f"Interface {device} ")[2].partition("Interface")[0])
        run("ip", "-n", lab.r2.switch, "link", "set", "eth1", "up")
    raise Failed("OSPF does not use the link again")


def cut_and_heal(lab):
    """The link between r1 and r2 goes down: OSPF finds the other way. It comes back: both are used again."""
    count, rate = 6000, 1000
    for to in ("10.0.5.2", "2001:db8:5::2"):
        receiver = subprocess.Popen(["ip", "netns", "exec", lab.h2.net, "python3", "-c", RECEIVE, to, str(count)],
                                    stdout=subprocess.PIPE, text=True)
        receiver.stdout.readline()
        sender = subprocess.Popen(["ip", "netns", "exec", lab.h1.net, "python3", "-c", SEND, to, str(count), "32", str(rate)])
        try:
            time.sleep(2)
            # The other end: r1's device loses its carrier.
            run("ip", "-n", lab.r2.switch, "link", "set", "eth1", "down")
            carrier = wait_for("r1 sees the cut", lambda: "NO-CARRIER" in lab.r1.ip("link", "show", "eth2"), interval=0.02)
            family = "-6" if ":" in to else "-4"
            healed = wait_for("OSPF's way around", lambda: "dev eth2" not in lab.r1.ip(
                family, "route", "show", *(["2001:db8:ffff::4"] if ":" in to else ["10.255.0.4"])), interval=0.02)
            sender.wait(PATIENCE)
            arrived = int(receiver.stdout.readline())
        finally:
            for process in (sender, receiver):
                process.kill()
                process.wait()
        lost = count - arrived
        print(f"  cut: carrier lost after {carrier * 1000:.0f} ms, OSPF's routes changed after {healed * 1000:.0f} ms more;"
              f" {lost} of {count} datagrams lost at {rate}/s, {lost / rate * 1000:.0f} ms")
        run("ip", "-n", lab.r2.switch, "link", "set", "eth1", "up")
        print(f"  healed: both ways again after {used_again(lab, family):.1f} s")
    counted(lab)


def neighbours_stay_fresh(lab):
    """The kernel sees no packet of the flows, and yet its neighbour entries do not go stale while they are used."""
    state = lambda: lab.r1.ip("neigh", "show", "10.0.1.1")
    lab.r1.sysctl("net/ipv4/neigh/eth1/base_reachable_time_ms", 2000)
    lab.r1.sysctl("net/ipv4/neigh/eth1/delay_first_probe_time", 1)
    # Probes go by the router's process, which a busy machine may not run for some seconds.
    lab.r1.sysctl("net/ipv4/neigh/eth1/ucast_solicit", 60)
    before = lab.counts("r1")["r1"]["neighbour_probes"]
    begin, seen = time.monotonic(), set()

    def confirmed():
        """Whether it has been confirmed, of its use for 8 seconds."""
        udp(lab, "10.0.5.2", 400, 4, 1000)
        ping(lab.h2, "10.0.1.1", 2)
        seen.add((state().split() or ["missing"])[-1])
        if "FAILED" in seen:
            return True
        asked = json.loads(lab.r1.stats.read_text())["neighbour_probes"] > before
        return asked and seen & {"REACHABLE", "DELAY", "PROBE"} and time.monotonic() - begin > 8
    wait_for("somebody asks the kernel to confirm the neighbour", confirmed)
    if "FAILED" in seen:
        raise Failed(f"the neighbour was {seen}")
    print(f"  a neighbour in use was {', '.join(sorted(seen))}")


SPREAD = """
import ipaddress, socket, sys, time
first, count, step = ipaddress.ip_address(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
with socket.socket(socket.AF_INET6 if first.version == 6 else socket.AF_INET, socket.SOCK_DGRAM) as s:
    for n in range(count):
        s.sendto(b'x', (str(first + n * step), 9))
        if n % 50 == 49:
            time.sleep(0.01)
"""


def many_routes(lab):
    """The fast path has all routes that somebody gives the kernel in a row, and none when they are gone."""
    count, sent = lab.routes, 1000
    node = lab.r1
    batch = node.folder / "routes"
    for family, network, bits, via in (("-4", "100.0.0.0/8", 32, "10.0.12.2"), ("-6", "2001:db8:8000::/48", 128, "2001:db8:12::2")):
        first = ipaddress.ip_network(network)[0]
        lab.r2.ip(family, "route", "add", "blackhole", network)
        there = lab.counts("r1")["r1"]["routes"]
        for verb in ("add", "delete"):
            batch.write_text("".join(f"route {verb} {first + n}/{bits} via {via}\n" for n in range(count)))
            begin = time.monotonic()
            node.ip(family, "-batch", batch, timeout=300)
            kernel = time.monotonic() - begin
            wanted = there + (count if verb == "add" else 0)
            # Neighbours have host routes, too, and come and go.
            wait_for(f"{wanted} routes", lambda: abs(json.loads(node.stats.read_text())["routes"] - wanted) < 20)
            print(f"  {verb} {count} routes: {kernel:.1f} s in the kernel, in the tables after {time.monotonic() - begin:.1f} s; {node.memory()}")
            before = lab.counts("r1", "r2")
            lab.h1.run("python3", "-c", SPREAD, first, sent, count // sent)
            after = lab.counts("r1", "r2")
            for name, reason in (("r1", "forwarded"), ("r2", "blackhole")) if verb == "add" else (("r1", "no_route"),):
                if after[name]["reasons"][reason] - before[name]["reasons"][reason] < sent:
                    raise Failed(f"{name} does not count {sent} packets as {reason}: {before[name]} {after[name]}")
        if after["r1"]["routes_refused"]:
            raise Failed(f"routes were refused: {after['r1']}")


CHECKS = [reachable, trace, counted, tcp, path_mtu, redirects, cut_and_heal, neighbours_stay_fresh, many_routes]


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--routes", type=int, default=50_000, help="how many routes of each protocol many_routes adds")
    parser.add_argument("--keep", action="store_true", help="leave the network when something fails")
    args = parser.parse_args()
    cases = {check.__name__: check for check in CHECKS}
    # The network has converged then.
    names = choose(args, cases, {name: ["reachable"] for name in cases})
    return status_of("ip", lambda: run_checks([cases[name] for name in names], args.routes, args.keep))


def run_checks(checks, routes, keep):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-ip-"))
    folder.chmod(0o755)
    lab, passed = Lab(folder, routes), False
    try:
        begin = time.monotonic()
        lab.build()
        lab.start_daemons()
        in_turn("ip", checks, lab)
        for name in ROUTERS:
            log = lab.nodes[name].log("hopwright")
            if "panicked" in log or "ERROR" in log:
                raise Failed(f"{name}:\n{log}")
        print(f"ip: passed in {time.monotonic() - begin:.0f} s")
        passed = True
    except Failed as failure:
        print(f"FAILED: {failure}")
        for name in lab.nodes:
            try:
                print(lab.state(name))
            except Exception as error:
                print(f"===== {name}: {error}")
        raise
    finally:
        if not passed and keep:
            print(f"the network stays: namespaces {PREFIX}*, files {folder}")
        else:
            lab.remove()
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
