// A hostile tenant of isolation.py: the first byte behind the Ethernet header says what a packet does to the switch.

#include <core.p4>
#include <v1model.p4>

const bit<8> FORWARD       = 0;
const bit<8> LOOKUPS       = 1;  // many lookups in tables of many masks
const bit<8> CHECKSUM      = 2;  // checksums of the whole packet
const bit<8> RECIRCULATE   = 3;  // without end
const bit<8> RESUBMIT      = 4;  // without end
const bit<8> CLONE_INGRESS = 5;
const bit<8> CLONE_EGRESS  = 6;  // each clone is cloned again
const bit<8> MULTICAST     = 7;  // to many replicas
const bit<8> PUNT          = 8;
const bit<8> DIGEST        = 9;
const bit<8> STORM         = 10; // multicast whose replicas are recirculated

const bit<9> OUT = 2;
const bit<9> CPU = 510;
const bit<32> SESSION = 1;
const bit<16> GROUP = 1;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header guest_t {
    bit<8>  what;
    bit<8>  hops;
    bit<16> sum;
    bit<32> serial;
}

struct headers_t {
    ethernet_t ethernet;
    guest_t    guest;
}

struct metadata_t {}

struct news_t {
    bit<48> src;
    bit<32> serial;
}

parser GuestParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.ethernet);
        packet.extract(hdr.guest);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply {
        verify_checksum_with_payload(hdr.guest.what == CHECKSUM, { hdr.guest.serial }, hdr.guest.sum, HashAlgorithm.csum16);
    }
}

// The result of a lookup is the key of the next: none can be left out, nor done at the same time.
control Lookup(inout bit<32> key) {
    action next(bit<32> value) {
        key = key + value;
    }

    table masked {
        key = { key : ternary; }
        actions = { next; NoAction; }
        default_action = next(0x9e3779b9);
        size = 65536;
    }

    apply {
        masked.apply();
    }
}

control GuestIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    Lookup() first;
    Lookup() second;
    Lookup() third;
    Lookup() fourth;
    bit<32> key;

    // What controllers fill and empty.
    table churned {
        key = { hdr.ethernet.dst : exact; hdr.guest.serial : exact; }
        actions = { NoAction; }
        size = 1000000;
    }

    apply {
        if (!hdr.guest.isValid()) {
            mark_to_drop(standard);
            return;
        }
        standard.egress_spec = OUT;
        if (hdr.guest.what == LOOKUPS) {
            key = hdr.guest.serial;
            for (bit<8> round in 0 .. 7) {
                first.apply(key);
                second.apply(key);
                third.apply(key);
                fourth.apply(key);
            }
            hdr.guest.serial = key;
        } else if (hdr.guest.what == RESUBMIT) {
            resubmit_preserving_field_list(0);
        } else if (hdr.guest.what == CLONE_INGRESS) {
            clone(CloneType.I2E, SESSION);
        } else if (hdr.guest.what == MULTICAST || hdr.guest.what == STORM) {
            standard.mcast_grp = GROUP;
        } else if (hdr.guest.what == PUNT) {
            standard.egress_spec = CPU;
        } else if (hdr.guest.what == DIGEST) {
            digest<news_t>(1, { hdr.ethernet.src, hdr.guest.serial });
        }
        churned.apply();
    }
}

control GuestEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.guest.hops = hdr.guest.hops + 1;
        if (hdr.guest.what == RECIRCULATE || hdr.guest.what == STORM) {
            recirculate_preserving_field_list(0);
        } else if (hdr.guest.what == CLONE_EGRESS) {
            clone(CloneType.E2E, SESSION);
        }
    }
}

control Update(inout headers_t hdr, inout metadata_t meta) {
    apply {
        update_checksum_with_payload(hdr.guest.what == CHECKSUM, { hdr.guest.serial }, hdr.guest.sum, HashAlgorithm.csum16);
    }
}

control GuestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(GuestParser(), Verify(), GuestIngress(), GuestEgress(), Update(), GuestDeparser()) main;
