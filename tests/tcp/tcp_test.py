#!/usr/bin/env python3
"""TCP and segmented UDP between two hosts, through each kind of switch, over veth pairs with all offloads on.

    h1 -- switch -- h2

Hosts on veth pairs leave checksums and segmentation to their device, which leaves them to the switch. Everything must arrive
intact. A transfer that is slow must have repeated next to nothing, so that it was the machine that was slow: a switch that lost joined
frames would have TCP repeat all of them. The program must see segments that fit the MTU. VLAN tags are pushed and popped by two OpenFlow switches with a trunk between
them, because a kernel may lack VLAN devices.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from lab.cases import carry_out, case_options, choose
from lab.command import HOPWRIGHT, ROOT, Failed, end, run, wait_until

HERE = pathlib.Path(__file__).resolve().parent
TRANSFER = HERE / "transfer.py"
PREFIX = f"hwtcp{os.getpid()}-"
# The machine may be busy.
PATIENCE = 180.0
# Bits per second. Where joined frames are lost it is 0.3 million; two CPUs with 24 busy processes leave 100 million, idle ones give thousands.
LEAST = 30e6
# Of the segments of a transfer that is slower, at most this part is repeated.
REPEATED = 0.05
HOSTS = {"h1": (1, "02:00:00:00:01:01"), "h2": (2, "02:00:00:00:02:01")}


class Lab:
    """Two hosts, and a namespace with the devices of one switch, or of two with a trunk between them."""

    def __init__(self, folder, mtu, trunk=False):
        self.folder, self.mtu, self.trunk = folder, mtu, trunk
        self.processes = []

    def __enter__(self):
        for name in ("h1", "h2", "sw"):
            run("ip", "netns", "add", PREFIX + name)
            self.ip(name, "link", "set", "lo", "up")
            for key in ("all", "default"):
                self.sysctl(name, f"net/ipv6/conf/{key}/accept_dad", 0)
        # Devices of the switch have no addresses.
        for key in ("all", "default"):
            self.sysctl("sw", f"net/ipv6/conf/{key}/disable_ipv6", 1)
        for host, (_, mac) in HOSTS.items():
            self.veth((host, "eth0"), ("sw", f"to-{host}"))
            self.ip(host, "link", "set", "eth0", "address", mac)
        if self.trunk:
            self.veth(("sw", "trunk1"), ("sw", "trunk2"))
        return self

    def __exit__(self, *_):
        end(*reversed(self.processes))
        for name in ("h1", "h2", "sw", "cp"):
            run("ip", "netns", "del", PREFIX + name, check=False)

    def veth(self, left, right):
        (a, a_device), (b, b_device) = left, right
        run("ip", "link", "add", a_device, "mtu", self.mtu, "netns", PREFIX + a,
            "type", "veth", "peer", "name", b_device, "mtu", self.mtu, "netns", PREFIX + b)
        for net, device in (left, right):
            self.ip(net, "link", "set", device, "up")

    def ip(self, net, *args):
        return run("ip", "-n", PREFIX + net, *args)

    def sysctl(self, net, key, value):
        run("ip", "netns", "exec", PREFIX + net, "sh", "-c", f"echo {value} > /proc/sys/{key}")

    def one_network(self):
        """The hosts are neighbours."""
        for host, (n, _) in HOSTS.items():
            self.ip(host, "address", "add", f"10.0.0.{n}/24", "dev", "eth0")
            self.ip(host, "address", "add", f"2001:db8::{n}/64", "dev", "eth0")
        return {4: "10.0.0.2", 6: "2001:db8::2"}

    def two_networks(self):
        """There is a router between the hosts."""
        for host, (n, _) in HOSTS.items():
            self.ip(host, "address", "add", f"10.0.{n}.2/24", "dev", "eth0")
            self.ip(host, "address", "add", f"2001:db8:{n}::2/64", "dev", "eth0")
            self.ip(host, "route", "add", "default", "via", f"10.0.{n}.1")
            self.ip(host, "-6", "route", "add", "default", "via", f"2001:db8:{n}::1")
        return {4: "10.0.2.2", 6: "2001:db8:2::2"}

    def start(self, net, name, *command):
        log = open(self.folder / f"{name}.log", "w")
        process = subprocess.Popen(["ip", "netns", "exec", PREFIX + net, *map(str, command)], stdout=log, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.folder / f"{name}.log").read_text()

    def start_switch(self, ready, *command, name="hopwright"):
        process = self.start("sw", name, HOPWRIGHT, *command)

        def is_ready():
            if process.poll() is not None:
                raise Failed(f"{name} has ended: {self.log(name)[-2000:]}")
            return ready in self.log(name)
        try:
            wait_until(f"{name} runs", is_ready)
        except Failed as failure:
            raise Failed(f"{failure}: {self.log(name)[-2000:]}") from None

    def segments(self, net):
        """TCP segments that a host has sent, and those that were repetitions (proc_pid_net(5))."""
        text = run("ip", "netns", "exec", PREFIX + net, "cat", "/proc/net/snmp")
        names, values = (line.split() for line in text.splitlines() if line.startswith("Tcp:"))
        return [int(values[names.index(name)]) for name in ("OutSegs", "RetransSegs")]

    def transfer(self, address, count, port, ends=("h1", "h2"), least=LEAST):
        """Sends bytes from one end to the other. Returns bits per second, fewer than `least` only if almost nothing was repeated."""
        before = self.segments(ends[0])
        receiver = self.start(ends[1], f"receive-{port}", sys.executable, TRANSFER, "receive", address, port)
        wait_until("a listener", lambda: "ready" in self.log(f"receive-{port}"))
        sender = self.start(ends[0], f"send-{port}", sys.executable, TRANSFER, "send", address, port, count)
        for process, name in ((sender, "send"), (receiver, "receive")):
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                raise Failed(f"{count} bytes to {address}: not within {PATIENCE:.0f} s") from None
            if process.returncode:
                raise Failed(f"{name}: {self.log(f'{name}-{port}')[-500:]}")
        sent, seconds = self.log(f"send-{port}").split()
        if self.log(f"receive-{port}").split() != ["ready", str(count), sent]:
            raise Failed(f"{count} bytes to {address} arrived as others: {self.log(f'receive-{port}')}")
        rate = count * 8 / float(seconds)
        sent, repeated = (now - then for now, then in zip(self.segments(ends[0]), before))
        if rate < least and repeated > REPEATED * sent:
            raise Failed(f"TCP to {address}: {rate / 1e6:.1f} Mbit/s, which is less than {least / 1e6:.1f}, and {repeated} of {sent} segments were repeated")
        return rate

    def bursts(self, address, count, port):
        """Sends segmented datagrams from h1 to h2 and waits for an answer to each burst. Returns how many were sent again."""
        peer = self.start("h2", f"answer-{port}", sys.executable, TRANSFER, "answer", address, port)
        wait_until("a peer", lambda: "ready" in self.log(f"answer-{port}"))
        sender = self.start("h1", f"bursts-{port}", sys.executable, TRANSFER, "bursts", address, port, count)
        try:
            sender.wait(2 * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"bursts of datagrams to {address}: not within {2 * PATIENCE:.0f} s") from None
        peer.kill()
        peer.wait()
        if sender.returncode:
            raise Failed(self.log(f"bursts-{port}")[-500:])
        return int(self.log(f"bursts-{port}"))


def l3(lab, ports):
    entries = lab.folder / "l3.stf"
    entries.write_text("".join(
        f"add routes hdr.ipv4.dst:0x0a00{n:02x}00/24 next_hop(port:{n}, src:02:00:00:00:00:0f, dst:{mac})\n"
        for n, mac in HOSTS.values()))
    stats = lab.folder / "stats.json"
    lab.start_switch("running", "run", ROOT / "examples/l3.p4", "-i", "1@to-h1", "-i", "2@to-h2", "--ports", ports, "--no-p4runtime",
                     "--entries", entries, "--stats", stats)
    addresses = lab.two_networks()
    for host, (n, _) in HOSTS.items():
        lab.ip(host, "neigh", "add", f"10.0.{n}.1", "lladdr", "02:00:00:00:00:0f", "dev", "eth0")
    return {4: addresses[4]}


L2_ENTRIES = "".join(f"add mac hdr.ethernet.dst:0x{mac.replace(':', '')} forward(port:{n})\n" for n, mac in HOSTS.values())


def neighbours(lab):
    """Hosts in one network, which know each other, because the program floods nothing."""
    addresses = lab.one_network()
    for host in HOSTS:
        for name, (n, mac) in HOSTS.items():
            if name != host:
                for address in (f"10.0.0.{n}", f"2001:db8::{n}"):
                    lab.ip(host, "neigh", "add", address, "lladdr", mac, "dev", "eth0")
    return addresses


def l2(lab, ports):
    entries = lab.folder / "l2.stf"
    entries.write_text(L2_ENTRIES)
    lab.start_switch("running", "run", ROOT / "examples/l2.p4", "-i", "1@to-h1", "-i", "2@to-h2", "--ports", ports, "--no-p4runtime",
                     "--entries", entries, "--stats", lab.folder / "stats.json")
    return neighbours(lab)


def switch(lab, ports):
    devices = "".join(f'[[port]]\ndevice = "to-{host}"\n' for host in HOSTS)
    entries = lab.folder / "l2.stf"
    entries.write_text(L2_ENTRIES)
    config = lab.folder / "switch.toml"
    config.write_text(f"""[switch]
