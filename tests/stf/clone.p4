// clone in ingress copies the packet as received, in egress as it leaves there; sessions without a port copy nothing.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> ingress_was_here;
    bit<8> egress_was_here;
    bit<8> instance_type;
    bit<8> kept;
}

struct headers_t {
    data_t data;
}

struct meta_t {
    @field_list(1)
    bit<8> kept;
    bit<8> lost;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.ingress_was_here = 1;
        meta.kept = 0x70;
        meta.lost = 0x07;
        switch (hdr.data.what) {
            1: { clone(CloneType.I2E, 5); }
            2: { clone_preserving_field_list(CloneType.I2E, 5, 1); }
            3: { clone(CloneType.I2E, 6); }
            4: { clone(CloneType.I2E, 5); mark_to_drop(std); }
            5: { clone(CloneType.I2E, 6); clone(CloneType.I2E, 5); }
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 0) {
            if (hdr.data.what == 6) {
                clone(CloneType.E2E, 5);
            } else if (hdr.data.what == 7) {
                clone_preserving_field_list(CloneType.E2E, 5, 1);
                mark_to_drop(std);
            }
        }
        hdr.data.egress_was_here = hdr.data.egress_was_here + 1;
        hdr.data.instance_type = (bit<8>)std.instance_type;
        hdr.data.kept = meta.kept + meta.lost;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
