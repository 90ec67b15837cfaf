// AES-128 (FIPS 197) and the subkeys of AES-CMAC (RFC 4493), from their definitions: the driver's side, and the model.
#pragma once

#include "numbers.h"

using Block = std::array<uint8_t, 16>;

inline uint8_t aes_multiply(uint8_t a, uint8_t b) {
    uint8_t product = 0;
    for (; b; b >>= 1) {
        if (b & 1) product ^= a;
        a = static_cast<uint8_t>(a << 1 ^ (a & 0x80 ? 0x1b : 0));
    }
    return product;
}

inline uint8_t aes_substitute(uint8_t a) {
    static const std::vector<uint8_t> table = [] {
        std::vector<uint8_t> table;
        for (int value = 0; value < 256; value++) {
            int inverse = 0;
            for (int b = 1; b < 256; b++)
                if (aes_multiply(static_cast<uint8_t>(value), static_cast<uint8_t>(b)) == 1) inverse = b;
            int result = 0x63;
            for (int turn = 0; turn < 5; turn++) result ^= (inverse << turn | inverse >> (8 - turn)) & 0xff;
            table.push_back(static_cast<uint8_t>(result));
        }
        return table;
    }();
    return table[a];
}

inline std::vector<Block> aes_round_keys(const Block& key) {
    std::vector<Block> keys{key};
    uint8_t constant = 1;
    for (int round = 1; round <= 10; round++) {
        Block next = keys.back();
        for (int i = 0; i < 4; i++) next[i] ^= aes_substitute(keys.back()[12 + (i + 1) % 4]);
        next[0] ^= constant;
        for (int i = 4; i < 16; i++) next[i] ^= next[i - 4];
        constant = aes_multiply(constant, 2);
        keys.push_back(next);
    }
    return keys;
}

inline Block aes_xor(Block a, const Block& b) {
    for (int i = 0; i < 16; i++) a[i] ^= b[i];
    return a;
}

inline Block aes_encrypt(const std::vector<Block>& keys, const Block& block) {
    Block state = aes_xor(block, keys[0]);
    for (int round = 1; round <= 10; round++) {
        Block shifted, mixed;
        for (int i = 0; i < 16; i++) shifted[i] = aes_substitute(state[(i + 4 * (i % 4)) % 16]);
        for (int i = 0; i < 16; i++) {
            auto at = [&](int row) { return shifted[i / 4 * 4 + (i + row) % 4]; };
            mixed[i] = static_cast<uint8_t>(aes_multiply(at(0), 2) ^ aes_multiply(at(1), 3) ^ at(2) ^ at(3));
        }
        state = aes_xor(round == 10 ? shifted : mixed, keys[round]);
    }
    return state;
}

// K1, K2.
inline std::array<Block, 2> cmac_subkeys(const std::vector<Block>& keys) {
    std::array<Block, 2> subkeys;
    Block value = aes_encrypt(keys, Block{});
    for (auto& subkey : subkeys) {
        for (int i = 0; i < 16; i++) subkey[i] = static_cast<uint8_t>(value[i] << 1 | (i < 15 ? value[i + 1] >> 7 : 0));
        if (value[0] & 0x80) subkey[15] ^= 0x87;
        value = subkey;
    }
    return subkeys;
}

inline Block cmac(const std::vector<Block>& keys, std::vector<uint8_t> message) {
    bool whole = !message.empty() && message.size() % 16 == 0;
    auto subkeys = cmac_subkeys(keys);
    if (!whole) {
        message.push_back(0x80);
        while (message.size() % 16) message.push_back(0);
    }
    Block mac{};
    for (size_t at = 0; at < message.size(); at += 16) {
        Block block;
        for (int i = 0; i < 16; i++) block[i] = message[at + i];
        if (at + 16 == message.size()) block = aes_xor(block, subkeys[whole ? 0 : 1]);
        mac = aes_encrypt(keys, aes_xor(mac, block));
    }
    return mac;
}

inline Block aes_block(const char* hex) {
    Block block;
    for (int i = 0; i < 16; i++) block[i] = static_cast<uint8_t>(std::stoi(std::string(hex + 2 * i, 2), nullptr, 16));
    return block;
}

// The model itself: FIPS 197, appendix C.1, and RFC 4493, section 4.
inline void check_aes_model() {
    auto keys = aes_round_keys(aes_block("000102030405060708090a0b0c0d0e0f"));
    CHECK(aes_encrypt(keys, aes_block("00112233445566778899aabbccddeeff")) == aes_block("69c4e0d86a7b0430d8cdb78070b4c55a"));
    keys = aes_round_keys(aes_block("2b7e151628aed2a6abf7158809cf4f3c"));
    auto block = aes_block("6bc1bee22e409f96e93d7e117393172a");
    CHECK(cmac(keys, {}) == aes_block("bb1d6929e95937287fa37d129b756746"));
    CHECK(cmac(keys, {block.begin(), block.end()}) == aes_block("070a16b46b4d4144f79bdd9dd04a287c"));
}
