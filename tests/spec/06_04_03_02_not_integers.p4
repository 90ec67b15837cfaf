// Section 6.4.3.2: an underscore does not begin a literal and is not part of a width, digits belong to their base.

#include <core.p4>
#include <v1model.p4>

const bit<8> A = 8w0b12;        //~ E0102
const bit<8> B = 8w0o8;         //~ E0102
const bit<8> C = 8w0xg;         //~ E0102
const bit<8> D = 1_0w5;         //~ E0102
