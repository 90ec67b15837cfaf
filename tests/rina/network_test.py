#!/usr/bin/env python3
"""A leaf-spine of RINA routers and hosts that configures itself: enrollment, routes, flows, operation, a spine that dies, an outsider.

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import json
import signal
import sys
import time

from lab.cases import in_turn
from lab.command import PATIENCE, Failed, wait_for
from lab.leaf_spine import HOSTS, LEAVES, Fabric, carry_out, report

# Between two hosts of different leaves.
PAIRS = [("h1", "h8"), ("h2", "h3"), ("h5", "h4"), ("h7", "h6"), ("h8", "h1")]


def check(condition, text):
    if not condition:
        raise Failed(text)
    report(text)


def two_paths(leaf):
    """Whether the first leaf has two paths to each host of another leaf."""
    routes = {route["member"]: route["links"] for route in leaf.show()["routes"]}
    return {host: len(routes.get(host, [])) == 2 for host in HOSTS[2:]}


def becomes(condition, text):
    """What links and routes settle to, some time after the event that leads there."""
    took = wait_for(text, condition)
    report(f"{text} after {took:.1f} s")


def network(fabric):
    fabric.start()
    took = wait_for("all reach all", fabric.all_reached)
    addresses = {node.show()["address"] for node in fabric.nodes.values()}
    check(len(addresses) == len(fabric.nodes) and 0 not in addresses,
          f"{len(addresses)} IPC processes enrolled, with an address each; all reach all after {took:.1f} s")
    becomes(lambda: all(two_paths(fabric["leaf1"]).values()), "leaf1 has two equal paths to every host of another leaf")


def applications(fabric):
    for host in HOSTS:
        fabric[host].serve("echo", f"echo-{host}")
        fabric[host].serve("perf", f"perf-{host}")
    wait_for("the directory", lambda: all(len(fabric[host].use("list")) == 2 * len(HOSTS) for host in HOSTS))
    report(f"{2 * len(HOSTS)} applications are in everybody's directory")
    for client in HOSTS:
        for server in HOSTS:
            if client != server:
                fabric[client].use("echo", f"echo-{server}", "--count", 3, "--interval", 0.002)
    report(f"echo between all {len(HOSTS) * (len(HOSTS) - 1)} pairs of hosts")
    for client, server in PAIRS:
        for qos in "reliable", "unreliable":
            got = fabric[client].use("perf", f"perf-{server}", "--seconds", 1, "--qos", qos)
            check(got["received"] > (100 if qos == "reliable" else 0),
                  f"perf {client} to {server}, {qos}: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} of {got['sent']} SDUs")
            if qos == "reliable" and got["received"] != got["sent"]:
                raise Failed("a reliable flow has lost SDUs")
    try:
        fabric["h1"].use("echo", "echo-nobody", "--wait", 0)
    except Failed as error:
        check("no application echo-nobody" in str(error), "an unknown application is refused with a reason")
    else:
        raise Failed("echo to an unknown application")


def operation(fabric):
    """Metrics, the status page, the log's level, and SIGHUP."""
    leaf = fabric["leaf1"]
    metrics = lambda: dict(line.rsplit(" ", 1) for line in leaf.page("metrics").splitlines() if not line.startswith("#"))
    up = lambda: [value for key, value in metrics().items() if key.startswith("hopwright_rina_neighbour_up")]
    becomes(lambda: up() == ["1"] * 4 and metrics()['hopwright_rina_members{dif="fabric"}'] == "13",
            "metrics: four neighbours are up, thirteen members reached")
    becomes(lambda: int(metrics()['hopwright_rina_pdus_total{reason="forwarded"}']) > 1000, "PDUs are counted")
    check(metrics()["hopwright_rina_reloads_total"] == "0", "no reload is")
    state = json.loads(leaf.page("status"))
    check(state["ipcps"][0]["name"] == "leaf1" and state["reasons"]["bad_checksum"] == 0, "the status page says what `show` says")
    check("credential" not in leaf.page("status") and 'href="status"' in leaf.page(""), "without keys, and the first page leads there")
    leaf.page("log/level", "--request", "PUT", "--data", '{"level":"debug"}', "--header", "content-type: application/json")
    check("debug" in leaf.page("log/level"), "the log's level is changed while it runs")
    leaf.page("log/level", "--request", "PUT", "--data", '{"level":"info"}', "--header", "content-type: application/json")

    log = fabric.folder / "leaf1.log"
    by_spine2 = lambda: all(route["links"] == ["spine2"] for route in leaf.show()["routes"] if route["member"] in HOSTS[2:])

    def without_down():
        """Whether no link was down from one cost to the other one. A neighbour that gets no CPU for long is taken for dead."""
        leaf.write_config("fabric.key")
        leaf.reload()
        wait_for("both paths", lambda: all(two_paths(leaf).values()))
        before = [link["downs"] for link in leaf.show()["links"]]
        leaf.write_config("fabric.key", costs={"spine1": 5})
        leaf.reload()
        wait_for("the new cost", by_spine2)
        return leaf.show()["address"] and [link["downs"] for link in leaf.show()["links"]] == before
    becomes(without_down, "SIGHUP: another cost, other paths, no link was down")
    good = leaf.config.read_text()
    for text, reason in (good.replace("cost = 5", 'cost = "many"'), "invalid type"), (good.replace('name = "leaf1"', 'name = "leaf9"'), "need a restart"):
        leaf.config.write_text(text)
        leaf.reload()
        wait_for(f"'{reason}' in the log", lambda: "not reloaded" in log.read_text() and reason in log.read_text())
    becomes(by_spine2, "files with errors, and changes that need a restart, are refused with a reason and change nothing")
    leaf.write_config("fabric.key")
    leaf.reload()
    wait_for("both paths", lambda: all(two_paths(leaf).values()) and fabric.all_reached())
    wait_for("the reloads to be counted", lambda: int(metrics()["hopwright_rina_reloads_total"]) >= 2)
    report("and it is as it was")


