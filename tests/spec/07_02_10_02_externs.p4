// Section 7.2.10: an extern object and an extern function are declared.
// Section 7.2.10.1: the function's name and parameters stand without a body.
// Section 7.2.10.2: objects of the core library: `emit` of one header, of a struct, of nothing valid; overloads by number and by
// name.

#include <core.p4>
#include <v1model.p4>

extern void measure(in bit<8> x, out bit<8> y);

extern Meter {
    Meter(bit<32> size);
    void set(in bit<32> index);
    void set(in bit<32> index, in bit<8> color);
    bit<8> get(in bit<32> index);
}

header data_t {
    bit<8> op;
}

header extra_t {
    bit<8> x;
}

struct headers_t {
    data_t  data;
    extra_t first;
    extra_t second;
}

struct meta_t { }

bit<8> twice(in bit<8> x) {
    return x + x;
}

bit<8> twice(in bit<8> x, in bit<8> more) {
    return x + x + more;
}

bit<8> twice(in bit<8> y, in bit<8> less, in bit<8> again) {
    return y + y - less - again;
}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = std.ingress_port;
        switch (hdr.data.op) {
            1: { hdr.first = { twice(0x10) }; }
            2: { hdr.second = { twice(0x10, 1) }; }
            3: {
                hdr.first = { twice(y = 0x20, less = 1, again = 2) };
                hdr.second = { twice(more = 3, x = 0x20) };
            }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.second);
        packet.emit(hdr.data);
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"
