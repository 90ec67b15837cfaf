#!/usr/bin/env python3
"""gNMI as pygnmi and OpenConfig's own client see it, beside what the kernel says of the interfaces."""

import json
import os
import re
import subprocess
import time
import unittest

from pygnmi.client import gNMIclient, gNMIException

from lab.cases import unittest_main
from lab.command import PATIENCE, ROOT, wait_until
from lab.ip_router import Router, kernel_received, links
from lab.netns import ip
from lab.switch import Switch, ethernet
from lab.tenants import Certificates, Lab

GNMI_CLI = ROOT / "tests/management/bin/gnmi_cli"
BASIC = "basic.p4"
ADDRESS = ("127.0.0.1", 9559)
STATE = "/interfaces/interface[name={}]/state"


def client(**options):
    options = {"insecure": True, **options}
    return gNMIclient(target=ADDRESS, skip_verify=False, gnmi_timeout=int(PATIENCE), **options)


def values(answer):
    """The values of a Get, by path."""
    return {u["path"]: u["val"] for n in answer["notification"] for u in n.get("update", [])}


def leaf(gc, path, encoding="json_ietf"):
    return next(iter(values(gc.get(path=[path], encoding=encoding)).values()))


def counters(gc, name):
    return {k.split(":")[-1]: int(v) for k, v in leaf(gc, STATE.format(name) + "/counters").items()}


def refused(case, call, *parts):
    with case.assertRaises(gNMIException) as caught:
        call()
    text = str(caught.exception)
    for part in parts:
        case.assertIn(part, text)


class Stream:
    """The messages of a subscription, which pygnmi takes in a thread."""

    def __init__(self, gc, *subscriptions, mode="stream", **options):
        request = {"subscription": list(subscriptions), "mode": mode, "encoding": "proto", **options}
        self.subscription = gc.subscribe_stream(subscribe=request) if mode == "stream" else gc.subscribe_poll(subscribe=request)

    def next(self, timeout=PATIENCE):
        return self.subscription.get_update(timeout=timeout)

    def refused(self, case, text):
        """Waits until the switch refuses the subscription, and compares why."""
        wait_until("the subscription is refused", lambda: self.subscription.error)
        case.assertIn(text, self.subscription.error.details())

    def until(self, what, condition):
        """The updates up to the first message that has what is waited for."""
        deadline, seen = time.monotonic() + PATIENCE, []
        while time.monotonic() < deadline:
            message = self.next()
            seen.append(message)
            if condition(message):
                return seen
        raise AssertionError(f"not in time: {what}; got {seen}")


def updates(message):
    return {u["path"]: u["val"] for u in message.get("update", {}).get("update", [])}