def spine(fabric):
    """A spine dies under flows, and returns."""
    clients = [
        fabric[client].use("echo", f"echo-{server}", "--count", 400, "--interval", 0.02, "--timeout", 60, background=True)
        for client, server in PAIRS + [("h3", "h7"), ("h6", "h2")]
    ]
    transfer = fabric["h1"].use("perf", "perf-h5", "--seconds", 8, background=True)
    time.sleep(2)
    begin = time.monotonic()
    fabric["spine1"].kill()
    wait_for("routes without the spine", lambda: all(
        len(route["links"]) == 1
        for leaf in LEAVES for route in fabric[leaf].show()["routes"] if route["member"] not in fabric[leaf].devices))
    report(f"no route leads over the dead spine after {time.monotonic() - begin:.2f} s")
    gaps = []
    for process in clients + [transfer]:
        out, err = process.communicate(timeout=PATIENCE)
        if process.returncode:
            raise Failed(f"a flow did not survive: {out}{err}")
        gaps.append(json.loads(out)["longest_gap_ms"])
    report(f"{len(gaps)} flows went on; the longest silence was {max(gaps):.0f} ms")
    fabric["spine1"].start()
    took = wait_for("the spine returns", fabric.all_reached)
    wait_for("two paths", lambda: all(two_paths(fabric["leaf1"]).values()))
    report(f"the spine is back after {took:.1f} s, and used again")


def restart(fabric):
    """A host with flows is killed and started again: its flows end at the other end, too, and others are allocated."""
    client, server = fabric["h1"], fabric["h8"]
    wait_for("the flows of tests before", lambda: not server.show()["flows"])
    transfers = [client.use("perf", "perf-h8", "--seconds", 600, background=True) for _ in range(5)]
    wait_for("five flows", lambda: sum(flow["state"] == "open" for flow in server.show()["flows"]) == len(transfers))
    client.kill()
    for process in transfers + client.applications:
        out, err = process.communicate(timeout=PATIENCE)
        if not process.returncode:
            raise Failed(f"an application does not notice that its IPC process is gone: {out}{err}")
    client.applications.clear()
    client.start()
    took = wait_for("the end of the flows", lambda: not server.show()["flows"])
    report(f"a client's system was killed and started: its five flows ended after {took:.1f} s")
    wait_for("the way back", fabric.all_reached)
    times = sorted(client.use("echo", "echo-h8", "--count", 1)["allocation_ms"] for _ in range(21))
    wait_for("the release of these flows", lambda: not server.show()["flows"] and not client.show()["flows"])
    report(f"21 flows were allocated in {times[10]:.2f} ms (median; {times[0]:.2f} to {times[-1]:.2f}) and released")


