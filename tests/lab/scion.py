"""SCION packets with hop fields that verify, and sockets in other namespaces to send them from.

Only what the tests of a single router need: one segment, UDP.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import ipaddress
import select
import socket
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Callable

from .command import wait_until
from .netns import Namespace

if TYPE_CHECKING:
    from .ledger import Ledger

_CLONE_NEWNET = 0x40000000
# UDP ports of the SCION packets.
SOURCE_PORT, PORT = 40000, 40001


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


def _host(address: str) -> tuple[int, bytes]:
    """A host's type and length in the common header, and its address in bytes."""
    packed = ipaddress.ip_address(address).packed
    return (3 if len(packed) == 16 else 0), packed


def packet(key: bytes, ingress: int, egress: int, payload: bytes, *,
           source: tuple[str, str] = ("1-ff00:0:66", "10.66.0.1"),
           destination: tuple[str, str] = ("1-ff00:0:77", "10.77.0.1"), port: int = PORT,
           spoil: str = "") -> bytes:
    """A UDP packet that enters this AS by one interface and leaves it by another.

    Ingress 0: from a host of this AS. Egress 0: to one. Source and destination are
    ISD-AS number and host, whose address hop fields do not cover.

    `spoil` makes it a bad one: `mac`, `expired`, `ingress`, `egress` (answered), or
    `length`, `segments`, `type` (dropped).
    """
    begin = int(time.time()) - (100_000 if spoil == "expired" else 10)
    expiry, seg_id = 63, 0x1234
    to = 999 if spoil == "egress" else egress
    of = 998 if spoil == "ingress" else ingress
    mac = cmac(key, struct.pack("!HHIBBHHH", 0, seg_id, begin, 0, expiry, of, to, 0))[:6]
    if spoil == "mac":
        mac = bytes(b ^ 0x55 for b in mac)
    hop = struct.pack("!BBHH", 0, expiry, of, to) + mac
    other = struct.pack("!BBHH6s", 0, expiry, 7, 8, b"others")
    hops = [other] * (ingress > 0) + [hop] + [other] * (egress > 0)
    path = struct.pack("!I", (ingress > 0) << 24 | len(hops) << 12 | 3 * (spoil == "segments"))
    path += struct.pack("!BBHI", 1, 0, seg_id, begin) + b"".join(hops)
    (to_type, to_host), (from_type, from_host) = _host(destination[1]), _host(source[1])
    addresses = isd_as(destination[0]) + isd_as(source[0]) + to_host + from_host
    words = (12 + len(addresses) + len(path)) // 4
    udp = struct.pack("!HHHH", SOURCE_PORT, port, 8 + len(payload), 0) + payload
    common = struct.pack("!IBBHBBH", 1, 17, words, len(udp), 77 if spoil == "type" else 1,
                         to_type << 4 | from_type, 0)
    whole = common + addresses + path + udp
    return whole[:40] if spoil == "length" else whole


def transit(key: bytes, ingress: int, egress: int, payload: bytes, spoil: str = "") -> bytes:
    """A UDP packet of other ASes that crosses this one from one interface to another."""
    return packet(key, ingress, egress, payload, spoil=spoil)


def deliver(key: bytes, ingress: int, destination: str, host: str, port: int, payload: bytes) -> bytes:
    """A UDP packet of another AS that ends at a host of this one (`destination`), having come by an interface.

    Only the address at [28:32] differs between hosts: hop fields do not cover it.
    """
    return packet(key, ingress, 0, payload, destination=(destination, host), port=port)


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
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        sock.bind((address, port))
        return sock

    return socket_in(namespace, make)


def pace(due: float, pause: float) -> float:
    """Sleeps until one pause after the last time that something was due, and returns when that is.

    Who is late does not make up for more than a little: a burst would overflow what takes the steady rate.
    """
    now = time.monotonic()
    due = max(due + pause, now - 20 * pause)
    time.sleep(max(0.0, due - now))
    return due


class Tally:
    """Numbered packets: when each was sent, and how often it arrived."""

    def __init__(self) -> None:
        self.sent = 0
        # By time.monotonic().
        self.at: list[float] = []
        self.received: dict[int, int] = {}
        # When the sender's own kernel refused to send, with which number.
        self._refused: tuple[float, int] = (0.0, 0)

    @classmethod
    def of(cls, parts: list[Tally]) -> Tally:
        """All packets of several."""
        whole = cls()
        for part in parts:
            whole.received |= {whole.sent + n: count for n, count in part.received.items()}
            whole.at += part.at
            whole.sent += part.sent
        return whole

    @property
    def lost(self) -> list[int]:
        return [n for n in range(self.sent) if n not in self.received]

    @property
    def doubled(self) -> int:
        return sum(count - 1 for count in self.received.values())

    def resumed(self, since: float) -> float:
        """Seconds from `since` until a packet was sent from which on none was lost or refused.

        0 if none was after `since`, infinite if the last ones were.
        """
        first = max((n + 1 for n in self.lost if self.at[n] >= since), default=0)
        if self._refused[0] >= since:
            first = max(first, self._refused[1])
        if first == 0:
            return 0.0
        return self.at[first] - since if first < self.sent else float("inf")

    def send(self, sock, packet: bytes, to: tuple[str, int], label: int = 0) -> None:
        """Sends a packet with its label and number in the last eight bytes.

        What the sender's own kernel refuses is not sent.
        """
        now = time.monotonic()
        try:
            sock.sendto(packet[:-8] + struct.pack("!Q", label << 48 | self.sent), to)
        except OSError:
            self._refused = (now, self.sent)
            return
        self.at.append(now)
        self.sent += 1

    def take(self, number: int) -> None:
        self.received[number] = self.received.get(number, 0) + 1


