// Section 6.4.1: a single underscore is no name; a name does not begin with a digit.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> 1x;                  //~ E0110
}
