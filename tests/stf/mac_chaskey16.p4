// Chaskey of one block for Tofino 2, with 16 rounds: tags of two keys.

#define CHASKEY_ROUNDS 16
#include "../../p4/mac/chaskey.p4"