class Stream(Tally):
    """Numbered packets at a steady rate, and which of them arrive where."""

    def __init__(self, out: socket.socket, to: tuple[str, int], make, rate: float):
        super().__init__()
        self._out, self._to, self._make, self._pause = out, to, make, 1 / rate
        self._stop, self._over = threading.Event(), threading.Event()
        # Who loses packets on the way, if anybody counts.
        self.ledger: Ledger | None = None
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

    def close(self) -> None:
        """Closes its sockets, and those that it comes to."""
        for sock in (self._out, *self._inputs):
            sock.close()

    def until(self, count: int) -> Stream:
        """Waits until this many packets have been sent."""
        wait_until(f"{count} packets to be sent", lambda: self.sent >= count)
        return self

    def finish(self, patience: float = 30.0) -> Stream:
        """Stops sending, and waits until each packet has arrived, or the ledger says who has lost it, or nothing has arrived for
        `patience` seconds: what is missing then is lost. Waits a little longer, for what arrives twice."""
        self._stop.set()
        self._threads[0].join()
        arrived, last = -1, time.monotonic()
        while len(self.received) < self.sent and (quiet := time.monotonic() - last) < patience:
            if len(self.received) != arrived:
                arrived, last = len(self.received), time.monotonic()
            elif self.ledger and quiet > 0.5 and not self.ledger.close(self).router:
                break
            time.sleep(0.2 if quiet > 0.5 else 0.02)
        time.sleep(0.1)
        self._over.set()
        for thread in self._threads[1:]:
            thread.join()
        return self

    def _send(self) -> None:
        template = self._make(b"\0" * 8)
        due = time.monotonic()
        while not self._stop.is_set():
            self.send(self._out, template, self._to)
            due = pace(due, self._pause)

    def _take(self, inlet: socket.socket) -> None:
        while not self._over.is_set():
            try:
                self.take(struct.unpack("!Q", inlet.recv(9000)[-8:])[0])
            except TimeoutError:
                continue


@dataclass
class Flow(Tally):
    """Numbered packets of a `Mix`."""

    sock: object
    packet: bytes
    to: tuple[str, int]
    # None: until the mix is stopped.
    count: int | None = None

    def __post_init__(self) -> None:
        super().__init__()


class Mix:
    """Several flows at once, whose packets may arrive at the same sockets."""

    def __init__(self, flows: list[Flow], inlets: list[socket.socket], rate: float):
        """`rate`: packets of each flow in a second."""
        self.flows, self._inlets, self._pause = flows, inlets, 1 / rate
        self._stop, self._over = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._send, self._take)]

    def start(self) -> Mix:
        for inlet in self._inlets:
            inlet.setblocking(False)
        for thread in self._threads[::-1]:
            thread.start()
        return self

    def finish(self, patience: float = 1.0) -> Mix:
        """Waits for the end of flows with an end, stops the others, and waits for what is on its way."""
        if any(flow.count is None for flow in self.flows):
            self._stop.set()
        self._threads[0].join()
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and any(len(f.received) < f.sent for f in self.flows):
            time.sleep(0.02)
        # Time for what arrives twice.
        time.sleep(0.05)
        self._over.set()
        self._threads[1].join()
        return self

    def _send(self) -> None:
        due = time.monotonic()
        # A flow with an end has one, even if its own kernel sends nothing.
        limit = due + 5 + 3 * self._pause * max(f.count or 0 for f in self.flows)
        while not self._stop.is_set():
            active = [(n, f) for n, f in enumerate(self.flows)
                      if f.count is None or f.sent < f.count and due < limit]
            if not active:
                return
            for label, flow in active:
                flow.send(flow.sock, flow.packet, flow.to, label)
            due = pace(due, self._pause)

    def _take(self) -> None:
        poll = select.poll()
        by_descriptor = {inlet.fileno(): inlet for inlet in self._inlets}
        for descriptor in by_descriptor:
            poll.register(descriptor, select.POLLIN)
        while not self._over.is_set():
            for descriptor, _ in poll.poll(20):
                try:
                    while True:
                        tail = by_descriptor[descriptor].recv(9000)[-8:]
                        label, number = divmod(int.from_bytes(tail, "big"), 1 << 48)
                        if label < len(self.flows):
                            self.flows[label].take(number)
                except OSError:
                    # Nothing more, or an ICMP error about something that the socket has sent.
                    continue
