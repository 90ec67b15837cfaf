// Section 6.8.2: parameters of functions cannot be optional.

#include <core.p4>
#include <v1model.p4>

bit<8> f(@optional in bit<8> x) { //~ E0317
    return 1;
}
