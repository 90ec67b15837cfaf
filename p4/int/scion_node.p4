// What a node of ID-INT does: how much room it finds, and the entry that it writes. The struct `headers_t` of a program has the
// headers that are used here, under these names.

// The length of what is reported for an instruction, in units of two bytes. None for what this node does not know.
control MetadatumLength(in bit<8> instruction, out bit<8> halves) {
    action is(bit<8> length) {
        halves = length;
    }
    table lengths {
        key = { instruction: exact; }
        actions = { is; }
        const default_action = is(0);
        const entries = {
            0x01: is(1);
            0x44: is(2);
            0x4e: is(2);
            0x4f: is(2);
            0x81: is(3);
            0x82: is(3);
            0x83: is(3);
        }
        size = 16;
    }
    apply {
        lengths.apply();
    }
}

// The length of an entry in words, for the instructions of the main option.
control EntryWords(in main_t main_option, out bit<8> words) {
    MetadatumLength() length1;
    MetadatumLength() length2;
    MetadatumLength() length3;
    MetadatumLength() length4;
    bit<8> a = 0;
    bit<8> b = 0;
    bit<8> c = 0;
    bit<8> d = 0;
    bit<8> e = 0;
    bit<8> f = 0;

    apply {
        length1.apply(main_option.instruction1, a);
        length2.apply(main_option.instruction2, b);
        length3.apply(main_option.instruction3, c);
        length4.apply(main_option.instruction4, d);
        e = 6w0 ++ main_option.flags[3:3] ++ main_option.flags[2:2];
        f = (7w0 ++ main_option.flags[1:1]) + (7w0 ++ main_option.flags[0:0]);
        a = a + b;
        c = c + d;
        // Rounded up to words.
        e = e + (ENTRY_HALVES + 1);
        e = e + f;
        a = a + c;
        a = a + e;
        words = a >> 1;
    }
}

// Whether there is room for an entry of `room.entry` words, and whether a sink takes the telemetry off. A node adds nothing to what it
// does not know: another version, or telemetry that is encrypted, aggregated, or to begin later.
control FindRoom(in extension_t extension, in main_t main_option, in last_t last, inout room_t room) {
    // Of the extension behind the stack, of the stack behind the last entry, and behind this node's; negative if that is too short.
    bit<16> spare = 0;
    bit<16> free = 0;
    bit<16> behind = 0;

    apply {
        spare = (8w0 ++ extension.words) - (8w0 ++ main_option.stack_words);
        spare = spare - (bit<16>) EXTENSION_WORDS;
        room.top = main_option.top + (last.bytes >> 2);
        free = (8w0 ++ main_option.stack_words) - (8w0 ++ room.top);
        behind = free - (8w0 ++ room.entry);
        room.behind = behind[7:0];
        // A stack that is longer than the extension, or shorter than its entries, is none.
        if (spare[15:15] == 0 && free[15:15] == 0) {
            // What hosts have begun is theirs. So is an extension with other options behind telemetry.
            if (spare == 0 && main_option.infrastructure == 1) {
                room.ours = 1;
            }
            if (main_option.version == 0 && main_option.encrypted == 0 && main_option.aggregation == 0 && main_option.delay == 0) {
                if (behind[15:15] == 1) {
                    room.full = 1;
                } else if (behind[7:6] == 0) {
                    // Padding of more words has several options.
                    room.adds = 1;
                }
            }
        }
    }
}

// One of the four instructions.
control Metadatum(in bit<8> instruction, in node_t node, in bit<64> ia, in bit<32> address, inout metadatum_t slot, out bit<3> halves) {
    action nothing() { }
    action isd() {
        slot.half.setValid();
        slot.half.value = ia[63:48];
        halves = 1;
    }
    action node_address() {
        slot.single.setValid();
        slot.single.value = address;
        halves = 2;
    }
    action queue() {
        slot.single.setValid();
        slot.single.value = 24w0 ++ node.queue;
        halves = 2;
    }
    action queue_length() {
        slot.single.setValid();
        slot.single.value = 8w0 ++ node.depth;
        halves = 2;
    }
    action asn() {
        slot.long.setValid();
        slot.long.value = ia[47:0];
        halves = 3;
    }
    action ingress_time() {
        slot.long.setValid();
        slot.long.value = node.ingress_time;
        halves = 3;
    }
    action egress_time() {
        slot.long.setValid();
        slot.long.value = node.egress_time;
        halves = 3;
    }
    table metadata {
        key = { instruction: exact; }
        actions = { nothing; isd; node_address; queue; queue_length; asn; ingress_time; egress_time; }
        const default_action = nothing();
        const entries = {
            0x01: isd();
            0x44: node_address();
            0x4e: queue();
            0x4f: queue_length();
            0x81: asn();
            0x82: ingress_time();
            0x83: egress_time();
        }
        size = 16;
    }
    apply {
        metadata.apply();
    }
}

