#!/usr/bin/env python3
"""Tenants on one switch, as their administrator and their controllers see them."""

import asyncio
import json
import time
import unittest

import finsy as fy
from finsy.proto import stratum

from lab import patience
from lab.cases import unittest_main
from lab.command import ROOT, hopwright, wait_until
from lab.switch import ethernet, ipv4
from lab.tenants import Certificates, Flow, Lab, on_a_busy_machine

patience.finsy()
ROUTERS = {"red": "020000000101", "blue": "020000000102"}
ROUTE = "dst=10.0.0.0/8 => forward(dst=02:00:00:00:00:11, port=2)"
SWITCHED = "020000000002"
BOTH = 'ports = { 1 = "sw0", 2 = "sw1" }'

# Two routers by their MAC addresses, two layer-2 switches by VLAN.
ENTRIES = {
    "red": "add ipv4_lpm hdr.ipv4.dst:0x0a000000/8 forward(dst:0x020000000011, port:2)\n",
    "gold": "add mac hdr.ethernet.dst:0x020000000002 forward(port:2)\n",
}


def router(name, number, more=""):
    mac = ":".join(ROUTERS[name][i : i + 2] for i in range(0, 12, 2))
    return f"""
[[tenant]]
name = "{name}"
program = "{{root}}/tests/p4runtime/basic.p4"
entries = "red.stf"
{BOTH}
match = [{{ mac = "{mac}" }}]
device_id = {number}
{more}
"""


def bridge(name, vlan, more=""):
    return f"""
[[tenant]]
name = "{name}"
program = "{{root}}/examples/l2.p4"
entries = "gold.stf"
{BOTH}
match = [{{ vlan = {vlan} }}]
device_id = {vlan}
{more}
"""


SERVICES = '[p4runtime]\naddress = "127.0.0.1:9559"\n[metrics]\naddress = "127.0.0.1:9090"\n'
FOUR = router("red", 1) + router("blue", 2) + bridge("green", 10) + bridge("gold", 20) + SERVICES


def routed(name, kind):
    return ethernet(ROUTERS[name], "020000000009", 0x0800, ipv4("10.9.9.9", "10.1.2.3")[14:-1] + bytes([kind]))


def tagged(vlan, kind, dst=SWITCHED):
    return ethernet(dst, "020000000009", 0x8100, vlan.to_bytes(2, "big") + b"\x08\x00" + bytes(45) + bytes([kind]))


FRAMES = {"red": routed("red", 1), "blue": routed("blue", 2), "green": tagged(10, 3), "gold": tagged(20, 4)}
KINDS = {1: "red", 2: "blue", 3: "green", 4: "gold"}


def kind(frame):
    return KINDS.get(frame[-1], "?")


def lab(config=FOUR):
    lab = Lab(config)
    for name, text in ENTRIES.items():
        (lab.folder / f"{name}.stf").write_text(text)
    return lab


