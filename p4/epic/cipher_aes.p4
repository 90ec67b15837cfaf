// Cipher AES-128: hop authenticators by AES-CMAC, everything else by CBC-MAC.

// The AS's key, in slot 0.
AesCmac(1) hop_key;

control AuthenticateHop(in bit<128> block, out bit<128> tag) {
    apply {
        hop_key.mac(0, block, tag);
    }
}

control Encrypt(in bit<128> key, in bit<128> block, out bit<128> result) {
    Aes128WithKey() cipher;

    apply {
        cipher.encrypt(key, block, result);
    }
}

// The half of a tag that packets show parts of.
bit<64> shorten(in bit<128> tag) {
    return tag[127:64];
}
