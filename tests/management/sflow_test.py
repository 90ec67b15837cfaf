#!/usr/bin/env python3
"""sFlow, as nfdump's collector receives it and tshark reads it."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from lab.cases import unittest_main
from lab.command import PATIENCE
from lab.ip_router import Process, Router, has_read, links, listens

COLLECTOR = ("127.0.0.1", 6343)
# The output of a packet for the router itself, here its agent, who gives it to Linux: sFlow 5, `output` of a flow sample.
INTERNAL = 0x3FFF_FFFF


def dissect(datagrams):
    """What tshark reads in datagrams, as it names it."""
    with tempfile.NamedTemporaryFile(suffix=".txt", mode="w") as text, tempfile.NamedTemporaryFile(suffix=".pcap") as pcap:
        for datagram in datagrams:
            lines = [f"{at:06x} " + datagram[at : at + 16].hex(" ") for at in range(0, len(datagram), 16)]
            text.write("\n".join(lines) + "\n\n")
        text.flush()
        subprocess.run(["text2pcap", "-q", "-u", "6343,6343", text.name, pcap.name], check=True, capture_output=True)
        shown = subprocess.run(["tshark", "-r", pcap.name, "-T", "json", "--no-duplicate-keys", "-d", "udp.port==6343,sflow"],
                               check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        return json.loads(shown)


class Sflow(unittest.TestCase):
    def test_a_collector_gets_the_flows(self):
        """nfdump finds the pings, with counts that the rate makes those of the packets."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-sflow-"))
        count, rate = 2000, 10
        collector = Process("sfcapd", "-b", COLLECTOR[0], "-p", COLLECTOR[1], "-w", folder, "-t", "3600")
        options = ("--sflow", "127.0.0.1", "--sflow-rate", rate, "--sflow-interval", 1)
        with collector:
            listens(COLLECTOR[1])
            with Router(*map(str, options)) as router:
                router.ping(count)
                indices = {name: link["ifindex"] for name, link in links("blue").items()}
            # The router has ended, and has sent all samples. The collector writes what it has read when it ends.
            has_read(COLLECTOR[1])
        shown = subprocess.run(["nfdump", "-R", folder, "-q", "-N", "-o", "fmt:%pkt,%in,%out", "proto icmp and src ip 10.0.0.2 and dst ip 10.0.1.2"],
                               check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
        flows = [tuple(map(int, line.split(","))) for line in shown.splitlines() if line.strip()]
        # nfdump multiplies by the rate. The gaps are uniform up to twice the rate: five deviations of their sum are allowed.
        total = sum(packets for packets, _, _ in flows)
        self.assertAlmostEqual(count, total, delta=5 * 0.6 * rate * (count / rate) ** 0.5, msg=flows[:2])
        ends = {(came, left): 0 for _, came, left in flows}
        for packets, came, left in flows:
            ends[came, left] += packets
        # Linux forwards what the router has no neighbour or route for: the first packets, or more of them on a busy machine.
        linux = ends.pop((indices["sw0"], INTERNAL), 0)
        self.assertEqual([(indices["sw0"], indices["sw1"])], list(ends))
        self.assertLess(linux, count / 2, "most packets take the fast path")


if __name__ == "__main__":
    unittest_main(verbosity=2)
