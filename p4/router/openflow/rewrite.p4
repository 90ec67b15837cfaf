// What happens to a copy of a packet on its way out: at most one tag is popped, then at most one pushed, then fields are set.
// A list of actions that needs more takes several passes.

// Bits of the argument `what` of `set`.
#define POP_VLAN   what[0:0] == 1
#define PUSH_VLAN  what[1:1] == 1
#define TAG        what[2:2] == 1   // a packet without a tag gets one
#define SET_VID    what[3:3] == 1
#define SET_PCP    what[4:4] == 1
#define SET_ETH_SRC what[5:5] == 1
#define SET_ETH_DST what[6:6] == 1
#define SET_L3_SRC what[7:7] == 1
#define SET_L3_DST what[8:8] == 1
#define SET_DSCP   what[9:9] == 1
#define SET_ECN    what[10:10] == 1
#define SET_TTL    what[11:11] == 1
#define DEC_TTL    what[12:12] == 1
#define SET_L4_SRC what[13:13] == 1
#define SET_L4_DST what[14:14] == 1
#define SET_LINK_SRC what[15:15] == 1
#define SET_LINK_DST what[16:16] == 1
#define SET_LABEL  what[17:17] == 1
// What the fields of layers 3 and 4 are: by default those of IPv4, TCP and UDP.
#define OF_ARP     what[18:18] == 1
#define OF_IPV6    what[19:19] == 1
#define OF_ICMP    what[20:20] == 1

