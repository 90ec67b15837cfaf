// What happens to a copy of a packet on its way out, by one action of the table `rewrites`. `set` pops at most one VLAN tag, then
// pushes at most one, then sets fields. The others are for headers and fields that fewer packets have. A list of actions that
// needs several of them, or one of them several times, takes several passes.

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

// Bits of the argument `what` of `set_mpls`, beside SET_ETH_SRC and SET_ETH_DST.
#define POP_MPLS       what[0:0] == 1
#define PUSH_MPLS      what[1:1] == 1
#define SET_MPLS_LABEL what[2:2] == 1
#define SET_MPLS_TC    what[3:3] == 1
#define SET_MPLS_BOS   what[4:4] == 1
#define SET_MPLS_TTL   what[7:7] == 1
#define DEC_MPLS_TTL   what[8:8] == 1

// Bits of the argument `what` of `set_neighbour`.
#define SET_ND_TARGET what[0:0] == 1
#define SET_ND_SLL    what[1:1] == 1
#define SET_ND_TLL    what[2:2] == 1

// Bits of the argument `what` of `set_sctp`.
#define SET_SCTP_SRC what[0:0] == 1
#define SET_SCTP_DST what[1:1] == 1

// Product of two polynomials modulo that of CRC-32C (RFC 9260, appendix A). The highest bit is the coefficient of 1.
bit<32> crc_product(in bit<32> a, in bit<32> b) {
    bit<32> product = 0;
    bit<32> factor = a;
    bit<32> shifted = b;
    for (bit<8> i in 8w1..32) {
        product = product ^ (factor[31:31] == 1 ? shifted : 0);
        shifted = (shifted >> 1) ^ (shifted[0:0] == 1 ? 32w0x82f63b78 : 0);
        factor = factor << 1;
    }
    return product;
}

