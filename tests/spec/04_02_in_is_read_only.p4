// Section 4.2: a block cannot change its input port.

#include <core.p4>
#include <v1model.p4>

control Next(in bit<4> from, out bit<4> to) {
    apply {
        from = 1;               //~ E0305
        to = from;
    }
}
