"""SCION packets with hop fields that verify, and sockets in other namespaces to send them from.

Only what the tests of a single router need: one segment, IPv4 hosts, UDP.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import os
import socket
import struct
import threading
import time
from pathlib import Path
from typing import Callable

from .netns import Namespace

_CLONE_NEWNET = 0x40000000


def _sbox() -> bytes:
    """The S-box of AES (FIPS 197, section 5.1.1)."""
    box, p, q = bytearray(256), 1, 1
    while True:
        p = p ^ (p << 1) & 0xFF ^ (0x1B if p & 0x80 else 0)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        rotated = [q << n & 0xFF | q >> 8 - n for n in range(5)]
        box[p] = rotated[0] ^ rotated[1] ^ rotated[2] ^ rotated[3] ^ rotated[4] ^ 0x63
        if p == 1:
            box[0] = 0x63
            return bytes(box)


_SBOX = _sbox()


def _double(byte: int) -> int:
    return byte << 1 & 0xFF ^ (0x1B if byte & 0x80 else 0)


def aes128(key: bytes, block: bytes) -> bytes:
    """One block under AES-128."""
    words = [key[i:i + 4] for i in range(0, 16, 4)]
    constant = 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = bytes(_SBOX[b] for b in word[1:] + word[:1])
            word = bytes([word[0] ^ constant]) + word[1:]
            constant = _double(constant)
        words.append(bytes(a ^ b for a, b in zip(words[i - 4], word)))
    keys = [b"".join(words[i:i + 4]) for i in range(0, 44, 4)]
    state = [a ^ b for a, b in zip(block, keys[0])]
    for number, round_key in enumerate(keys[1:], 1):
        state = [_SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < 10:
            mixed = []
            for c in range(0, 16, 4):
                a = state[c:c + 4]
                every = a[0] ^ a[1] ^ a[2] ^ a[3]
                mixed += [a[r] ^ every ^ _double(a[r] ^ a[(r + 1) % 4]) for r in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, round_key)]
    return bytes(state)


def cmac(key: bytes, block: bytes) -> bytes:
    """AES-CMAC of one whole block (RFC 4493)."""
    subkey = int.from_bytes(aes128(key, bytes(16)), "big")
    subkey = (subkey << 1) ^ (0x87 if subkey >> 127 else 0)
    mixed = int.from_bytes(block, "big") ^ subkey & (1 << 128) - 1
    return aes128(key, mixed.to_bytes(16, "big"))


def hop_key(master_file: Path) -> bytes:
    """The hop-field key of an AS's master key."""
    master = base64.b64decode(master_file.read_text().strip())
    return hashlib.pbkdf2_hmac("sha256", master, b"Derive OF Key", 1000, 16)


def isd_as(text: str) -> bytes:
    """`1-ff00:0:1` as eight bytes."""
    isd, _, number = text.partition("-")
    groups = [int(g, 16) for g in number.split(":")]
    return struct.pack("!4H", int(isd), *groups)


def transit(key: bytes, ingress: int, egress: int, payload: bytes, spoil: str = "") -> bytes:
    """A UDP packet of other ASes that crosses this one from one interface to another.

    `spoil` makes it a bad one: `mac`, `expired`, `ingress`, `egress` (answered), or
    `length`, `segments`, `type` (dropped).
    """
    begin = int(time.time()) - (100_000 if spoil == "expired" else 10)
    expiry, seg_id = 63, 0x1234
    to = 999 if spoil == "egress" else egress
    message = struct.pack("!HHIBBHHH", 0, seg_id, begin, 0, expiry,
                          998 if spoil == "ingress" else ingress, to, 0)
    mac = cmac(key, message)[:6]
    if spoil == "mac":
        mac = bytes(b ^ 0x55 for b in mac)
    hop = struct.pack("!BBHH", 0, expiry, 998 if spoil == "ingress" else ingress, to) + mac
    other = struct.pack("!BBHH6s", 0, expiry, 7, 8, b"others")
    lengths = (3 << 12) if spoil != "segments" else (3 << 12) | 3
    path = struct.pack("!I", 1 << 24 | lengths)
    path += struct.pack("!BBHI", 1, 0, seg_id, begin) + other + hop + other
    addresses = isd_as("1-ff00:0:77") + isd_as("1-ff00:0:66")
    addresses += bytes([10, 77, 0, 1, 10, 66, 0, 1])
    words = (12 + len(addresses) + len(path)) // 4
    udp = struct.pack("!HHHH", 40000, 40001, 8 + len(payload), 0) + payload
    common = struct.pack("!IBBHBBH", 1, 17, words, len(udp), 77 if spoil == "type" else 1, 0, 0)
    packet = common + addresses + path + udp
    return packet[:40] if spoil == "length" else packet


