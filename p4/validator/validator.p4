// A validator of SCION hop fields for switches that have no cipher.
//
// A switch puts a bridge header in front of a packet, with a request for each hop that it has to check: the message that the
// hop's MAC is of, as the switch takes it from the packet (https://docs.scion.org/en/latest/protocols/scion-header.html), and the
// MAC itself. The validator computes the MACs (AES-CMAC, RFC 4493), writes into the bridge header which were right, and sends the
// packet back by the port it came by. Everything behind the bridge header passes unchanged.
//
//   0                   1
//   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5
//  +-------------------------------+
//  |      Ethernet (14 bytes)      |   EtherType 0x88b5
//  +---------------+---------------+
//  |   requests    |     right     |   right: bit 7 for the first request, bit 6 for the second; written here
//  +---------------+---------------+
//  |  key          |   for each request: slot of the key, message (16 bytes), MAC (6 bytes)
//  |  message, MAC |
//  +---------------+---- - - -
//
// A packet of a SCION router needs one request, or two at a segment change. A slot without a key verifies nothing. While one key
// replaces another, the switch asks with the new slot and, if that is not right, with the old one.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

const bit<16> ETHERTYPE_BRIDGE = 0x88b5;  // for experiments (IEEE Std 802)
const bit<32> KEYS = 4;

error { BridgeRequests }

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header bridge_t {
    bit<8> requests;
    bit<8> right;
}

header request_t {
    bit<8>   key;
    bit<128> message;
    bit<48>  mac;
}

struct headers_t {
    ethernet_t ethernet;
    bridge_t   bridge;
    request_t  first;
    request_t  second;
}

struct metadata_t {}

parser ValidatorParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_BRIDGE: bridge;
            default: accept;
        }
    }

    state bridge {
        packet.extract(hdr.bridge);
        packet.extract(hdr.first);
        transition select(hdr.bridge.requests) {
            1: accept;
            2: second;
            default: too_many;
        }
    }

    state second {
        packet.extract(hdr.second);
        transition accept;
    }

    state too_many {
        verify(false, error.BridgeRequests);
        transition accept;
    }
}

control NoVerification(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control Validate(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    // Two ciphers, so that a packet's requests are computed at the same time.
    AesCmac(KEYS) first_key;
    AesCmac(KEYS) second_key;
    bit<128> tag = 0;
    bit<128> second_tag = 0;
    bit<48> sender = 0;

    // Packets without a request, packets whose requests were right, and packets with a wrong one.
    counter(3, CounterType.packets) results;

    apply {
        if (!hdr.bridge.isValid() || std.parser_error != error.NoError) {
            mark_to_drop(std);
            results.count(0);
            return;
        }
        first_key.mac((bit<32>) hdr.first.key, hdr.first.message, tag);
        hdr.bridge.right = tag[127:80] == hdr.first.mac ? 8w0x80 : 0;
        if (hdr.second.isValid()) {
            second_key.mac((bit<32>) hdr.second.key, hdr.second.message, second_tag);
            if (second_tag[127:80] == hdr.second.mac) {
                hdr.bridge.right = hdr.bridge.right | 0x40;
            }
        }
        if (hdr.bridge.right == (hdr.second.isValid() ? 8w0xc0 : 8w0x80)) {
            results.count(1);
        } else {
            results.count(2);
        }
        sender = hdr.ethernet.src;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = sender;
        std.egress_spec = std.ingress_port;
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    apply { }
}

control NoUpdate(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control ValidatorDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(ValidatorParser(), NoVerification(), Validate(), NoEgress(), NoUpdate(), ValidatorDeparser()) main;
