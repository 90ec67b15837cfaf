// Section 7.1.2: an error is declared once, and belongs to `error`.
// Section 8.2: errors have no order, no arithmetic and no casts.

#include <core.p4>
#include <v1model.p4>

error { Mine, Mine }            //~ E0201
error { NoError }               //~ E0201

header data_t {
    bit<8> x;
}

control Work(inout data_t d, in error e) {
    apply {
        if (e == Mine) { }      //~ E0200
        if (e < error.NoMatch) { } //~ E0301
        d.x = (bit<8>) e;       //~ E0302
        if (e == error.Unknown) { } //~ E0203
    }
}
