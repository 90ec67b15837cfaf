// Section 20.2: a structured body has values or pairs.
// Section 20.2.1: not both.

#include <core.p4>
#include <v1model.p4>

@IllegalMixing[key=4, 5]        //~ E0110
const bit<8> X = 1;
