// The underlay of the packet that leaves: Ethernet, IP and UDP as a socket of this router would send it.
//
// TTL 64, DF set, type of service 0 whatever SCION's traffic class is. What SCION changed is accounted for in
// the UDP checksum without looking at the payload (RFC 1624): an error that happened on the way here stays
// detectable at the other end.

control WriteUnderlay(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t std) {
    bit<64> sum = 0;
    bit<16> checksum = 0;

    apply {
        sum = SUM_MODULUS + meta.changes - (bit<64>) hdr.udp.checksum
            - (bit<64>) (hdr.udp.src_port ++ hdr.udp.dst_port)
            + (bit<64>) (meta.target.src_port ++ meta.target.dst_port);
        if (hdr.ipv4.isValid()) {
            sum = sum - sum32(hdr.ipv4.src, hdr.ipv4.dst);
#ifndef NO_IPV6
        } else {
            sum = sum - sum128(hdr.ipv6.src) - sum128(hdr.ipv6.dst);
#endif
        }

        hdr.ethernet.dst = meta.target.dst_mac;
        hdr.ethernet.src = meta.target.src_mac;
        if (meta.target.over_ipv6 == 0) {
            sum = sum + sum32(meta.target.src4, meta.target.dst4);
            hdr.ethernet.ether_type = ETHERTYPE_IPV4;
            hdr.ipv6.setInvalid();
            hdr.ipv4.setValid();
            hdr.ipv4.version_ihl = 0x45;
            hdr.ipv4.tos = 0;
            hdr.ipv4.total_len = hdr.udp.length + 20;
            hdr.ipv4.id = 0;
            hdr.ipv4.fragment = IPV4_DONT_FRAGMENT;
            hdr.ipv4.ttl = 64;
            hdr.ipv4.protocol = PROTO_UDP;
            hdr.ipv4.src = meta.target.src4;
            hdr.ipv4.dst = meta.target.dst4;
            hdr.ipv4.checksum = ~fold(0x4500 + (bit<64>) IPV4_DONT_FRAGMENT + 0x4011 // TTL and protocol
                                      + (bit<64>) hdr.ipv4.total_len
                                      + sum32(meta.target.src4, meta.target.dst4));
        } else {
            sum = sum + sum128(meta.target.src6) + sum128(meta.target.dst6);
            hdr.ethernet.ether_type = ETHERTYPE_IPV6;
            hdr.ipv4.setInvalid();
            hdr.ipv6.setValid();
            hdr.ipv6.version_class_label = 0x60000000;
            hdr.ipv6.payload_len = hdr.udp.length;
            hdr.ipv6.next_hdr = PROTO_UDP;
            hdr.ipv6.hop_limit = 64;
            hdr.ipv6.src = meta.target.src6;
            hdr.ipv6.dst = meta.target.dst6;
        }

        hdr.udp.src_port = meta.target.src_port;
        hdr.udp.dst_port = meta.target.dst_port;
        if (hdr.udp.checksum != 0) {
            // A sum of zero is sent as all ones: zero means that there is none (RFC 768).
            checksum = ~fold(sum);
            hdr.udp.checksum = checksum == 0 ? 16w0xffff : checksum;
        }

        std.egress_spec = meta.target.port;
    }
}
