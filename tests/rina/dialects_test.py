#!/usr/bin/env python3
"""Three systems in a row whose DIF has the dialect of rlite, then that of IRATI: ARP for names, enrollment, flows through a relay, a member that stops.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import sys

from lab.command import Failed, wait_for
from lab.leaf_spine import Fabric, carry_out, report

NODES = ["n1", "n2", "n3"]
LINKS = [("n1", "n2"), ("n2", "n3")]


def config(node, dialect, first):
    address = "address = 1\n" if first else ""
    links = "".join(f'[[ipcp.link]]\ndevice = "{device}"\n\n' for device in node.devices)
    return (f'[router]\nsocket = "{node.socket}"\n\n[metrics]\naddress = "127.0.0.1:9402"\n\n'
            f'[[ipcp]]\nname = "{node.name}"\ndif = "n.DIF"\ndialect = "{dialect}"\n{address}'
            f'keepalive_ms = 1000\ndead_after_ms = 20000\n\n{links}')


def check(net):
    members = lambda node: {route["member"] for route in net[node].show()["routes"] if route["links"]}
    took = wait_for("all reach all", lambda: all(members(node) == set(NODES) - {node} for node in NODES))
    # The links have just been set up, and the kernel may not have told of carriers yet.
    if downs := {node: [link["downs"] for link in net[node].show()["links"]] for node in NODES if any(link["downs"] for link in net[node].show()["links"])}:
        raise Failed(f"neighbours went down while members enrolled: {downs}")
    report(f"three members enrolled, all reach all after {took:.1f} s; no neighbour went down")
    net["n3"].serve("echo", "mirror")
    net["n3"].serve("perf", "sink")
    wait_for("the directory", lambda: len(net["n1"].use("list")) == 2)
    for qos in "reliable", "unreliable":
        got = net["n1"].use("echo", "mirror", "--count", 20, "--interval", 0.01, "--qos", qos)
        report(f"echo, {qos}: {got['received']} of {got['sent']}, allocated in {got['allocation_ms']:.2f} ms")
    got = net["n1"].use("perf", "sink", "--seconds", 2)
    if got["received"] != got["sent"] or got["received"] < 100:
        raise Failed(f"perf: {got}")
    report(f"perf: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} of {got['sent']} SDUs")
    # In one direction data, in the other control PDUs: the program of the relay forwards both.
    metrics = lambda: dict(line.rsplit(" ", 1) for line in net["n2"].page("metrics").splitlines() if not line.startswith("#"))
    wait_for("the relay's count", lambda: int(metrics()['hopwright_rina_pdus_total{reason="forwarded"}']) >= got["received"])
    wait_for("the release of flows", lambda: not any(net[node].show()["flows"] for node in ("n1", "n3")))
    try:
        net["n1"].use("echo", "mirror", "--size", 1401, "--wait", 0)
    except Failed as error:
        if "1400 bytes at most" not in str(error):
            raise
        report("an SDU that is too long for this dialect is refused with a reason")
    else:
        raise Failed("an SDU of 1401 bytes")
    net["n3"].stop()
    took = wait_for("the end of the member", lambda: members("n1") == {"n2"})
    report(f"a member stops: the others know after {took:.1f} s")


def test(folder, dialects):
    for dialect in dialects:
        work = folder / dialect
        work.mkdir()
        print(f"RINA in the dialect {dialect}", flush=True)
        in_dialect(work, dialect)


def in_dialect(folder, dialect):
    with Fabric(folder) as net:
        net.nodes = {}
        for node in NODES:
            net.add_node(node)
        for one, other in LINKS:
            net.add_link(one, other)
        for node in NODES:
            net[node].config.write_text(config(net[node], dialect, node == NODES[0]))
            net[node].start()
        check(net)


if __name__ == "__main__":
    sys.exit(carry_out("RINA in the dialects of others", test, ("rlite", "irati")))
