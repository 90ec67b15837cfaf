// Cryptographic blocks, as a chip would offer them: an AES-128 core beside the pipeline.
//
// Keys of the control plane do not enter a program, except for those of AesCmacRoundKeys. An object is declared with a number of key slots; the control plane fills
// them, and the program names a slot by its index. Two slots are enough to change keys without a gap: put
// the next key into slot 1, let the table entries or the packets choose, then put it into slot 0.
//
// Blocks are 128 bits, the first byte of the byte string that the standards speak of is the most
// significant. A slot that nobody filled, or an index beyond `keys`, works with a random key that nobody
// knows: what is checked against its results does not verify.

#ifndef _CRYPTO_P4_
#define _CRYPTO_P4_

// AES-CMAC (NIST SP 800-38B, RFC 4493) of a message of exactly one block.
extern AesCmac {
    // keys: number of key slots.
    AesCmac(bit<32> keys);

    // slot: whose key; block: the message; tag: the whole 128-bit tag. Truncating it is up to the program
    // (the leftmost bits, `tag[127:128-n]`).
    @noSideEffects
    void mac(in bit<32> slot, in bit<128> block, out bit<128> tag);
}

// The round keys of AES-128 (FIPS 197, section 5.2), for programs that compute the rounds of AesCmac in tables. The program sees the
// keys.
extern AesCmacRoundKeys {
    // keys: number of key slots.
    AesCmacRoundKeys(bit<32> keys);

    // slot: whose key; round: 0 to 10; key: the round key, 0 beyond. That of round 0 includes AES-CMAC's subkey of a message of
    // exactly one block, so that encryption with these keys yields the tag.
    @noSideEffects
    void round_key(in bit<32> slot, in bit<4> round, out bit<128> key);
}

// The AES-128 block cipher (FIPS 197), encryption only: the building block of CBC-MAC, CTR and the like.
extern Aes128 {
    // keys: number of key slots.
    Aes128(bit<32> keys);

    // slot: whose key; block: plaintext; result: ciphertext.
    @noSideEffects
    void encrypt(in bit<32> slot, in bit<128> block, out bit<128> result);
}

// The same cipher under a key that the program has: one that was computed for this packet from a key of the
// control plane, like the tag of an AesCmac. The key is expanded at each call.
extern Aes128WithKey {
    Aes128WithKey();

    // key: 128 bits; block: plaintext; result: ciphertext.
    @noSideEffects
    void encrypt(in bit<128> key, in bit<128> block, out bit<128> result);
}

#endif
