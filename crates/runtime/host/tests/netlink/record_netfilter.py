#!/usr/bin/env python3
"""Records what a kernel answers to a request for all chains of nftables. Needs root and `nft`; works in a network namespace of its own.

Writes to standard output, for `netfilter.txt` beside it: a line `chain HEX` for each message.
"""

import os
import socket
import struct
import subprocess
import sys

RULES = """
table inet filter {
    chain forward { type filter hook forward priority 0; policy drop; }
    chain input { type filter hook input priority 0; policy accept; }
    chain ingress { type filter hook ingress device "s2" priority 0; }
    chain called { accept; }
}
table ip nat {
    chain prerouting { type nat hook prerouting priority -100; }
    chain postrouting { type nat hook postrouting priority 100; masquerade; }
    chain output { type nat hook output priority 0; }
}
table ip6 six {
    chain forward { type filter hook forward priority 10; }
}
table arp a {
    chain in { type filter hook input priority 0; }
}
table netdev dev {
    chain in { type filter hook ingress device "s2" priority 0; }
}
"""
NETLINK_NETFILTER, NFT_MSG_GETCHAIN, NLMSG_ERROR, NLMSG_DONE = 12, 10 << 8 | 4, 2, 3


def main():
    if os.environ.get("HOPWRIGHT_RECORDING") != "1":
        os.environ["HOPWRIGHT_RECORDING"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "add", "s2", "type", "veth", "peer", "name", "p2"], check=True)
    subprocess.run(["nft", "-f", "-"], input=RULES, text=True, check=True)
    version = subprocess.check_output(["nft", "--version"], text=True).strip()
    print(f"# Linux {os.uname().release}, {version}. Made by record_netfilter.py.")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER) as kernel:
        kernel.bind((0, 0))
        kernel.send(struct.pack("=IHHII", 20, NFT_MSG_GETCHAIN, 0x301, 1, 0) + bytes(4))
        while True:
            datagram, at = kernel.recv(1 << 20), 0
            while at < len(datagram):
                length, kind = struct.unpack_from("=IH", datagram, at)
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    sys.exit(datagram.hex())
                # What differs from one recording to the next is zero: sequence number and port of who asked.
                print("chain", (datagram[at:at + 8] + bytes(8) + datagram[at + 16:at + length]).hex())
                at += length + 3 & ~3


if __name__ == "__main__":
    main()