// What a change of the first four bytes of `length` does to their CRC-32C, as SCTP writes it: the change times x^(8 * length).
bit<32> checksum_change(in bit<32> change, in bit<16> length) {
    bit<32> result = change[7:0] ++ change[15:8] ++ change[23:16] ++ change[31:24];
    bit<32> power = 32w1 << 23;
    for (bit<8> i in 8w0..15) {
        result = (length >> i)[0:0] == 1 ? crc_product(result, power) : result;
        power = crc_product(power, power);
    }
    return result[7:0] ++ result[15:8] ++ result[23:16] ++ result[31:24];
}

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

    // The EtherType behind the tags.
    action set_payload_type(bit<16> type) {
        if (hdr.inner.isValid()) {
            hdr.inner.type = type;
        } else if (hdr.vlan.isValid()) {
            hdr.vlan.type = type;
        } else {
            hdr.ethernet.type = type;
        }
    }

    // The MPLS label stack: at most one entry is popped, then at most one pushed behind the VLAN tags. Then the outermost entry
    // is changed. `type` is the EtherType after that.
    action set_mpls(bit<9> what, bit<16> type, bit<20> label, bit<3> tc, bit<1> bos, bit<8> ttl, bit<48> eth_src, bit<48> eth_dst) {
        if (POP_MPLS && hdr.mpls.isValid()) {
            hdr.mpls.setInvalid();
            set_payload_type(type);
            if (hdr.mpls_below.isValid()) {
                hdr.mpls = hdr.mpls_below;
                hdr.mpls_below.setInvalid();
            }
        }
        // A new entry is like the one below it (section 5.12.2); without one it has the packet's time to live.
        if (PUSH_MPLS) {
            if (hdr.mpls.isValid()) {
                hdr.pushed_mpls = hdr.mpls;
                hdr.pushed_mpls.bos = 0;
            } else {
                hdr.pushed_mpls = { 0, 0, 1, hdr.ipv4.isValid() ? hdr.ipv4.ttl : (hdr.ipv6.isValid() ? hdr.ipv6.hop_limit : 0) };
            }
            set_payload_type(type);
        }
        if (hdr.pushed_mpls.isValid()) {
            if (SET_MPLS_LABEL) {
                hdr.pushed_mpls.label = label;
            }
            if (SET_MPLS_TC) {
                hdr.pushed_mpls.tc = tc;
            }
            if (SET_MPLS_BOS) {
                hdr.pushed_mpls.bos = bos;
            }
            if (SET_MPLS_TTL) {
                hdr.pushed_mpls.ttl = ttl;
            }
        } else if (hdr.mpls.isValid()) {
            if (SET_MPLS_LABEL) {
                hdr.mpls.label = label;
            }
            if (SET_MPLS_TC) {
                hdr.mpls.tc = tc;
            }
            if (SET_MPLS_BOS) {
                hdr.mpls.bos = bos;
            }
            if (SET_MPLS_TTL) {
                hdr.mpls.ttl = ttl;
            }
            if (DEC_MPLS_TTL) {
                if (hdr.mpls.ttl <= 1) {
                    mark_to_drop(std);
                }
                hdr.mpls.ttl = hdr.mpls.ttl - 1;
            }
        }
        if (SET_ETH_SRC) {
            hdr.ethernet.src = eth_src;
        }
        if (SET_ETH_DST) {
            hdr.ethernet.dst = eth_dst;
        }
    }

    // Copies the time to live from the second header that has one to the first, which is an entry of a label stack.
    action copy_ttl_out() {
        if (hdr.mpls_below.isValid()) {
            hdr.mpls.ttl = hdr.mpls_below.ttl;
        } else if (hdr.ipv4_below.isValid()) {
            hdr.mpls.ttl = hdr.ipv4_below.ttl;
        } else if (hdr.ipv6_below.isValid()) {
            hdr.mpls.ttl = hdr.ipv6_below.hop_limit;
        }
    }

    // And from the first to the second.
    action copy_ttl_in() {
        if (hdr.mpls_below.isValid()) {
            hdr.mpls_below.ttl = hdr.mpls.ttl;
        } else if (hdr.ipv4_below.isValid()) {
            adjust_checksum(hdr.ipv4_below.checksum, { hdr.ipv4_below.ttl, 8w0 }, { hdr.mpls.ttl, 8w0 });
            hdr.ipv4_below.ttl = hdr.mpls.ttl;
        } else if (hdr.ipv6_below.isValid()) {
            hdr.ipv6_below.hop_limit = hdr.mpls.ttl;
        }
    }

    // A service instance tag in front of the frame, with the frame's addresses.
    action push_pbb() {
        hdr.pushed_customer = hdr.ethernet;
        hdr.pushed_itag = { hdr.vlan.isValid() ? hdr.vlan.pcp : 3w0, 0, 0, 0, hdr.itag.isValid() ? hdr.itag.isid : 24w0 };
        hdr.ethernet.type = TYPE_PBB;
    }

    // Leaves the customer's frame.
    action pop_pbb() {
        if (hdr.itag.isValid()) {
            hdr.ethernet = hdr.customer;
            hdr.vlan.setInvalid();
            hdr.itag.setInvalid();
            hdr.customer.setInvalid();
        }
    }

    action set_pbb(bit<24> isid) {
        if (hdr.itag.isValid()) {
            hdr.itag.isid = isid;
        }
    }

    action set_tunnel(bit<64> tunnel_id) {
        meta.tunnel_id = tunnel_id;
    }

    // The egress queue of the passes that follow.
    action set_queue(bit<3> queue) {
        meta.queue = queue;
    }

    action set_eth_type(bit<16> type) {
        set_payload_type(type);
    }

    // The number of the protocol behind IPv4 or IPv6, which checksums of TCP and UDP cover.
    action set_ip_proto(bit<8> protocol) {
        if (hdr.tcp.isValid()) {
            adjust_checksum(hdr.tcp.checksum, { 8w0, meta.ip_proto }, { 8w0, protocol });
        } else if (hdr.udp.isValid() && hdr.udp.checksum != 0) {
            adjust_checksum(hdr.udp.checksum, { 8w0, meta.ip_proto }, { 8w0, protocol });
        }
        if (hdr.ipv4.isValid()) {
            adjust_checksum(hdr.ipv4.checksum, { 8w0, hdr.ipv4.protocol }, { 8w0, protocol });
            hdr.ipv4.protocol = protocol;
        } else if (hdr.ipv6.isValid()) {
            if (hdr.extensions[3].isValid()) {
                hdr.extensions[3].next = protocol;
            } else if (hdr.extensions[2].isValid()) {
                hdr.extensions[2].next = protocol;
            } else if (hdr.extensions[1].isValid()) {
                hdr.extensions[1].next = protocol;
            } else if (hdr.extensions[0].isValid()) {
                hdr.extensions[0].next = protocol;
            } else {
                hdr.ipv6.next_header = protocol;
            }
        }
    }

    // Target of neighbour discovery, and the link-layer address in its first option if that is of the wanted type.
    action set_neighbour(bit<3> what, bit<128> target, bit<48> link_src, bit<48> link_dst) {
        if (SET_ND_TARGET && hdr.neighbour.isValid()) {
            adjust_checksum(hdr.icmp.checksum, hdr.neighbour.target, target);
            hdr.neighbour.target = target;
        }
        if (SET_ND_SLL && hdr.neighbour_option.isValid() && hdr.neighbour_option.type == 1) {
            adjust_checksum(hdr.icmp.checksum, hdr.neighbour_option.address, link_src);
            hdr.neighbour_option.address = link_src;
        }
        if (SET_ND_TLL && hdr.neighbour_option.isValid() && hdr.neighbour_option.type == 2) {
            adjust_checksum(hdr.icmp.checksum, hdr.neighbour_option.address, link_dst);
            hdr.neighbour_option.address = link_dst;
        }
    }

    // The ports of SCTP, and its checksum, which covers the whole datagram: that of fragments cannot be kept right.
    action set_sctp(bit<2> what, bit<16> src, bit<16> dst) {
        if (hdr.sctp.isValid()) {
            bit<32> old_ports = hdr.sctp.src ++ hdr.sctp.dst;
            if (SET_SCTP_SRC) {
                hdr.sctp.src = src;
            }
            if (SET_SCTP_DST) {
                hdr.sctp.dst = dst;
            }
            bit<16> length = hdr.ipv6.isValid() ? hdr.ipv6.length - meta.extension_bytes
                : hdr.ipv4.length - ((bit<16>) hdr.ipv4.ihl << 2);
            hdr.sctp.checksum = hdr.sctp.checksum ^ checksum_change(old_ports ^ (hdr.sctp.src ++ hdr.sctp.dst), length);
            if (hdr.ipv4.isValid() && hdr.ipv4.flags[0:0] == 1 || meta.label & EXT_FRAGMENT != 0) {
                mark_to_drop(std);
            }
        }
    }

    table rewrites {
        key = { meta.rewrite : exact; }
        actions = {
            set; set_mpls; copy_ttl_out; copy_ttl_in; push_pbb; pop_pbb; set_pbb; set_tunnel; set_queue; set_eth_type;
            set_ip_proto; set_neighbour; set_sctp; NoAction;
        }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        rewrites.apply();
    }
}