def stop(fabric):
    """A system that stops says so to its applications and to the other ends of their flows."""
    client, server = fabric["h2"], fabric["h7"]
    transfer = client.use("perf", "perf-h7", "--seconds", 600, background=True)
    wait_for("the flow", lambda: any(flow["state"] == "open" for flow in server.show()["flows"]))
    begin = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    if server.process.wait(PATIENCE):
        raise Failed(f"{server.name} ends with {server.process.returncode}")
    out, err = transfer.communicate(timeout=PATIENCE)
    reason = err.strip().rpartition("SDUs: ")[2]
    check(transfer.returncode == 1 and reason.startswith("the other end"), f"a server's system stops: its flow ends after "
          f"{time.monotonic() - begin:.1f} s, {reason}")
    logs = [server.folder / f"h7-{name}.log" for name in ("echo-h7", "perf-h7")]
    wait_for("what its applications say", lambda: all("system stops" in log.read_text() for log in logs))
    report("its applications say that the IPC process stops")
    server.stop()
    server.applications.clear()
    server.start()
    wait_for("the way back", fabric.all_reached)
    server.serve("echo", "echo-h7")
    server.serve("perf", "perf-h7")


def congestion(fabric):
    """A relay whose queue is full of data for three seconds: layer management does not wait there."""
    leaf, client = fabric["leaf4"], fabric["h1"]
    leaf.stop()
    leaf.write_config("fabric.key", ports='[[port]]\ndevice = "h7"\nrate_mbit = 1\npackets = 256\nmark_from = 64\n')
    leaf.start()
    wait_for("the leaf", fabric.all_reached)
    wait_for("the directory", lambda: any(it["application"] == "perf-h7" for it in client.use("list")))
    flood = client.use("perf", "perf-h7", "--seconds", 600, "--qos", "unreliable", background=True)
    try:
        count = lambda what: int(next(line.split()[-1] for line in leaf.page("metrics").splitlines()
                                      if line.startswith(f'hopwright_rina_{what}{{port="h7"')))
        wait_for("a full queue", lambda: count("queue_dropped_total") > 0 and count("marked_pdus_total") > 0)
        times = sorted(client.use("echo", "echo-h7", "--count", 0)["allocation_ms"] for _ in range(11))
        check(times[5] < 2500, f"11 flows were allocated through the full queue in {times[5]:.2f} ms (median; {times[0]:.2f} to "
              f"{times[-1]:.2f}); data waits 3 s there")
        wait_for("their release", lambda: len(client.show()["flows"]) == 1)
    finally:
        flood.kill()
        flood.communicate()


def outsider(fabric):
    """Somebody with another credential at a port of a leaf, and somebody with the right one."""
    fabric.add_node("guest")
    fabric["leaf2"].stop()
    fabric.add_link("leaf2", "guest")
    guest = fabric["guest"]
    guest.write_config("other.key")
    fabric["leaf2"].write_config("fabric.key")
    fabric["leaf2"].start()
    guest.start()
    refused = lambda node: sum(link["refused"] for link in node.show()["links"])
    wait_for("the refusal", lambda: refused(guest) > 0 and refused(fabric["leaf2"]) > 0)
    check(guest.show()["address"] == 0 and not guest.show()["routes"], "a wrong credential is refused, at both ends")
    wait_for("the others", lambda: fabric.all_reached(list(set(fabric.nodes) - {"guest"})))
    members = {route["member"] for route in fabric["leaf2"].show()["routes"]}
    check("guest" not in members, "and the others do not know of it")
    guest.write_config("fabric.key")
    guest.process.send_signal(1)
    wait_for("enrollment", fabric.all_reached)
    got = guest.use("echo", "echo-h8", "--count", 3, "--interval", 0.01)
    check(got["received"] == 3, "with the right one, after SIGHUP, it enrols and reaches hosts")


PARTS = (network, applications, operation, spine, restart, stop, congestion, outsider)


def test(folder, parts):
    with Fabric(folder) as fabric:
        fabric.make()
        in_turn("RINA network", parts, fabric)


if __name__ == "__main__":
    sys.exit(carry_out("RINA network", test, PARTS, needs={part.__name__: ["network", "applications"] for part in PARTS[1:]}))
