// HalfSipHash-2-4 of one block for Tofino 2: tags of two keys.

#include "../../p4/mac/halfsiphash.p4"
