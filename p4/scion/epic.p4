// Path type EPIC-HP: a SCION path, and proof to its last two ASes that this packet is fresh and from whom it says.
//
// Of each hop's MAC the path shows 48 bits. Who may use the path with EPIC-HP knows all 128 bits of the last two
// hops' MACs and uses them as keys. A hop validation field (HVF) is the first 32 bits of the CBC-MAC (AES-128) of
//
//   length bits of the source host's type (1 byte), timestamp of the first info field (4), EPIC timestamp (4),
//   counter (4), source AS (8), source host (4 to 16), PayloadLen (2), zeros to the end of the block
//
// Header format: https://docs.scion.org/en/latest/protocols/scion-header.html

// A packet lives two seconds; clocks may differ by one.
const bit<64> EPIC_UNIT_US     = 21;
const bit<64> EPIC_LIFETIME_US = 2000000;
const bit<64> EPIC_SKEW_US     = 1000000;

// For a packet that is good as a SCION packet and already as it is to leave.
//
// It matters where the packet stood when it came. A hop that this router itself went on to, at a segment change, is
// not looked at: that is how the reference does it.
control CheckEpic(in headers_t hdr, inout metadata_t meta) {
    Aes128WithKey() hop_cipher;
#if !AES_PIPES && !defined(NO_OTHER_KEYS)
    UseOtherKeys() use_other_keys;
#endif
    bit<8> hops_left = 0;
    bit<32> timestamp = 0;
    bit<64> sent = 0;
    bit<48> age = 0;             // plus the skew; nine years in all
    bit<128> hop_tag = 0;
    bit<128> block = 0;
    bit<128> rest = 0;
    bit<128> chain = 0;

    apply {
        hops_left = (bit<8>) hdr.path.seg0_len + (bit<8>) hdr.path.seg1_len + (bit<8>) hdr.path.seg2_len
                  - (bit<8>) hdr.path.curr_hf;
        // Towards another AS, the path has been advanced by one already.
        if (meta.last_of_path == 0
            && ((meta.target.scope == LinkScope.EXTERNAL ? hops_left != 1 : hops_left != 2)
                || (hdr.hop_next.isValid() && hdr.info.peering == 0))) {
            return;
        }

        timestamp = hdr.info_prev2.isValid() ? hdr.info_prev2.timestamp
                  : hdr.info_prev.isValid() ? hdr.info_prev.timestamp : hdr.info.timestamp;
        sent = (bit<64>) timestamp * 1000000 + ((bit<64>) hdr.epic.timestamp + 1) * EPIC_UNIT_US;
        age = (meta.router.now + EPIC_SKEW_US - sent)[47:0];
        if (age > (bit<48>) (EPIC_LIFETIME_US + 2 * EPIC_SKEW_US)) {
            meta.reason = age[47:47] == 1 ? Reason.EPIC_FROM_FUTURE : Reason.EPIC_TOO_OLD;
            return;
        }

#if AES_PIPES
        hop_tag = meta.tag;
#else
        block = mac_input(meta.seg_id, hdr.info.timestamp, hdr.hop.exp_time,
                          hdr.hop.cons_ingress, hdr.hop.cons_egress);
        hop_key.mac(0, block, hop_tag);
#ifndef NO_OTHER_KEYS
        if (hop_tag[127:80] != hdr.hop.mac) {
            // The hop is good, so it is one of another key.
            use_other_keys.apply(block, hdr.hop.mac, hop_tag);
        }
#endif
#endif
        block = 6w0 ++ hdr.scion.src_len ++ timestamp ++ hdr.epic.timestamp ++ hdr.epic.counter
              ++ hdr.scion.src_ia[63:40];
        hop_cipher.encrypt(hop_tag, block, chain);
        if (hdr.src4.isValid()) {
            block = hdr.scion.src_ia[39:0] ++ hdr.src4.addr ++ hdr.scion.payload_len ++ 40w0;
        } else if (hdr.src8.isValid()) {
            block = hdr.scion.src_ia[39:0] ++ hdr.src8.addr ++ hdr.scion.payload_len ++ 8w0;
        } else if (hdr.src12.isValid()) {
            block = hdr.scion.src_ia[39:0] ++ hdr.src12.addr[95:8];
            rest = hdr.src12.addr[7:0] ++ hdr.scion.payload_len ++ 104w0;
        } else {
            block = hdr.scion.src_ia[39:0] ++ hdr.src16.addr[127:40];
            rest = hdr.src16.addr[39:0] ++ hdr.scion.payload_len ++ 72w0;
        }
        hop_cipher.encrypt(hop_tag, chain ^ block, chain);
        if (hdr.src12.isValid() || hdr.src16.isValid()) {
            hop_cipher.encrypt(hop_tag, chain ^ rest, chain);
        }

        if (chain[127:96] != (meta.last_of_path == 1 ? hdr.epic.last_hvf : hdr.epic.penultimate_hvf)) {
            meta.reason = Reason.EPIC_HVF;
        }
    }
}
