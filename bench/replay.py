"""Captures frames, sends them again at exact rates, and times those among them that are marked.

A marked frame, a probe, ends with when it was sent. Who receives it has the kernel's time of arrival.
Run as a program: `replay.py capture DEVICE COUNT FILE`, `replay.py send DEVICE FILE RATE SECONDS`.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import sys
import time
from pathlib import Path

from lab.netns import Namespace
from lab.scion import attach_filter, socket_in

ETH_P_ALL = 3
SOL_PACKET, PACKET_QDISC_BYPASS, PACKET_IGNORE_OUTGOING = 263, 20, 23
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
BURST = 32
PROBES_PER_SECOND = 500
MARK = 0x48_6F_70_77
# Bytes of Ethernet, IPv4 and UDP headers.
HEADERS = 42
# Datagrams that may come as one frame (UDP segmentation).
MOST = 64


def capture(device: str, count: int, file: Path) -> None:
    """Stores `count` UDP frames that arrive at a device of this namespace, without UDP checksum: they will be changed."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as s:
        s.bind((device, ETH_P_ALL))
        s.settimeout(20)
        frames = []
        while len(frames) < count:
            frame, (_, _, kind, *_) = s.recvfrom(9100)
            if kind != socket.PACKET_OUTGOING and frame[12:14] == b"\x08\x00" and frame[23] == 17:
                frames.append(frame[:40] + b"\0\0" + frame[42:])
    file.write_bytes(b"".join(struct.pack("!H", len(f)) + f for f in frames))


def stored(file: Path) -> list[bytes]:
    data, frames, at = file.read_bytes(), [], 0
    while at < len(data):
        size, = struct.unpack_from("!H", data, at)
        frames.append(data[at + 2:at + 2 + size])
        at += 2 + size
    return frames


def send(device: str, file: Path, rate: float, seconds: float) -> None:
    """Sends the stored frames in turn, `rate` a second; 0: as fast as it goes. Now and then one is a probe."""
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    class Header(ctypes.Structure):
        _fields_ = [("name", ctypes.c_void_p), ("name_length", ctypes.c_uint32),
                    ("vectors", ctypes.POINTER(Vector)), ("count", ctypes.c_size_t),
                    ("control", ctypes.c_void_p), ("control_length", ctypes.c_size_t),
                    ("flags", ctypes.c_int), ("sent", ctypes.c_uint)]

    frames = stored(file)
    # Twice, so that a burst may begin anywhere.
    buffers = [ctypes.create_string_buffer(f, len(f)) for f in frames] * 2
    headers = (Header * len(buffers))()
    vectors = [Vector(ctypes.addressof(b), len(b)) for b in buffers]
    for header, vector in zip(headers, vectors):
        header.vectors, header.count = ctypes.pointer(vector), 1
    sendmmsg = ctypes.CDLL(None, use_errno=True).sendmmsg
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
        s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        s.bind((device, 0))
        number, step, sent = s.fileno(), ctypes.sizeof(Header), 0
        probe, next_probe = frames[0][:-12], 0.0
        # The times at which bursts are due repeat exactly: probes must not.
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < seconds:
            if elapsed >= next_probe:
                next_probe = elapsed + 1 / PROBES_PER_SECOND
                s.send(probe + struct.pack("!IQ", MARK, time.clock_gettime_ns(time.CLOCK_REALTIME)))
                sent += 1
            due = BURST if rate == 0 else min(BURST, int(rate * elapsed) - sent)
            if due <= 0:
                time.sleep(0.0001)
                continue
            sent += max(0, sendmmsg(number, ctypes.byref(headers, sent % len(frames) * step), due, 0))


class Arrivals:
    """Where probes arrive: a device of another namespace. `size`: of the frames. Several may come as one, with their
    headers in common."""

    def __init__(self, namespace: Namespace, device: str, size: int):
        self._marks = [size - 12 + i * (size - HEADERS) for i in range(MOST)]

        def make() -> socket.socket:
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            # One of them is marked. Looking for it behind the end ends with no.
            attach_filter(sock, [instruction for at in self._marks for instruction in
                                 ((0x20, 0, 0, at), (0x15, 0, 1, MARK), (0x06, 0, 0, 0xFFFF))]
                          + [(0x06, 0, 0, 0)])
            sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sock.bind((device, ETH_P_ALL))
            sock.setblocking(False)
            return sock

        self._socket = socket_in(namespace, make)

    def take(self) -> list[float]:
        """How long the probes took that have arrived since, in microseconds."""
        found = []
        while select.select([self._socket], [], [], 0)[0]:
            frame, ancillary, *_ = self._socket.recvmsg(1 << 16, 64)
            probes = [struct.unpack_from("!IQ", frame, at) for at in self._marks if at + 12 <= len(frame)]
            for _, kind, value in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("qq", value)
                    found += [(seconds * 1_000_000_000 + nanoseconds - sent) / 1000
                              for mark, sent in probes if mark == MARK]
        return found

    def close(self) -> None:
        self._socket.close()


if __name__ == "__main__":
    if sys.argv[1] == "capture":
        capture(sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
    else:
        send(sys.argv[2], Path(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
