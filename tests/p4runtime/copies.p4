// What a controller may ask of the traffic manager: multicast groups, clone sessions, digests, value sets, idle timeouts.
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<1> known;
}

// A station that was heard.
struct station_t {
    bit<48> address;
    bit<9> port;
}

parser MyParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    value_set<bit<16>>(4) known_types;

    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            known_types: known;
            default: accept;
        }
    }
    state known {
        meta.known = 1;
        transition accept;
    }
}

control MyVerify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action flood(bit<16> group) {
        standard.mcast_grp = group;
    }

    action forward(bit<9> port) {
        standard.egress_spec = port;
    }

    action mirror(bit<9> port, bit<32> session) {
        standard.egress_spec = port;
        clone(CloneType.I2E, session);
    }

    action drop() {
        mark_to_drop(standard);
    }

    action learned() { }

    table stations {
        key = { hdr.ethernet.src: exact; }
        actions = { learned; }
        support_timeout = true;
    }

    table where {
        key = { hdr.ethernet.dst: exact; }
        actions = { flood; forward; mirror; drop; }
        default_action = drop();
    }

    apply {
        if (!stations.apply().hit) {
            digest<station_t>(1, { hdr.ethernet.src, standard.ingress_port });
        }
        if (meta.known == 1) {
            where.apply();
        } else {
            drop();
        }
    }
}

control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

control MyCompute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}

control MyDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
    }
}

V1Switch(MyParser(), MyVerify(), MyIngress(), MyEgress(), MyCompute(), MyDeparser()) main;
