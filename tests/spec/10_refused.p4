// Section 10: a function returns on every path, does not call itself, and stands at the top.

#include <core.p4>
#include <v1model.p4>

bit<8> partly(in bit<8> x) {
    if (x == 0) {
        return 1;
    }
}                               //~^^^^ E0309

bit<8> again(in bit<8> x) {
    return again(x);            //~ E0310
}

void nothing(in bit<8> x) {
    return x;                   //~ E0309
}

bit<8> something(in bit<8> x) {
    return true;                //~ E0300
}
