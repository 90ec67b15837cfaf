// Egress queues of the border router: which one a PDU waits in, and the mark that it gets if that is long. As congestion.p4.

control ClassifyPdu(in headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    action queue(bit<3> priority) {
        std.priority = priority;
    }

    // QoS ids without an entry wait in queue 0.
    table qos_queues {
        key = {
            meta.queue_dif: exact @name("dif");
            meta.queue_qos_id: exact @name("qos_id");
        }
        actions = { queue; }
        default_action = queue(0);
        size = 4096;
    }

    apply {
        // Also that of the upper DIF in an (N-1) flow, which only this router can tell from data.
        if (hdr.pdu.type == PDU_MANAGEMENT) {
            std.priority = MANAGEMENT_QUEUE;
            return;
        }
        meta.queue_dif = meta.dif;
        meta.queue_qos_id = (bit<16>) hdr.pdu.qos_id;
        if (hdr.outer.isValid()) {
            meta.queue_dif = meta.lower_dif;
            meta.queue_qos_id = (bit<16>) hdr.outer.qos_id;
        }
        qos_queues.apply();
    }
}

control MarkPdu(inout headers_t hdr, in standard_metadata_t std) {
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
        marked.count((bit<32>) std.egress_port);
        if (hdr.outer.isValid()) {
            // Its checksum is computed when it leaves.
            hdr.outer.flags = hdr.outer.flags | FLAG_CONGESTION;
        } else {
            bit<16> before = hdr.pdu.type ++ hdr.pdu.flags;
            hdr.pdu.flags = hdr.pdu.flags | FLAG_CONGESTION;
            adjust_checksum(hdr.pdu.checksum, before, hdr.pdu.type ++ hdr.pdu.flags);
        }
    }
}
