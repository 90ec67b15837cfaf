// Section 5.1: the declarations of the Very Simple Switch: types of ports, constants, metadata, block types with a type of
// headers, a package. Hopwright does not know the switch, so that the program instantiates v1model beside it.

#include <core.p4>
#include <v1model.p4>

typedef bit<4> PortId;

const PortId REAL_PORTS = 4w8;
const PortId AGAIN_IN = 0xd;
const PortId CPU = 0xe;
const PortId DROP = 0xf;

struct InControl {
    PortId inputPort;
}

struct OutControl {
    PortId outputPort;
}

parser VssParser<H>(packet_in packet, out H headers);
control VssPipe<H>(inout H headers, in error parseError, in InControl inCtrl, out OutControl outCtrl);
control VssDeparser<H>(inout H headers, packet_out packet);
package VSS<H>(VssParser<H> parse, VssPipe<H> pipe, VssDeparser<H> deparse);

header data_t {
    bit<8> real;
    bit<8> again;
    bit<8> cpu;
    bit<8> drop;
}

control Classify(inout data_t d, in error failed, in InControl from, out OutControl to) {
    apply {
        to.outputPort = failed != error.NoError ? DROP : from.inputPort;
        d.real = from.inputPort < REAL_PORTS ? 8w1 : 0;
        d.again = from.inputPort == AGAIN_IN ? 8w1 : 0;
        d.cpu = from.inputPort == CPU ? 8w1 : 0;
        d.drop = to.outputPort == DROP ? 8w1 : 0;
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Classify() classify;

    apply {
        OutControl to;
        classify.apply(d, std.parser_error, { std.ingress_port[3:0] }, to);
    }
}

#include "../stf/frame/one_header.p4"
