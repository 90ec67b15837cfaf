// Postprocessing: the modules that the platform header's bitmap chooses.
//
// The first five modules know IPv4 and IPv6. The others are wrappers: they do the same to fields at offsets that the VDP's
// registers give, in the 64 bytes of hdr.words.

// The checksum of data in which one 16-bit word has been exchanged (RFC 1624, equation 3).
bit<16> adjusted(in bit<16> checksum, in bit<16> before, in bit<16> after) {
    bit<18> sum = (bit<18>) ~checksum + (bit<18>) ~before + (bit<18>) after;
    sum = (bit<18>) sum[15:0] + (bit<18>) sum[17:16];
    sum = (bit<18>) sum[15:0] + (bit<18>) sum[17:16];
    return ~sum[15:0];
}

// The wrappers' fields: where they are and what they become. Words are numbered from hdr.words[0].
struct wrapper_t {
    bit<3>  decrement_word;
    bit<6>  decrement_shift;  // bits from the right, of the 16-bit word that contains the byte
    bit<16> decremented;      // that word as it is
    bit<16> after_decrement;  // ... and as it becomes
    bit<3>  checksum_word;
    bit<6>  checksum_shift;
    bit<3>  write_word;
    bit<1>  write_right;      // 1: the right half of the word
    bit<32> write_mask;
}

// Finds the wrappers' fields, before anything is changed. Packets that do not have them are malformed; those whose counter is
// at its end go to the CPU port, as with the TTL.
control CheckModules(in headers_t hdr, inout metadata_t meta, inout wrapper_t wrapper) {
    // Byte offsets in hdr.words: bits 5 to 0 of what module 32 decrements, 13 to 8 of the checksum for module 64 (even),
    // 21 to 16 of the four bytes that module 128 writes (a multiple of four).
    register<bit<32>>(VDP_COUNT) wrapper_offsets;
    // Which bits of these four bytes module 128 writes.
    register<bit<32>>(VDP_COUNT) wrapper_mask;

    bit<32> offsets = 0;
    bit<64> word = 0;
    bit<8> left = 0;

    apply {
        if (meta.platform.modules & MODULE_KEEP_TTL == 0 && hdr.ipv4.isValid() && hdr.ipv4.ttl <= 1) {
            meta.reason = Reason.TTL;
        }
        if (meta.platform.modules & MODULE_IPV6_HOP_LIMIT != 0 && hdr.ipv6.isValid() && hdr.ipv6.hop_limit <= 1) {
            meta.reason = Reason.TTL;
        }
        if (meta.platform.modules & (MODULE_CUSTOM_DECREMENT | MODULE_CUSTOM_CHECKSUM | MODULE_CUSTOM_WRITE) != 0) {
            wrapper_offsets.read(offsets, (bit<32>) meta.platform.vdp);
        }
        if (meta.platform.modules & MODULE_CUSTOM_DECREMENT != 0) {
            wrapper.decrement_word = offsets[5:3];
            wrapper.decrement_shift = (3 - (bit<6>) offsets[2:1]) << 4;
            word = hdr.words[wrapper.decrement_word].value >> wrapper.decrement_shift;
            wrapper.decremented = word[15:0];
            if (offsets[0:0] == 0) {
                left = wrapper.decremented[15:8];
                wrapper.after_decrement = wrapper.decremented - 0x100;
            } else {
                left = wrapper.decremented[7:0];
                wrapper.after_decrement = wrapper.decremented - 1;
            }
            if (!hdr.words[wrapper.decrement_word].isValid()) {
                meta.reason = Reason.MALFORMED;
            } else if (left <= 1) {
                meta.reason = Reason.TTL;
            }
        }
        if (meta.platform.modules & MODULE_CUSTOM_CHECKSUM != 0) {
            wrapper.checksum_word = offsets[13:11];
            wrapper.checksum_shift = (3 - (bit<6>) offsets[10:9]) << 4;
            if (!hdr.words[wrapper.checksum_word].isValid()) {
                meta.reason = Reason.MALFORMED;
            }
        }
        if (meta.platform.modules & MODULE_CUSTOM_WRITE != 0) {
            wrapper.write_word = offsets[21:19];
            wrapper.write_right = offsets[18:18];
            wrapper_mask.read(wrapper.write_mask, (bit<32>) meta.platform.vdp);
            if (!hdr.words[wrapper.write_word].isValid()) {
                meta.reason = Reason.MALFORMED;
            }
        }
    }
}

control PostProcess(inout headers_t hdr, in metadata_t meta, in wrapper_t wrapper) {
    bit<16> before = 0;
    bit<64> word = 0;
    bit<16> checksum = 0;
    bit<32> old_field = 0;
    bit<32> new_field = 0;

    apply {
        if (meta.platform.modules & MODULE_KEEP_SRC_MAC == 0) {
            hdr.ethernet.src = meta.src_mac;
        }
        if (meta.platform.modules & MODULE_KEEP_DST_MAC == 0) {
            hdr.ethernet.dst = meta.dst_mac;
        }
        if (hdr.ipv4.isValid() && meta.platform.modules & MODULE_KEEP_TTL == 0) {
            before = hdr.ipv4.ttl ++ hdr.ipv4.protocol;
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            if (meta.platform.modules & MODULE_KEEP_CHECKSUM == 0) {
                hdr.ipv4.checksum = adjusted(hdr.ipv4.checksum, before, hdr.ipv4.ttl ++ hdr.ipv4.protocol);
            }
        }
        if (hdr.ipv6.isValid() && meta.platform.modules & MODULE_IPV6_HOP_LIMIT != 0) {
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
        if (hdr.splicing.isValid() && meta.preprocessor == Preprocessor.PATH_SPLICING) {
            hdr.splicing.indices = hdr.splicing.indices >> SPLICING_BITS;
        }

        if (meta.platform.modules & MODULE_CUSTOM_DECREMENT != 0) {
            word = (bit<64>) (wrapper.decremented ^ wrapper.after_decrement) << wrapper.decrement_shift;
            hdr.words[wrapper.decrement_word].value = hdr.words[wrapper.decrement_word].value ^ word;
        }
        if (meta.platform.modules & MODULE_CUSTOM_WRITE != 0) {
            word = hdr.words[wrapper.write_word].value;
            old_field = wrapper.write_right == 1 ? word[31:0] : word[63:32];
            new_field = (old_field & ~wrapper.write_mask) | (meta.data & wrapper.write_mask);
            if (wrapper.write_right == 1) {
                word[31:0] = new_field;
            } else {
                word[63:32] = new_field;
            }
            hdr.words[wrapper.write_word].value = word;
        }
        if (meta.platform.modules & MODULE_CUSTOM_CHECKSUM != 0) {
            word = hdr.words[wrapper.checksum_word].value >> wrapper.checksum_shift;
            before = word[15:0];
            checksum = before;
            if (meta.platform.modules & MODULE_CUSTOM_DECREMENT != 0) {
                checksum = adjusted(checksum, wrapper.decremented, wrapper.after_decrement);
            }
            if (meta.platform.modules & MODULE_CUSTOM_WRITE != 0) {
                checksum = adjusted(checksum, old_field[31:16], new_field[31:16]);
                checksum = adjusted(checksum, old_field[15:0], new_field[15:0]);
            }
            word = (bit<64>) (before ^ checksum) << wrapper.checksum_shift;
            hdr.words[wrapper.checksum_word].value = hdr.words[wrapper.checksum_word].value ^ word;
        }
    }
}
