#!/usr/bin/env python3
"""Writes the packet tests of the programs here, `tests/stf/mac_*.stf`: tags that others' implementations compute, of PyPI's packages `ascon`,
`chaskey` and `siphash-cffi`, and for Chaskey of 8 and 12 rounds the one that its authors published. With `--check` writes nothing and fails if a file differs.
"""

import struct
import sys
from pathlib import Path

import ascon
import siphash
from chaskey.chaskey import Chaskey

FOLDER = Path(__file__).resolve().parents[2] / "tests/stf"
KEYS = [bytes(range(16)), bytes.fromhex("33343d839f389f004fe6982339cf7a41")]
# Tags of the bytes from 0 to 15 with the second key, as published, by rounds.
PUBLISHED = {8: (0x79271ca9, 0xd66a1c71, 0x81ca474e, 0x49831cad), 12: (0x5dd0e2a9, 0xfb5eac8c, 0x633a392e, 0x500c36f3)}
BLOCKS = [bytes(range(16)), bytes(16), bytes.fromhex("00002b675f3a11003f00070000000000")[:16], b"\xff" * 16]


def words(data):
    return struct.unpack("<4I", data)


def chaskey_keys(key):
    """The sum of both keys, and the second one: the first doubled."""
    k = words(key)
    doubled = [(k[i] << 1 | k[i - 1] >> 31) & 0xffffffff for i in range(4)]
    doubled[0] = (k[0] << 1 & 0xffffffff) ^ (0x87 if k[3] >> 31 else 0)
    end = struct.pack("<4I", *doubled)
    return bytes(a ^ b for a, b in zip(key, end)), end


def chaskey_settings(key, in_egress=True):
    both, end = chaskey_keys(key)
    in_egress = [f"setdefault end_key set_end(doubled:0x{end.hex()})"] if in_egress else []
    return [f"setdefault key set_key(sum:0x{both.hex()}, doubled:0x{end.hex()})", *in_egress]


def chaskey(key, block):
    """Of 16 rounds: a whole block is enciphered with the second key, behind the first one's sum."""
    _, end = chaskey_keys(key)
    return chaskey_settings(key), Chaskey("ctr", end, bytes(16))._chaskey_block(True, bytes(a ^ b for a, b in zip(block, key)))


def half_siphash(key, block):
    k0, k1 = struct.unpack("<2I", key[:8])
    state = (k0, k1, 0x6c796765 ^ k0, 0x74656462 ^ k1)
    tag = siphash.half_siphash_32(key[:8], block)
    set_key = ", ".join(f"v{i}:{value:#x}" for i, value in enumerate(state))
    return [f"setdefault key set_key({set_key})"], as_bytes(tag, 4) + bytes(12)


def as_bytes(tag, length):
    return tag if isinstance(tag, bytes) else tag.to_bytes(length, "little")


def ascon_mac(key, block):
    from ascon import _ascon
    state = _ascon.bytes_to_state(bytes([128, 128, 12 + 128, 0]) + (128).to_bytes(4, "big") + key + bytes(16))
    _ascon.ascon_permutation(state, 12)
    state[2] ^= 1 << 63
    state[4] ^= 1
    set_key = ", ".join(f"x{i}:{value:#x}" for i, value in enumerate(state))
    return [f"setdefault key set_key({set_key})"], ascon.mac(key, block)


def stf(mac):
    lines = ["# Written by p4/mac/vectors.py."]
    for key in KEYS:
        settings = mac(key, BLOCKS[0])[0]
        lines += ["", *settings]
        for block in BLOCKS:
            tag = mac(key, block)[1]
            lines += [f"packet 1 {block.hex()}{bytes(16).hex()}", f"expect 2 {block.hex()}{tag.hex()} $"]
    return "\n".join(lines) + "\n"


def published(rounds):
    block = bytes(range(16)).hex()
    tag = struct.pack("<4I", *PUBLISHED[rounds]).hex()
    lines = ["# Written by p4/mac/vectors.py.", "", *chaskey_settings(KEYS[1], rounds % 8 == 0)]
    return "\n".join([*lines, f"packet 1 {block}{bytes(16).hex()}", f"expect 2 {block}{tag} $"]) + "\n"


def main():
    texts = {"chaskey16": stf(chaskey), "halfsiphash": stf(half_siphash), "ascon": stf(ascon_mac)}
    texts |= {f"chaskey{rounds}": published(rounds) for rounds in PUBLISHED}
    for name, text in texts.items():
        file = FOLDER / f"mac_{name}.stf"
        if "--check" not in sys.argv:
            file.write_text(text)
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"{file.name} is not what {Path(__file__).name} writes")


if __name__ == "__main__":
    main()
