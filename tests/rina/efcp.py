"""EFCP for Scapy: the syntax with a header checksum, and IRATI's, whose PDUs may be protected by a TTL and a CRC."""

from scapy.fields import (
    ByteField, LEIntField, LEShortField, IntField, ShortField, XByteField, XShortField,
)
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, bind_layers
from scapy.utils import checksum

RINA = 0xD1F0
MANAGEMENT, DATA = 0x40, 0x80
TYPES = (0x40, 0x80, 0xC0, 0xC1, 0xC2, 0xC4, 0xC5, 0xC6, 0xC9, 0xCA, 0xCD, 0xCE, 0xCF)
CONGESTION = 0x01


class Efcp(Packet):
    """PDU in network byte order, with a checksum of its header."""

    name = "EFCP"
    fields_desc = [
        ByteField("version", 1), ShortField("dst", 0), ShortField("src", 0), ByteField("qos_id", 1),
        ShortField("dst_cep", 0), ShortField("src_cep", 0), XByteField("type", DATA), XByteField("flags", 0),
        ShortField("length", None), IntField("sequence", 0), XShortField("checksum", None),
    ]

    def post_build(self, header, payload):
        if self.length is None:
            header = header[:12] + (len(header) + len(payload)).to_bytes(2, "big") + header[14:]
        if self.checksum is None:
            header = header[:18] + checksum(header[:18] + bytes(2)).to_bytes(2, "big")
        return header + payload


class Irati(Packet):
    """PDU in IRATI's syntax, on a little-endian machine."""

    name = "IRATI EFCP"
    fields_desc = [
        ByteField("version", 1), LEShortField("dst", 0), LEShortField("src", 0), LEShortField("qos_id", 1),
        LEShortField("dst_cep", 0), LEShortField("src_cep", 0), XByteField("type", DATA), XByteField("flags", 0),
        LEShortField("length", None), LEIntField("sequence", 0),
    ]

    def post_build(self, header, payload):
        if self.length is None:
            header = header[:13] + (len(header) + len(payload)).to_bytes(2, "little") + header[15:]
        return header + payload


class Protected(Packet):
    """IRATI's SDU protection of the PDU that follows: a TTL, and a CRC behind it."""

    name = "SDU protection"
    fields_desc = [ByteField("ttl", 64)]

    def post_build(self, header, payload):
        pdu = header + payload
        return pdu + crc32_le(pdu).to_bytes(4, "little")


def crc32_le(data):
    """Linux's crc32_le with the start value 0."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xEDB88320 if crc & 1 else 0)
    return crc


bind_layers(Ether, Efcp, type=RINA)
bind_layers(Dot1Q, Efcp, type=RINA)
bind_layers(Protected, Irati)
