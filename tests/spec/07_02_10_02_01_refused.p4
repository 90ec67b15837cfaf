// Section 7.2.10.2.1: all abstract methods are implemented.
// Section 11.3.1: with the parameters that the declaration has; what is local to the control around it is unknown there.

#include <core.p4>
#include <v1model.p4>

extern Balancer {
    Balancer();
    bit<32> flows();
    abstract bit<4> on_new_flow(in bit<32> address);
}

control Work(inout bit<8> x) {
    Balancer() none;            //~ E0307
    Balancer() other = {
        bit<4> on_new_flow(inout bit<32> address) { //~ E0307
            return 1;
        }
    };
    Balancer() surplus = {
        bit<4> on_new_flow(in bit<32> address) {
            return 1;
        }
        bit<4> on_old_flow(in bit<32> address) { //~ E0307
            return 1;
        }
    };
    apply { }
}
