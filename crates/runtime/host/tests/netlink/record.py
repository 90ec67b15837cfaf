#!/usr/bin/env python3
"""Records what a kernel says over rtnetlink while routes, next-hop objects, links, addresses, neighbours and rules change.

Needs root: the script works in a network namespace of its own, which is gone when it ends. It writes to standard output, for
`kernel.txt` beside it:

    message N HEX        a message; below it is called by its number
    $ COMMAND            what was done; everything below is the consequence
    event N...           a datagram of notifications, as the multicast groups of `hopwright_host::netlink` deliver it
    routes N...          all routes afterwards: the answers to RTM_GETROUTE for IPv4 and IPv6, if they have changed
    rules N...           all rules afterwards: the answers to RTM_GETRULE, if they have changed
    objects N...         all next-hop objects afterwards: the answer to RTM_GETNEXTHOP, if it has changed
    links, addresses, neighbours N...
                         the answers to RTM_GETLINK, RTM_GETADDR and RTM_GETNEIGH, at the start and at the end

Numbers in messages are in the byte order of the machine: record on a little-endian one.
"""

import os
import socket
import struct
import subprocess
import sys
import time

GROUPS = [1, 3, 4, 5, 7, 8, 9, 11, 19, 24, 25, 32]
NETLINK_ADD_MEMBERSHIP, SOL_NETLINK = 1, 270
NLM_F_REQUEST, NLM_F_DUMP, NLMSG_ERROR, NLMSG_DONE = 1, 0x300, 2, 3
GETLINK, GETADDR, GETROUTE, GETNEIGH, GETRULE, GETNEXTHOP = 18, 22, 26, 30, 34, 106

SETUP = """
ip link set lo up
for n in 2 3 4; do
    ip link add s$n type veth peer name p$n
    ip link set p$n up
    for d in s$n p$n; do ip link set $d addrgenmode none; done
    ip link set s$n address 02:00:00:00:0$n:01 up
    ip addr add 10.0.$n.1/24 dev s$n
    ip addr add 2001:db8:$n::1/64 dev s$n nodad
done
"""

