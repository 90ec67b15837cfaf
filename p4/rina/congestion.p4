// Egress queues: which one a packet waits in, and the mark that it gets if that is long.

control Classify(in headers_t hdr, in meta_t meta, inout standard_metadata_t std) {
    action queue(bit<3> priority) {
        std.priority = priority;
    }

    // EFCP but layer management; QoS ids without an entry wait in queue 0.
    table qos_queues {
        key = {
            meta.dif: exact @name("dif");
            meta.qos_id: exact @name("qos_id");
        }
        actions = { queue; }
        default_action = queue(0);
        size = 4096;
    }

    // IPv4.
    table dscp_queues {
        key = { hdr.ipv4.tos[7:2]: exact @name("dscp"); }
        actions = { queue; }
        default_action = queue(0);
        size = 64;
    }

    apply {
        if (hdr.ipv4.isValid()) {
            dscp_queues.apply();
        } else if (meta.pdu_type == PDU_MANAGEMENT) {
            // Whatever its QoS id: it never waits behind data.
            std.priority = MANAGEMENT_QUEUE;
        } else {
            qos_queues.apply();
        }
    }
}

control MarkCongestion(inout headers_t hdr, in standard_metadata_t std) {
    // By egress port.
    counter(512, CounterType.packets_and_bytes) marked;
    bit<1> mark = 0;

    // Marks what finds this many packets in its queue, or more.
    action mark_from(bit<19> packets) {
        mark = (bit<1>) (std.enq_qdepth >= packets);
    }

    action never() { }

    table thresholds {
        key = {
            std.egress_port: exact @name("port");
            std.priority: exact @name("priority");
        }
        actions = { mark_from; never; }
        default_action = never();
        size = 4096;
    }

    apply {
        thresholds.apply();
        if (mark == 0) {
            return;
        }
        if (hdr.efcp.isValid()) {
            bit<16> before = hdr.efcp.type ++ hdr.efcp.flags;
            hdr.efcp.flags = hdr.efcp.flags | FLAG_CONGESTION;
            adjust_checksum(hdr.efcp.checksum, before, hdr.efcp.type ++ hdr.efcp.flags);
            marked.count((bit<32>) std.egress_port);
        } else if (hdr.irati.isValid()) {
            hdr.irati.flags = hdr.irati.flags | FLAG_CONGESTION;
            marked.count((bit<32>) std.egress_port);
        } else if (hdr.rlite.isValid()) {
            // The flag is 1 in a number of the checksum, if there is one.
            if (hdr.rlite.checksum != 0 && hdr.rlite.flags & FLAG_CONGESTION == 0) {
                bit<16> sum = from_little_endian(hdr.rlite.checksum);
                hdr.rlite.checksum = from_little_endian(sum == 1 ? 16w0xffff : sum - 1);
            }
            hdr.rlite.flags = hdr.rlite.flags | FLAG_CONGESTION;
            marked.count((bit<32>) std.egress_port);
        } else if (hdr.ipv4.isValid() && hdr.ipv4.tos[1:0] != 0) {
            // RFC 3168: only what says that its ends understand.
            bit<16> before = hdr.ipv4.version ++ hdr.ipv4.ihl ++ hdr.ipv4.tos;
            hdr.ipv4.tos = hdr.ipv4.tos | 0b11;
            adjust_checksum(hdr.ipv4.checksum, before, hdr.ipv4.version ++ hdr.ipv4.ihl ++ hdr.ipv4.tos);
            marked.count((bit<32>) std.egress_port);
        }
    }
}