ports = "{ports}"
socket = "{lab.folder}/switch.sock"
{devices}
[[tenant]]
name = "red"
program = "{ROOT}/examples/l2.p4"
entries = "{entries}"
ports = {{ 1 = "to-h1", 2 = "to-h2" }}
""")
    # Devices with addresses would be opened as packet sockets for another reason.
    lab.start_switch("AF_PACKET: AF_XDP would keep its peer", "switch", "--config", config)
    return neighbours(lab)


def router(lab, ports):
    # Made here, because `ip netns exec` gives the router a mount namespace of its own.
    run("ip", "netns", "add", PREFIX + "cp")
    for key in ("all", "default"):
        lab.sysctl("cp", f"net/ipv6/conf/{key}/accept_dad", 0)
    lab.start_switch("routing;", "ip", "-i", "1@to-h1", "-i", "2@to-h2", "--ports", ports, "--namespace", PREFIX + "cp",
                     "--stats", lab.folder / "stats.json")
    for n, device in ((1, "to-h1"), (2, "to-h2")):
        lab.ip("cp", "address", "add", f"10.0.{n}.1/24", "dev", device)
        lab.ip("cp", "address", "add", f"2001:db8:{n}::1/64", "dev", device)
    addresses = lab.two_networks()
    for address in addresses.values():
        wait_until(f"a route to {address}", lambda: subprocess.run(
            ["ip", "netns", "exec", PREFIX + "h1", "ping", "-c", "1", "-W", "1", address], capture_output=True).returncode == 0)
    return addresses


def openflow(lab, ports):
    sides = [("to-h1", "to-h2", "output:2", "output:1")]
    if lab.trunk:
        out, back = "mod_vlan_vid:5,output:2", "strip_vlan,output:1"
        sides = [("to-h1", "trunk1", out, back), ("to-h2", "trunk2", out, back)]
    for number, (left, right, out, back) in enumerate(sides):
        listener = 6654 + number
        lab.start_switch("INFO", "openflow", "-i", f"1@{left}", "-i", f"2@{right}", "--ports", ports, "--listen", f"ptcp:{listener}",
                         name=f"openflow{number}")
        for flow in (f"in_port=1,actions={out}", f"in_port=2,actions={back}"):
            command = ["ip", "netns", "exec", PREFIX + "sw", "ovs-ofctl", "-O", "OpenFlow10", "add-flow", f"tcp:127.0.0.1:{listener}", flow]
            wait_until("flows", lambda: subprocess.run(command, capture_output=True).returncode == 0)
    return lab.one_network()


def check_counts(lab, count, mtu):
    """The program has seen all bytes, in packets that fit the MTU."""
    file = lab.folder / "stats.json"

    def has_seen():
        port = json.loads(file.read_text())["ports"]["to-h1"]
        if port["rx_bytes"] > port["rx_packets"] * (mtu + 14):
            raise Failed(f"with an MTU of {mtu} the program saw {port['rx_packets']} packets of {port['rx_bytes']} bytes")
        return port["rx_bytes"] > count
    # Counters are written each second.
    wait_until("counters", has_seen)


CASES = [
    # What, how, ports, MTU, whether there is a trunk.
    ("run l3.p4", l3, "af_packet", 1500, False),
    ("run l3.p4", l3, "af_xdp", 1500, False),
    ("run l3.p4", l3, "af_packet", 9000, False),
    ("run l3.p4", l3, "af_xdp", 9000, False),
    ("run l2.p4", l2, "af_packet", 1500, False),
    ("run l2.p4", l2, "af_xdp", 1500, False),
    ("switch", switch, "auto", 1500, False),
    ("ip", router, "af_packet", 1500, False),
    ("ip", router, "af_packet", 9000, False),
    ("ip", router, "af_xdp", 1500, False),
    ("openflow", openflow, "af_packet", 1500, False),
    ("openflow", openflow, "af_xdp", 1500, False),
    ("openflow, VLAN trunk", openflow, "af_packet", 1500, True),
    ("openflow, VLAN trunk", openflow, "af_packet", 9000, True),
    ("openflow, VLAN trunk", openflow, "af_xdp", 1500, True),
]


def main() -> int:
    parser = case_options(__doc__)
    parser.add_argument("--megabytes", type=int, default=64, help="the bytes of a transfer, in millions")
    args = parser.parse_args()
    cases = {f"{what}, {ports}, MTU {mtu}": (start, ports, mtu, trunk) for what, start, ports, mtu, trunk in CASES}
    names = choose(args, cases)
    return carry_out("TCP", lambda checks: [try_case(name, cases[name], args.megabytes * 1_000_000, checks) for name in names])


def try_case(name, case, count, checks):
    start, ports, mtu, trunk = case
    with tempfile.TemporaryDirectory(prefix="hopwright-tcp-") as folder:
        try:
            with Lab(pathlib.Path(folder), mtu, trunk) as lab:
                addresses, rates = start(lab, ports), []
                for version, address in addresses.items():
                    rate = lab.transfer(address, count, 5000 + version)
                    rates.append(f"IPv{version} {rate / 1e6:,.0f} Mbit/s")
                    resent = lab.bursts(address, 50, 5010 + version)
                    if resent > 25:
                        raise Failed(f"{resent} of 50 bursts of datagrams over IPv{version} were lost")
                if start is router:
                    # Through the TAP devices of the control plane, which are a slow path.
                    for number, (address, ends) in enumerate((("10.0.1.1", ("h1", "cp")), ("10.0.1.2", ("cp", "h1")))):
                        rate = lab.transfer(address, count // 16, 5020 + number, ends, LEAST / 20)
                        rates.append(f"{' to '.join(ends)} {rate / 1e6:,.0f} Mbit/s")
                if (lab.folder / "stats.json").exists():
                    check_counts(lab, count * len(addresses), mtu)
        except Failed as failure:
            checks.that(name, False, failure)
        else:
            checks.that(name, True, ", ".join(rates))


if __name__ == "__main__":
    sys.exit(main())
