#!/usr/bin/env python3
"""AS C's router of network.toml, misbehaving. It passes packets on without a key, as if it had checked them: it moves the path
on, but cannot write what a router writes at level 3.

With `skip` that is all, with `write` it also changes the payload. Otherwise it sends something of its own in front of each packet:

    reuse     another packet with the authenticators of this one: other payload and counter
    forge     the same with another authenticator of the next router
    old       the same, sent ten seconds ago
    repeat    the packet itself
"""

import select
import socket
import sys

ETHERTYPE = 0x88B5
# In a packet with IPv4 hosts.
HEADER_LENGTH, PATH_TYPE, META = 14 + 5, 14 + 8, 14 + 36
CURRENT_HOP, HOP_BYTES, CHAIN = 2, 12, 6
TIMESTAMP, COUNTER = META + 4, META + 8


def advance(frame):
    """The last hop of the first segment is AS C's, and the first of the second."""
    infos = META + 12 + (16 if frame[PATH_TYPE] & 3 >= 2 else 0)
    frame[META] = 1 << 6 | CURRENT_HOP + 2
    for info, hop in [(0, CURRENT_HOP), (1, CURRENT_HOP + 1)]:
        chain = infos + 16 + HOP_BYTES * hop + CHAIN
        for i in range(2):
            frame[infos + 8 * info + 2 + i] ^= frame[chain + i]


def changed(frame, how):
    """What is sent in front of a packet."""
    copy = bytearray(frame)
    if how == "repeat":
        return copy
    copy[COUNTER] ^= 1
    payload = 14 + 4 * copy[HEADER_LENGTH]
    copy[payload:] = copy[payload:].replace(b"dawn", b"dusk")
    if how == "forge":
        copy[META + 12 + 16 + HOP_BYTES * (CURRENT_HOP + 2) + HOP_BYTES - 1] ^= 1
    if how == "old":
        sent = int.from_bytes(copy[TIMESTAMP:TIMESTAMP + 4], "big")
        copy[TIMESTAMP:TIMESTAMP + 4] = (sent - 10).to_bytes(4, "big")
    return copy


def main():
    sockets = []
    for device in ["p1", "p2"]:
        one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        one.bind((device, ETHERTYPE))
        sockets.append(one)
    print("passing on", flush=True)
    while True:
        for ready in select.select(sockets, [], [])[0]:
            data, address = ready.recvfrom(9000)
            if address[2] == socket.PACKET_OUTGOING:
                continue
            frame = bytearray(data)
            advance(frame)
            if sys.argv[1] == "write":
                payload = 14 + 4 * frame[HEADER_LENGTH]
                frame[payload:] = frame[payload:].replace(b"dawn", b"dusk")
            other = sockets[1 - sockets.index(ready)]
            if sys.argv[1] not in ("skip", "write"):
                other.send(changed(frame, sys.argv[1]))
            other.send(frame)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
