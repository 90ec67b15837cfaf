// GRE tunnels over IPv4 with and without a key: packets go in by a table of tunnels, come out by another; nothing
// else changes.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header gre_t {
    bit<1>  checksum;
    bit<1>  reserved;
    bit<1>  has_key;
    bit<1>  sequence;
    bit<9>  flags;
    bit<3>  version;
    bit<16> protocol;
}

header gre_key_t {
    bit<32> key;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     outer;
    gre_t      gre;
    gre_key_t  gre_key;
    ipv4_t     ipv4;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: outer;
            default: accept;
        }
    }

    state outer {
        packet.extract(hdr.outer);
        transition select(hdr.outer.protocol) {
            47: gre;
            default: accept;
        }
    }

    state gre {
        packet.extract(hdr.gre);
        transition select(hdr.gre.checksum, hdr.gre.has_key, hdr.gre.sequence, hdr.gre.version, hdr.gre.protocol) {
            (0, 0, 0, 0, 0x0800): inner;
            (0, 1, 0, 0, 0x0800): gre_key;
            default: reject;
        }
    }

    state gre_key {
        packet.extract(hdr.gre_key);
        transition inner;
    }

    state inner {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action drop() {
        mark_to_drop(std);
    }
    action decapsulate(bit<9> port) {
        hdr.outer.setInvalid();
        hdr.gre.setInvalid();
        hdr.gre_key.setInvalid();
        std.egress_spec = port;
    }
    action encapsulate(bit<32> src, bit<32> dst, bit<1> with_key, bit<32> key, bit<9> port) {
        hdr.ipv4 = hdr.outer;
        hdr.outer.length = hdr.ipv4.length + 24;
        hdr.outer.protocol = 47;
        hdr.outer.ttl = 64;
        hdr.outer.src = src;
        hdr.outer.dst = dst;
        hdr.gre.setValid();
        hdr.gre.has_key = with_key;
        hdr.gre.protocol = 0x0800;
        if (with_key == 1) {
            hdr.gre_key = { key };
            hdr.outer.length = hdr.outer.length + 4;
        }
        std.egress_spec = port;
    }
    table out_of_tunnels {
        key = {
            hdr.outer.src         : exact;
            hdr.gre_key.isValid() : exact @name("keyed");
            hdr.gre_key.key       : ternary @name("key");
        }
        actions = { decapsulate; drop; }
        default_action = drop();
    }
    table into_tunnels {
        key = { hdr.outer.dst : lpm; }
        actions = { encapsulate; drop; }
        default_action = drop();
    }

    apply {
        if (hdr.ipv4.isValid()) {
            out_of_tunnels.apply();
        } else if (hdr.outer.isValid() && !hdr.gre.isValid()) {
            into_tunnels.apply();
        } else {
            drop();
        }
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.outer.isValid(), { hdr.outer.version, hdr.outer.ihl, hdr.outer.dscp, hdr.outer.ecn, hdr.outer.length,
            hdr.outer.id, hdr.outer.fragment, hdr.outer.ttl, hdr.outer.protocol, hdr.outer.src, hdr.outer.dst },
            hdr.outer.checksum, HashAlgorithm.csum16);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), Update(), TestDeparser()) main;
