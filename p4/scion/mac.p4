// The hop field's MAC: proof that this AS has allowed this hop.
//
// AES-CMAC with the AS's key, first 48 bits. SegID chains a hop to those before it in construction
// direction: beta_{i+1} = beta_i XOR the first 16 bits of MAC_i.

// The message, one AES block.
bit<128> mac_input(in bit<16> seg_id, in bit<32> timestamp, in bit<8> exp_time,
                   in bit<16> cons_ingress, in bit<16> cons_egress) {
    return 16w0 ++ seg_id ++ timestamp ++ 8w0 ++ exp_time ++ cons_ingress ++ cons_egress ++ 16w0;
}

// SegID before or after a hop: the same operation does both.
bit<16> next_seg_id(in bit<16> seg_id, in bit<48> mac) {
    return seg_id ^ mac[47:32];
}

// A hop is good until timestamp + (1 + exp_time) * 24 h / 256.
bool is_expired(in bit<32> timestamp, in bit<8> exp_time, in bit<64> now) {
    return (bit<64>) timestamp * 1000000 + ((bit<64>) exp_time + 1) * 337500000 < now;
}

// With AES pipes (../tofino) the program computes MACs itself, and ComputeMacs yields the messages.
#if AES_PIPES
#define CMAC_KEY AesCmacRoundKeys
#define HOP_MAC(message, tag) tag = message
#else
#define CMAC_KEY AesCmac
#define HOP_MAC(message, tag) hop_key.mac(0, message, tag)
#endif

// The AS's key.
CMAC_KEY(1) hop_key;

// The one before it, and the next one. The control plane sets them for as long as their hops are accepted, too.
CMAC_KEY(2) other_key;

#if AES_PIPES
// The packet has been in the pipes with all of them.
control TryOtherKeys(in bit<128> message, in bit<48> mac, inout bit<128> tag) {
    apply { }
}
#else
// Makes `tag` that of the first of the other keys that fits, if one does.
control UseOtherKeys(in bit<128> message, in bit<48> mac, inout bit<128> tag) {
    bit<128> other_tag = 0;

    apply {
        other_key.mac(0, message, other_tag);
        if (other_tag[127:80] == mac) {
            tag = other_tag;
            return;
        }
        other_key.mac(1, message, other_tag);
        if (other_tag[127:80] == mac) {
            tag = other_tag;
        }
    }
}

#ifdef NO_OTHER_KEYS
// A packet whose MAC is not one of the first key may have one of another, if there are others: the CPU port gets it.
control LeaveOtherKeys(inout metadata_t meta) {
    action one_key() { }

    action several_keys() {
        meta.reason = Reason.FEATURE_LEFT_OUT;
    }

    table other_keys {
        actions = { one_key; several_keys; }
        default_action = one_key();
    }

    apply {
        other_keys.apply();
    }
}
#else
// The same, if there are other keys at all.
control TryOtherKeys(in bit<128> message, in bit<48> mac, inout bit<128> tag) {
    UseOtherKeys() use_other_keys;
    bit<1> several = 0;

    action one_key() { }

    action several_keys() {
        several = 1;
    }

    table other_keys {
        actions = { one_key; several_keys; }
        default_action = one_key();
    }

    apply {
        other_keys.apply();
        if (several == 1) {
            use_other_keys.apply(message, mac, tag);
        }
    }
}

#endif
#endif

