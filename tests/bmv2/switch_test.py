#!/usr/bin/env python3
"""simple_switch_grpc by its name, with its options: programs as files and pushed, captures, the console log. Needs root and a network
namespace of its own: run.sh."""

import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import unittest

import grpc
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc

from lab.cases import unittest_main
from lab.command import HOPWRIGHT, PATIENCE, ROOT, wait_until
from lab.switch import veth, with_tag
from names import Links

HOST = bytes.fromhex("020000000001")
FRAME = HOST + bytes.fromhex("0200000000ff") + b"\x08\x00" + bytes(range(50))


def packets(path):
    """The packets of a capture with microseconds, without one that is being written."""
    data = path.read_bytes()
    if len(data) < 24:
        return []
    magic, *_, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, link) == (0xA1B2C3D4, 1), data[:24]
    at, found = 24, []
    while at + 16 <= len(data):
        _, _, kept, length = struct.unpack_from("<IIII", data, at)
        assert kept == length
        if at + 16 + kept > len(data):
            break
        found.append(data[at + 16 : at + 16 + kept])
        at += 16 + kept
    return found


class Switch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.links = Links()
        cls.addClassCleanup(cls.links.cleanup)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.build = pathlib.Path(folder.name)
        subprocess.run([cls.links.folder / "p4c", "--p4runtime-files", cls.build / "l2.p4info.txtpb", "-o", cls.build,
                        ROOT / "examples/l2.p4"], check=True)
        cls.sockets = []
        for n in (1, 2):
            s = veth(f"s1-eth{n}", f"h{n}-eth0")
            s.settimeout(3 * PATIENCE)
            cls.sockets.append(s)
            cls.addClassCleanup(s.close)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *options, name="simple_switch_grpc", address="127.0.0.1:50051"):
        """Starts a switch with two ports; returns what reads its output."""
        output = self.folder / "output"
        with open(output, "w") as file:
            process = subprocess.Popen(
                [self.links.folder / name, "-i", "1@s1-eth1", "-i", "2@s1-eth2", *map(str, options),
                 "--", "--grpc-server-addr", address],
                stdout=file, stderr=subprocess.STDOUT, cwd=self.folder)
        self.addCleanup(self.stop, process, output)
        wait_until("the server", lambda: "Server listening on" in output.read_text() or process.poll() is not None)
        self.assertIsNone(process.poll(), output.read_text())
        return output.read_text

    def stop(self, process, output):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(3 * PATIENCE), 0, output.read_text())
        self.assertNotIn("panicked", output.read_text())

    def controller(self, device=0):
        """A client that is primary, and its stub."""
        channel = grpc.insecure_channel("127.0.0.1:50051")
        self.addCleanup(channel.close)
        stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
        request = p4rt.StreamMessageRequest()
        request.arbitration.device_id = device
        request.arbitration.election_id.low = 1
        done = threading.Event()
        self.addCleanup(done.set)

        def requests():
            yield request
            # Without a stream there is no primary.
            done.wait()

        self.answers = stub.StreamChannel(requests(), timeout=3 * PATIENCE)
        self.assertEqual(next(self.answers).arbitration.status.code, 0)
        return stub

    def push(self, stub, config):
        request = p4rt.SetForwardingPipelineConfigRequest(action=p4rt.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
        request.election_id.low = 1
        text_format.Parse((self.build / "l2.p4info.txtpb").read_text(), request.config.p4info)
        request.config.p4_device_config = config
        stub.SetForwardingPipelineConfig(request)

    def insert(self, stub, port):
        """The entry that sends what is for HOST to a port."""
        info = text_format.Parse((self.build / "l2.p4info.txtpb").read_text(), p4info_pb2.P4Info())
        request = p4rt.WriteRequest()
        request.election_id.low = 1
        update = request.updates.add(type=p4rt.Update.INSERT)
        entry = update.entity.table_entry
        entry.table_id = info.tables[0].preamble.id
        entry.match.add(field_id=1).exact.value = HOST
        action = next(a for a in info.actions if a.preamble.alias == "forward")
        entry.action.action.action_id = action.preamble.id
        entry.action.action.params.add(param_id=1, value=bytes([port]))
        stub.Write(request)

    def receive(self, port):
        """The next frame of ours that leaves by a port."""
        while True:
            frame, auxiliary, _, address = self.sockets[port - 1].recvmsg(65536, 64)
            if address[2] != socket.PACKET_OUTGOING:
                return with_tag(frame, auxiliary)

    def test_a_pushed_program_forwards_and_is_logged_and_recorded(self):
        pcaps = self.folder / "pcaps"
        pcaps.mkdir()
        output = self.start("--pcap", pcaps, "--nanolog", "ipc:///tmp/bm-0-log.ipc", "--device-id", 0, "--no-p4", "--log-console",
                            "--dump-packet-data", 20)
        self.assertIn("Adding interface s1-eth1 as port 1\n", output())
        self.assertIn("--nanolog: there are no nanomsg events", output())
        stub = self.controller()
        program = (self.build / "l2.json").read_bytes()
        # PI's P4DeviceConfig: reassign, device_data with a length of several bytes.
        length, encoded = len(program), b""
        while length >= 0x80:
            encoded, length = encoded + bytes([length & 0x7F | 0x80]), length >> 7
        self.push(stub, b"\x08\x01\x1a" + encoded + bytes([length]) + program)
        self.insert(stub, 2)
        self.sockets[0].send(FRAME)
        self.assertEqual(self.receive(2), FRAME)
        self.sockets[0].send(b"\x02" * 60)
        wait_until("the second packet in the log", lambda: "Dropping packet at the end of ingress" in output())
        log = [re.sub(r"^\[.*?\] ", "", line, count=1) for line in output().splitlines() if "[bmv2]" in line]
        log = [re.sub(r"\[thread \d+\] ", "", line) for line in log]
        for line in [
            f"[bmv2] [I] Received packet of length 64 on port 1: {FRAME[:20].hex()}",
            "[bmv2] [D] [0.0] [cxt 0] Processing packet received on port 1",
            "[bmv2] [D] [0.0] [cxt 0] Parser 'parser': start",
            "[bmv2] [D] [0.0] [cxt 0] Extracting header 'ethernet'",
            "[bmv2] [D] [0.0] [cxt 0] Pipeline 'ingress': start",
            "[bmv2] [T] [0.0] [cxt 0] Applying table 'SwitchIngress.mac'",
            "[bmv2] [D] [0.0] [cxt 0] Looking up key:",
            "[bmv2] [D] [0.0] [cxt 0] Table 'SwitchIngress.mac': hit with handle 0",
            "[bmv2] [D] [0.0] [cxt 0] Action entry is SwitchIngress.forward - 2,",
            "[bmv2] [D] [0.0] [cxt 0] Egress port is 2",
            "[bmv2] [D] [0.0] [cxt 0] Transmitting packet of size 64 out of port 2",
            "[bmv2] [D] [1.0] [cxt 0] Table 'SwitchIngress.mac': miss",
        ]:
            self.assertIn(line, log)
        self.assertIn("* hdr.ethernet.dst    : 020000000001\n", output())
        self.assertIn("* hdr.ethernet.dst    : EXACT     020000000001\n", output())
        received, sent = pcaps / "s1-eth1_in.pcap", pcaps / "s1-eth2_out.pcap"
        wait_until("the captures", lambda: (len(packets(received)), len(packets(sent))) == (2, 1))
        self.assertEqual((packets(received), packets(sent)), ([FRAME, b"\x02" * 60], [FRAME]))
        self.assertEqual((packets(pcaps / "s1-eth1_out.pcap"), packets(pcaps / "s1-eth2_in.pcap")), ([], []))

    def test_a_file_runs_and_the_log_goes_to_a_file(self):
        self.start(self.build / "l2.json", "--log-file", self.folder / "ss-log", "--log-flush", "-L", "debug", "--device-id", 7)
        stub = self.controller(7)
        config = stub.GetForwardingPipelineConfig(p4rt.GetForwardingPipelineConfigRequest(device_id=7)).config
        self.assertEqual(config.p4_device_config, (self.build / "l2.json").read_bytes())
        self.sockets[1].send(FRAME)
        log = self.folder / "ss-log.txt"
        wait_until("the log", lambda: "Dropping packet at the end of ingress" in log.read_text())
        self.assertNotIn("[T]", log.read_text())

    def test_p4_source_runs_and_other_switches_can_serve(self):
        output = self.start(ROOT / "examples/l2.p4", "--thrift-port", 9090, name="simple_switch")
        wait_until("Thrift", lambda: "Thrift at 127.0.0.1:9090" in output())
        capabilities = p4runtime_pb2_grpc.P4RuntimeStub(grpc.insecure_channel("127.0.0.1:50051")).Capabilities
        self.assertTrue(capabilities(p4rt.CapabilitiesRequest(), wait_for_ready=True, timeout=PATIENCE).p4runtime_api_version)

    def test_what_cannot_be_done_is_refused(self):
        (self.folder / "bmv2.json").write_text('{"header_types": [], "pipelines": [], "__meta__": {"version": [2, 23]}}')
        for options, reason in [
            ("", "please specify"),
            ("--no-such", "Error while parsing command line arguments"),
            ("bmv2.json", "BMv2's JSON: .: missing field"),
            ("missing.json", "cannot read `missing.json`"),
            ("--no-p4 --pcap missing", "directory 'missing' does not exist"),
            ("--no-p4 --restore-state f", "--restore-state"),
            ("--no-p4 -i 0@s1-eth9", "there is no interface s1-eth9"),
            ("--no-p4 -- --drop-port 510", "--drop-port"),
            ("--no-p4 -- --grpc-server-addr nowhere", "--grpc-server-addr nowhere"),
        ]:
            with self.subTest(options):
                done = subprocess.run([self.links.folder / "simple_switch_grpc", *options.split()], cwd=self.folder,
                                      capture_output=True, text=True, timeout=3 * PATIENCE)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn(reason, done.stderr)
        for option in "--help", "--version", "--json-version":
            subprocess.run([HOPWRIGHT, "as", "simple_switch_grpc", option], check=True, capture_output=True)


if __name__ == "__main__":
    unittest_main()
