// parser_error and checksum_error are there in egress and to tables; a resubmitted packet meets the same error
// again.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
}

header next_t {
    bit<32> x;
}

struct headers_t {
    data_t data;
    next_t next;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.next);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(true, { hdr.data.a, 8w0 }, 16w0xfeff, HashAlgorithm.csum16);
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action set(bit<8> v) {
        hdr.data.r = v;
    }

    table errors {
        key = { std.parser_error : exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        const entries = {
            error.PacketTooShort : set(0x10);
            error.NoError : set(0x20);
        }
    }

    apply {
        std.egress_spec = 2;
        errors.apply();
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.parser_error == error.PacketTooShort) {
            hdr.data.r = hdr.data.r + 1;
        }
        if (std.checksum_error == 1) {
            hdr.data.r = hdr.data.r + 2;
        }
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), Verify(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
