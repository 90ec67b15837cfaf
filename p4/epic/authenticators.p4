// Is a hop field good for this packet?
//
//   sigma = MAC_AS(chain of the hops before, timestamp of the segment, expiry, interfaces)     the hop authenticator
//
//   level 0   the hop field shows six bytes of sigma
//   level 1   HVF = MAC_sigma(packet)                    the sender knows sigma, and it is this packet
//   level 2   HVF = MAC_key(packet, sigma)               ... with the key between this AS and the source host: it is that host
//   level 3   the same; the router replaces the HVF by the MAC's next four bytes: the packet was here
//
// "packet" is level, kinds and address of the source, timestamp, counter and length. MACs but that of the AS are CBC-MACs;
// the first block says how long the message is.

// The key between an AS and a host of another AS, AS-host key of DRKey: two steps of a CBC-MAC (AES-128) from the AS's secret
// for EPIC. https://docs.scion.org/en/latest/cryptography/drkey.html
control DeriveSourceKey(in headers_t hdr, out bit<128> key) {
    Aes128(1) drkey_secret;
    Aes128WithKey() cipher;
    bit<128> as_key = 0;
    bit<128> block = 0;
    bit<128> rest = 0;

    apply {
        // Type AS-AS, and the other AS.
        drkey_secret.encrypt(0, 8w0 ++ hdr.scion.src_ia ++ 56w0, as_key);
        // Type AS-host, kind of address, address.
        block = 8w1 ++ 4w0 ++ hdr.scion.src_type ++ hdr.scion.src_len ++ 112w0;
        if (hdr.src4.isValid()) {
            block[111:80] = hdr.src4.addr;
        } else if (hdr.src8.isValid()) {
            block[111:48] = hdr.src8.addr;
        } else if (hdr.src12.isValid()) {
            block[111:16] = hdr.src12.addr;
        } else {
            block[111:0] = hdr.src16.addr[127:16];
            rest[127:112] = hdr.src16.addr[15:0];
        }
        cipher.encrypt(as_key, block, key);
        if (hdr.src16.isValid()) {
            cipher.encrypt(as_key, key ^ rest, key);
        }
    }
}

// One hop field. `good` says whether it is; at level 3 its HVF is replaced.
control CheckHop(in headers_t hdr, in metadata_t meta, in bit<16> seg_id, in bit<32> timestamp, inout hop_t hop,
                 out bool good) {
    AuthenticateHop() authenticate_hop;
    Encrypt() encrypt;
    bit<128> sigma = 0;
    bit<64> shown = 0;
    bit<128> key = 0;
    bit<128> block = 0;
    bit<128> rest = 0;
    bit<128> chain = 0;

    apply {
        authenticate_hop.apply(hop_block(seg_id, timestamp, hop), sigma);
        shown = shorten(sigma);
        good = hop.chain == shown[63:48];
        if (hdr.scion.level == 0) {
            good = good && hop.hvf == shown[47:16];
            return;
        }

        key = hdr.scion.level == 1 ? sigma : meta.source_key;
        block = 2w0 ++ hdr.scion.level ++ hdr.scion.src_type ++ hdr.scion.src_len ++ hdr.path.timestamp
              ++ hdr.path.counter ++ hdr.scion.payload_len ++ hdr.scion.src_ia[63:24];
        encrypt.apply(key, block, chain);
        block = hdr.scion.src_ia[23:0] ++ 104w0;
        if (hdr.src4.isValid()) {
            block[103:72] = hdr.src4.addr;
        } else if (hdr.src8.isValid()) {
            block[103:40] = hdr.src8.addr;
        } else if (hdr.src12.isValid()) {
            block[103:8] = hdr.src12.addr;
        } else {
            block[103:0] = hdr.src16.addr[127:24];
            rest[127:104] = hdr.src16.addr[23:0];
        }
        encrypt.apply(key, chain ^ block, chain);
        if (hdr.src16.isValid()) {
            encrypt.apply(key, chain ^ rest, chain);
        }
        if (hdr.scion.level != 1) {
            encrypt.apply(key, chain ^ sigma, chain);
        }
        shown = shorten(chain);
        good = good && hop.hvf == shown[63:32];
        if (hdr.scion.level == 3) {
            hop.hvf = shown[31:0];
        }
    }
}
