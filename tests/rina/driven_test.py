#!/usr/bin/env python3
"""Members whose PDUs are relayed by a switch elsewhere: `hopwright run` in a namespace of its own, which an IPC process in another one
drives by P4Runtime. With `--only hardware` the switch is simulated hardware, whose design verilator compiles first.

                 r (control: IPC processes)
                 | P4Runtime
    h1 ------ switch ------ h2

Exit status: 0 if everything passed, 1 if something failed, 2 if the test could not be carried out.
"""

import json
import signal
import subprocess
import sys

from lab.cases import in_turn
from lab.command import HOPWRIGHT, PATIENCE, ROOT, Failed, run, wait_for
from lab.leaf_spine import METRICS, Fabric, Node, carry_out, report

SWITCH = "192.0.2.2:9559"


def check(condition, text):
    if not condition:
        raise Failed(text)
    report(text)


def ipcp(name, dif, *links, address=None, authority=False):
    place = f"address = {address}\n" if address else ""
    if authority:
        place += f'authority = "ca.pem"\ncertificate = "{name}.pem"\nkey = "{name}.key"\nrevoked = "revoked.pem"\n'
    links = "".join(f"[[ipcp.link]]\n{link}\n" for link in links)
    return f'[[ipcp]]\nname = "{name}"\ndif = "{dif}"\n{place}credential = "{dif}.key"\n\n{links}\n'


def ethernet(device):
    return f'device = "{device}"\n'


def flow(dif, to):
    return f'dif = "{dif}"\nto = "{to}"\n'


def certificates(folder, *names):
    """An authority that has revoked nothing, and certificates with these names."""
    openssl = lambda *words: run("openssl", *words)
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new, "-days", "2", "-subj", "/CN=authority", "-keyout", folder / "ca.key", "-out", folder / "ca.pem")
    for name in names:
        (folder / f"{name}.ext").write_text(f"subjectAltName = DNS:{name}\n")
        openssl("req", *new, "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
        openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
                "-days", "2", "-extfile", folder / f"{name}.ext", "-out", folder / f"{name}.pem")
    (folder / "revoked.pem").write_text("")


def revoke(folder, name):
    """Puts a certificate on the authority's list."""
    (folder / "index.txt").write_text("")
    (folder / "number").write_text("01\n")
    config = folder / "ca.cnf"
    config.write_text(f"[ca]\ndefault_ca = it\n[it]\ndatabase = {folder}/index.txt\ncrlnumber = {folder}/number\ndefault_md = sha256\n"
                      f"default_crl_days = 2\ncertificate = {folder}/ca.pem\nprivate_key = {folder}/ca.key\n")
    run("openssl", "ca", "-config", config, "-revoke", folder / f"{name}.pem")
    run("openssl", "ca", "-config", config, "-gencrl", "-out", folder / "revoked.pem")


