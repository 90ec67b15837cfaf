// Chaskey of one block for Tofino 2, with 8 rounds: the published tag.

#define CHASKEY_ROUNDS 8
#include "../../p4/mac/chaskey.p4"