class Tenants(unittest.TestCase):
    def test_frames_reach_their_tenant_only(self):
        with lab() as switch:
            for name, frame in FRAMES.items():
                switch.send(0, frame)
                got = switch.receive(1)
                self.assertEqual((kind(got), got[:6].hex() == "020000000011"), (name, name in ROUTERS))
            # No tenant's: dropped and counted.
            for frame in (tagged(30, 9), ethernet("0200000001ff", "020000000009", 0x0800, bytes(46))):
                switch.send(0, frame)
            wait_until("both are counted", lambda: switch.metrics().get("hopwright_no_tenant_packets_total") == "2")
            self.assertIsNone(switch.receive(1, 0.5))
            metrics = switch.metrics()
            for name in FRAMES:
                self.assertEqual(metrics[f'hopwright_tenant_received_packets_total{{tenant="{name}"}}'], "1", name)
                self.assertEqual(metrics[f'hopwright_tenant_sent_packets_total{{tenant="{name}"}}'], "1", name)
            self.assertEqual(metrics['hopwright_table_entries{tenant="gold",table="SwitchIngress.mac"}'], "1")

    def test_a_table_of_one_is_not_that_of_another(self):
        with lab() as switch:
            hopwright("table", "--device-id", 1, "delete", "ipv4_lpm", "dst=10.0.0.0/8")
            switch.send(0, FRAMES["red"])
            switch.send(0, FRAMES["blue"])
            self.assertEqual(kind(switch.receive(1)), "blue")
            shown = hopwright("table", "--device-id", 2, "show", "ipv4_lpm", "--json")
            self.assertEqual(len(json.loads(shown)["entries"]), 1)
            wait_until("red's packet is dropped", lambda: switch.show("red")["counts"]["dropped"]["program"] == 1)

    @on_a_busy_machine
    def test_one_is_replaced_while_the_others_forward(self):
        with lab() as switch, Flow(switch, FRAMES, 500, kind=kind) as flow:
            time.sleep(0.3)
            other = FOUR.replace("examples/l2.p4", "p4/bench/l2.p4", 1).replace('"gold.stf"', '"green.stf"', 1)
            (switch.folder / "green.stf").write_text(
                "add destinations hdr.ethernet.dst:0x020000000002 forward(port:2)\n"
                "add sources hdr.ethernet.src:0x020000000009 known(port:1)\n"
            )
            for config in (other, FOUR, other):
                switch.write(config)
                self.assertIn("tenant green: another program", switch.reload())
                time.sleep(0.3)
            # Removed, and added again with another match.
            switch.write(FOUR.replace(bridge("green", 10), ""))
            self.assertIn("tenant green removed", switch.reload())
            switch.write(FOUR)
            self.assertIn("tenant green added", switch.reload())
            switch.write(FOUR.replace("vlan = 10", "vlan = 11"))
            self.assertIn("tenant green removed, tenant green added", switch.reload())
            time.sleep(0.3)
            flow.end()
            self.assertEqual(flow.lost("red", "blue", "gold"), 0)
            self.assertLess(flow.received["green"], flow.sent["green"])

    @on_a_busy_machine
    def test_a_file_with_errors_changes_nothing(self):
        with lab() as switch, Flow(switch, FRAMES, 500, kind=kind) as flow:
            for wrong, said in [
                (FOUR.replace("vlan = 10", "vlan = 10000"), "vlan"),
                (FOUR.replace("device_id = 20", "device_id = 1"), "device id 1 is that of tenant `red`"),
                (FOUR.replace("examples/l2.p4", "README.md"), "does not compile"),
                (FOUR.replace("gold.stf", "red.stf"), "ipv4_lpm"),
                (FOUR.replace("9559", "9560"), "needs a restart"),
                (FOUR + '[[port]]\ndevice = "missing0"\n', "missing0"),
            ]:
                switch.write(wrong)
                line = switch.reload()
                self.assertIn("nothing has changed", line)
                self.assertIn(said, switch.output())
                hopwright("switch", "--config", switch.file, "--check", ok="restart" in said or "missing0" in said)
            flow.end()
            self.assertEqual(flow.lost(*FRAMES), 0)

    @on_a_busy_machine
    def test_the_administrator_changes_tenants(self):
        with lab() as switch, Flow(switch, FRAMES, 500, kind=kind) as flow:
            self.assertEqual([t["name"] for t in json.loads(switch.tenant("list", "--json"))], list(FRAMES))
            violet = bridge("violet", 30).replace("{root}", str(switch.file.parent))
            (switch.folder / "examples").mkdir()
            (switch.folder / "examples/l2.p4").write_bytes((ROOT / "examples/l2.p4").read_bytes())
            (switch.folder / "violet.toml").write_text(violet)
            self.assertIn("tenant violet added", switch.tenant("add", switch.folder / "violet.toml"))
            self.assertIn("is there twice", switch.tenant("add", switch.folder / "violet.toml", ok=False))
            switch.send(0, tagged(30, 7))
            wait_until("violet's packet", lambda: flow.received.get("?", 0) == 1)
            hopwright("table", "--device-id", 30, "show", "mac")
            self.assertIn("tenant violet removed", switch.tenant("remove", "violet"))
            self.assertIn("no tenant `violet`", switch.tenant("remove", "violet", ok=False))
            hopwright("table", "--device-id", 30, "show", "mac", ok=False)
            switch.tenant("limit", "red", "--share", "7")
            self.assertIn("expected 1 to 1000", switch.tenant("limit", "red", "--share", "0", ok=False))
            self.assertIn("no quantity", switch.tenant("limit", "red", "--bits", "fast", ok=False))
            self.assertEqual(switch.show("red")["limits"]["share"], 7)
            self.assertIn("tenant red: other limits", switch.reload())
            self.assertEqual(switch.show("red")["limits"]["share"], 1)
            flow.end()
            self.assertEqual(flow.lost(*FRAMES), 0)
            self.assertEqual(switch.socket.stat().st_mode & 0o777, 0o600)

    @on_a_busy_machine
    def test_rates_are_held(self):
        with lab() as switch:
            switch.tenant("limit", "red", "--packets", "500")
            switch.tenant("limit", "gold", "--bits", str(len(FRAMES["gold"]) * 8 * 700))
            with Flow(switch, FRAMES, 1200, kind=kind) as flow:
                time.sleep(6)
                flow.end()
            for name, rate in (("red", 500), ("gold", 700)):
                # Behind the burst that a new rate begins with.
                times = [t for t in flow.times[name] if t > flow.times[name][0] + 1.5]
                # Whatever comes late at its end comes soon after.
                found = (len(times) - 1) / (times[-1] - times[0])
                self.assertLess(abs(found / rate - 1), 0.02, f"{name}: {found:.1f} packets a second, not {rate}")
                drops = switch.show(name)["counts"]["dropped"]
                self.assertEqual(drops["rate"], flow.sent[name] - flow.received[name])
            self.assertEqual(flow.lost("blue", "green"), 0)
            switch.tenant("limit", "red", "--packets", "none")
            self.assertIsNone(switch.show("red")["limits"]["packets"])

    def test_a_switch_does_not_start_twice(self):
        with lab() as switch:
            self.assertIn("is running already", hopwright("switch", "--config", switch.file, ok=False))