class OfSwitch(unittest.TestCase):
    """`hopwright run`, beside P4Runtime."""

    @classmethod
    def setUpClass(cls):
        cls.switch = Switch(BASIC).__enter__()
        cls.addClassCleanup(cls.switch.__exit__, None, None, None)

    def test_capabilities(self):
        with client() as gc:
            said = gc.capabilities()
        self.assertEqual({"openconfig-interfaces", "openconfig-if-ethernet", "openconfig-platform",
                          "openconfig-platform-integrated-circuit", "openconfig-p4rt", "openconfig-system"},
                         {model["name"] for model in said["supported_models"]})
        self.assertEqual({"json", "json_ietf", "proto"}, set(said["supported_encodings"]))

    def test_interfaces_are_those_of_the_kernel(self):
        kernel = links()
        with client() as gc:
            interfaces = leaf(gc, "openconfig-interfaces:interfaces")["openconfig-interfaces:interface"]
            self.assertEqual([f"sw{n}" for n in range(4)], [i["name"] for i in interfaces])
            for n, interface in enumerate(interfaces):
                state, link = interface["state"], kernel[interface["name"]]
                self.assertEqual(
                    (link["mtu"], link["operstate"], "UP" in link["flags"], link["address"]),
                    (state["mtu"], state["oper-status"], state["admin-status"] == "UP",
                     interface["openconfig-if-ethernet:ethernet"]["state"]["mac-address"]))
                # The number of the port, which controllers take for that of the interface.
                self.assertEqual((n, n), (state["ifindex"], state["openconfig-p4rt:id"]))
                self.assertEqual("iana-if-type:ethernetCsmacd", interface["config"]["type"])

    def test_paths_and_encodings(self):
        with client() as gc:
            # As ONOS asks for ports, and finsy.
            got = values(gc.get(path=[STATE.format("...")], encoding="proto"))
            self.assertEqual("UP", got["interfaces/interface[name=sw1]/state/oper-status"])
            self.assertEqual(2, got["interfaces/interface[name=sw2]/state/ifindex"])
            got = values(gc.get(path=["/interfaces/interface[name=*]/state/ifindex"], encoding="proto"))
            self.assertEqual({f"interfaces/interface[name=sw{n}]/state/ifindex": n for n in range(4)}, got)
            # Other forms.
            self.assertEqual(2, leaf(gc, "/interfaces/interface[name=sw2]/.../openconfig-p4rt:id"))
            self.assertIsInstance(leaf(gc, STATE.format("sw0") + "/last-change"), str)
            self.assertIsInstance(leaf(gc, STATE.format("sw0") + "/last-change", "json"), int)
            root = leaf(gc, "/")
            self.assertEqual({"openconfig-interfaces:interfaces", "openconfig-platform:components", "openconfig-system:system"}, set(root))
            self.assertEqual("1", leaf(gc, "/components/component[name=integrated_circuit0]/integrated-circuit/config/node-id"))
            config = values(gc.get(path=["/interfaces/interface[name=sw0]"], datatype="config", encoding="json_ietf"))
            self.assertEqual([{"name", "config"}], [{k.split(":")[-1] for k in v} for v in config.values()])
            refused(self, lambda: gc.get(path=["/interfaces/interface[name=eth9]/state"]), "there are sw0, sw1, sw2, sw3")
            refused(self, lambda: gc.get(path=["/interfaces/interface[name=sw0]/states"]), "there are name, config, state, ethernet")

    def test_frames_are_counted(self):
        with client() as gc:
            before = counters(gc, "sw0")
            for destination, count in (("020000000002", 5), ("01005e000001", 3), ("ffffffffffff", 2)):
                for _ in range(count):
                    self.switch.send(0, ethernet(destination, "020000000009", 0x88b5, bytes(46)))

            def growth():
                return {k: v - before[k] for k, v in counters(gc, "sw0").items()}
            wait_until("all are counted", lambda: sum(growth()[f"in-{k}-pkts"] for k in ("unicast", "multicast", "broadcast")) == 10)
            grown = growth()
            self.assertEqual((5, 3, 2, 600), tuple(grown[f"in-{k}"] for k in ("unicast-pkts", "multicast-pkts", "broadcast-pkts", "octets")))
            self.assertEqual(0, grown["out-octets"])

    def test_changes_are_told(self):
        path = STATE.format("sw3") + "/oper-status"
        with client() as gc:
            stream = Stream(gc, {"path": path, "mode": "on_change"})
            first = stream.until("synchronisation", lambda m: "sync_response" in m)
            self.assertEqual("UP", list(updates(first[0]).values())[0])
            before = int(leaf(gc, STATE.format("sw3") + "/last-change"))
            ip("link", "set", "host3", "down")
            stream.until("the link is down", lambda m: "DOWN" in str(updates(m)))
            self.assertGreater(int(leaf(gc, STATE.format("sw3") + "/last-change")), before)
            ip("link", "set", "host3", "up")
            stream.until("the link is up", lambda m: "UP" in updates(m).values())
            stream.subscription.close()

    def test_settings(self):
        config = "/interfaces/interface[name=sw2]/config"
        with client() as gc:
            gc.set(update=[(config, {"enabled": False, "description": "to the lab"})])
            link = links()["sw2"]
            self.assertEqual((False, "to the lab"), ("UP" in link["flags"], link["ifalias"]))
            self.assertEqual("DOWN", leaf(gc, STATE.format("sw2") + "/admin-status"))
            # What is so already is accepted: controllers push the ids of ports and devices.
            gc.set(update=[("/", {"openconfig-interfaces:interfaces": {"interface": [
                {"name": "sw2", "config": {"name": "sw2", "type": "iana-if-type:ethernetCsmacd", "enabled": True, "openconfig-p4rt:id": 2}}]},
                "openconfig-platform:components": {"component": [{"name": "integrated_circuit0", "integrated-circuit": {
                    "config": {"openconfig-p4rt:node-id": "1"}}}]}})], encoding="json_ietf")
            self.assertIn("UP", links()["sw2"]["flags"])
            self.assertEqual("to the lab", links()["sw2"]["ifalias"])
            # Replaced by nothing, everything is as if it had never been configured.
            gc.set(replace=[(config, {"name": "sw2"})])
            self.assertNotIn("ifalias", links()["sw2"])
            # All or nothing.
            refused(self, lambda: gc.set(update=[(config, {"enabled": False, "mtu": 9000})]), "there is no", "/config/mtu")
            refused(self, lambda: gc.set(update=[(config + "/enabled", False), (config, {"openconfig-p4rt:id": 7})]), "is 2 and cannot become 7")
            self.assertIn("UP", links()["sw2"]["flags"])
            refused(self, lambda: gc.set(update=[(STATE.format("sw2") + "/enabled", False)]), "is state, not configuration")
            refused(self, lambda: gc.set(update=[("/interfaces/interface[name=sw9]/config/enabled", False)]), "there are sw0, sw1, sw2, sw3")
            refused(self, lambda: gc.set(update=[(config, {"enabled": "no"})]), "expected true or false")
            refused(self, lambda: gc.set(delete=["/system"]), "cannot be deleted")
            # Deleted: the default.
            gc.set(update=[(config + "/enabled", False)])
            self.assertNotIn("UP", links()["sw2"]["flags"])
            gc.set(delete=[config + "/enabled"])
            self.assertIn("UP", links()["sw2"]["flags"])

    def test_samples(self):
        path = STATE.format("sw1") + "/counters/in-octets"
        with client() as gc:
            interval, begun = 200_000_000, time.time_ns()
            stream = Stream(gc, {"path": path, "mode": "sample", "sample_interval": interval})
            stream.until("synchronisation", lambda m: "sync_response" in m)
            # Each sample has the value, changed or not. One that is late does not delay the next ones, but none is early.
            for number in range(1, 5):
                self.assertGreaterEqual(stream.next()["update"]["timestamp"], begun + number * interval, f"sample {number}")
            stream.subscription.close()
        with client() as gc:
            redundant = {"path": path, "mode": "sample", "sample_interval": 100_000_000, "suppress_redundant": True}
            heartbeat, begun = 1_000_000_000, time.time_ns()
            stream = Stream(gc, {**redundant, "heartbeat_interval": heartbeat})
            seen = stream.until("synchronisation", lambda m: "sync_response" in m)
            value, beats = updates(seen[0]), 0
            while beats < 2:
                # Only heartbeats repeat a value. The kernel may send a frame meanwhile, which changes it.
                message = stream.next()
                repeats, value = updates(message) == value, updates(message)
                beats += repeats
                if repeats:
                    self.assertGreaterEqual(message["update"]["timestamp"], begun + beats * heartbeat, f"heartbeat {beats}")
            stream.subscription.close()

    def test_what_the_target_chooses(self):
        name = "/interfaces/interface[name=sw1]"
        with client() as gc:
            stream = Stream(gc, {"path": name, "mode": "target_defined", "sample_interval": 200_000_000})
            stream.until("synchronisation", lambda m: "sync_response" in m)
            # Counters are sampled, and nothing else is sent again.
            sampled = updates(stream.next())
            self.assertEqual({True}, {"/counters/" in path for path in sampled})
            ip("link", "set", "dev", "sw1", "alias", "changed")
            stream.until("the description", lambda m: "changed" in updates(m).values())
            ip("link", "set", "dev", "sw1", "alias", "")
            stream.subscription.close()
        with client() as gc:
            Stream(gc, {"path": STATE.format("sw1"), "mode": "on_change"}).refused(self, "not sent ON_CHANGE")
        with client() as gc:
            Stream(gc, {"path": STATE.format("sw1"), "mode": "sample", "sample_interval": 1000}).refused(self, "too short")

    def test_updates_only(self):
        with client() as gc:
            stream = Stream(gc, {"path": STATE.format("sw0") + "/ifindex", "mode": "sample", "sample_interval": 300_000_000}, updates_only=True)
            self.assertTrue(stream.next()["sync_response"])
            self.assertEqual({0}, set(updates(stream.next()).values()))
            stream.subscription.close()

    def test_an_interface_that_goes_is_deleted(self):
        # Devices that are no ports are not interfaces; this one's device is renamed, and then is none either.
        with client() as gc:
            stream = Stream(gc, {"path": "/interfaces/interface/state/ifindex", "mode": "on_change"})
            stream.until("synchronisation", lambda m: "sync_response" in m)
            ip("link", "set", "dev", "sw3", "down")
            ip("link", "set", "dev", "sw3", "name", "other")
            try:
                stream.until("it is deleted", lambda m: "name=sw3" in str(m.get("update", {}).get("delete", "")))
            finally:
                ip("link", "set", "dev", "other", "name", "sw3")
                ip("link", "set", "dev", "sw3", "up")
            stream.until("it is there again", lambda m: any("name=sw3" in path for path in updates(m)))
            stream.subscription.close()
            wait_until("the link is up", lambda: leaf(gc, STATE.format("sw3") + "/oper-status") == "UP")

    def test_openconfigs_client(self):
        def cli(*options):
            command = [GNMI_CLI, "-a", "127.0.0.1:9559", "-insecure", "-timeout", f"{int(PATIENCE)}s", *options]
            done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
            self.assertEqual(0, done.returncode, done.stderr)
            return done.stdout
        self.assertIn("openconfig-interfaces", cli("-capabilities"))
        once = cli("-qt", "o", "-q", "interfaces/interface[name=*]/state/ifindex")
        # What it prints is like JSON.
        self.assertEqual(["0", "1", "2", "3"], sorted(re.findall(r'"ifindex": (\d+)', once)), once)
        polled = cli("-qt", "p", "-q", "interfaces/interface[name=sw1]/state/oper-status", "-polling_interval", "200ms", "-count", "3")
        self.assertEqual(3, polled.count("UP"), polled)
        self.assertIn(os.uname().nodename, cli("-qt", "o", "-q", "system/state/hostname"))


