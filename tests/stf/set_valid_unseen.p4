// `setValid` of a header that was made invalid zeroes its fields (P4-16 8.17 leaves them open), also if nobody asks whether that header is
// valid and none of its bytes is sent.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> kind;
    bit<8> a;
    bit<8> b;
}

header note_t {
    bit<8> x;
}

bit<8> begin(out note_t note) {
    note.setValid();
    return 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    note_t note;
    apply {
        note = { d.a };
        if (d.kind == 1) {
            note.setInvalid();
            note.setValid();
        } else if (d.kind == 2) {
            begin(note);
        } else if (d.kind == 3) {
            note.setValid();
        }
        d.b = note.x;
    }
}

#include "frame/one_header.p4"
