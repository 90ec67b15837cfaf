// Ascon-Mac of one block for Tofino 2: tags of two keys.

#include "../../p4/mac/ascon.p4"
