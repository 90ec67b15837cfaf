// A router for Tofino with one object of each kind that BfRuntime controls.

#include <core.p4>
#include <tna.p4>

typedef bit<48> mac_t;

const PortId_t CPU_PORT = 64;
const PortId_t GENERATOR_PORT = 68;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> type;
}

header ipv4_t {
    bit<8>  version_ihl;
    bit<8>  tos;
    bit<16> length;
    bit<32> id_and_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

// To and from the control plane.
@controller_header("packet_in")
header packet_in_t {
    bit<7>   padding;
    PortId_t ingress_port;
}

@controller_header("packet_out")
header packet_out_t {
    bit<7>   padding;
    PortId_t egress_port;
}

struct headers_t {
    packet_in_t  packet_in;
    packet_out_t packet_out;
    pktgen_timer_header_t timer;
    ethernet_t   ethernet;
    ipv4_t       ipv4;
}

struct metadata_t {
    bit<16>  next_hop;
    bit<10>  session;
    bit<8>   class;
}

struct port_metadata_t {
    bit<8>   class;
    bit<24>  unused;
}

struct seen_t {
    mac_t    src;
    PortId_t port;
}

struct pair_t {
    bit<32> first;
    bit<16> second;
}

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    value_set<bit<9>>(4) untrusted;

    state start {
        pkt.extract(ig_intr_md);
        port_metadata_t port_md = port_metadata_unpack<port_metadata_t>(pkt);
        md = {0, 0, port_md.class};
        transition select(ig_intr_md.ingress_port) {
            CPU_PORT: packet_out;
            GENERATOR_PORT: generated;
            untrusted: refused;
            default: ethernet;
        }
    }

    // No case matches, which is an error: a Tofino drops the packet, as it does not after `reject`.
    state refused {
        transition select(ig_intr_md.ingress_port) {
            CPU_PORT: packet_out;
        }
    }

    state packet_out {
        pkt.extract(hdr.packet_out);
        transition ethernet;
    }

    state generated {
        pkt.extract(hdr.timer);
        transition ethernet;
    }

    state ethernet {
        pkt.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        pkt.extract(hdr.ipv4);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS_AND_BYTES) by_port;
    DirectCounter<bit<64>>(CounterType_t.PACKETS) routed;
    Meter<PortId_t>(512, MeterType_t.BYTES) rate;
    Register<bit<32>, bit<8>>(16, 7) numbers;
    RegisterParam<bit<32>>(1) step;
    @noWarn("unused") Register<pair_t, bit<8>>(16) pairs;
    DirectRegister<pair_t>({0, 3}) watched;
    DirectLpf<bit<16>>() lengths;
    @noWarn("unused") Lpf<bit<32>, bit<8>>(16) smoothed;
    @noWarn("unused") Wred<bit<32>, bit<8>>(16, 1, 0) early;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) flow;
    ActionProfile(16) members;
    ActionSelector(members, flow, SelectorMode_t.FAIR, 8, 4) choice;

    RegisterAction<bit<32>, bit<8>, bit<32>>(numbers) count = {
        void apply(inout bit<32> value) {
            value = value + step.read();
        }
    };

    DirectRegisterAction<pair_t, bit<32>>(watched) see = {
        void apply(inout pair_t value) {
            value.first = hdr.ipv4.dst;
            value.second = value.second + 1;
        }
    };

    action drop() {
        ig_dprsr_md.drop_ctl = 1;
    }

    action to_cpu() {
        ig_tm_md.ucast_egress_port = CPU_PORT;
        hdr.packet_in.setValid();
        hdr.packet_in.ingress_port = ig_intr_md.ingress_port;
    }

    action route(bit<16> next_hop) {
        md.next_hop = next_hop;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
        routed.count();
    }

    action unrouted() {
        to_cpu();
        routed.count();
    }

    action send(PortId_t port, mac_t dst) {
        ig_tm_md.ucast_egress_port = port;
        hdr.ethernet.dst = dst;
    }

    action flood(bit<16> group) {
        ig_tm_md.mcast_grp_a = group;
    }

    action flood_pruned(bit<16> group, bit<16> rid, bit<9> exclusion_id) {
        ig_tm_md.mcast_grp_a = group;
        ig_tm_md.rid = rid;
        ig_tm_md.level2_exclusion_id = exclusion_id;
    }

    action watch(bit<9> mark) {
        see.execute();
        hdr.ipv4.tos = (bit<8>) lengths.execute(hdr.ipv4.length);
    }

    action copy() {
        ig_tm_md.copy_to_cpu = 1;
    }

    action mirror(bit<10> session) {
        md.session = session;
        ig_dprsr_md.mirror_type = 1;
    }

    table routes {
        key = { hdr.ipv4.dst: lpm; }
        actions = { route; unrouted; }
        default_action = unrouted();
        counters = routed;
        size = 1024;
    }

    table next_hops {
        key = {
            md.next_hop: exact;
            hdr.ipv4.src: selector;
            hdr.ipv4.dst: selector;
        }
        actions = { send; drop; }
        implementation = choice;
        size = 64;
    }

    table switched {
        key = { hdr.ethernet.dst: exact; }
        actions = { send; flood; flood_pruned; drop; }
        default_action = drop();
        size = 64;
    }

    table refused {
        key = { hdr.ethernet.src: exact; }
        actions = { drop; }
        idle_timeout = true;
        size = 16;
    }

    table filter {
        key = {
            hdr.ipv4.src: ternary;
            hdr.ipv4.ttl: range;
        }
        actions = { drop; copy; mirror; watch; NoAction; }
        default_action = NoAction();
        registers = watched;
        filters = lengths;
        size = 32;
    }

    apply {
        by_port.count(ig_intr_md.ingress_port);
        if (hdr.packet_out.isValid()) {
            ig_tm_md.ucast_egress_port = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
        } else if (hdr.ipv4.isValid()) {
            count.execute(1);
            if (rate.execute(ig_intr_md.ingress_port) == 3) {
                drop();
            } else if (routes.apply().hit) {
                next_hops.apply();
            }
            filter.apply();
        } else {
            ig_dprsr_md.digest_type = 1;
            if (hdr.timer.isValid()) {
                hdr.ethernet.src = (bit<16>) hdr.timer.app_id ++ hdr.timer.batch_id ++ hdr.timer.packet_id;
            }
            switched.apply();
            refused.apply();
            if (md.class == 7) {
                drop();
            }
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   in ingress_intrinsic_metadata_t ig_intr_md) {
    Digest<seen_t>(1) seen;
    Mirror(1) copy;

    apply {
        if (ig_dprsr_md.digest_type == 1) {
            seen.pack({hdr.ethernet.src, ig_intr_md.ingress_port});
        }
        if (ig_dprsr_md.mirror_type == 1) {
            copy.emit(md.session);
        }
        pkt.emit(hdr.packet_in);
        pkt.emit(hdr.ethernet);
        pkt.emit(hdr.ipv4);
    }
}

struct no_headers_t { }
struct no_metadata_t { }

parser OutParser(packet_in pkt, out no_headers_t hdr, out no_metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Out(inout no_headers_t hdr, inout no_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout no_headers_t hdr, in no_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;