def deliver(key: bytes, ingress: int, destination: str, host: str, port: int, payload: bytes) -> bytes:
    """A UDP packet of another AS that ends at a host of this one (`destination`), having come by an interface.

    Only the address at [28:32] differs between hosts: hop fields do not cover it.
    """
    begin, expiry, seg_id = int(time.time()) - 10, 63, 0x1234
    message = struct.pack("!HHIBBHHH", 0, seg_id, begin, 0, expiry, ingress, 0, 0)
    hop = struct.pack("!BBHH", 0, expiry, ingress, 0) + cmac(key, message)[:6]
    other = struct.pack("!BBHH6s", 0, expiry, 0, 8, b"others")
    path = struct.pack("!IBBHI", 1 << 24 | 2 << 12, 1, 0, seg_id, begin) + other + hop
    addresses = isd_as(destination) + isd_as("1-ff00:0:66") + socket.inet_aton(host) + bytes([10, 66, 0, 1])
    words = (12 + len(addresses) + len(path)) // 4
    udp = struct.pack("!HHHH", 40000, port, 8 + len(payload), 0) + payload
    common = struct.pack("!IBBHBBH", 1, 17, words, len(udp), 1, 0, 0)
    return common + addresses + path + udp


BFD = 203


def of_next_header(at: int, number: int = BFD, passes: bool = True) -> list[tuple[int, int, int, int]]:
    """A socket filter for SCION packets with a certain next header, which is at this place of what
    the socket filters: they, or all others, pass."""
    return [(0x30, 0, 0, at), (0x15, 0, 1, number),
            (0x06, 0, 0, 0xFFFF * passes), (0x06, 0, 0, 0xFFFF * (not passes))]


def attach_filter(sock: socket.socket, program: list[tuple[int, int, int, int]]) -> None:
    """Gives a socket a classic BPF program: what this drops it does not receive."""
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    memory = ctypes.create_string_buffer(code, len(code))
    sock.setsockopt(socket.SOL_SOCKET, 26,  # SO_ATTACH_FILTER
                    struct.pack("HP", len(program), ctypes.addressof(memory)))


def socket_in(namespace: Namespace, make: Callable[[], socket.socket]) -> socket.socket:
    """A socket made in another namespace, where it stays."""
    made: list[socket.socket | OSError] = []

    def enter() -> None:
        try:
            with open(f"/run/netns/{namespace.name}", "rb") as target:
                if ctypes.CDLL(None, use_errno=True).setns(target.fileno(), _CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            made.append(make())
        except OSError as error:
            made.append(error)

    # Namespaces are a thread's; this thread ends in the other one.
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    if isinstance(made[0], OSError):
        raise made[0]
    return made[0]


def udp_socket(namespace: Namespace, address: str, port: int) -> socket.socket:
    """A UDP socket in another namespace, which stays there."""
    def make() -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sock.bind((address, port))
        return sock

    return socket_in(namespace, make)


class Stream:
    """Numbered packets at a steady rate, and which of them arrive where."""

    def __init__(self, out: socket.socket, to: tuple[str, int], make, rate: float):
        self.sent = 0
        self.received: dict[int, int] = {}
        self._out, self._to, self._make, self._pause = out, to, make, 1 / rate
        self._stop = threading.Event()
        self._inputs: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._send, daemon=True)]

    def into(self, inlet: socket.socket) -> Stream:
        """Counts packets that arrive here."""
        inlet.settimeout(0.1)
        self._inputs.append(inlet)
        self._threads.append(threading.Thread(target=self._take, args=(inlet,), daemon=True))
        return self

    def start(self) -> Stream:
        for thread in self._threads:
            thread.start()
        return self

    def finish(self, settle: float = 1.0) -> Stream:
        """Stops sending, waits for what is on its way, and closes the inlets' counting."""
        self._stop.set()
        self._threads[0].join()
        time.sleep(settle)
        for thread in self._threads[1:]:
            thread.join()
        return self

    @property
    def lost(self) -> list[int]:
        return [n for n in range(self.sent) if n not in self.received]

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.received.values())

    def _send(self) -> None:
        template = self._make(b"\0" * 8)
        due = time.monotonic()
        while not self._stop.is_set():
            self._out.sendto(template[:-8] + struct.pack("!Q", self.sent), self._to)
            self.sent += 1
            due += self._pause
            time.sleep(max(0.0, due - time.monotonic()))

    def _take(self, inlet: socket.socket) -> None:
        last = None
        while last is None or time.monotonic() < last:
            if self._stop.is_set() and last is None:
                last = time.monotonic() + 0.8
            try:
                packet = inlet.recv(9000)
            except TimeoutError:
                continue
            number = struct.unpack("!Q", packet[-8:])[0]
            self.received[number] = self.received.get(number, 0) + 1
