// Preprocessing: what the lookup looks up.
//
// A preprocessor fills in a 256-bit key, from its left end, and for LPM a field of 32 bits with the number of an LPM table.
//
//   IPV4           key: source 32, destination 32, protocol 8, ports 16 + 16     field: destination
//   IPV6           key: source 128, destination 128                              LPM of the destination in a table of its own
//   OPENFLOW       key: the ten-tuple, 248 bits                                  field: IPv4 destination
//   PATH_SPLICING  key: destination 32, slice 8                                  field: destination, in the slice's table
//   CUSTOM         key: four of sixteen 64-bit words, masked                     field: one of the key's eight 32-bit parts

// IPv4 packets whose header is intact and has no options.
control CheckIpv4(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    bit<32> before = 14;

    apply {
        if (hdr.vlan.isValid()) {
            before = before + 4;
        }
        if (hdr.packet_out.isValid()) {
            before = before + PACKET_OUT_BYTES;
        }
        if (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5 || hdr.ipv4.total_len < 4 * (bit<16>) hdr.ipv4.ihl
            || before + (bit<32>) hdr.ipv4.total_len > std.packet_length || std.checksum_error == 1) {
            meta.reason = Reason.MALFORMED;
        } else if (hdr.ipv4.ihl != 5) {
            meta.reason = Reason.OPTIONS;
        }
    }
}

control CheckIpv6(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std) {
    bit<32> before = 14;

    apply {
        if (hdr.vlan.isValid()) {
            before = before + 4;
        }
        if (hdr.packet_out.isValid()) {
            before = before + PACKET_OUT_BYTES;
        }
        if (hdr.ipv6.version != 6 || before + 40 + (bit<32>) hdr.ipv6.payload_len > std.packet_length) {
            meta.reason = Reason.MALFORMED;
        }
    }
}

// Source and destination port; type and code of ICMP, as OpenFlow has them.
control TransportPorts(in headers_t hdr, out bit<16> src, out bit<16> dst) {
    apply {
        src = 0;
        dst = 0;
        if (hdr.ports.isValid()) {
            src = hdr.ports.src;
            dst = hdr.ports.dst;
        } else if (hdr.icmp.isValid()) {
            src = (bit<16>) hdr.icmp.type;
            dst = (bit<16>) hdr.icmp.code;
        }
    }
}

// The ten-tuple of OpenFlow 0.8 and 0.9: in_port 16, dl_src 48, dl_dst 48, dl_vlan 16 (0xffff: untagged), dl_type 16,
// nw_src 32, nw_dst 32, nw_proto 8, tp_src 16, tp_dst 16, and 8 zero bits.
control OpenFlowTuple(in headers_t hdr, inout metadata_t meta, in bit<16> in_port) {
    TransportPorts() transport_ports;

    bit<16> vlan = 0xffff;
    bit<16> ether_type = 0;
    bit<32> src = 0;
    bit<32> dst = 0;
    bit<8>  protocol = 0;
    bit<16> src_port = 0;
    bit<16> dst_port = 0;

    apply {
        ether_type = hdr.ethernet.ether_type;
        if (hdr.vlan.isValid()) {
            vlan = 4w0 ++ hdr.vlan.id;
            ether_type = hdr.vlan.ether_type;
        }
        if (hdr.ipv4.isValid()) {
            src = hdr.ipv4.src;
            dst = hdr.ipv4.dst;
            protocol = hdr.ipv4.protocol;
        } else if (hdr.ipv6.isValid()) {
            protocol = hdr.ipv6.next_hdr;
        }
        transport_ports.apply(hdr, src_port, dst_port);
        meta.field = dst;
        meta.key = in_port ++ hdr.ethernet.src ++ hdr.ethernet.dst ++ vlan ++ ether_type
                 ++ src ++ dst ++ protocol ++ src_port ++ dst_port ++ 8w0;
    }
}

// The words that the custom extractor chooses from: 0 to 7 are hdr.words; 8 to 12 the IP header (behind an IPv4 header, in
// the lower half of word 10, zeros); 13 transport ports, EtherType, ingress port; 14 destination MAC and VLAN tag (0xffff: none); 15
// source MAC and 16 zero bits. Words that the packet does not have are zero.
struct words_t {
    bit<64> word8;
    bit<64> word9;
    bit<64> word10;
    bit<64> word11;
    bit<64> word12;
    bit<64> word13;
    bit<64> word14;
    bit<64> word15;
}

control ExtractWord(in headers_t hdr, in words_t words, in bit<4> number, out bit<64> word) {
    apply {
        word = 0;
        if (number[3:3] == 0) {
            if (hdr.words[number[2:0]].isValid()) {
                word = hdr.words[number[2:0]].value;
            }
        } else if (number[2:0] == 0) {
            word = words.word8;
        } else if (number[2:0] == 1) {
            word = words.word9;
        } else if (number[2:0] == 2) {
            word = words.word10;
        } else if (number[2:0] == 3) {
            word = words.word11;
        } else if (number[2:0] == 4) {
            word = words.word12;
        } else if (number[2:0] == 5) {
            word = words.word13;
        } else if (number[2:0] == 6) {
            word = words.word14;
        } else {
            word = words.word15;
        }
    }
}

