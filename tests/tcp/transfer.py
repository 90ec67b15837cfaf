#!/usr/bin/env python3
"""One end of a transfer between two hosts; `tcp_test.py` starts both.

`receive ADDRESS PORT` prints "ready", takes one TCP connection and prints the bytes and the SHA-256 of what arrived.
`send ADDRESS PORT BYTES` connects, sends and prints the SHA-256 and the seconds until the other end has everything.
`answer ADDRESS PORT` prints "ready" and answers each burst of datagrams with its SHA-256 when it is complete.
`bursts ADDRESS PORT COUNT` sends bursts, each as one message that the kernel segments (UDP_SEGMENT), until it is answered.
"""

import hashlib
import os
import socket
import struct
import sys
import time

UDP_SEGMENT = 103
# Bytes of a datagram with its burst's number and its place in it, and datagrams of a burst.
SIZE, DATAGRAMS = 1200, 40
PATIENCE = 120.0


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def receive(address, port):
    with socket.create_server((address, int(port)), family=family(address)) as server:
        print("ready", flush=True)
        connection, _ = server.accept()
    digest, count, buffer = hashlib.sha256(), 0, bytearray(1 << 20)
    with connection:
        while length := connection.recv_into(buffer):
            digest.update(memoryview(buffer)[:length])
            count += length
        connection.sendall(b"!")
    print(count, digest.hexdigest(), flush=True)


def send(address, port, count):
    # Every part of the stream is another, so that order matters.
    count, block = int(count), memoryview(os.urandom((1 << 20) + 251) * 2)
    digest, sent = hashlib.sha256(), 0
    with socket.create_connection((address, int(port)), timeout=PATIENCE) as connection:
        begin = time.monotonic()
        while sent < count:
            at = sent % ((1 << 20) + 251)
            part = block[at:at + min(1 << 20, count - sent)]
            connection.sendall(part)
            digest.update(part)
            sent += len(part)
        connection.shutdown(socket.SHUT_WR)
        if connection.recv(1) != b"!":
            sys.exit("the other end did not get everything")
        seconds = time.monotonic() - begin
    print(digest.hexdigest(), seconds, flush=True)


def answer(address, port):
    with socket.socket(family(address), socket.SOCK_DGRAM) as peer:
        peer.bind((address, int(port)))
        print("ready", flush=True)
        bursts = {}
        while True:
            datagram, sender = peer.recvfrom(65536)
            burst, place = struct.unpack_from("!II", datagram)
            parts = bursts.setdefault(burst, {})
            parts[place] = datagram
            if len(parts) == DATAGRAMS:
                whole = b"".join(parts[place] for place in range(DATAGRAMS))
                peer.sendto(struct.pack("!I", burst) + hashlib.sha256(whole).digest(), sender)


def bursts(address, port, count):
    resent = 0
    with socket.socket(family(address), socket.SOCK_DGRAM) as peer:
        peer.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
        peer.connect((address, int(port)))
        for burst in range(int(count)):
            datagrams = [struct.pack("!II", burst, place) + os.urandom(SIZE - 8) for place in range(DATAGRAMS)]
            # The last one is shorter.
            datagrams[-1] = datagrams[-1][:700]
            whole = b"".join(datagrams)
            wanted = struct.pack("!I", burst) + hashlib.sha256(whole).digest()
            deadline, answered = time.monotonic() + PATIENCE, b""
            while answered != wanted:
                if time.monotonic() > deadline:
                    sys.exit(f"burst {burst} was not answered, or with another digest")
                peer.send(whole)
                peer.settimeout(3.0)
                try:
                    answered = peer.recv(100)
                except (TimeoutError, ConnectionError):
                    resent += 1
    print(resent, flush=True)


if __name__ == "__main__":
    {"receive": receive, "send": send, "answer": answer, "bursts": bursts}[sys.argv[1]](*sys.argv[2:])