class Rights(unittest.TestCase):
    """A switch with tenants: who may control all of them sees the devices that they share, nobody else."""

    def test_clients(self):
        lab = Lab("""
[[tenant]]
name = "red"
program = "{root}/examples/l2.p4"
ports = { 1 = "sw0", 2 = "sw1" }
device_id = 1

[p4runtime]
address = "127.0.0.1:9559"
certificate = "switch.pem"
key = "switch.key"
client_ca = "ca.pem"

[[p4runtime.client]]
name = "red-controller"
tenants = ["red"]

[[p4runtime.client]]
name = "operator"
admin = true
""")
        certificates = Certificates(lab.folder)
        for name in ("operator", "red-controller", "stranger"):
            certificates.make(name)

        def connect(name):
            tls = {"path_cert": str(lab.folder / f"{name}.pem"), "path_key": str(lab.folder / f"{name}.key")}
            return client(insecure=False, path_root=str(lab.folder / "ca.pem"), override="localhost", **tls)
        with lab:
            with connect("operator") as gc:
                interfaces = leaf(gc, "/interfaces")["openconfig-interfaces:interface"]
                self.assertEqual({"sw0": links()["sw0"]["ifindex"], "sw1": links()["sw1"]["ifindex"]},
                                 {i["name"]: i["state"]["ifindex"] for i in interfaces})
            for name in ("red-controller", "stranger"):
                # The client asks for the capabilities first.
                refused(self, lambda: connect(name).connect(), "may not see")
            self.assertIn("UP", links()["sw0"]["flags"])


