// Section 20.1: parentheses in a body are balanced.

#include <core.p4>
#include <v1model.p4>

@other((a)))                    //~ E0110
const bit<8> X = 1;
