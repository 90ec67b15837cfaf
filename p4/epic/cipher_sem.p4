// Cipher SEM: the one-key Even-Mansour scheme SEM(M) = P(M ^ K) ^ K in match-action tables. P is a substitution of each byte, a
// permutation of the bytes, and the same substitution again.
//
// A byte of the result depends on one byte of the message and two of the key. SEM shows what a MAC in one pass of a
// match-action pipeline costs; it does not keep anybody from forging packets. See docs/epic.md.

#include "sem_tables.p4"

control Sem(in bit<128> key, in bit<128> block, out bit<128> result) {
    Permutation() permutation;

    apply {
        permutation.apply(block ^ key, result);
        result = result ^ key;
    }
}

control AuthenticateHop(in bit<128> block, out bit<128> tag) {
    Sem() sem;
    bit<128> as_key = 0;

    action set_key(bit<128> key) {
        as_key = key;
    }

    // The AS's key. A program that computes with tables cannot have it hidden from the control plane's readers.
    table hop_key {
        actions = { set_key; }
        default_action = set_key(0);
    }

    apply {
        hop_key.apply();
        sem.apply(as_key, block, tag);
    }
}

control Encrypt(in bit<128> key, in bit<128> block, out bit<128> result) {
    Sem() sem;

    apply {
        sem.apply(key, block, result);
    }
}

// Of all sixteen bytes: the sum of the words, and the sum of the words rotated by 0, 8, 16 and 24 bits.
bit<64> shorten(in bit<128> tag) {
    return (tag[127:96] ^ tag[95:64] ^ tag[63:32] ^ tag[31:0])
        ++ (tag[127:96] ^ (tag[87:64] ++ tag[95:88]) ^ (tag[47:32] ++ tag[63:48]) ^ (tag[7:0] ++ tag[31:8]));
}