// `leaves` says that the packet leaves the domain, where a source begins nothing.
control ScionNode(inout headers_t hdr, inout node_t node, inout room_t room, in bit<1> leaves) {
    Metadatum() metadatum1;
    Metadatum() metadatum2;
    Metadatum() metadatum3;
    Metadatum() metadatum4;
    bit<64> ia = 0;
    bit<32> address = 0;
    bit<8> fill = 0;
    bit<1> source = 0;
    bit<3> halves1 = 0;
    bit<3> halves2 = 0;
    bit<3> halves3 = 0;
    bit<3> halves4 = 0;

    action set_node(bit<32> node_id, bit<64> isd_as, bit<32> ipv4) {
        node.switch_id = node_id;
        ia = isd_as;
        address = ipv4;
    }
    // The node, its AS, and an address that it may report.
    table identity {
        actions = { set_node; }
        default_action = set_node(0, 0, 0);
    }

    // A source: its entry has `entry_words`, and `fill_words` are left for others. The packet grows by `bytes`.
    action watch(bit<4> flags, bit<8> instruction1, bit<8> instruction2, bit<8> instruction3, bit<8> instruction4, bit<8> stack_words,
                 bit<8> entry_words, bit<8> fill_words, bit<16> bytes) {
        source = 1;
        hdr.extension.setValid();
        hdr.extension.next = hdr.scion.next;
        hdr.extension.words = EXTENSION_WORDS + stack_words;
        hdr.scion.next = HOP_BY_HOP_EXTENSION;
        hdr.telemetry.setValid();
        hdr.telemetry.type = OPTION_MAIN;
        hdr.telemetry.bytes = MAIN_BYTES;
        hdr.telemetry.version = 0;
        hdr.telemetry.infrastructure = 1;
        hdr.telemetry.discard = 0;
        hdr.telemetry.encrypted = 0;
        hdr.telemetry.exceeded = 0;
        hdr.telemetry.reserved0 = 0;
        hdr.telemetry.aggregation = 0;
        hdr.telemetry.verifier = VERIFIER_DESTINATION;
        hdr.telemetry.verifier_kind = 0;
        hdr.telemetry.stack_words = stack_words;
        hdr.telemetry.top = 0;
        hdr.telemetry.delay = 0;
        hdr.telemetry.reserved1 = 0;
        hdr.telemetry.flags = flags;
        hdr.telemetry.functions = 0;
        hdr.telemetry.instruction1 = instruction1;
        hdr.telemetry.instruction2 = instruction2;
        hdr.telemetry.instruction3 = instruction3;
        hdr.telemetry.instruction4 = instruction4;
        hdr.telemetry.source_time = node.ingress_time;
        hdr.telemetry.source_port = node.egress_port;
        room.top = 0;
        room.entry = entry_words;
        room.behind = fill_words;
        room.adds = 1;
        fill = fill_words;
        node.bytes = bytes;
    }
    table flows {
        key = {
            hdr.scion.src_ia: ternary;
            hdr.scion.dst_ia: ternary;
        }
        actions = { watch; NoAction; }
        const default_action = NoAction();
        size = 512;
    }

    apply {
        identity.apply();
        node.bytes = 0;
        if (hdr.scion.isValid() && !hdr.extension.isValid() && node.report == 0 && leaves == 0) {
            flows.apply();
        }
        if (hdr.telemetry.isValid() && node.sink == 1) {
            node.bytes = -EXTENSION_BYTES - (6w0 ++ hdr.telemetry.stack_words ++ 2w0);
            hdr.scion.next = hdr.extension.next;
            hdr.extension.setInvalid();
            hdr.telemetry.setInvalid();
            hdr.udp.checksum = 0;
        } else if (hdr.telemetry.isValid()) {
            // UDP's checksum covers what changes. None is a zero.
            if (room.full == 1) {
                hdr.telemetry.exceeded = 1;
                hdr.udp.checksum = 0;
            }
            if (room.adds == 1) {
                hdr.udp.checksum = 0;
                hdr.telemetry.top = room.top;
                metadatum1.apply(hdr.telemetry.instruction1, node, ia, address, hdr.entry.slot1, halves1);
                metadatum2.apply(hdr.telemetry.instruction2, node, ia, address, hdr.entry.slot2, halves2);
                metadatum3.apply(hdr.telemetry.instruction3, node, ia, address, hdr.entry.slot3, halves3);
                metadatum4.apply(hdr.telemetry.instruction4, node, ia, address, hdr.entry.slot4, halves4);
                hdr.entry.head.setValid();
                hdr.entry.head.type = OPTION_ENTRY;
                hdr.entry.head.bytes = room.entry[5:0] ++ 2w0;
                hdr.entry.head.source = source;
                hdr.entry.head.flags = 0;
                hdr.entry.head.hop = 0;
                if (hdr.path.isValid()) {
                    hdr.entry.head.hop = hdr.path.hop;
                }
                hdr.entry.head.reserved = 0;
                hdr.entry.head.present = hdr.telemetry.flags;
                hdr.entry.head.halves1 = halves1;
                hdr.entry.head.halves2 = halves2;
                hdr.entry.head.halves3 = halves3;
                hdr.entry.head.halves4 = halves4;
                if (hdr.telemetry.flags[3:3] == 1) {
                    hdr.entry.node_id.setValid();
                    hdr.entry.node_id.value = node.switch_id;
                }
                if (hdr.telemetry.flags[2:2] == 1) {
                    hdr.entry.node_count.setValid();
                    hdr.entry.node_count.value = 1;
                }
                if (hdr.telemetry.flags[1:1] == 1) {
                    hdr.entry.ingress.setValid();
                    hdr.entry.ingress.value = node.ingress_port;
                }
                if (hdr.telemetry.flags[0:0] == 1) {
                    hdr.entry.egress.setValid();
                    hdr.entry.egress.value = node.egress_port;
                }
                // An odd number of halves, with header and MAC, is filled up to words.
                if (halves1[0:0] ^ halves2[0:0] ^ halves3[0:0] ^ halves4[0:0]
                    ^ hdr.telemetry.flags[2:2] ^ hdr.telemetry.flags[1:1] ^ hdr.telemetry.flags[0:0] == 0) {
                    hdr.entry.filler.setValid();
                    hdr.entry.filler.value = 0;
                }
                // Not authenticated.
                hdr.entry.mac.setValid();
                hdr.entry.mac.value = 0;
                // What is left of the padding.
                if (room.behind != 0) {
                    if (source == 1) {
                        hdr.padding.setValid();
                        hdr.padding.rest = 0;
                        fill = fill - 1;
                    }
                    hdr.padding.type = OPTION_PADDING;
                    hdr.padding.bytes = (room.behind[5:0] ++ 2w0) - 2;
                }
                if (fill[0:0] == 1) {
                    hdr.fills.one.setValid();
                    hdr.fills.one.zero = 0;
                }
                if (fill[1:1] == 1) {
                    hdr.fills.two.setValid();
                    hdr.fills.two.zero = 0;
                }
                if (fill[2:2] == 1) {
                    hdr.fills.four.setValid();
                    hdr.fills.four.zero = 0;
                }
                if (fill[3:3] == 1) {
                    hdr.fills.eight.setValid();
                    hdr.fills.eight.zero = 0;
                }
                if (fill[4:4] == 1) {
                    hdr.fills.sixteen.setValid();
                    hdr.fills.sixteen.zero = 0;
                }
            }
        }
        hdr.ipv4.length = hdr.ipv4.length + node.bytes;
        hdr.udp.length = hdr.udp.length + node.bytes;
        hdr.scion.length = hdr.scion.length + node.bytes;
    }
}
