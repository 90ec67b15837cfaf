#!/usr/bin/env python3
"""Two data-centre DIFs joined by a DIF over UDP/IPv4, a slice DIF across all three, and a DIF over the slice.

    h1 ---- r1 ---- b1 ====== b2 ---- r2 ---- h2
    |      DIF dc1   |  DIF wan |      DIF dc2  |      links: Ethernet, and UDP/IPv4 between b1 and b2
    +---- flow ------+-- flow --+----- flow ----+      DIF slice, whose links are flows of the three
    +------------------ flow -------------------+      DIF top, whose link is a flow of the slice

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import json
import sys

from lab.command import Failed, run, wait_for
from lab.leaf_spine import Fabric, carry_out, report

LINKS = [("h1", "r1"), ("r1", "b1"), ("b1", "b2"), ("b2", "r2"), ("r2", "h2")]


def ipcp(name, dif, address=None):
    place = f"address = {address}\n" if address else ""
    return f'[[ipcp]]\nname = "{name}"\ndif = "{dif}"\n{place}credential = "{dif}.key"\n\n'


def ethernet(device):
    return f'[[ipcp.link]]\ndevice = "{device}"\n\n'


def udp(device, local, remote):
    return f'[[ipcp.link]]\ndevice = "{device}"\nudp = {{ local = "{local}", remote = "{remote}" }}\n\n'


def flow(dif, to):
    return f'[[ipcp.link]]\ndif = "{dif}"\nto = "{to}"\n\n'


CONFIGS = {
    "h1": ipcp("h1", "dc1") + ethernet("r1") + ipcp("s-h1", "slice") + flow("dc1", "s-b1")
          + ipcp("t-h1", "top", 1) + flow("slice", "t-h2"),
    "r1": ipcp("r1", "dc1", 1) + ethernet("h1") + ethernet("b1"),
    "b1": ipcp("b1", "dc1") + ethernet("r1")
          + ipcp("w1", "wan", 1) + udp("b2", "192.0.2.1:3359", "192.0.2.2:3360")
          + ipcp("s-b1", "slice", 1) + flow("dc1", "s-h1") + flow("wan", "s-b2"),
    "b2": ipcp("b2", "dc2") + ethernet("r2")
          + ipcp("w2", "wan") + udp("b1", "192.0.2.2:3360", "192.0.2.1:3359")
          + ipcp("s-b2", "slice") + flow("dc2", "s-h2") + flow("wan", "s-b1"),
    "r2": ipcp("r2", "dc2", 1) + ethernet("b2") + ethernet("h2"),
    "h2": ipcp("h2", "dc2") + ethernet("r2") + ipcp("s-h2", "slice") + flow("dc2", "s-b2")
          + ipcp("t-h2", "top") + flow("slice", "t-h1"),
}


def test(folder):
    with Fabric(folder) as net:
        net.nodes = {}
        for dif in "dc1", "dc2", "wan", "slice", "top":
            (folder / f"{dif}.key").write_text(f"the credential of {dif} and no other\n")
        for node in CONFIGS:
            net.add_node(node)
        for one, other in LINKS:
            net.add_link(one, other)
        for node, device, address in ("b1", "b2", "192.0.2.1/24"), ("b2", "b1", "192.0.2.2/24"):
            run("ip", "-n", net[node].net, "address", "add", address, "dev", device)
        for node, text in CONFIGS.items():
            socket = f'[router]\nsocket = "{net[node].socket}"\n\n'
            net[node].config.write_text(socket + text)
            net[node].stats = folder / f"{node}.json"
            net[node].start("--stats", net[node].stats)
        print("RINA border routers", flush=True)
        slice_of = lambda node: next(it for it in net[node].use("show") if it["dif"] == "slice")
        members = lambda node: {route["member"] for route in slice_of(node)["routes"] if route["links"]}
        took = wait_for("the slice", lambda: members("h1") == {"s-b1", "s-b2", "s-h2"} and
                        members("h2") == {"s-b1", "s-b2", "s-h1"})
        report(f"four DIFs are there, the slice reaches from host to host after {took:.1f} s")
        known = lambda: {it["dif"]: {route["member"] for route in it["routes"]} for it in net["r1"].use("show")}
        wait_for("its data centre is all that r1 knows", lambda: known() == {"dc1": {"h1", "b1"}})
        report("the routers inside the data centres know nothing of it")
        net["h2"].serve("echo", "mirror")
        net["h2"].serve("perf", "sink")
        got = net["h1"].use("echo", "mirror", "--dif", "slice", "--count", 20, "--interval", 0.02)
        report(f"echo over the slice: {got['received']} of {got['sent']}, {got['mean_ms']:.2f} ms")
        top = lambda: next(it for it in net["h1"].use("show") if it["dif"] == "top")
        took = wait_for("the DIF over the slice", lambda: any("t-h2" in route["member"] for route in top()["routes"]) and
                        any(it["application"] == "mirror" for it in top()["applications"]))
        got = net["h1"].use("echo", "mirror", "--dif", "top", "--count", 20, "--interval", 0.02, "--size", 4000)
        if got["received"] != got["sent"]:
            raise Failed(f"echo over three levels: {got}")
        report(f"echo over three levels of DIFs: {got['received']} of {got['sent']}, {got['mean_ms']:.2f} ms")
        before = counts(net)
        got = net["h1"].use("perf", "sink", "--dif", "slice", "--seconds", 3)
        if got["received"] != got["sent"] or got["received"] < 100:
            raise Failed(f"perf over the slice: {got}")
        report(f"perf over the slice: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} of {got['sent']} SDUs")
        after = counts(net)
        grown = {node: {key: after[node][key] - before[node].get(key, 0) for key in after[node]} for node in after}
        report("PDUs that borders encapsulated, and decapsulated, by flow:")
        for node, flows in grown.items():
            for (what, link), count in sorted(flows.items()):
                report(f"    {node} {link:<10} {what:<13} {count}")
        sdus = got["received"]
        for node, into, out in ("b1", "wan:s-b2", "dc1:s-h1"), ("b2", "dc2:s-h2", "wan:s-b1"):
            if grown[node]["encapsulated", into] < sdus or grown[node]["decapsulated", out] < sdus:
                raise Failed(f"{node} did not forward {sdus} SDUs from flow to flow")
        for node in "b1", "b2":
            state = json.loads(net[node].stats.read_text())
            if state["reasons"]["bad_checksum"] or state["reasons"]["malformed"]:
                raise Failed(f"{node}: {state['reasons']}")
        # The other end of the WAN restarts: its flows come again.
        net["b2"].kill()
        wait_for("the end of the slice's path", lambda: "s-h2" not in members("h1"))
        net["b2"].start("--stats", net["b2"].stats)
        took = wait_for("the slice", lambda: "s-h2" in members("h1"))
        got = net["h1"].use("echo", "mirror", "--dif", "slice", "--count", 5, "--interval", 0.02)
        report(f"b2 restarts: the slice is whole again after {took:.1f} s, echo {got['received']} of {got['sent']}")


def counts(net):
    """Packets by what happened and link, at both border routers."""
    found = {}
    for node in "b1", "b2":
        path = net[node].stats
        # Written every second; what is written after the next time was counted after now.
        for _ in range(2):
            written = path.stat().st_mtime_ns
            wait_for(f"statistics of {node}", lambda: path.stat().st_mtime_ns != written)
        state = json.loads(path.read_text())
        found[node] = {(what, row["link"]): row[what] for row in state["lower_flows"]
                       for what in ("encapsulated", "decapsulated")}
    return found


if __name__ == "__main__":
    sys.exit(carry_out("RINA border routers", test))
