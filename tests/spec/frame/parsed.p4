// A switch that shows how its parser ended: packets leave by port 1 if there was no error, and by another port for each error. The
// program defines `headers_t`, `meta_t` and `TestParser` before it includes this.

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        switch (std.parser_error) {
            error.NoError: { std.egress_spec = 1; }
            error.PacketTooShort: { std.egress_spec = 2; }
            error.StackOutOfBounds: { std.egress_spec = 3; }
            error.HeaderTooShort: { std.egress_spec = 4; }
            error.NoMatch: { std.egress_spec = 5; }
            error.ParserInvalidArgument: { std.egress_spec = 6; }
            default: { std.egress_spec = 7; }
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../../stf/frame/pipeline.p4"
