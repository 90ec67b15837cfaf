// AES-128 under a key from the packet.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

header data_t {
    bit<128> key;
    bit<128> block;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Aes128WithKey() cipher;

    apply {
        cipher.encrypt(d.key, d.block, d.block);
    }
}

#include "frame/one_header.p4"
