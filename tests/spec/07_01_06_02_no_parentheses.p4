// Section 7.1.6.2: a width that is an expression stands in parentheses.

#include <core.p4>
#include <v1model.p4>

const bit<32> X = 10;
const bit<X + 2> Y = 15;        //~ E0110
