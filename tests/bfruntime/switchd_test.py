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
from switch import HOPWRIGHT, PORTS, Switch, ethernet

STATUS = 7777


class Daemon(Switch):
    """bf_switchd with a folder that the compiler has written."""

    def __init__(self, folder, *options):
        super().__init__(PROGRAM, *options, address=base.ADDRESS)
        self.folder = folder

    def command(self, interfaces):
        ports = self.folder / "ports.json"
        ports.write_text(json.dumps({"PortToIf": [{"device_port": n, "if": f"sw{n}"} for n in range(PORTS)]}))
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
        self.assertIn("2 programs (router, router)", refused("--ports", str(ports)))
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
    unittest.main()
