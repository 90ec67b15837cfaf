// Field lists that keep headers of the metadata, whole, in structs and in stacks: their validity is kept with their fields, and
// a varbit with its length. A list of one field keeps that alone.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> what;
    bit<8> round;
    bit<8> seen;
    bit<8> x;
    bit<16> y;
}

header note_t {
    bit<8> x;
    bit<16> y;
}

header long_t {
    bit<8> size;
    varbit<32> rest;
}

struct inner_t {
    note_t note;
    bit<8> plain;
}

struct headers_t {
    data_t data;
    long_t long;
}

struct meta_t {
    @field_list(1)
    note_t note;
    @field_list(2)
    inner_t inner;
    @field_list(3)
    note_t[2] notes;
    @field_list(4)
    long_t long;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.long, 16);
        transition accept;
    }
}

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

// What there is of the notes, one bit each, and what they say together.
control Look(inout headers_t hdr, in meta_t meta) {
    apply {
        hdr.data.seen = (bit<8>)((bit<1>) meta.note.isValid() ++ (bit<1>) meta.inner.note.isValid() ++ (bit<1>) meta.notes[0].isValid() ++
            (bit<1>) meta.notes[1].isValid() ++ (bit<1>) meta.long.isValid());
        hdr.data.x = 0;
        hdr.data.y = 0;
        if (meta.note.isValid()) { hdr.data.x = meta.note.x; hdr.data.y = meta.note.y; }
        if (meta.inner.note.isValid()) { hdr.data.x = meta.inner.note.x; hdr.data.y = meta.inner.note.y; }
        if (meta.notes[1].isValid()) { hdr.data.x = meta.notes[1].x; hdr.data.y = meta.notes[1].y; }
        if (meta.long.isValid()) { hdr.long = meta.long; }
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Look() look;
    apply {
        std.egress_spec = 2;
        if (std.instance_type == 0) {
            meta.note = { 1, 0x1111 };
            meta.inner.note = { 2, 0x2222 };
            meta.notes[1] = { 3, 0x3333 };
            meta.long = hdr.long;
            meta.long.size = 9;
            if (hdr.data.what & 0xf0 == 0) {
                if (hdr.data.what == 1) { resubmit_preserving_field_list(1); }
                if (hdr.data.what == 2) { resubmit_preserving_field_list(2); }
                if (hdr.data.what == 3) { resubmit_preserving_field_list(3); }
                if (hdr.data.what == 4) { resubmit_preserving_field_list(4); }
                if (hdr.data.what == 5) { resubmit_preserving_field_list(5); }
            } else if (hdr.data.what & 0xf0 == 0x10) {
                if (hdr.data.what == 0x11) { clone_preserving_field_list(CloneType.I2E, 7, 1); }
                if (hdr.data.what == 0x12) { clone_preserving_field_list(CloneType.I2E, 7, 2); }
                if (hdr.data.what == 0x13) { clone_preserving_field_list(CloneType.I2E, 7, 3); }
                if (hdr.data.what == 0x14) { clone_preserving_field_list(CloneType.I2E, 7, 4); }
                meta.note.y = 0x7777;
                if (hdr.data.what == 0x12) { exit; }
                meta.inner.note.setInvalid();
            }
        } else {
            look.apply(hdr, meta);
        }
    }
}

control TestEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Look() look;
    apply {
        if (std.instance_type == 1 || hdr.data.what & 0xf0 == 0x10) {
            look.apply(hdr, meta);
        }
        if (std.instance_type == 0 && hdr.data.what == 0x21) { recirculate_preserving_field_list(1); }
        if (std.instance_type == 0 && hdr.data.what == 0x22) { recirculate_preserving_field_list(3); meta.notes[1].x = 8; }
        hdr.data.round = (bit<8>) std.instance_type;
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), TestEgress(), NoChecksums(), TestDeparser()) main;
