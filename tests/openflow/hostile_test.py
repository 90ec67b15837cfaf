"""Controllers that misbehave: the switch goes on, its memory is bounded, and other controllers are served."""

import random
import socket
import struct
import unittest

from lab.cases import unittest_main
from lab.command import ROOT, wait_until
from lab.openflow import LISTEN, Hopwright, Lab

MIB = 1 << 20


def message(kind, body=b"", version=4, length=None, xid=1):
    return struct.pack("!BBHI", version, kind, 8 + len(body) if length is None else length, xid) + body


HELLO = message(0)


def flow_mod(number, command=0):
    """A flow of 1.3 for one Ethernet address, to port 2."""
    match = struct.pack("!HHHBB", 1, 14, 0x8000, 3 << 1, 6) + number.to_bytes(6, "big") + b"\0\0"
    actions = struct.pack("!HHIH6x", 0, 16, 2, 0)
    instructions = struct.pack("!HH4x", 4, 8 + len(actions)) + actions
    head = struct.pack("!QQBBHHHIIIHxx", 0, 0, 0, command, 0, 0, 1, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return message(14, head + match + (instructions if command == 0 else b""))


class Hostile(unittest.TestCase):
    def setUp(self):
        self.lab = Lab(Hopwright, hosts=2)
        self.lab.__enter__()
        # What must go on: two hosts that see each other.
        self.lab.ofctl("add-flow", "priority=9,in_port=1,actions=output:2")
        self.lab.ofctl("add-flow", "priority=9,in_port=2,actions=output:1")
        self.check()
        self.sockets = []

    def tearDown(self):
        for one in self.sockets:
            one.close()
        self.lab.end()

    def check(self):
        """Packets are forwarded, and a controller that behaves is served."""
        self.assertTrue(self.lab.switch.process.alive())
        self.lab.hosts[0].ping(self.lab.hosts[1])
        wait_until(self.lab.logs, lambda: "priority=9,in_port=1 actions=output:2" in
                   self.lab.ofctl("dump-flows", "in_port=1", check=False))

    def connect(self, hello=True):
        one = socket.create_connection(("127.0.0.1", LISTEN), 60)
        one.settimeout(60)
        self.sockets.append(one)
        if hello:
            one.sendall(HELLO)
            self.assertEqual(self.read(one)[1], 0)
        return one

    def exactly(self, one, count):
        data = b""
        while len(data) < count:
            more = one.recv(count - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def read(self, one):
        """Version, type, and body of the next message that is no probe."""
        while True:
            version, kind, length, _ = struct.unpack("!BBHI", self.exactly(one, 8))
            body = self.exactly(one, length - 8)
            if kind != 2:
                return version, kind, body

    def closed(self, one, seconds=60):
        one.settimeout(seconds)
        try:
            while True:
                self.read(one)
        except (EOFError, ConnectionError):
            return True
        except TimeoutError:
            return False

    def test_what_is_no_message_ends_the_connection(self):
        chance = random.Random(1)
        for first in (chance.randbytes(4096), b"GET / HTTP/1.1\r\n\r\n", message(0, length=7), message(5), message(0, version=9, length=3),
                      message(255, b"x" * 100)):
            one = self.connect(hello=False)
            one.sendall(first)
            self.assertTrue(self.closed(one), first[:16])
        one = self.connect()
        one.sendall(message(2, length=0))
        self.assertTrue(self.closed(one))
        self.check()

    def test_versions_that_are_not_spoken_are_refused(self):
        one = self.connect(hello=False)
        one.sendall(message(0, version=3))
        self.assertEqual(self.read(one)[1], 0)
        _, kind, body = self.read(one)
        self.assertEqual((kind, body[:4]), (1, b"\0\0\0\0"))
        self.assertTrue(self.closed(one))

    def test_every_error_is_answered_and_the_connection_stays(self):
        one = self.connect()
        for wrong, answer in ((message(99), (1, 1)), (message(14, b"short"), (1, 6)), (message(4, b"12345678"), (1, 3)),
                              (message(18, struct.pack("!HH4x", 77, 0)), (1, 2)), (message(2, version=1), (1, 0)),
                              (message(13, struct.pack("!IIH6x", 5, 1, 0) + b"x" * 60), (1, 8)),
                              (message(15, struct.pack("!HBxI", 9, 0, 1)), (6, 11)),
                              (message(29, struct.pack("!HHI", 0, 3, 1)), (12, 5)),
                              (message(24, struct.pack("!I4xQ", 9, 0)), (11, 2))):
            one.sendall(wrong)
            _, kind, body = self.read(one)
            self.assertEqual((kind, struct.unpack("!HH", body[:4])), (1, answer), wrong)
            # The message is quoted.
            self.assertEqual(body[4:], wrong[:64])
        one.sendall(message(20))
        self.assertEqual(self.read(one)[1], 21)
        self.check()

    def test_messages_with_bytes_changed(self):
        chance = random.Random(2)
        corpus = [path.read_bytes() for path in sorted((ROOT / "fuzz/corpus/openflow").iterdir())]
        one = self.connect()
        for turn in range(3000):
            data = bytearray(chance.choice(corpus))
            for _ in range(chance.randint(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            at = 0
            # The lengths stay right, so that the connection lives.
            while at + 8 <= len(data):
                length = struct.unpack_from("!H", data, at + 2)[0]
                if length < 8 or at + length > len(data):
                    break
                data[at] = 4
                # What changes ports or removes the flows would end the check below.
                if data[at + 1] not in (14, 16, 17):
                    one.sendall(data[at:at + length])
                at += length
            if turn % 100 == 0:
                one.sendall(message(20))
                while self.read(one)[1] != 21:
                    pass
        self.check()

    def test_half_open_connections_are_given_up(self):
        silent = [self.connect(hello=False) for _ in range(40)]
        self.lab.hosts[0].ping(self.lab.hosts[1])
        self.assertTrue(self.closed(silent[0]))
        for one in silent:
            one.close()
        # Those that said hello and then nothing, too.
        self.assertTrue(self.closed(self.connect()))
        self.check()

    def test_floods_of_flows_leave_the_data_path_alone(self):
        one = self.connect()
        before = None
        for turn in range(3):
            for first in range(0, 20_000, 500):
                one.sendall(b"".join(flow_mod(1 << 32 | n) for n in range(first, first + 500)))
            one.sendall(message(20))
            self.assertEqual(self.read(one)[1], 21)
            self.check()
            self.assertRegex(self.lab.ofctl("dump-aggregate"), "flow_count=20002")
            for first in range(0, 20_000, 500):
                one.sendall(b"".join(flow_mod(1 << 32 | n, command=4) for n in range(first, first + 500)))
            one.sendall(message(20))
            self.assertEqual(self.read(one)[1], 21)
            self.assertRegex(self.lab.ofctl("dump-aggregate"), "flow_count=2 ?")
            # Memory that flows took is used again.
            memory = self.lab.switch.resident()
            before = before or memory
            self.assertLess(memory, before + 64 * MIB)

    def test_a_controller_that_does_not_read(self):
        one = self.connect()
        one.sendall(b"".join(flow_mod(1 << 32 | n) for n in range(5000)) + message(20))
        self.assertEqual(self.read(one)[1], 21)
        before = self.lab.switch.resident()
        dump = message(18, struct.pack("!HH4xB3xII4xQQHH4x", 1, 0, 255, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, 1, 4))
        greedy = self.connect()
        greedy.settimeout(0.5)
        sent = 0
        try:
            for _ in range(2000):
                greedy.sendall(dump * 1000)
                sent += 1
        except (TimeoutError, ConnectionError):
            pass
        self.assertLess(sent, 2000, "a controller that does not read is read from")
        self.assertLess(self.lab.switch.resident(), before + 64 * MIB)
        self.check()


if __name__ == "__main__":
    unittest_main(verbosity=2)
