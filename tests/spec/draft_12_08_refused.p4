// Section draft 12.8: `break` and `continue` are for loops; a loop's variable is unknown behind it.

#include <core.p4>
#include <v1model.p4>

control Work(inout bit<8> x) {
    apply {
        for (bit<8> i = 0; i < 3; i = i + 1) { }
        x = i;                  //~ E0200
        continue;               //~ E0310
        for (bit<8> i in x) { } //~ E0300
        for (bit<16> i in (list<bit<8>>) { 1 }) { } //~ E0300
    }
}
