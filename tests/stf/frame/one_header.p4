// A switch that parses one header, lets the test work on it and sends the packet back where it came
// from. The program defines `header data_t` and
// `control Work(inout data_t d, inout standard_metadata_t std)` before it includes this.

struct headers_t {
    data_t data;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    Work() work;
    apply {
        std.egress_spec = std.ingress_port;
        work.apply(hdr.data, std);
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.data);
    }
}

#include "pipeline.p4"
