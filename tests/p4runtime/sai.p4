// Routing, multicast and an access list as in SAI's P4 programs: names instead of numbers, constraints, references.

#include <core.p4>
#include <v1model.p4>

const bit<9> CPU = 510;

@p4runtime_translation("", string)
@p4runtime_translation_mappings({ {"", 0}, })
type bit<10> vrf_id_t;

@p4runtime_translation("", string)
type bit<4> nexthop_id_t;

@p4runtime_translation("", string)
type bit<10> router_interface_id_t;

@p4runtime_translation("p4.org/psa/v1/PortId_t", string)
type bit<9> port_id_t;

@p4runtime_translation("", bit<32>)
type bit<8> class_t;

const vrf_id_t DEFAULT_VRF = (vrf_id_t)0;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<8>  version_and_length;
    bit<8>  dscp;
    bit<16> length;
    bit<16> id;
    bit<16> fragment;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

@controller_header("packet_in")
header packet_in_header_t {
    @id(1) port_id_t ingress_port;
    @id(2) bit<7> padding;
    @id(3) vrf_id_t vrf_id;
    @id(4) bit<6> padding_too;
}

@controller_header("packet_out")
header packet_out_header_t {
    @id(1) port_id_t egress_port;
    @id(2) @padding bit<7> unused_pad;
}

struct learned_t {
    port_id_t port;
    class_t class;
}

struct member_t {
    @match(exact) class_t class;
}

struct headers_t {
    packet_in_header_t packet_in_header;
    packet_out_header_t packet_out_header;
    ethernet_t ethernet;
    ipv4_t ipv4;
}

struct local_metadata_t {
    vrf_id_t vrf_id;
    nexthop_id_t nexthop_id;
    router_interface_id_t router_interface_id;
    bit<32> neighbor_id;
    port_id_t ingress_port;
    class_t class;
}

parser Parse(packet_in packet, out headers_t hdr, inout local_metadata_t meta, inout standard_metadata_t standard) {
    value_set<member_t>(4) classes;
    state start {
        meta.vrf_id = DEFAULT_VRF;
        meta.ingress_port = (port_id_t)standard.ingress_port;
        transition select(standard.ingress_port) {
            CPU: packet_out;
            default: ethernet;
        }
    }
    state packet_out {
        packet.extract(hdr.packet_out_header);
        transition ethernet;
    }
    state ethernet {
        packet.extract(hdr.ethernet);
        meta.class = (class_t)hdr.ethernet.src[7:0];
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: by_class;
        }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
    state by_class {
        transition select(meta.class) {
            classes: reject;
            default: accept;
        }
    }
}

control Verify(inout headers_t hdr, inout local_metadata_t meta) { apply {} }

control Routing(inout headers_t hdr, inout local_metadata_t meta, inout standard_metadata_t standard) {
    bool punted = false;
    register<nexthop_id_t>(2) preferred;

    action no_action() {}
    action drop() { mark_to_drop(standard); }
    action set_vrf(@refers_to(vrf_table, vrf_id) vrf_id_t vrf_id) { meta.vrf_id = vrf_id; }
    action trap() { punted = true; }
    action set_port_and_src_mac(port_id_t port, bit<48> src_mac) {
        standard.egress_spec = (bit<9>)port;
        hdr.ethernet.src = src_mac;
    }
    action set_dst_mac(bit<48> dst_mac) { hdr.ethernet.dst = dst_mac; }
    action set_ip_nexthop(
            @refers_to(router_interface_table, router_interface_id) @refers_to(neighbor_table, router_interface_id)
            router_interface_id_t router_interface_id,
            @refers_to(neighbor_table, neighbor_id) bit<32> neighbor_id) {
        meta.router_interface_id = router_interface_id;
        meta.neighbor_id = neighbor_id;
    }
    action set_nexthop_id(@refers_to(nexthop_table, nexthop_id) nexthop_id_t nexthop_id) { meta.nexthop_id = nexthop_id; }
    @action_restriction("
        // 0 is no group.
        multicast_group_id != 0;
    ")
    action set_multicast_group_id(
            @refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> multicast_group_id) {
        standard.mcast_grp = multicast_group_id;
    }

    @entry_restriction("
        // The default VRF is always there.
        vrf_id != 0;
    ")
    table vrf_table {
        key = { meta.vrf_id : exact @id(1) @name("vrf_id"); }
        actions = { no_action; }
        const default_action = no_action;
    }

    @entry_restriction(
        "// Addresses only of IPv4 packets."
        "dst_ip::mask != 0 -> ether_type == 0x0800;"
        "in_port != 'CPU' && in_port != '511';
         class == 70000 -> ::priority > 10;")
    table acl_table {
        key = {
            hdr.ethernet.type : ternary @name("ether_type");
            hdr.ipv4.dst : ternary @name("dst_ip");
            meta.ingress_port : optional @name("in_port");
            meta.class : optional @name("class");
        }
        actions = { set_vrf; trap; drop; no_action; }
        const default_action = no_action;
    }

    table router_interface_table {
        key = { meta.router_interface_id : exact @name("router_interface_id"); }
        actions = { set_port_and_src_mac; @defaultonly no_action; }
        default_action = no_action;
    }

    table neighbor_table {
        key = {
            meta.router_interface_id : exact
                @name("router_interface_id") @refers_to(router_interface_table, router_interface_id);
            meta.neighbor_id : exact @name("neighbor_id");
        }
        actions = { set_dst_mac; @defaultonly no_action; }
        default_action = no_action;
    }

    table nexthop_table {
        key = { meta.nexthop_id : exact @name("nexthop_id"); }
        actions = { set_ip_nexthop; @defaultonly drop; }
        default_action = drop;
    }

    action_selector(HashAlgorithm.crc16, 64, 16) groups;
    table wcmp_table {
        key = { meta.vrf_id : exact @name("vrf_id"); hdr.ipv4.src : selector; }
        actions = { set_nexthop_id; @defaultonly no_action; }
        implementation = groups;
    }

    table ipv4_table {
        key = {
            meta.vrf_id : exact @id(1) @name("vrf_id") @refers_to(vrf_table, vrf_id);
            hdr.ipv4.dst : lpm @id(2) @name("ipv4_dst");
        }
        actions = { drop; set_nexthop_id; set_multicast_group_id; }
        const default_action = drop;
    }

    apply {
        if (hdr.packet_out_header.isValid()) {
            standard.egress_spec = (bit<9>)hdr.packet_out_header.egress_port;
            hdr.packet_out_header.setInvalid();
        } else {
            vrf_table.apply();
            acl_table.apply();
            digest<learned_t>(1, { meta.ingress_port, meta.class });
            if (punted) {
                hdr.packet_in_header.setValid();
                hdr.packet_in_header.ingress_port = meta.ingress_port;
                hdr.packet_in_header.vrf_id = meta.vrf_id;
                standard.egress_spec = CPU;
            } else if (hdr.ipv4.isValid()) {
                preferred.read(meta.nexthop_id, 0);
                wcmp_table.apply();
                if (ipv4_table.apply().hit && standard.mcast_grp == 0) {
                    nexthop_table.apply();
                    router_interface_table.apply();
                    neighbor_table.apply();
                }
            } else {
                mark_to_drop(standard);
            }
        }
    }
}

control Leave(inout headers_t hdr, inout local_metadata_t meta, inout standard_metadata_t standard) { apply {} }

control Compute(inout headers_t hdr, inout local_metadata_t meta) { apply {} }

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in_header);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
    }
}

V1Switch(Parse(), Verify(), Routing(), Leave(), Compute(), Deparse()) main;