# A line that begins with "until" waits for what the kernel does later by itself.
STEPS = """
# Next-hop objects and groups of IPv4.
ip nexthop add id 21 via 10.0.2.2 dev s2
ip nexthop add id 31 via 10.0.3.2 dev s3
ip nexthop add id 100 group 21/31
ip route add 172.16.2.0/24 nhid 100
ip nexthop del id 31
ip nexthop add id 31 via 10.0.3.2 dev s3
ip nexthop replace id 100 group 21,3/31,7
ip nexthop replace id 21 via 10.0.2.3 dev s2
ip route replace 172.16.2.0/24 nhid 31
ip route replace 172.16.2.0/24 nhid 100
ip route add 172.16.3.0/24 nhid 100
ip route del 172.16.3.0/24
ip nexthop del id 100
ip nexthop add id 55 via 10.0.4.2 dev s4
ip route add 172.16.2.0/24 nhid 55
ip nexthop del id 55
ip nexthop add id 56 via 10.0.4.2 dev s4
ip route add 172.16.2.0/24 nhid 56
ip nexthop flush
ip nexthop add id 5 blackhole
ip route add 172.16.4.0/24 nhid 5
ip nexthop replace id 5 via 10.0.2.2 dev s2
ip nexthop del id 5

# A resilient group.
ip nexthop add id 21 via 10.0.2.2 dev s2
ip nexthop add id 31 via 10.0.3.2 dev s3
ip nexthop add id 101 group 21/31 type resilient buckets 4
ip route add 172.16.5.0/24 nhid 101
ip nexthop replace id 101 group 31 type resilient
ip nexthop replace id 101 group 21/31 type resilient
ip nexthop del id 21
ip nexthop del id 101
ip nexthop flush

# Next-hop objects and groups of IPv6, and of IPv4 routes by IPv6 next hops.
ip nexthop add id 61 via 2001:db8:2::2 dev s2
ip nexthop add id 62 via 2001:db8:3::2 dev s3
ip nexthop add id 160 group 61/62
ip -6 route add 2001:db8:f1::/64 nhid 160
ip route add 172.16.6.0/24 nhid 160
ip nexthop del id 62
ip nexthop add id 62 via 2001:db8:3::2 dev s3
ip nexthop replace id 160 group 61/62,5
ip nexthop replace id 61 via 2001:db8:2::3 dev s2
ip -6 route replace 2001:db8:f1::/64 nhid 61
ip -6 route add 2001:db8:f2::/64 nhid 61
ip -6 route del 2001:db8:f2::/64
ip nexthop del id 61
ip nexthop del id 160
ip -6 nexthop add id 6 blackhole
ip -6 route add 2001:db8:f3::/64 nhid 6
ip nexthop del id 6
ip nexthop flush

# Without the routes' next hops in the messages of those that use objects.
echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode
ip nexthop add id 21 via 10.0.2.2 dev s2
ip nexthop add id 61 via 2001:db8:2::2 dev s2
ip nexthop add id 102 group 21
ip route add 172.16.7.0/24 nhid 21
ip route add 172.16.8.0/24 nhid 102
ip -6 route add 2001:db8:f4::/64 nhid 61
ip nexthop replace id 21 via 10.0.2.3 dev s2
ip nexthop del id 21
ip nexthop del id 61
ip nexthop flush
echo 1 > /proc/sys/net/ipv4/nexthop_compat_mode

# Routes with next hops of their own.
ip route add 172.16.10.0/24 via 10.0.2.2
ip route add 172.16.10.0/24 via 10.0.3.2 metric 10
ip route append 172.16.10.0/24 via 10.0.4.2
ip route change 172.16.10.0/24 via 10.0.2.3
ip route replace 172.16.10.0/24 via 10.0.3.3 mtu 1400
ip route del 172.16.10.0/24 via 10.0.3.3
ip route del 172.16.10.0/24
ip route del 172.16.10.0/24
ip route add 172.16.11.0/24 nexthop via 10.0.2.2 weight 3 nexthop via 10.0.3.2 nexthop via 10.0.4.2 weight 256
ip route replace 172.16.11.0/24 nexthop via 10.0.2.2 nexthop via 10.0.3.2
ip route del 172.16.11.0/24
ip route add blackhole 172.16.12.0/24
ip route replace unreachable 172.16.12.0/24
ip route replace prohibit 172.16.12.0/24
ip route replace throw 172.16.12.0/24
ip route del throw 172.16.12.0/24
ip route add 172.16.13.0/24 via inet6 2001:db8:2::2 dev s2
ip route add 172.16.14.0/24 via 10.0.9.9 dev s2 onlink
ip route add 172.16.15.0/24 via 10.0.2.2 table 100
ip route add 172.16.15.0/24 via 10.0.2.2 tos 8
ip route add 172.16.16.0/24 via 10.0.2.2 src 10.0.3.1 advmss 1300 rtt 20ms realm 3
ip route add default via 10.0.2.2
ip route del default
ip -6 route add 2001:db8:f5::/64 via 2001:db8:2::2
ip -6 route append 2001:db8:f5::/64 via 2001:db8:3::2
ip -6 route append 2001:db8:f5::/64 via 2001:db8:4::2
ip -6 route del 2001:db8:f5::/64 via 2001:db8:3::2
ip -6 route replace 2001:db8:f5::/64 nexthop via 2001:db8:3::2 weight 2 nexthop via 2001:db8:4::2 weight 5
ip -6 route del 2001:db8:f5::/64
ip -6 route add blackhole 2001:db8:f6::/64
ip -6 route add unreachable 2001:db8:f7::/64 metric 7
ip -6 route del unreachable 2001:db8:f7::/64
ip -6 route add 2001:db8:f8::/64 dev s2 mtu 1300 pref high expires 9000

# Routes for which the kernel encapsulates.
ip route add 172.16.20.0/24 encap ip id 5 dst 10.0.3.2 ttl 9 dev s2
ip route add 172.16.21.0/24 encap seg6 mode encap segs 2001:db8:3::2 dev s2
ip route add 172.16.22.0/24 nexthop encap ip id 6 dst 10.0.3.2 via 10.0.2.2 dev s2 nexthop via 10.0.3.2
ip -6 route add 2001:db8:f9::/64 encap seg6 mode inline segs 2001:db8:3::2 dev s2
ip -6 route add 2001:db8:fa::/64 encap ip6 id 7 dst 2001:db8:3::2 dev s2
ip nexthop add id 8 encap ip id 8 dst 10.0.3.2 via 10.0.2.2 dev s2
ip route add 172.16.23.0/24 nhid 8

# Addresses, neighbours and rules.
ip addr add 10.0.5.1/24 dev s4
ip route add 172.16.30.0/24 via 10.0.5.2
ip addr add 10.0.6.1 peer 10.0.6.2 dev s4
ip addr del 10.0.5.1/24 dev s4
ip addr del 10.0.3.1/24 dev s3
ip addr add 10.0.3.1/24 dev s3
ip -6 addr add 2001:db8:5::1/64 dev s4 nodad
ip -6 addr del 2001:db8:5::1/64 dev s4
ip neigh add 10.0.2.2 lladdr 02:00:00:00:02:02 dev s2 nud permanent
ip neigh add 10.0.2.3 lladdr 02:00:00:00:02:03 dev s2 nud reachable
ip neigh replace 10.0.2.3 lladdr 02:00:00:00:02:33 dev s2 nud stale
ip neigh del 10.0.2.3 dev s2
ip neigh add 2001:db8:2::2 lladdr 02:00:00:00:02:02 dev s2 nud noarp
ip neigh add 2001:db8:2::3 dev s2 nud failed
ip rule add from 10.0.0.0/8 table 100 priority 77
ip rule del priority 77
ip rule add to 10.7.0.0/16 iif s2 tos 0x10 ipproto tcp lookup 1000 priority 78
ip rule add not from 10.7.0.1 prohibit priority 79
ip rule add fwmark 7 dport 53 lookup 100 priority 80
ip rule add fwmark 0/1 oif s3 lookup main suppress_prefixlength 0 priority 81
ip rule add uidrange 0-100 nop priority 82
ip -6 rule add from 2001:db8::/32 goto 32766 priority 83
for p in 78 79 80 81 82; do ip rule del priority $p; done
ip -6 rule del priority 83

# Settings, and queueing disciplines.
sysctl -qw net.ipv4.conf.s2.forwarding=0 net.ipv6.conf.s2.forwarding=1
tc qdisc add dev s2 clsact
tc qdisc add dev s3 root tbf rate 1mbit burst 10k latency 50ms
tc qdisc del dev s2 clsact

# Links: the kernel removes what led there, and says little about it.
ip nexthop add id 31 via 10.0.3.2 dev s3
ip nexthop add id 41 via 10.0.4.2 dev s4
ip nexthop add id 103 group 31/41
ip route add 172.16.31.0/24 nhid 31
ip route add 172.16.32.0/24 nhid 103
ip route add 172.16.33.0/24 nexthop via 10.0.3.2 nexthop via 10.0.4.2
ip link set p3 down
until ip -o link show s3 | grep -q 'state LOWERLAYERDOWN'
ip link set p3 up
until ip -o link show s3 | grep -q 'state UP'
ip link set s3 mtu 1400
ip link set s3 down
ip link set s3 up
ip link add b0 type bridge
ip link set s3 master b0
ip link set s3 nomaster
ip link set s4 name t4
ip link del s2
"""


