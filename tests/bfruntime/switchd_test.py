#!/usr/bin/env python3
"""Intel's tools by name: a program is compiled by bf-p4c, run by bf_switchd, and controlled."""

import json
import pathlib
import socket
import subprocess
import tempfile
import unittest

import bfruntime_test as base
from bfruntime_test import ALL, HOST, PATIENCE, PROGRAM, gc
from lab.cases import unittest_main
from lab.command import HOPWRIGHT
from lab.switch import PORTS, Switch, ethernet

STATUS = 7777


class Daemon(Switch):
    """bf_switchd with a folder that the compiler has written."""

    def __init__(self, folder, *options):
        super().__init__(PROGRAM, *options, address=base.ADDRESS)
        self.folder, self.numbers = folder, range(PORTS)

    def command(self, interfaces):
        ports = self.folder / "ports.json"
        ports.write_text(json.dumps({"PortToIf": [{"device_port": number, "if": f"sw{n}"} for n, number in enumerate(self.numbers)]}))
        return [HOPWRIGHT, "as", "bf_switchd", "--install-dir", str(self.folder), "--conf-file", str(self.folder / "router.conf"),
                "--ports", str(ports), "--server-listen-local-only", *self.options]


def compile_program(folder, *options, program=PROGRAM):
    words = [HOPWRIGHT, "as", "bf-p4c", "--std", "p4-16", "--target", "tofino", "--arch", "tna", "-o", str(folder), *options, str(program)]
    return subprocess.run(words, capture_output=True, text=True)


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def status(self, device):
        with socket.create_connection(("127.0.0.1", STATUS), timeout=PATIENCE) as connection:
            connection.sendall(device)
            return connection.recv(1)

    def test_a_program_is_compiled_and_run(self):
        done = compile_program(self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        conf = json.loads((self.folder / "router.conf").read_text())
        (program,) = conf["p4_devices"][0]["p4_programs"]
        self.assertEqual(program["program-name"], "router")
        tables = json.loads(pathlib.Path(program["bfrt-config"]).read_text())["tables"]
        self.assertIn("pipe.In.switched", [table["name"] for table in tables])
        (pipeline,) = program["p4_pipelines"]
        self.assertEqual((pipeline["p4_pipeline_name"], pipeline["pipe_scope"]), ("pipe", [0, 1, 2, 3]))
        with Daemon(self.folder, "--status-port", str(STATUS), "--background", "--init-mode", "cold") as switch:
            self.assertEqual((self.status(b"0"), self.status(b"3")), (b"1", b"0"))
            interface = gc.ClientInterface(base.ADDRESS, client_id=1, device_id=0)
            self.addCleanup(interface.tear_down_stream)
            info = interface.bfrt_info_get()
            interface.bind_pipeline_config(info.p4_name_get())
            table = info.table_get("In.switched")
            key = table.make_key([gc.KeyTuple("hdr.ethernet.dst", HOST)])
            send = table.make_data([gc.DataTuple("port", 2), gc.DataTuple("dst", 0x99)], "In.send")
            table.entry_add(ALL, [key], [send])
            switch.send(0, ethernet("020000000001", "020000000002", 0x88b5, bytes(50)))
            self.assertEqual(switch.receive(2)[:6].hex(), "000000000099")

    def several(self, scopes):
        """The configuration of the same program under several names, each in pipes of its own."""
        programs = []
        for name, pipes in scopes.items():
            folder = self.folder / name
            self.assertEqual(compile_program(folder).returncode, 0)
            (program,) = json.loads((folder / "router.conf").read_text())["p4_devices"][0]["p4_programs"]
            program["program-name"] = name
            program["p4_pipelines"][0]["pipe_scope"] = pipes
            programs.append(program)
        described = {"chip_list": [{"chip_family": "tofino"}], "p4_devices": [{"device-id": 0, "p4_programs": programs}]}
        (self.folder / "router.conf").write_text(json.dumps(described))

    def controller(self, number, program):
        """A client that has bound to a program, and the tables of that."""
        interface = gc.ClientInterface(base.ADDRESS, client_id=number, device_id=0)
        self.addCleanup(interface.tear_down_stream)
        info = interface.bfrt_info_get(program)
        interface.bind_pipeline_config(program)
        return interface, info

    def forward(self, info, port, dst):
        table = info.table_get("pipe.In.switched")
        key = table.make_key([gc.KeyTuple("hdr.ethernet.dst", HOST)])
        table.entry_add(ALL, [key], [table.make_data([gc.DataTuple("port", port), gc.DataTuple("dst", dst)], "In.send")])
        return table, key

    def test_several_programs_are_on_one_device(self):
        self.several({"left": [0, 2], "right": [1, 3]})
        daemon = Daemon(self.folder)
        # Two ports of pipe 0, one of pipe 1 and one of pipe 3.
        daemon.numbers = [0, 1, 128, 385]
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        with daemon as switch:
            (left, tables), (right, others) = self.controller(1, "left"), self.controller(2, "right")
            with self.assertRaises(Exception):
                left.bind_pipeline_config("router")
            self.assertEqual((tables.p4_name_get(), others.p4_name_get()), ("left", "right"))
            table, key = self.forward(tables, 1, 0x99)
            switch.send(0, frame)
            self.assertEqual(switch.receive(1)[:6].hex(), "000000000099")
            self.forward(others, 385, 0x77)
            switch.send(2, frame)
            self.assertEqual(switch.receive(3)[:6].hex(), "000000000077")
            # Each has the digests of its program.
            for interface, info, port in [(left, tables, 0), (right, others, 128)]:
                (data,) = info.learn_get("seen").make_data_list(interface.digest_get(timeout=base.PATIENCE))
                self.assertEqual(data.to_dict()["port"], port)
            # Each has its tables: here those of pipes 0 and 2.
            with base.Refused(self, "INVALID_ARGUMENT"):
                table.entry_add(gc.Target(device_id=0, pipe_id=1), [key], [table.make_data([], "In.drop")])
            table.entry_del(ALL, [key])
            ((data, _),) = others.table_get("In.switched").entry_get(ALL, [key], {"from_hw": True})
            self.assertEqual(data.to_dict()["port"], 385)
            # Both are pushed as they are read, and begin with empty tables.
            left.clear_all_tables()
            self.assertEqual(list(others.table_get("In.switched").entry_get(ALL, None, {"from_hw": True})), [])
            self.assertEqual(left.bfrt_info_get("right").p4_name_get(), "right")

    def test_a_pipe_without_a_program_drops_packets(self):
        self.several({"left": [0], "right": [2]})
        daemon = Daemon(self.folder)
        # A port of each pipe.
        daemon.numbers = [0, 128, 256, 384]
        frame = ethernet("020000000001", "020000000002", 0x88b5, bytes(50))
        with daemon as switch:
            (_, tables), (_, others) = self.controller(1, "left"), self.controller(2, "right")
            table, key = self.forward(tables, 256, 0x99)
            self.forward(others, 0, 0x77)
            with base.Refused(self, "INVALID_ARGUMENT"):
                table.entry_del(gc.Target(device_id=0, pipe_id=1), [key])
            # Were they processed, they would come out before those of the pipes with programs.
            for empty in (1, 3):
                switch.send(empty, frame)
            switch.send(0, frame)
            self.assertEqual(switch.receive(2)[:6].hex(), "000000000099")
            switch.send(2, frame)
            self.assertEqual(switch.receive(0)[:6].hex(), "000000000077")
            self.assertIsNone(switch.receive(0, timeout=0.3))

    def test_ports_of_pipes_lead_back(self):
        self.several({"outer": [0, 2], "inner": [1, 3]})
        daemon = Daemon(self.folder, "--int-port-loop", "0xa")
        daemon.numbers = [0, 1, 2, 129]
        with daemon as switch:
            (interface, outer), (_, inner) = self.controller(1, "outer"), self.controller(2, "inner")
            # Also after programs are pushed again.
            for dst in (0x55, 0x56):
                # A port that is added without a loopback mode still leads back.
                ports = outer.table_get("$PORT")
                ports.entry_add(ALL, [ports.make_key([gc.KeyTuple("$DEV_PORT", 129)])],
                                [ports.make_data([gc.DataTuple("$SPEED", str_val="BF_SPEED_100G"), gc.DataTuple("$PORT_ENABLE", bool_val=True)])])
                # To a port of pipe 1, and from there out.
                self.forward(outer, 129, 0x020000000001)
                self.forward(inner, 2, dst)
                switch.send(0, ethernet("020000000001", "020000000002", 0x88b5, bytes(50)))
                self.assertEqual(switch.receive(2)[:6].hex(), f"{dst:012x}")
                interface.clear_all_tables()

    def test_what_cannot_be_run_is_refused(self):
        def refused(*options):
            words = [HOPWRIGHT, "as", "bf_switchd", "--install-dir", str(self.folder), "--conf-file", str(self.folder / "router.conf"), *options]
            done = subprocess.run(words, capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stdout)
            return done.stderr

        ports = self.folder / "ports.json"
        ports.write_text(json.dumps({"PortToIf": [{"device_port": 1, "if": "lo"}]}))
        self.assertIn("No such file", refused())
        self.assertEqual(compile_program(self.folder).returncode, 0)
        self.assertIn("--ports", refused())
        conf = self.folder / "router.conf"
        described = json.loads(conf.read_text())
        (program,) = described["p4_devices"][0]["p4_programs"]
        described["p4_devices"][0]["p4_programs"] = [program, program]
        conf.write_text(json.dumps(described))
        self.assertIn("two are called `router`", refused("--ports", str(ports)))
        for scopes, reason in [({"a": [0], "b": [0, 1]}, "two pipelines are in pipe 0"), ({"a": [0], "b": []}, "no pipe is given"),
                               ({"a": [0], "b": [4]}, "no pipe 4")]:
            self.several(scopes)
            self.assertIn(reason, refused("--ports", str(ports)))
        program["p4_pipelines"][0]["p4_pipeline_name"] = "other"
        described["p4_devices"][0]["p4_programs"] = [program]
        conf.write_text(json.dumps(described))
        self.assertIn("no pipeline `other`", refused("--ports", str(ports)))
        (self.folder / "pipe/tofino.bin").write_bytes(b"\0\1\2")
        self.assertIn("is code of the chip", refused("--ports", str(ports)))
        wrong = compile_program(self.folder, "--arch", "t2na")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("Unknown backend: tofino-t2na", wrong.stderr)


if __name__ == "__main__":
    unittest_main()
