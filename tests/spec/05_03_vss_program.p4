// Section 5.3: the program of the Very Simple Switch, on v1model: verified and updated IPv4 checksum, a route, the end of a TTL,
// and the MAC addresses of the next hop and of the switch. Port 15 drops, port 14 is the CPU.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> kind;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<8>  diffserv;
    bit<16> length;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ip;
}

struct meta_t { }

error {
    OptionsNotSupported,
    IncorrectVersion
}

const bit<9> CPU = 14;
const bit<9> DROP = 15;

parser TopParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            0x0800: ipv4;
            default: reject;
        }
    }

    state ipv4 {
        packet.extract(hdr.ip);
        verify(hdr.ip.version == 4w4, error.IncorrectVersion);
        verify(hdr.ip.ihl == 4w5, error.OptionsNotSupported);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ip.isValid(), hdr.ip, 16w0, HashAlgorithm.csum16);
    }
}

control TopPipe(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    bit<32> hop;

    action drop() {
        std.egress_spec = DROP;
    }

    action set_hop(bit<32> to, bit<9> port) {
        hop = to;
        hdr.ip.ttl = hdr.ip.ttl - 1;
        std.egress_spec = port;
    }

    table route {
        key = { hdr.ip.dst: lpm; }
        actions = { drop; set_hop; }
        size = 1024;
        default_action = drop;
    }

    action to_cpu() {
        std.egress_spec = CPU;
    }

    table check_ttl {
        key = { hdr.ip.ttl: exact; }
        actions = { to_cpu; NoAction; }
        const default_action = NoAction;
    }

    action set_dst(bit<48> mac) {
        hdr.ethernet.dst = mac;
    }

    table dst {
        key = { hop: exact; }
        actions = { drop; set_dst; }
        size = 1024;
        default_action = drop;
    }

    action set_src(bit<48> mac) {
        hdr.ethernet.src = mac;
    }

    table src {
        key = { std.egress_spec: exact; }
        actions = { drop; set_src; }
        size = 16;
        default_action = drop;
    }

    apply {
        if (std.parser_error != error.NoError || std.checksum_error == 1 || !hdr.ip.isValid()) {
            drop();
            return;
        }
        route.apply();
        if (std.egress_spec == DROP) return;
        check_ttl.apply();
        if (std.egress_spec == CPU) return;
        dst.apply();
        if (std.egress_spec == DROP) return;
        src.apply();
    }
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply { }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ip.isValid(),
            { hdr.ip.version, hdr.ip.ihl, hdr.ip.diffserv, hdr.ip.length, hdr.ip.identification, hdr.ip.flags, hdr.ip.fragment,
              hdr.ip.ttl, hdr.ip.protocol, hdr.ip.src, hdr.ip.dst },
            hdr.ip.checksum, HashAlgorithm.csum16);
    }
}

control TopDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ip);
    }
}

V1Switch(TopParser(), Verify(), TopPipe(), NoEgress(), Update(), TopDeparser()) main;