def messages(datagram):
    """The messages of a datagram. What differs from one recording to the next is zero: sequence number and port of who asked."""
    found, at = [], 0
    while at + 16 <= len(datagram):
        length = struct.unpack_from("=I", datagram, at)[0]
        end = at + (length + 3 & ~3)
        found.append(datagram[at:at + 8] + bytes(8) + datagram[at + 16:end])
        at = end
    return found


class Kernel:
    """The rtnetlink of this process's network namespace."""

    def __init__(self):
        self.requests = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.requests.bind((0, 0))
        self.events = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self.events.bind((0, 0))
        for group in GROUPS:
            self.events.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group)
        self.events.setblocking(False)
        self.written = {}
        self.numbers = {}

    def dump(self, kind, body):
        """The messages that answer a request, without the last, which only says that it is."""
        header = struct.pack("=IHHII", 16 + len(body), kind, NLM_F_REQUEST | NLM_F_DUMP, 1, 0)
        self.requests.send(header + body)
        answer = []
        while True:
            for message in messages(self.requests.recv(1 << 20)):
                message_type = struct.unpack_from("=H", message, 4)[0]
                if message_type == NLMSG_ERROR:
                    sys.exit(f"request {kind}: {message.hex()}")
                if message_type == NLMSG_DONE:
                    return answer
                answer.append(message)

    def line(self, what, found):
        for message in found:
            if message not in self.numbers:
                self.numbers[message] = len(self.numbers)
                print("message", self.numbers[message], message.hex())
        print(what, *(self.numbers[message] for message in found))

    def write(self, what, found):
        if self.written.get(what) != found:
            self.written[what] = found
            self.line(what, found)

    def write_tables(self):
        # struct rtmsg and struct nhmsg.
        families = (socket.AF_INET, socket.AF_INET6)
        self.write("routes", sum((self.dump(GETROUTE, bytes([family]) + bytes(11)) for family in families), []))
        # struct fib_rule_hdr.
        self.write("rules", sum((self.dump(GETRULE, bytes([family]) + bytes(11)) for family in families), []))
        self.write("objects", self.dump(GETNEXTHOP, bytes(8)))

    def write_others(self):
        # struct ifinfomsg, ifaddrmsg and ndmsg.
        self.write("links", self.dump(GETLINK, bytes(16)))
        self.write("addresses", self.dump(GETADDR, bytes(8)))
        self.write("neighbours", self.dump(GETNEIGH, bytes(12)))

    def write_events(self):
        while True:
            try:
                self.line("event", messages(self.events.recv(1 << 20)))
            except BlockingIOError:
                return


