// The SCION border router for Tofino 2: the controls of ../scion in pipes.
//
//   1br.p4            layout 1br: border routers; an AES core beside the pipeline computes the MACs
//   1br_1aes.p4       layout 1br+1aes: a pipe of tables computes the MACs
//   1br_2aes.p4       layouts 1br+2aes and 2br+2aes: two pipes do
//
//   border_router.p4  the border router's pipe
//   authenticate.p4   the way to the AES pipes and back
//   bridge.p4         the header that packets carry on the way
//   aes.p4            the AES pipes
//   t_table.p4        their table
//
// Macros: AES_PIPES is the number of AES pipes. TOFINO is defined where ../scion depends on the target.
//
// Some of this no Tofino can do: headers of variable length, hop fields anywhere in the path, a division, and EPIC-HP, which
// encrypts with keys of the packets and needs the AES core in every layout.

#define TOFINO

#include <core.p4>
#include <t2na.p4>
#include <crypto.p4>

// What the controls know of a packet, by v1model's names.
struct standard_metadata_t {
    bit<9>  ingress_port;
    bit<9>  egress_spec;
    bit<32> packet_length;
    bit<48> ingress_global_timestamp;   // microseconds since 1970, modulo 2^48
    error   parser_error;
    bit<1>  checksum_error;
}

void mark_to_drop(inout standard_metadata_t std) {
    std.egress_spec = 511;
}

#define PACKET_COUNTER(size) Counter<bit<64>, bit<32>>(size, CounterType_t.PACKETS)
#define TRAFFIC_COUNTER(size) Counter<bit<64>, bit<32>>(size, CounterType_t.PACKETS_AND_BYTES)

#include "bridge.p4"
#include "../scion/reasons.p4"
#include "../scion/headers.p4"
#include "../scion/features.p4"
#include "../scion/parser.p4"
#include "../scion/checksum.p4"
#include "../scion/links.p4"
#include "../scion/bfd.p4"
#include "../scion/mac.p4"
#include "../scion/epic.p4"
#include "../scion/path.p4"
#include "../scion/one_hop.p4"
#include "../scion/delivery.p4"
#include "../scion/underlay.p4"
#include "../scion/counters.p4"
#include "authenticate.p4"
#include "../scion/ingress.p4"

struct pipe_metadata_t {
    metadata_t          meta;
    standard_metadata_t std;
}

parser PipeIngressParser(packet_in packet, out headers_t hdr, out pipe_metadata_t md,
                         out ingress_intrinsic_metadata_t ig_intr_md) {
    BorderRouterParser() frame_parser;

    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        md.std.ingress_port = ig_intr_md.ingress_port;
        // No device has this port.
        transition select(ig_intr_md.ingress_port[6:0]) {
            RECIRCULATION_PORT: bridge;
            default: frame;
        }
    }

    state bridge {
        packet.extract(hdr.bridge);
        md.std.ingress_port = (bit<9>) hdr.bridge.ingress_port;
        transition frame;
    }

    state frame {
        frame_parser.apply(packet, hdr, md.meta, md.std);
        transition accept;
    }
}

control PipeIngress(inout headers_t hdr, inout pipe_metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
                    in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                    inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                    inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    RouterIngress() process;

    // The clock has 48 bits of nanoseconds, three days. The agent says what time it was when the clock was at `nanoseconds`.
    action since(bit<48> nanoseconds, bit<48> microseconds) {
        md.std.ingress_global_timestamp = microseconds + (ig_intr_md.ingress_mac_tstamp - nanoseconds) / 1000;
    }

    table clock {
        actions = { since; }
        default_action = since(0, 0);
    }

    apply {
        if (ig_prsr_md.parser_err != PARSER_ERROR_OK) {
            md.std.parser_error = error.NoMatch;
        }
        clock.apply();
        process.apply(hdr, md.meta, md.std);
        ig_tm_md.ucast_egress_port = md.std.egress_spec;
        if (!hdr.bridge.isValid()) {
            ig_tm_md.bypass_egress = 1;
        }
    }
}

control PipeIngressDeparser(packet_out packet, inout headers_t hdr, in pipe_metadata_t md) {
    apply {
        packet.emit(hdr);
    }
}

// Packets between two passes of ingress. Only egress knows how long they are; a Tofino counts the frame check sequence, too.
@noWarn("target")
control PipeEgress(inout bridge_headers_t hdr, inout no_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md) {
    apply {
        hdr.bridge.length = eg_intr_md.pkt_length - BRIDGE_BYTES;
    }
}

Pipeline(PipeIngressParser(), PipeIngress(), PipeIngressDeparser(),
         BridgeEgressParser(), PipeEgress(), BridgeDeparser()) border_router;