control Rewrite(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    // A new tag has the identifier and priority of the one below it.
    action push(bit<16> tpid) {
        if (hdr.vlan.isValid()) {
            if (hdr.inner.isValid()) {
                hdr.third = hdr.inner;
            }
            hdr.inner = hdr.vlan;
        } else {
            hdr.vlan.setValid();
        }
        hdr.vlan.type = hdr.ethernet.type;
        hdr.ethernet.type = tpid;
    }

    action pop() {
        hdr.ethernet.type = hdr.vlan.type;
        if (hdr.inner.isValid()) {
            hdr.vlan = hdr.inner;
            hdr.inner.setInvalid();
        } else {
            hdr.vlan.setInvalid();
        }
    }

    action set(bit<21> what, bit<16> tpid, bit<12> vid, bit<3> pcp, bit<48> eth_src, bit<48> eth_dst, bit<128> l3_src,
            bit<128> l3_dst, bit<6> dscp, bit<2> ecn, bit<8> ttl, bit<16> l4_src, bit<16> l4_dst, bit<48> link_src,
            bit<48> link_dst, bit<20> flow_label) {
        if (POP_VLAN && hdr.vlan.isValid()) {
            pop();
        }
        if (PUSH_VLAN || TAG && !hdr.vlan.isValid()) {
            push(tpid);
        }
        if (SET_VID && hdr.vlan.isValid()) {
            hdr.vlan.vid = vid;
        }
        if (SET_PCP && hdr.vlan.isValid()) {
            hdr.vlan.pcp = pcp;
        }
        if (SET_ETH_SRC) {
            hdr.ethernet.src = eth_src;
        }
        if (SET_ETH_DST) {
            hdr.ethernet.dst = eth_dst;
        }

        // Fields of another protocol than the packet's stay as they are.
        bool addresses = OF_ARP ? hdr.arp.isValid() : (OF_IPV6 ? hdr.ipv6.isValid() : hdr.ipv4.isValid());
        bool ports = OF_ARP ? hdr.arp.isValid() : (OF_ICMP ? hdr.icmp.isValid() : !hdr.icmp.isValid() && !hdr.arp.isValid());
        bit<128> new_l3_src = addresses && SET_L3_SRC ? l3_src : meta.l3_src;
        bit<128> new_l3_dst = addresses && SET_L3_DST ? l3_dst : meta.l3_dst;
        bit<16> new_l4_src = ports && SET_L4_SRC ? l4_src : meta.l4_src;
        bit<16> new_l4_dst = ports && SET_L4_DST ? l4_dst : meta.l4_dst;
        bit<6> new_dscp = SET_DSCP ? dscp : meta.tos[7:2];
        bit<2> new_ecn = SET_ECN ? ecn : meta.tos[1:0];
        if (hdr.ipv4.isValid()) {
            bit<8> old_ttl = hdr.ipv4.ttl;
            if (SET_TTL) {
                hdr.ipv4.ttl = ttl;
            }
            if (DEC_TTL) {
                if (hdr.ipv4.ttl <= 1) {
                    mark_to_drop(std);
                }
                hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            }
            adjust_checksum(hdr.ipv4.checksum, { 8w0, meta.tos, old_ttl, 8w0, hdr.ipv4.src, hdr.ipv4.dst },
                { 8w0, new_dscp, new_ecn, hdr.ipv4.ttl, 8w0, new_l3_src[31:0], new_l3_dst[31:0] });
            hdr.ipv4.dscp = new_dscp;
            hdr.ipv4.ecn = new_ecn;
            hdr.ipv4.src = new_l3_src[31:0];
            hdr.ipv4.dst = new_l3_dst[31:0];
        } else if (hdr.ipv6.isValid()) {
            if (SET_TTL) {
                hdr.ipv6.hop_limit = ttl;
            }
            if (DEC_TTL) {
                if (hdr.ipv6.hop_limit <= 1) {
                    mark_to_drop(std);
                }
                hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
            }
            hdr.ipv6.traffic_class = new_dscp ++ new_ecn;
            hdr.ipv6.src = new_l3_src;
            hdr.ipv6.dst = new_l3_dst;
            if (SET_LABEL) {
                hdr.ipv6.flow_label = flow_label;
            }
        } else if (hdr.arp.isValid()) {
            hdr.arp.operation = new_l4_src;
            hdr.arp.sender_ip = new_l3_src[31:0];
            hdr.arp.target_ip = new_l3_dst[31:0];
            if (SET_LINK_SRC) {
                hdr.arp.sender_mac = link_src;
            }
            if (SET_LINK_DST) {
                hdr.arp.target_mac = link_dst;
            }
        }
        if (hdr.tcp.isValid()) {
            adjust_checksum(hdr.tcp.checksum, { meta.l3_src, meta.l3_dst, meta.l4_src, meta.l4_dst },
                { new_l3_src, new_l3_dst, new_l4_src, new_l4_dst });
            hdr.tcp.src = new_l4_src;
            hdr.tcp.dst = new_l4_dst;
        } else if (hdr.udp.isValid()) {
            // RFC 768: 0 is no checksum, and a checksum that is 0 is written 0xffff.
            if (hdr.udp.checksum != 0) {
                adjust_checksum(hdr.udp.checksum, { meta.l3_src, meta.l3_dst, meta.l4_src, meta.l4_dst },
                    { new_l3_src, new_l3_dst, new_l4_src, new_l4_dst });
                if (hdr.udp.checksum == 0) {
                    hdr.udp.checksum = 0xffff;
                }
            }
            hdr.udp.src = new_l4_src;
            hdr.udp.dst = new_l4_dst;
        } else if (hdr.icmp.isValid()) {
            adjust_checksum(hdr.icmp.checksum, { hdr.icmp.type, hdr.icmp.code },
                { new_l4_src[7:0], new_l4_dst[7:0] });
            // Only ICMPv6 covers the addresses.
            if (hdr.ipv6.isValid()) {
                adjust_checksum(hdr.icmp.checksum, { meta.l3_src, meta.l3_dst }, { new_l3_src, new_l3_dst });
            }
            hdr.icmp.type = new_l4_src[7:0];
            hdr.icmp.code = new_l4_dst[7:0];
        }
    }

    table rewrites {
        key = { meta.rewrite : exact; }
        actions = { set; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        rewrites.apply();
    }
}
