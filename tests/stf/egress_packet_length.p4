// `packet_length` in egress, as in simple_switch: the length that came in, with what `setValid`, `setInvalid` and assignments of lists have
// changed in parser and ingress. Headers that become valid or invalid in other ways do not count. A clone of egress has what egress changed.
#include <core.p4>
#include <v1model.p4>

header question_t { bit<8> what; bit<32> length; }
header three_t { bit<24> bytes; }
header six_t { bit<48> bytes; }
struct headers_t { question_t question; three_t three; six_t six; six_t parsed; six_t late; three_t[2] stack; }
struct meta_t { }

parser Parse(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.question);
        packet.extract(hdr.three);
        transition select(hdr.question.what) { 5: adds; default: accept; }
    }
    state adds {
        hdr.parsed.setValid();
        hdr.parsed.bytes = 0x555555555555;
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) { apply { } }

control Arrive(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    action add() { hdr.six.setValid(); hdr.six.bytes = 0x666666666666; }
    action remove() { hdr.three.setInvalid(); }
    action both() { add(); remove(); }
    // What is so already changes nothing.
    action twice() { add(); hdr.six.setValid(); hdr.three.setValid(); hdr.late.setInvalid(); }
    action list() { hdr.six = { 0x666666666666 }; hdr.three = { 0x343434 }; }
    action copy() { hdr.late = hdr.six; hdr.parsed.setValid(); hdr.parsed.bytes = 0; hdr.six = hdr.parsed; hdr.three = (three_t){#}; }
    action push() { hdr.stack[0].setValid(); hdr.stack[0].bytes = 0x111111; hdr.stack.push_front(1); }
    table changes {
        key = { hdr.question.what : exact; }
        actions = { add; remove; both; twice; list; copy; push; NoAction; }
        default_action = NoAction;
        const entries = { 1 : add(); 2 : remove(); 3 : both(); 4 : twice(); 6 : list(); 7 : copy(); 8 : push(); }
    }
    apply {
        changes.apply();
        standard.egress_spec = 1;
    }
}

control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {
        hdr.question.length = standard.packet_length;
        hdr.late.setValid();
        hdr.late.bytes = 0x777777777777;
        if (standard.instance_type == 0) {
            if (hdr.question.what >= 9) { clone(CloneType.E2E, 5); }
            if (hdr.question.what == 9) { hdr.three.setInvalid(); exit; }
        }
    }
}

control Compute(inout headers_t hdr, inout meta_t meta) { apply { } }

control Deparse(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }

V1Switch(Parse(), Verify(), Arrive(), Leave(), Compute(), Deparse()) main;
