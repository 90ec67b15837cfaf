// The way to the AES pipes and back.
//
// The first part of the border router's ingress finds the messages of the MACs and sends the packet away. The second part has the MACs, and the
// packet's length.

control Authenticate(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
#if AES_PIPES
    ComputeMacs() find_messages;
    bit<1> check = 0;
    bit<1> check_next = 0;
    bit<1> several = 0;

    action one_key() { }

    action several_keys() {
        several = 1;
    }

    table other_keys {
        actions = { one_key; several_keys; }
        default_action = one_key();
    }
#endif
    bit<9> back = 0;

    apply {
        back = std.ingress_port[8:7] ++ RECIRCULATION_PORT;
#if AES_PIPES
        find_messages.apply(hdr, meta);
        check_next = meta.segment_change & (bit<1>) hdr.hop_next.isValid();
        if (!hdr.bridge.isValid()) {
            hdr.bridge.setValid();
            hdr.bridge.key = 0;
            check = (bit<1>) hdr.hop.isValid();
        } else {
            // A MAC that is not the packet's is computed with the other keys, too. The MAC of a hop to be added has nothing to
            // be compared with.
            check = (bit<1>) (hdr.hop.isValid() && hdr.bridge.block[127:80] != hdr.hop.mac
                && !(hdr.scion.path_type == PATH_ONE_HOP && meta.source.scope == LinkScope.EXTERNAL));
            if (hdr.bridge.block_next[127:80] == hdr.hop_next.mac) {
                check_next = 0;
            }
            if ((check | check_next) == 1 && hdr.bridge.key < 2) {
                other_keys.apply();
            }
            if (several == 0) {
                std.packet_length = (bit<32>) hdr.bridge.length;
                meta.tag = hdr.bridge.block;
                meta.tag_next = hdr.bridge.block_next;
                hdr.bridge.setInvalid();
                return;
            }
            hdr.bridge.key = hdr.bridge.key + 1;
        }
        hdr.bridge.back = (bit<16>) back;
        hdr.bridge.rounds_done = 0;
        hdr.bridge.check = check;
        hdr.bridge.check_next = check_next;
        hdr.bridge.reserved = 0;
        if (check == 1) {
            hdr.bridge.block = meta.tag;
        }
        if (check_next == 1) {
            hdr.bridge.block_next = meta.tag_next;
        }
        std.egress_spec = (check | check_next) == 1 ? FIRST_AES_PORT : back;
#else
        if (hdr.bridge.isValid()) {
            std.packet_length = (bit<32>) hdr.bridge.length;
            hdr.bridge.setInvalid();
            return;
        }
        hdr.bridge.setValid();
        std.egress_spec = back;
#endif
        hdr.bridge.ingress_port = (bit<16>) std.ingress_port;
    }
}