// The MAC of the current hop, at a segment change that of the next one, too; and for a packet that comes over a
// one-hop path, the MAC of the hop to be added. They are computed before anything is checked, and one right after the
// other, because that takes longest: targets go on with the checks meanwhile.
control ComputeMacs(in headers_t hdr, inout metadata_t meta) {
    apply {
        if (!hdr.hop.isValid()) {
            return;
        }
        meta.seg_id = hdr.info.seg_id;
        if (HAS_PATH(hdr)) {
            if (hdr.info.peering == 1) {
                // Two segments that meet at the peering link; their hops there are the peering hops.
                meta.peering = meta.first_of_segment | meta.last_of_segment;
            }
            // Against construction direction the router at the entry takes this hop's MAC out of the chain.
            if (hdr.info.cons_dir == 0 && meta.source.scope == LinkScope.EXTERNAL && meta.peering == 0) {
                meta.seg_id = next_seg_id(hdr.info.seg_id, hdr.hop.mac);
            }
            // The packet goes on in the next segment, unless it stays here or crosses a peering link.
            if (meta.last_of_segment == 1 && meta.peering == 0) {
                meta.segment_change = 1;
            }
        } else if (meta.source.scope == LinkScope.EXTERNAL) {
            HOP_MAC(mac_input(meta.seg_id, hdr.info.timestamp, hdr.hop.exp_time,
                              meta.source.interface, 0), meta.tag);
            return;
        }
        HOP_MAC(mac_input(meta.seg_id, hdr.info.timestamp, hdr.hop.exp_time,
                          hdr.hop.cons_ingress, hdr.hop.cons_egress), meta.tag);
        if (meta.segment_change == 1 && hdr.hop_next.isValid()) {
            HOP_MAC(mac_input(hdr.info_next.seg_id, hdr.info_next.timestamp, hdr.hop_next.exp_time,
                              hdr.hop_next.cons_ingress, hdr.hop_next.cons_egress), meta.tag_next);
        }
    }
}

// Are they those of the packet?
control CheckMacs(in headers_t hdr, inout metadata_t meta) {
#ifdef NO_OTHER_KEYS
    LeaveOtherKeys() leave_other_keys;
#else
    TryOtherKeys() try_other_keys;
#endif
    bit<1> alert = 0;

    apply {
        if (hdr.scion.path_type == PATH_ONE_HOP && meta.source.scope == LinkScope.EXTERNAL) {
            meta.new_hop_mac = meta.tag[127:80];
            return;
        }

        if (meta.tag[127:80] != hdr.hop.mac) {
#ifdef NO_OTHER_KEYS
            leave_other_keys.apply(meta);
            if (meta.reason != Reason.NONE) {
                return;
            }
#else
            try_other_keys.apply(mac_input(meta.seg_id, hdr.info.timestamp, hdr.hop.exp_time,
                                           hdr.hop.cons_ingress, hdr.hop.cons_egress), hdr.hop.mac, meta.tag);
#endif
            if (meta.tag[127:80] != hdr.hop.mac) {
                meta.reason = hdr.scion.path_type == PATH_ONE_HOP ? Reason.ONE_HOP_MAC : Reason.INVALID_HOP_MAC;
                return;
            }
        }
        if (hdr.info.cons_dir == 1) {
            alert = hdr.hop.ingress_alert;
        } else {
            alert = hdr.hop.egress_alert;
        }
        if (alert == 1 && meta.source.scope == LinkScope.EXTERNAL) {
            meta.reason = Reason.INGRESS_ALERT;
            return;
        }
        if (meta.segment_change == 1) {
            meta.at_next_hop = 1;
            if (is_expired(hdr.info_next.timestamp, hdr.hop_next.exp_time, meta.router.now)) {
                meta.reason = Reason.PATH_EXPIRED;
                return;
            }
#ifdef HUMMINGBIRD
            if (hdr.hummingbird.isValid() && hdr.hop_next.reserved[5:5] == 1) {
                // A reservation that covers a segment change is at the hop before it. The MAC here is not the hop's alone.
                meta.reason = Reason.INVALID_HOP_MAC;
                return;
            }
#endif
            if (meta.tag_next[127:80] != hdr.hop_next.mac) {
#ifdef NO_OTHER_KEYS
                leave_other_keys.apply(meta);
                if (meta.reason != Reason.NONE) {
                    return;
                }
#else
                try_other_keys.apply(mac_input(hdr.info_next.seg_id, hdr.info_next.timestamp, hdr.hop_next.exp_time,
                                               hdr.hop_next.cons_ingress, hdr.hop_next.cons_egress),
                                     hdr.hop_next.mac, meta.tag_next);
#endif
                if (meta.tag_next[127:80] != hdr.hop_next.mac) {
                    meta.reason = Reason.INVALID_HOP_MAC;
                }
            }
        }
    }
}
