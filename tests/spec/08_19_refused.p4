// Section 8.19: a union has no value in braces; only unions of one type are assigned and compared.

#include <core.p4>
#include <v1model.p4>

header H1 {
    bit<8> f;
}

header_union U {
    H1 h1;
}

header_union V {
    H1 h1;
}

control Work(inout U u, inout V v) {
    apply {
        U w = { { 1 } };        //~ E0300
        u = v;                  //~ E0300
        if (u == v) { }         //~ E0301
        u.setValid();           //~ E0203
        u.h2.setValid();        //~ E0203
        u = u.h1;               //~ E0300
    }
}