class Network(Fabric):
    """Two hosts at a switch, and a controller. `program` is what the switch is to run in the end."""

    def __init__(self, folder, program, ipcps, options=(), settings=""):
        super().__init__(folder)
        self.nodes = {}
        self.program, self.options = program, options
        self.switch = None
        for dif in "fabric", "west", "east", "slice":
            (folder / f"{dif}.key").write_text(f"the credential of {dif} and no other\n")
        for node in "h1", "h2", "switch", "r":
            self.add_node(node)
        # The same member, at the switch's machine.
        standby = self.nodes["standby"] = Node("standby", folder)
        standby.net = self["switch"].net
        for one, other in ("h1", "switch"), ("h2", "switch"), ("r", "switch"):
            self.add_link(one, other)
        for node, device, address in ("r", "switch", "192.0.2.1/24"), ("switch", "r", "192.0.2.2/24"):
            run("ip", "-n", self[node].net, "address", "add", address, "dev", device)
        for node, text in ipcps.items():
            it = self[node]
            place = f'[router]\nsocket = "{it.socket}"\n\n[metrics]\naddress = "{METRICS}"\n\n'
            if node == "r":
                place += f'[switch]\np4runtime = "{SWITCH}"\n{settings}\n'
                place += "".join(f'[[port]]\ndevice = "{host}"\nnumber = {number}\n\n' for number, host in enumerate(("h1", "h2"), 1))
                standby.config.write_text(place.replace(str(it.socket), str(standby.socket)) + text)
            it.config.write_text(place + text)

    def start_switch(self):
        """A switch with nothing in its tables."""
        log = open(self.folder / "switch.log", "a")
        command = [HOPWRIGHT, "run", ROOT / "p4/rina" / self.program, "-i", "1@h1", "-i", "2@h2", "--p4runtime", SWITCH, *self.options]
        self.switch = subprocess.Popen(self["switch"].exec(*command), stdout=log, stderr=subprocess.STDOUT)

    def kill_switch(self):
        self.switch.kill()
        self.switch.wait()

    def start(self):
        self.start_switch()
        for node in "h1", "h2", "r":
            self[node].start()

    def remove(self):
        if self.switch:
            self.kill_switch()
        super().remove()

    def table(self, name, *tls):
        """A table's entries at the switch, as text."""
        text = run(*self["switch"].exec(HOPWRIGHT, "table", "show", name, "--server", SWITCH, *tls))
        return sorted(line for line in text.splitlines() if "=" in line and not line.startswith("default"))

    def reached(self, controller="r"):
        """Whether all members reach all others."""
        for node, member in ("h1", "h1"), ("h2", "h2"), (controller, "r"):
            routes = {route["member"] for route in self[node].show()["routes"] if route["links"]}
            if routes != {"h1", "h2", "r"} - {member}:
                raise Failed(f"{node} reaches {', '.join(sorted(routes))}")
        return True

    def mastership(self, node):
        switch = json.loads(self[node].page("status"))["switch"]
        return switch and switch["mastership"]


INTERIOR = {
    "h1": ipcp("h1", "fabric", ethernet("switch"), authority=True),
    "h2": ipcp("h2", "fabric", ethernet("switch"), authority=True),
    "r": ipcp("r", "fabric", ethernet("h1"), ethernet("h2"), address=1, authority=True),
}


def transfers(net, seconds=2):
    got = net["h1"].use("perf", "sink", "--seconds", seconds)
    check(got["received"] == got["sent"] > 100, f"perf through the switch: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} of {got['sent']} SDUs")


def flows(net):
    net.start()
    took = wait_for("all reach all", net.reached)
    report(f"three members enrolled by way of the switch; all reach all after {took:.1f} s")
    net["h2"].serve("echo", "mirror")
    net["h2"].serve("perf", "sink")
    net["r"].serve("echo", "control")
    wait_for("the directory", lambda: len(net["h1"].use("list")) == 3)
    got = net["h1"].use("echo", "mirror", "--count", 20, "--interval", 0.01)
    check(got["received"] == 20, f"echo through the switch: {got['received']} of 20, {got['mean_ms']:.2f} ms")
    got = net["h1"].use("echo", "control", "--count", 20, "--interval", 0.01)
    check(got["received"] == 20, f"echo to the controller's own application, by PACKET_IN and PACKET_OUT: {got['mean_ms']:.2f} ms")
    transfers(net)
    wait_for("the entries of all members", lambda: len(net.table("destinations")) == 3 and len(net.table("next_hops")) == 2)
    report("the switch has three destinations and two next hops")


def a_switch_restarts(net):
    """What it had is gone: it is given program and entries anew, and flows go on."""
    echo = net["h1"].use("echo", "mirror", "--count", 600, "--interval", 0.02, "--timeout", PATIENCE, background=True)
    transfer = net["h1"].use("perf", "sink", "--seconds", 10, background=True)
    wait_for("the flows", lambda: len(net["h2"].show()["flows"]) == 2)
    net.kill_switch()
    wait_for("the loss of the switch", lambda: net.mastership("r") == "unreachable")
    net.start_switch()
    took = wait_for("the switch", lambda: net.mastership("r") == "primary" and net.reached())
    for process in echo, transfer:
        out, err = process.communicate(timeout=PATIENCE)
        if process.returncode:
            raise Failed(f"a flow did not survive: {out}{err}")
        got = json.loads(out)
        if got["received"] != got["sent"]:
            raise Failed(f"a reliable flow has lost SDUs: {got}")
    report(f"the switch was killed and started: all is there again after {took:.1f} s, two flows have lost nothing")


