#!/usr/bin/env python3
"""BMv2's notifications as a subscriber of nanomsg's protocols sees them: pynng of PyPI, which has nothing of nanomsg's or BMv2's code."""

import queue
import struct
import tempfile
import unittest

import grpc
import pynng
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc

from cli_test import ThriftSwitch, cli, client, close_clients, frame
from lab.cases import unittest_main
from lab.command import PATIENCE, wait_until
from lab.netns import ip

# Topic, device, context; then the list, the buffer and the number of samples, or the buffer, the table and the number of entries.
LEARNED = struct.Struct("<4sQiiQI")
AGED = struct.Struct("<4sQiQiI")
PORTS = struct.Struct("<4sQI16x")
MEMBER = struct.Struct("!6sH")


class Notifications(unittest.TestCase):
    def start(self, address, *options):
        self.switch = self.enterContext(ThriftSwitch("learn.p4", "--notifications-addr", address, *options))
        self.addCleanup(close_clients)
        self.standard = client()
        told = self.standard.bm_mgmt_get_info().notifications_socket
        self.assertEqual(told, address)
        self.subscriber = self.enterContext(pynng.Sub0(topics=b"", recv_timeout=200))
        self.subscriber.dial(told, block=True)

    def next(self, topic, until=lambda: None):
        """The next message of a topic. Does something again and again until it comes."""
        def message():
            until()
            try:
                received = self.subscriber.recv()
            except pynng.Timeout:
                return None
            return received if received.startswith(topic) else None
        return wait_until(f"a message {topic}", message, interval=0)

    def learned(self, source):
        """The samples after a frame, with the number of their message."""
        message = self.next(b"LEA|", lambda: self.switch.send(1, frame(src=source)))
        topic, device, context, listed, buffer, count = LEARNED.unpack(message[:32])
        self.assertEqual((topic, device, context, listed), (b"LEA|", 1, 0, 1))
        samples = [MEMBER.unpack(message[at:at + 8]) for at in range(32, len(message), 8)]
        self.assertEqual(len(samples), count)
        return buffer, [(address.hex(), port) for address, port in samples]

    def learns(self, address, *options):
        self.start(address, *options)
        first, samples = self.learned("020000000011")
        self.assertEqual(samples, [("020000000011", 1)])
        # What is not acknowledged is not repeated, so that the next message is about another one.
        for _ in range(3):
            self.switch.send(1, frame(src="020000000011"))
        self.assertEqual(self.learned("020000000012")[1], [("020000000012", 1)])
        self.standard.bm_learning_ack_buffer(0, 1, first)
        self.assertEqual(self.learned("020000000011")[1], [("020000000011", 1)])

    def test_digests_on_this_machine(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.learns(f"ipc://{folder}/notifications.ipc")

    def test_digests_by_tcp(self):
        self.learns("tcp://127.0.0.1:10001")

    def test_digests_without_p4runtime(self):
        self.learns("tcp://127.0.0.1:10001", "--no-p4runtime")

    def test_idle_entries(self):
        self.start("tcp://127.0.0.1:10001", "--no-p4runtime")
        cli("table_add sources NoAction 0x020000000021 =>", "table_add sources NoAction 0x020000000022 =>",
            "table_set_timeout sources 1 300")
        message = self.next(b"AGE|")
        topic, device, context, _, table, count = AGED.unpack(message[:32])
        self.assertEqual((topic, device, context, table, count), (b"AGE|", 1, 0, 0, 1))
        self.assertEqual(message[32:], struct.pack("<Q", 1))

    def test_idle_entries_are_told_to_controllers_too(self):
        self.start("tcp://127.0.0.1:10001")
        channel = self.enterContext(grpc.insecure_channel("127.0.0.1:9559"))
        grpc.channel_ready_future(channel).result(PATIENCE)
        arbitration = p4rt.MasterArbitrationUpdate(device_id=1, election_id=p4rt.Uint128(low=1))
        requests = queue.SimpleQueue()
        requests.put(p4rt.StreamMessageRequest(arbitration=arbitration))
        self.addCleanup(requests.put, None)
        answers = p4runtime_pb2_grpc.P4RuntimeStub(channel).StreamChannel(iter(requests.get, None), timeout=3 * PATIENCE)
        self.assertTrue(next(answers).HasField("arbitration"))
        cli("table_add sources NoAction 0x020000000021 =>", "table_set_timeout sources 0 300")
        self.assertEqual(self.next(b"AGE|")[32:], struct.pack("<Q", 0))
        # A controller is told again.
        told = (answer.idle_timeout_notification for answer in answers if answer.HasField("idle_timeout_notification"))
        for _ in range(2):
            self.assertEqual([entry.idle_timeout_ns for entry in next(told).table_entry], [300_000_000])

    def test_ports(self):
        self.start("tcp://127.0.0.1:10001", "--no-p4runtime")
        # A subscriber that is there gets digests.
        self.learned("020000000031")
        for state, up in (("down", 0), ("up", 1)):
            ip("link", "set", "host2", state)
            message = self.next(b"PRT|")
            self.assertEqual(PORTS.unpack(message[:32]), (b"PRT|", 1, 1))
            self.assertEqual(message[32:], struct.pack("<II", 2, up))


if __name__ == "__main__":
    unittest_main()
