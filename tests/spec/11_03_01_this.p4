// Section 11.3.1: in an abstract method's implementation `this` is the object: other methods of it can be called. v1model has no
// such objects, so that the control with one is not part of the pipeline.

#include <core.p4>
#include <v1model.p4>

extern Balancer {
    Balancer();
    bit<32> flows();
    abstract bit<4> on_new_flow(in bit<32> address);
}

header data_t {
    bit<8> x;
}

control Balances(in bit<32> source, out bit<4> port) {
    Balancer() b = {
        bit<4> on_new_flow(in bit<32> address) {
            bit<32> count = this.flows();
            return (address + count)[3:0];
        }
    };

    apply {
        port = b.on_new_flow(source);
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.x = d.x + 1;
    }
}

#include "../stf/frame/one_header.p4"
