// The report that a sink sends: the packet with its telemetry, behind headers that lead to the collector. The struct `headers_t` of a program has
// the headers that are used here, under these names.

control Report(inout headers_t hdr, in node_t node) {
    action to_collector(bit<48> src, bit<48> dst, bit<32> from, bit<32> to, bit<16> port) {
        hdr.report_ethernet.setValid();
        hdr.report_ethernet.dst = dst;
        hdr.report_ethernet.src = src;
        hdr.report_ethernet.type = TYPE_IPV4;
        hdr.report_ipv4.setValid();
        hdr.report_ipv4.version = 4;
        hdr.report_ipv4.ihl = 5;
        hdr.report_ipv4.dscp = 0;
        hdr.report_ipv4.ecn = 0;
        // The report has the packet from Ethernet on.
        hdr.report_ipv4.length = hdr.ipv4.length + (20 + 8 + 14 + REPORT_BYTES);
        hdr.report_ipv4.id = 0;
        hdr.report_ipv4.flags = 0;
        hdr.report_ipv4.offset = 0;
        hdr.report_ipv4.ttl = 64;
        hdr.report_ipv4.protocol = PROTOCOL_UDP;
        hdr.report_ipv4.checksum = 0;
        hdr.report_ipv4.src = from;
        hdr.report_ipv4.dst = to;
        hdr.report_ports.setValid();
        hdr.report_ports.src = 0;
        hdr.report_ports.dst = port;
        hdr.report_udp.setValid();
        hdr.report_udp.length = hdr.ipv4.length + (8 + 14 + REPORT_BYTES);
        hdr.report_udp.checksum = 0;
        hdr.report.setValid();
        hdr.report.version = REPORT_VERSION;
        hdr.report.words = 4;
        hdr.report.next = 0;
        hdr.report.reserved = 0;
        hdr.report.dropped = 0;
        hdr.report.congested = 0;
        hdr.report.tracked = 1;
        hdr.report.hardware = 0;
        hdr.report.switch_id = node.switch_id;
        hdr.report.sequence = node.sequence;
        hdr.report.ingress_time = node.ingress_time[31:0];
    }
    table collector {
        actions = { to_collector; NoAction; }
        default_action = NoAction();
    }

    apply {
        collector.apply();
    }
}
