// Section 12.7: `default` is the last label.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        switch (x) {
            default: { }
            1: { x = 2; }       //~ E0314
        }
    }
}
