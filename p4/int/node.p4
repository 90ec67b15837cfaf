// What a node of INT does to a packet where it leaves: a source adds telemetry, each node its own part, and a sink takes it off. The
// struct `headers_t` of a program has the headers that are used here, under these names. What nodes before have added is taken off by
// the program.

control Node(inout headers_t hdr, inout node_t node) {
    action set_switch_id(bit<32> switch_id) {
        node.switch_id = switch_id;
    }
    table identity {
        actions = { set_switch_id; }
        default_action = set_switch_id(0);
    }

    // A source: `hop_words` is what the instructions have together.
    action watch(bit<8> hops, bit<16> instructions, bit<5> hop_words) {
        hdr.shim.setValid();
        hdr.shim.type = HOP_BY_HOP;
        hdr.shim.reserved = 0;
        hdr.shim.words = FIXED_WORDS;
        hdr.shim.dscp = hdr.ipv4.dscp;
        hdr.shim.rest = 0;
        hdr.telemetry.setValid();
        hdr.telemetry.version = INT_VERSION;
        hdr.telemetry.replication = 0;
        hdr.telemetry.copy = 0;
        hdr.telemetry.exceeded = 0;
        hdr.telemetry.mtu_exceeded = 0;
        hdr.telemetry.reserved = 0;
        hdr.telemetry.hop_words = hop_words;
        hdr.telemetry.hops_left = hops;
        hdr.telemetry.instructions = instructions;
        hdr.telemetry.rest = 0;
        hdr.ipv4.dscp = DSCP_INT;
        node.bytes = FIXED_BYTES;
    }
    table flows {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.dst: ternary;
            hdr.ipv4.protocol: ternary;
            hdr.ports.src: ternary;
            hdr.ports.dst: ternary;
        }
        actions = { watch; NoAction; }
        const default_action = NoAction();
        size = 1024;
    }

    apply {
        identity.apply();
        node.bytes = 0;
        // Fragments and packets with options of IPv4 have no ports where a source looks for them.
        if (!hdr.shim.isValid() && hdr.ports.isValid() && node.report == 0 && node.sink == 0) {
            flows.apply();
        }
        if (hdr.telemetry.isValid()) {
            // Instructions that are not known here are those of another version: nothing is added.
            if (hdr.telemetry.hops_left == 0) {
                hdr.telemetry.exceeded = 1;
            } else if (hdr.telemetry.instructions[7:0] == 0) {
                node.bytes = node.bytes + (9w0 ++ hdr.telemetry.hop_words ++ 2w0);
                hdr.telemetry.hops_left = hdr.telemetry.hops_left - 1;
                hdr.shim.words = hdr.shim.words + (bit<8>) hdr.telemetry.hop_words;
                if (hdr.telemetry.instructions[15:15] == 1) {
                    hdr.switch_id.setValid();
                    hdr.switch_id.value = node.switch_id;
                }
                if (hdr.telemetry.instructions[14:14] == 1) {
                    hdr.port_ids.setValid();
                    hdr.port_ids.ingress = node.ingress_port;
                    hdr.port_ids.egress = node.egress_port;
                }
                if (hdr.telemetry.instructions[13:13] == 1) {
                    hdr.latency.setValid();
                    hdr.latency.nanoseconds = (bit<32>) (node.egress_time - node.ingress_time);
                }
                if (hdr.telemetry.instructions[12:12] == 1) {
                    hdr.queue.setValid();
                    hdr.queue.id = node.queue;
                    hdr.queue.depth = node.depth;
                }
                if (hdr.telemetry.instructions[11:11] == 1) {
                    hdr.ingress_time.setValid();
                    hdr.ingress_time.nanoseconds = (bit<64>) node.ingress_time;
                }
                if (hdr.telemetry.instructions[10:10] == 1) {
                    hdr.egress_time.setValid();
                    hdr.egress_time.nanoseconds = (bit<64>) node.egress_time;
                }
                if (hdr.telemetry.instructions[9:9] == 1) {
                    hdr.logical_ports.setValid();
                    hdr.logical_ports.ingress = node.ingress_port;
                    hdr.logical_ports.egress = node.egress_port;
                }
                if (hdr.telemetry.instructions[8:8] == 1) {
                    // Not measured.
                    hdr.utilisation.setValid();
                    hdr.utilisation.value = 0xffffffff;
                }
            }
            if (node.report == 0 && node.sink == 1) {
                node.bytes = node.bytes - (6w0 ++ hdr.shim.words ++ 2w0);
                hdr.ipv4.dscp = hdr.shim.dscp;
                hdr.shim.setInvalid();
                hdr.telemetry.setInvalid();
                hdr.switch_id.setInvalid();
                hdr.port_ids.setInvalid();
                hdr.latency.setInvalid();
                hdr.queue.setInvalid();
                hdr.ingress_time.setInvalid();
                hdr.egress_time.setInvalid();
                hdr.logical_ports.setInvalid();
                hdr.utilisation.setInvalid();
            }
            hdr.ipv4.length = hdr.ipv4.length + node.bytes;
            if (hdr.udp.isValid()) {
                hdr.udp.length = hdr.udp.length + node.bytes;
            }
        }
    }
}