def shell(command):
    done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: {done.stdout}{done.stderr}")


def wait_for(condition):
    deadline = time.monotonic() + 60
    while subprocess.run(["bash", "-c", condition], capture_output=True).returncode:
        if time.monotonic() > deadline:
            sys.exit(f"{condition}: not within a minute")
        time.sleep(0.05)


def main():
    if os.environ.get("HOPWRIGHT_RECORDING") != "1":
        os.environ["HOPWRIGHT_RECORDING"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    shell(SETUP)
    for n in (2, 3, 4):
        wait_for(f"ip -o link show s{n} | grep -q 'state UP'")
    kernel = Kernel()
    print(f"# Linux {os.uname().release}, {subprocess.check_output(['ip', '-V'], text=True).strip()}. Made by record.py.")
    for line in SETUP.strip().splitlines():
        print("#", line)
    kernel.write_tables()
    kernel.write_others()
    for line in STEPS.strip().splitlines():
        if not line or line.startswith("#"):
            print(line)
            continue
        print("$", line)
        if line.startswith("until "):
            wait_for(line.removeprefix("until "))
        else:
            shell(line)
        # A reading waits until the kernel has finished what it reports.
        kernel.dump(GETNEXTHOP, bytes(8))
        kernel.write_events()
        kernel.write_tables()
    kernel.write_others()


if __name__ == "__main__":
    main()