class OfRouter(unittest.TestCase):
    """`hopwright ip`: the interfaces of the control plane, with the packets of the fast path."""

    def test_fast_path_and_kernel_are_counted_together(self):
        with Router("--gnmi", "127.0.0.1:9559") as router, client() as gc:
            router.ping(1)
            before = kernel_received()
            router.ping(200)
            interfaces = leaf(gc, "/interfaces")["openconfig-interfaces:interface"]
            kernel = links("blue")
            self.assertEqual({name: link["ifindex"] for name, link in kernel.items()}, {i["name"]: i["state"]["ifindex"] for i in interfaces})

            def of_host():
                """What the host at the other end of a port's cable has sent and received, which is all that the port did."""
                out = subprocess.run(["ip", "-n", "host0", "-j", "-s", "link", "show", "eth0"], check=True, capture_output=True).stdout
                stats = json.loads(out)[0]["stats64"]
                return tuple(stats[way][what] for way in ("tx", "rx") for what in ("packets", "bytes"))

            def ours():
                c = counters(gc, "sw0")
                packets = lambda way: sum(c[f"{way}-{kind}-pkts"] for kind in ("unicast", "multicast", "broadcast"))  # noqa: E731
                return packets("in"), c["in-octets"], packets("out"), c["out-octets"]
            wait_until(f"the router counts what its neighbour does: {of_host()}, {ours()}", lambda: of_host() == ours())
            # Most of it is the fast path's: the kernel's interface has not seen the pings.
            self.assertGreater(ours()[0], 200)
            self.assertLess(kernel_received() - before, 100)
            # The control plane's interface is what is switched off.
            gc.set(update=[("/interfaces/interface[name=sw1]/config/enabled", False)])
            self.assertNotIn("UP", links("blue")["sw1"]["flags"])
            self.assertIn("UP", links()["sw1"]["flags"])


if __name__ == "__main__":
    unittest_main(verbosity=2)
