#include <core.p4>
const bit<8> A = 1;
//~^ E0404
