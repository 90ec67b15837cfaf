// Chaskey of one block for Tofino 2, with 12 rounds: the published tag.

#define CHASKEY_ROUNDS 12
#include "../../p4/mac/chaskey.p4"