control CustomExtractor(in headers_t hdr, inout metadata_t meta, in bit<16> in_port) {
    // Bits 15 to 0: the numbers of the four words, the key's leftmost first. Bits 18 to 16: which 32-bit part of the key is the
    // LPM field, 0 the leftmost.
    register<bit<32>>(VDP_COUNT) extractor_select;
    // Bits of the key that count.
    register<bit<256>>(VDP_COUNT) extractor_mask;

    TransportPorts() transport_ports;
    ExtractWord() extract_first;
    ExtractWord() extract_second;
    ExtractWord() extract_third;
    ExtractWord() extract_fourth;

    words_t words = { 0, 0, 0, 0, 0, 0, 0, 0 };
    bit<32> chosen = 0;
    bit<256> mask = 0;
    bit<64> first = 0;
    bit<64> second = 0;
    bit<64> third = 0;
    bit<64> fourth = 0;
    bit<16> src_port = 0;
    bit<16> dst_port = 0;
    bit<64> half = 0;

    apply {
        transport_ports.apply(hdr, src_port, dst_port);
        words.word13 = src_port ++ dst_port ++ hdr.ethernet.ether_type ++ in_port;
        words.word14 = hdr.ethernet.dst ++ 16w0xffff;
        words.word15 = hdr.ethernet.src ++ 16w0;
        if (hdr.vlan.isValid()) {
            words.word13 = src_port ++ dst_port ++ hdr.vlan.ether_type ++ in_port;
            words.word14 = hdr.ethernet.dst ++ hdr.vlan.priority ++ hdr.vlan.drop_eligible ++ hdr.vlan.id;
        }
        if (hdr.ipv4.isValid()) {
            words.word8 = hdr.ipv4.version ++ hdr.ipv4.ihl ++ hdr.ipv4.tos ++ hdr.ipv4.total_len
                        ++ hdr.ipv4.id ++ hdr.ipv4.flags ++ hdr.ipv4.offset;
            words.word9 = hdr.ipv4.ttl ++ hdr.ipv4.protocol ++ hdr.ipv4.checksum ++ hdr.ipv4.src;
            words.word10 = hdr.ipv4.dst ++ 32w0;
        } else if (hdr.ipv6.isValid()) {
            words.word8 = hdr.ipv6.version ++ hdr.ipv6.traffic_class ++ hdr.ipv6.flow_label
                        ++ hdr.ipv6.payload_len ++ hdr.ipv6.next_hdr ++ hdr.ipv6.hop_limit;
            words.word9 = hdr.ipv6.src[127:64];
            words.word10 = hdr.ipv6.src[63:0];
            words.word11 = hdr.ipv6.dst[127:64];
            words.word12 = hdr.ipv6.dst[63:0];
        }

        extractor_select.read(chosen, (bit<32>) meta.platform.vdp);
        extractor_mask.read(mask, (bit<32>) meta.platform.vdp);
        extract_first.apply(hdr, words, chosen[15:12], first);
        extract_second.apply(hdr, words, chosen[11:8], second);
        extract_third.apply(hdr, words, chosen[7:4], third);
        extract_fourth.apply(hdr, words, chosen[3:0], fourth);
        meta.key = (first ++ second ++ third ++ fourth) & mask;

        if (chosen[18:17] == 0) {
            half = meta.key[255:192];
        } else if (chosen[18:17] == 1) {
            half = meta.key[191:128];
        } else if (chosen[18:17] == 2) {
            half = meta.key[127:64];
        } else {
            half = meta.key[63:0];
        }
        meta.field = chosen[16:16] == 0 ? half[63:32] : half[31:0];
    }
}

control Preprocess(in headers_t hdr, inout metadata_t meta, in standard_metadata_t std, in bit<16> in_port) {
    CheckIpv4() check_ipv4;
    CheckIpv6() check_ipv6;
    TransportPorts() transport_ports;
    OpenFlowTuple() openflow_tuple;
    CustomExtractor() custom_extractor;

    bit<16> src_port = 0;
    bit<16> dst_port = 0;

    apply {
        if (meta.truncated == 1) {
            meta.reason = Reason.MALFORMED;
        } else if (meta.preprocessor == Preprocessor.IPV4 || meta.preprocessor == Preprocessor.PATH_SPLICING) {
            if (hdr.ipv4.isValid()) {
                check_ipv4.apply(hdr, meta, std);
            } else {
                meta.reason = Reason.OTHER_PROTOCOL;
            }
        } else if (meta.preprocessor == Preprocessor.IPV6) {
            if (hdr.ipv6.isValid()) {
                check_ipv6.apply(hdr, meta, std);
            } else {
                meta.reason = Reason.OTHER_PROTOCOL;
            }
        }

        if (meta.reason == Reason.NONE) {
            if (meta.preprocessor == Preprocessor.IPV4) {
                transport_ports.apply(hdr, src_port, dst_port);
                meta.field = hdr.ipv4.dst;
                meta.key = hdr.ipv4.src ++ hdr.ipv4.dst ++ hdr.ipv4.protocol ++ src_port ++ dst_port ++ 152w0;
            } else if (meta.preprocessor == Preprocessor.IPV6) {
                meta.key = hdr.ipv6.src ++ hdr.ipv6.dst;
            } else if (meta.preprocessor == Preprocessor.PATH_SPLICING) {
                if (hdr.splicing.isValid()) {
                    meta.slice = (bit<8>) hdr.splicing.indices[SPLICING_BITS - 1:0];
                }
                meta.field = hdr.ipv4.dst;
                meta.key = hdr.ipv4.dst ++ meta.slice ++ 216w0;
            } else if (meta.preprocessor == Preprocessor.OPENFLOW) {
                openflow_tuple.apply(hdr, meta, in_port);
            } else {
                custom_extractor.apply(hdr, meta, in_port);
            }
        }
    }
}

// 256 bits to 32.
control HashKey(inout metadata_t meta) {
    apply {
        hash(meta.platform.hash, HashAlgorithm.crc32, 32w0, { meta.key }, 33w0x1_0000_0000);
    }
}
