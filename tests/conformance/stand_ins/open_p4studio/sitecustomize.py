"""What tests need that were written for the Python of their time and the SDE's packets: `random.sample` of a set, which Python 3.11 refuses, and
`load_bytes`, which reads a packet that begins as another one does."""

import random

_sample = random.sample


def sample(population, k, **rest):
    return _sample(sorted(population) if isinstance(population, (set, frozenset)) else population, k, **rest)


random.sample = sample


def with_load_bytes():
    from scapy.packet import Packet
    Packet.load_bytes = lambda packet, data: type(packet)(data)


with_load_bytes()
