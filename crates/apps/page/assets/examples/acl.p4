// Permits UDP packets by an access list, with a counter for each entry.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ether_type;
}

header ipv4_t {
    bit<32> first_word;
    bit<32> second_word;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

header udp_t {
    bit<16> src_port;
    bit<16> dst_port;
    bit<16> len;
    bit<16> checksum;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    udp_t      udp;
}

struct metadata_t {}

parser AclParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.protocol) {
            17: udp;
            default: accept;
        }
    }

    state udp {
        packet.extract(hdr.udp);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control AclIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    direct_counter(CounterType.packets_and_bytes) matched;

    action permit(bit<9> port) {
        matched.count();
        standard_metadata.egress_spec = port;
    }

    action deny() {
        matched.count();
        mark_to_drop(standard_metadata);
    }

    // Reserved ports are never permitted from anywhere.
    @entry_restriction("hdr.udp.dst_port::low < 1024 -> hdr.ipv4.src::mask != 0")
    table acl {
        key = {
            hdr.ipv4.src: ternary;
            hdr.udp.dst_port: range;
        }
        actions = { permit; deny; }
        default_action = deny();
        counters = matched;
        size = 256;
    }

    apply {
        if (hdr.udp.isValid()) {
            acl.apply();
        } else {
            mark_to_drop(standard_metadata);
        }
    }
}

control NoEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {}
}

control AclDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(AclParser(), NoChecksums(), AclIngress(), NoEgress(), NoChecksums(), AclDeparser()) main;
