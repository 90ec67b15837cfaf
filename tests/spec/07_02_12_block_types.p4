// Section 7.2.12.1: a parser type with a type of headers, which a parser of that form fits.
// Section 7.2.12.2: a control type, which a control of that form fits.
// Section 7.2.13: a package type, whose parameters are blocks of these types. `V1Switch` is the one that runs.
// Section 17.1: a switch of two pipelines, each a package, with a type for what goes from one to the other, and `_` for types
// that do not matter.
// Section 17.3: an architecture with a parser and a control that says whether a packet is accepted.

#include <core.p4>
#include <v1model.p4>

struct counters_t {
    bit<8> short;
}

parser Reads<H>(packet_in packet, out H headers, out counters_t counters);
control Works<H>(inout H headers, in counters_t counters);
package Pair<H>(Reads<H> reads, Works<H> works);

parser ChipParser<IH>(packet_in packet, out IH headers);
control ChipIPipe<T, IH, OH>(in IH from, in counters_t c, out OH to, out T along);
control ChipEPipe<T, IH, OH>(in IH from, in counters_t c, in T along, out OH to);
control ChipDeparser<OH>(in OH headers, packet_out packet);
package ChipIngress<T, IH, OH>(ChipParser<IH> p, ChipIPipe<T, IH, OH> map, ChipDeparser<OH> d);
package ChipEgress<T, IH, OH>(ChipParser<IH> p, ChipEPipe<T, IH, OH> map, ChipDeparser<OH> d);
package Chip<T>(ChipIngress<T, _, _> ingress, ChipEgress<T, _, _> egress);

control Filter<H>(inout H headers, out bool accept);
package Program<H>(ChipParser<H> p, Filter<H> f);

header data_t {
    bit<8> x;
}

// A filter, as the last architecture has it, decides what v1model does with the packet.
control Even(inout data_t headers, out bool accept) {
    apply {
        accept = headers.x[0:0] == 0;
    }
}

parser ReadsData(packet_in packet, out data_t headers) {
    state start {
        packet.extract(headers);
        transition accept;
    }
}

Program(ReadsData(), Even()) filter;

control Work(inout data_t d, inout standard_metadata_t std) {
    Even() even;

    apply {
        bool accepted;
        even.apply(d, accepted);
        if (!accepted) {
            mark_to_drop(std);
        }
    }
}

#include "../stf/frame/one_header.p4"
