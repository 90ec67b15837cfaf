#!/usr/bin/env python3
"""SNMP: `hopwright ip` and `hopwright switch` as subagents of net-snmp's agent, read by its tools."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from lab.cases import unittest_main
from lab.command import PATIENCE, wait_until
from lab.ip_router import Process, Router, links, listens
from lab.netns import ip
from lab.switch import ethernet
from lab.tenants import Lab

CONFIGURATION = """
rocommunity public 127.0.0.1
master agentx
agentXSocket {folder}/master
agentXTimeout 60
agentaddress udp:127.0.0.1:1161
trap2sink 127.0.0.1:1162
"""


class Agent(Process):
    """snmpd, and snmptrapd that writes down what it is told."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hopwright-snmp-"))
        # At its end the agent writes a snmpd.conf of its own there.
        (self.folder / "state").mkdir()
        (self.folder / "snmpd.conf").write_text(CONFIGURATION.format(folder=self.folder))
        super().__init__("/usr/sbin/snmpd", "-f", "-Lo", "-C", "-c", self.folder / "snmpd.conf", "-p", self.folder / "pid",
                         env={"SNMP_PERSISTENT_DIR": str(self.folder / "state"), "PATH": "/usr/bin:/usr/sbin"})

    @property
    def socket(self):
        return self.folder / "master"

    def __enter__(self):
        super().__enter__()
        wait_until("snmpd listens", lambda: self.socket.exists())
        return self


def walk(table):
    """The objects of a table, by column and index, as net-snmp's tool prints them. Tries again while the agent does not answer: it may be
    busy, or start."""
    command = ["snmpbulkwalk", "-v2c", "-c", "public", "-t", "10", "-r", "2", "-m", "", "-On", "-Oe", "127.0.0.1:1161", table]

    def answer():
        done = subprocess.run(command, capture_output=True, text=True, timeout=2 * PATIENCE)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
        return done if done.returncode == 0 else None
    found = {}
    for line in wait_until(f"the agent answers for {table}", answer).stdout.splitlines():
        name, _, value = line.partition(" = ")
        # Of a table that nobody has registered, the tool prints the name alone.
        if name.startswith(f".{table}."):
            found[name[len(table) + 2:]] = value.partition(": ")[2].strip('"') if ": " in value else value
    return found


IF_TABLE, IF_X_TABLE = "1.3.6.1.2.1.2.2", "1.3.6.1.2.1.31.1.1"


def rows(table):
    """A table's rows by the names of their interfaces: columns by number."""
    name_column = {IF_TABLE: 2, IF_X_TABLE: 1}[table]
    found = {}
    for key, value in walk(table).items():
        _, column, index = key.split(".")
        found.setdefault(int(index), {"index": int(index)})[int(column)] = value
    # While a table is registered, some of its columns may be there.
    return {row.get(name_column): row for row in found.values()}


REGISTERED = "SNMP: registered with the master agent"


class Snmp(unittest.TestCase):
    def test_the_interfaces_of_a_router(self):
        with Agent() as agent, Router("--agentx", agent.socket) as router:
            router.process.says(REGISTERED)
            router.ping(200)
            kernel, table, extended = links("blue"), rows(IF_TABLE), rows(IF_X_TABLE)
            self.assertEqual({"lo", "sw0", "sw1"}, set(table))
            for name, link in kernel.items():
                row = table[name]
                self.assertEqual((link["ifindex"], str(link["mtu"])), (row["index"], row[4]), name)
                self.assertEqual("1" if "UP" in link["flags"] else "2", row[7], name)
            self.assertEqual(kernel["sw0"]["address"], ":".join(f"{int(b, 16):02x}" for b in table["sw0"][6].split()))
            self.assertEqual(("6", "24"), (table["sw0"][3], table["lo"][3]))
            # All columns of the MIB, in the order of its rows.
            self.assertEqual(set(range(1, 23)) | {"index"}, set(table["sw0"]))
            self.assertEqual(set(range(1, 20)) | {"index"}, set(extended["sw0"]))
            # Fast path and kernel together: what the host has sent.
            host = lambda: links("host0")["eth0"]["stats64"]["tx"]  # noqa: E731

            def ours():
                row = rows(IF_X_TABLE)["sw0"]
                return {"bytes": int(row[6]), "packets": sum(int(row[column]) for column in (7, 8, 9))}
            wait_until("the counters are the host's", lambda: ours() == {k: host()[k] for k in ("bytes", "packets")})
            self.assertGreater(ours()["packets"], 200)
            ip("-n", "blue", "link", "set", "dev", "sw1", "alias", "to host 1")
            wait_until("the alias", lambda: rows(IF_X_TABLE)["sw1"][18] == "to host 1")
            self.assertEqual("3", walk("1.3.6.1.2.1.2.1")["0"])
            refused = subprocess.run(["snmpset", "-v2c", "-c", "public", "-m", "", "127.0.0.1:1161", f".{IF_TABLE}.1.7.{table['sw0']['index']}", "i", "2"],
                                     capture_output=True, text=True, timeout=PATIENCE)
            self.assertNotEqual(0, refused.returncode)

    def test_notifications_and_agents_that_start_again(self):
        trapd = Process("/usr/sbin/snmptrapd", "-f", "-Lo", "-On", "-m", "", "-C", "--disableAuthorization=yes", "udp:127.0.0.1:1162")
        with trapd:
            listens(1162)
            with Agent() as agent, Router("--agentx", agent.socket) as router:
                router.process.says(REGISTERED)
                of_router = rows(IF_TABLE)
                index = of_router["sw1"]["index"]
                down, up = (f"OID: .1.3.6.1.6.3.1.1.5.{trap}\t.1.3.6.1.2.1.2.2.1.1.{index} = INTEGER: {index}" for trap in (3, 4))
                ups = trapd.output().count(up)
                ip("-n", "host1", "link", "set", "eth0", "down")
                trapd.says(down)
                ip("-n", "host1", "link", "set", "eth0", "up")
                trapd.says(up, ups + 1)
                # The agent starts anew, has the interfaces again, and notifies of what has changed meanwhile.
                agent.process.terminate()
                agent.process.wait(PATIENCE)
                ip("-n", "host1", "link", "set", "eth0", "down")
                agent.process = subprocess.Popen(agent.command, stdout=agent.log, stderr=agent.log, **agent.options)
                router.process.says(REGISTERED, 2)
                trapd.says(down, 2)
                # Not the agent's own interfaces, which have the same names.
                self.assertEqual([row["index"] for row in of_router.values()], [row["index"] for row in rows(IF_TABLE).values()])

    def test_the_devices_of_a_switch(self):
        config = """
[[tenant]]
name = "red"
program = "{root}/examples/l2.p4"
entries = "red.stf"
ports = { 1 = "sw0", 2 = "sw1" }
"""
        with Agent() as agent:
            lab = Lab(config, options=("--agentx", agent.socket))
            (lab.folder / "red.stf").write_text("add mac hdr.ethernet.dst:0x020000000002 forward(port:2)\n")
            with lab as switch:
                wait_until("the switch has registered", lambda: REGISTERED in switch.output())
                self.assertEqual({"sw0", "sw1"}, set(rows(IF_TABLE)))
                for _ in range(7):
                    switch.send(0, ethernet("020000000002", "020000000009", 0x88b5, bytes(46)))

                def counted():
                    extended = rows(IF_X_TABLE)
                    return extended["sw0"][7], extended["sw1"][11]
                wait_until("the frames are counted", lambda: counted() == ("7", "7"))


if __name__ == "__main__":
    unittest_main(verbosity=2)