def the_controller_restarts(net):
    """The switch goes on without it. What it has no use for any more is taken away by the next one."""
    before = net.table("destinations")
    transfer = net["h1"].use("perf", "sink", "--seconds", 4, background=True)
    wait_for("the flow", lambda: any(flow["state"] == "open" for flow in net["h2"].show()["flows"]))
    net["r"].kill()
    net["r"].applications.clear()
    check(net.table("destinations") == before, "the controller was killed: the switch keeps its entries")
    run(*net["switch"].exec(HOPWRIGHT, "table", "add", "destinations", "dif=1", "dst=999", "via(1)", "--server", SWITCH))
    net["r"].start()
    took = wait_for("the controller", lambda: net.mastership("r") == "primary" and net.reached())
    wait_for("the entries of before", lambda: net.table("destinations") == before)
    report(f"it was started again: all reach all after {took:.1f} s, and a stale entry is gone")
    out, err = transfer.communicate(timeout=PATIENCE)
    if transfer.returncode:
        raise Failed(f"a flow did not survive: {out}{err}")
    got = json.loads(out)
    check(got["received"] == got["sent"], f"a flow has lost nothing meanwhile; its longest silence was {got['longest_gap_ms']:.0f} ms")


def a_member_is_excluded(net):
    """The certificate of a host is revoked: the switch carries nothing for it."""
    revoke(net.folder, "h2")
    net["r"].reload()
    members = lambda: {route["member"] for route in net["h1"].show()["routes"] if route["links"]}
    took = wait_for("the end of h2", lambda: members() == {"r"} and len(net.table("next_hops")) == 1)
    wait_for("its refusal", lambda: any(link["refused"] for link in net["r"].show()["links"]))
    report(f"a host's certificate is revoked: it is gone after {took:.1f} s")
    (net.folder / "revoked.pem").write_text("")
    net["r"].reload()
    took = wait_for("its return", net.reached)
    report(f"the list is empty again: it returns after {took:.1f} s")


def another_controller_takes_over(net):
    standby = net["standby"]
    standby.start()
    wait_for("the standby", lambda: net.mastership("standby") == "standby" and net.mastership("r") == "primary" and net.reached())
    report("a second controller stands by")
    net["r"].process.send_signal(signal.SIGTERM)
    if net["r"].process.wait(PATIENCE):
        raise Failed(f"the controller ends with {net['r'].process.returncode}")
    net["r"].process = None
    took = wait_for("the standby", lambda: net.mastership("standby") == "primary" and net.reached("standby"))
    report(f"the first one stops: the other one drives the switch, and all reach all after {took:.1f} s")
    transfers(net, 1)
    standby.stop()
    standby.process = None
    wait_for("an empty switch", lambda: net.table("destinations") == [] and net.table("links") == [])
    report("it stops, too: nothing of it is left at the switch")


def interior(folder):
    certificates(folder, "h1", "h2", "r")
    return Network(folder, "interior.p4", INTERIOR), (flows, a_switch_restarts, the_controller_restarts, a_member_is_excluded, another_controller_takes_over)


BORDER = {
    "h1": ipcp("h1", "west", ethernet("switch")) + ipcp("s-h1", "slice", flow("west", "s-r")),
    "h2": ipcp("h2", "east", ethernet("switch")) + ipcp("s-h2", "slice", flow("east", "s-r")),
    "r": ipcp("r-west", "west", ethernet("h1"), address=1) + ipcp("r-east", "east", ethernet("h2"), address=1)
         + ipcp("s-r", "slice", flow("west", "s-h1"), flow("east", "s-h2"), address=1),
}


