"""Checks the parts of braccept.py that decide what counts as a failure.

Needs neither root nor the reference: `python3 -m unittest braccept_test`.
"""

import struct
import unittest

from braccept import checksum_fault, ones_sum, parse_results

LOG = (
    "2026-01-01 00:00:00.1+0000\tINFO\tbraccept/main.go:1\tBR V2 acceptance tests:\n"
    '2026-01-01 00:00:00.2+0000\tINFO\tbraccept/main.go:2\tFirst\t{"result": "expected packet '
    'was captured!"}\n'
    "2026-01-01 00:00:00.3+0000\tDEBUG\trunner/run.go:3\tSecond\t{\"msg\": \"timeout occurred\"}\n"
    "2026-01-01 00:00:00.4+0000\tERROR\tbraccept/main.go:4\tSecond\nErrors were found:\n  timeout\n"
    '2026-01-01 00:00:00.5+0000\tINFO\tbraccept/main.go:2\tThird\t{"result": "expected packet '
    'was captured!"}\n'
)


def frame(payload: bytes) -> bytes:
    """An Ethernet, IPv4, UDP frame with right checksums."""
    udp = struct.pack("!HHHH", 50000, 40000, 8 + len(payload), 0) + payload
    addresses = bytes([192, 168, 14, 2, 192, 168, 14, 3])
    pseudo = addresses + struct.pack("!BBH", 0, 17, len(udp))
    udp = udp[:6] + struct.pack("!H", 0xFFFF - ones_sum(pseudo + udp)) + udp[8:]
    header = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0) + addresses
    header = header[:10] + struct.pack("!H", 0xFFFF - ones_sum(header)) + header[12:]
    return bytes(12) + b"\x08\x00" + header + udp


class Results(unittest.TestCase):
    def test_passes_and_failures_are_told_apart(self):
        results = parse_results(LOG)
        self.assertEqual(list(results), ["First", "Second", "Third"])
        self.assertEqual((results["First"], results["Third"]), ("", ""))
        self.assertIn("timeout", results["Second"])


class Checksums(unittest.TestCase):
    def test_right_checksums_are_accepted(self):
        for payload in (b"", b"x", b"even", b"odd"):
            self.assertEqual(checksum_fault(frame(payload)), "")

    def test_every_corrupted_byte_is_noticed(self):
        good = frame(b"payload")
        for at in range(14, len(good)):
            bad = bytearray(good)
            bad[at] ^= 0x10
            try:
                fault = checksum_fault(bytes(bad))
            except (struct.error, IndexError):
                continue  # a length field no longer fits the frame
            self.assertNotEqual(fault, "", f"byte {at}")

    def test_udp_checksum_may_be_absent_over_ipv4(self):
        packet = bytearray(frame(b"payload"))
        packet[40:42] = b"\0\0"
        self.assertEqual(checksum_fault(bytes(packet)), "")


if __name__ == "__main__":
    unittest.main()