class Controllers(unittest.TestCase):
    """Clients with certificates."""

    def setUp(self):
        self.lab = lab("")
        self.certificates = Certificates(self.lab.folder)
        for name in ("red-controller", "operator", "stranger", "clerk"):
            self.certificates.make(name)
        self.certificates.make("any", "subjectAltName=DNS:blue.example.org")
        tls = 'certificate = "switch.pem"\nkey = "switch.key"\nclient_ca = "ca.pem"\n'
        clients = "".join(
            f"[[p4runtime.client]]\n{rights}\n"
            for rights in (
                'name = "red-controller"\ntenants = ["red"]',
                'name = "blue.example.org"\ntenants = ["blue"]\nprograms = true',
                'name = "operator"\nadmin = true',
                'name = "clerk"\ntenants = ["red"]\nroles = ["clerk"]',
            )
        )
        self.config = FOUR.replace('9559"\n', f'9559"\n{tls}{clients}')
        self.lab.write(self.config)

    def table(self, client, device, ok=True):
        return hopwright("table", "--device-id", device, *self.certificates.options(client), "show", "ipv4_lpm", ok=ok)

    def test_a_controller_reaches_its_own_tenant_only(self):
        with self.lab as switch:
            self.table("red-controller", 1)
            self.table("any", 2)
            self.table("operator", 1)
            self.table("operator", 2)
            absent = self.table("operator", 77, ok=False).replace("77", "N")
            for client, device in (("red-controller", 2), ("any", 1), ("stranger", 1)):
                self.assertEqual(self.table(client, device, ok=False).replace(str(device), "N"), absent)
            # The file gives and takes rights.
            switch.write(self.config.replace('tenants = ["red"]', 'tenants = ["blue"]'))
            switch.reload()
            self.table("red-controller", 2)
            self.table("red-controller", 1, ok=False)

    async def routes(self, client, device, **options):
        """What finsy reads as a client."""
        folder = self.lab.folder
        credentials = fy.GRPCCredentialsTLS(cacert=folder / "ca.pem", cert=folder / f"{client}.pem", private_key=folder / f"{client}.key")
        options = fy.SwitchOptions(device_id=device, channel_credentials=credentials, **options)
        async with fy.Switch("sw", "localhost:9559", options) as sw:
            return [entry async for entry in sw.read(fy.P4TableEntry("ipv4_lpm"))]

    def test_a_controller_has_its_roles_only(self):
        route = ("add", "ipv4_lpm", ROUTE.replace("10.0.0.0", "11.0.0.0"))
        with self.lab:
            table = hopwright("p4info", ROOT / "tests/p4runtime/basic.p4", "--format", "json")
            (table,) = (t["preamble"]["id"] for t in json.loads(table)["tables"] if t["preamble"]["alias"] == "ipv4_lpm")
            role = lambda name: {"role_name": name, "role_config": stratum.P4RoleConfig(shared_p4_ids=[table])}
            self.assertEqual(len(asyncio.run(self.routes("clerk", 1, **role("clerk")))), 1)
            for options in ({}, role("another")):
                with self.assertRaises(fy.P4ClientError):
                    asyncio.run(asyncio.wait_for(self.routes("clerk", 1, **options), 20))
            # The command writes in a role of its own.
            refused = hopwright("table", "--device-id", 1, *self.certificates.options("clerk"), *route, ok=False)
            self.assertIn("may not", refused)
            hopwright("table", "--device-id", 1, *self.certificates.options("red-controller"), *route)

    def test_unmodified_controllers(self):
        async def both():
            return await asyncio.gather(self.routes("red-controller", 1), self.routes("any", 2))

        with self.lab:
            red, blue = asyncio.run(both())
            self.assertEqual((len(red), len(blue)), (1, 1))
            with self.assertRaises(fy.P4ClientError):
                asyncio.run(asyncio.wait_for(self.routes("red-controller", 2), 20))


if __name__ == "__main__":
    unittest_main()
