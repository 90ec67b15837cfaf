// Is the hop field good for this packet? authenticators.p4 says what it has at which level. What it has and what it should have differ by
// `meta.chain` and `meta.validation`.
//
// With SEM(K, M) = P(M ^ K) ^ K, the keys between two blocks of a CBC-MAC cancel each other: P(P(M1 ^ K) ^ M2) ^ K is that of two
// blocks. Everything but the way from one P to the next is computed beside it.

// The sum of the words: the first half of `shorten`.
bit<32> sum_of_words(in bit<128> tag) {
    return tag[127:96] ^ tag[95:64] ^ tag[63:32] ^ tag[31:0];
}

control CheckHop(in headers_t hdr, inout metadata_t meta, in bit<16> seg_id) {
    Permutation() permute_hop;
    Permutation() permute_first;
    Permutation() permute_second;
    Permutation() permute_third;
    bit<128> as_key = 0;
    bit<128> first = 0;
    bit<128> second = 0;
    bit<128> third = 0;
    bit<128> input = 0;
    bit<128> permuted = 0;
    bit<128> permuted1 = 0;
    bit<128> permuted2 = 0;
    bit<128> permuted3 = 0;
    bit<128> sigma = 0;
    bit<64> shown = 0;

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
        input = hop_block(seg_id, hdr.info.timestamp, hdr.hop);
        permute_hop.apply(input ^ as_key, permuted);

        // The packet's blocks.
        first = 2w0 ++ hdr.scion.level ++ hdr.scion.src_type ++ hdr.scion.src_len ++ hdr.path.timestamp
              ++ hdr.path.counter ++ hdr.scion.payload_len ++ hdr.scion.src_ia[63:24];
        if (hdr.src4.isValid()) {
            second = hdr.scion.src_ia[23:0] ++ hdr.src4.addr ++ 72w0;
        } else if (hdr.src8.isValid()) {
            second = hdr.scion.src_ia[23:0] ++ hdr.src8.addr ++ 40w0;
        } else if (hdr.src12.isValid()) {
            second = hdr.scion.src_ia[23:0] ++ hdr.src12.addr ++ 8w0;
        } else {
            second = hdr.scion.src_ia[23:0] ++ hdr.src16.addr[127:24];
            third = hdr.src16.addr[23:0] ++ 104w0;
        }
        // permuted ^ first is the hop authenticator with the first block.
        first = first ^ as_key;
        permute_first.apply(permuted ^ first, permuted1);
        permute_second.apply(permuted1 ^ second, permuted2);
        permute_third.apply(permuted2 ^ third, permuted3);

        sigma = permuted ^ as_key;
        @in_hash {
            shown = shorten(sigma);
        }
        meta.chain = shown[63:48] ^ hdr.hop.chain;
        if (hdr.scion.level == 0) {
            meta.validation = shown[47:16] ^ hdr.hop.hvf;
        } else if (hdr.src16.isValid()) {
            @in_hash {
                meta.validation = sum_of_words(permuted3) ^ shown[63:32] ^ hdr.hop.hvf;
            }
        } else {
            @in_hash {
                meta.validation = sum_of_words(permuted2) ^ shown[63:32] ^ hdr.hop.hvf;
            }
        }
    }
}