def the_slice(net):
    net.start()
    of = lambda node: next(it for it in net[node].use("show") if it["dif"] == "slice")
    members = lambda node: {route["member"] for route in of(node)["routes"] if route["links"]}
    took = wait_for("the slice", lambda: members("h1") == {"s-r", "s-h2"} and members("h2") == {"s-r", "s-h1"})
    report(f"three DIFs are there, the slice reaches from host to host after {took:.1f} s; P4Runtime is encrypted")
    net["h2"].serve("echo", "mirror")
    net["h2"].serve("perf", "sink")
    got = net["h1"].use("echo", "mirror", "--dif", "slice", "--count", 20, "--interval", 0.01)
    check(got["received"] == 20, f"echo over the slice: {got['received']} of 20, {got['mean_ms']:.2f} ms")
    got = net["h1"].use("perf", "sink", "--dif", "slice", "--seconds", 2)
    check(got["received"] == got["sent"] > 100, f"perf over the slice: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} SDUs")
    net.kill_switch()
    wait_for("the end of the slice", lambda: not members("h1"))
    net.start_switch()
    took = wait_for("the slice", lambda: members("h1") == {"s-r", "s-h2"})
    got = net["h1"].use("echo", "mirror", "--dif", "slice", "--count", 5, "--interval", 0.01)
    check(got["received"] == 5, f"the switch was killed and started: the slice is whole again after {took:.1f} s")


def border(folder):
    certificates(folder, "the-switch", "controller")
    options = ["--tls-cert", folder / "the-switch.pem", "--tls-key", folder / "the-switch.key", "--tls-client-ca", folder / "ca.pem"]
    settings = 'tls_ca = "ca.pem"\ntls_name = "the-switch"\ntls_cert = "controller.pem"\ntls_key = "controller.key"\n'
    return Network(folder, "border.p4", BORDER, options, settings), (the_slice,)


def in_hardware(net):
    """The program for hardware, which has no action selector. The switch runs it before there is a controller."""
    net.start_switch()
    took = wait_for("the design", lambda: "running" in (net.folder / "switch.log").read_text(), 1800)
    report(f"the simulated hardware runs after {took:.0f} s")
    for node in "h1", "h2", "r":
        net[node].start()
    wait_for("all reach all", net.reached)
    net["h2"].serve("echo", "mirror")
    net["h2"].serve("perf", "sink")
    wait_for("the directory", lambda: len(net["h1"].use("list")) == 2)
    got = net["h1"].use("echo", "mirror", "--count", 20, "--interval", 0.05, "--timeout", PATIENCE)
    check(got["received"] == 20, f"echo through the hardware: {got['received']} of 20, {got['mean_ms']:.0f} ms")
    got = net["h1"].use("perf", "sink", "--seconds", 2)
    check(got["received"] == got["sent"] > 0, f"perf through the hardware: {got['mbit_per_s']:.0f} Mbit/s, {got['received']:.0f} SDUs")
    net["r"].kill()
    net["r"].start()
    took = wait_for("the controller", lambda: net.mastership("r") == "primary" and net.reached())
    wait_for("the entries of all members", lambda: len(net.table("destinations")) == 3)
    report(f"the controller was killed and started: all reach all after {took:.1f} s")


def hardware(folder):
    certificates(folder, "h1", "h2", "r")
    macros = ["NO_IRATI", "NO_SELECTOR"]
    options = ["--engine", "rtl", *(word for macro in macros for word in ("-D", macro))]
    settings = f'pipeline = "check"\ndefines = {json.dumps(macros)}\n'
    return Network(folder, "interior.p4", INTERIOR, options, settings), (in_hardware,)


def test(folder, networks):
    for network in networks:
        place = folder / network.__name__
        place.mkdir()
        net, parts = network(place)
        with net:
            in_turn(f"RINA, driven switches: {network.__name__}", parts, net)


if __name__ == "__main__":
    sys.exit(carry_out("RINA, driven switches", test, (interior, border, hardware), long=["hardware"]))
