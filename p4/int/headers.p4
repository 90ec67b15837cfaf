// Headers of in-band network telemetry: INT 1.0 behind TCP and UDP, and telemetry reports 1.0, as published by the P4 Applications Working
// Group in 2018 and 2017. Lengths are in words of four bytes.

const bit<16> TYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
// The DSCP of packets with telemetry.
const bit<6> DSCP_INT = 0x20;
const bit<8> HOP_BY_HOP = 1;
const bit<4> INT_VERSION = 1;
// The shim and the header of INT.
const bit<8> FIXED_WORDS = 3;
const bit<16> FIXED_BYTES = 12;
// In front of what a report carries: Ethernet, IPv4, UDP and the header of the report.
const bit<16> REPORT_BYTES = 16;
const bit<4> REPORT_VERSION = 1;

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> length;
    bit<16> id;
    bit<3>  flags;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

// Ports are where TCP and UDP have them.
header ports_t {
    bit<16> src;
    bit<16> dst;
}

header tcp_rest_t {
    bit<32> sequence;
    bit<32> acknowledgement;
    bit<4>  offset;
    bit<12> flags;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

header udp_rest_t {
    bit<16> length;
    bit<16> checksum;
}

header shim_t {
    bit<8> type;
    bit<8> reserved;
    bit<8> words;            // of all of INT, this header included
    bit<6> dscp;             // that of the packet without telemetry
    bit<2> rest;
}

header int_t {
    bit<4>  version;
    bit<2>  replication;
    bit<1>  copy;
    bit<1>  exceeded;        // a node had no hop left
    bit<1>  mtu_exceeded;
    bit<10> reserved;
    bit<5>  hop_words;       // what each node adds
    bit<8>  hops_left;
    bit<16> instructions;
    bit<16> rest;
}

// What a node adds, by instruction, the first one in the highest bit.
header switch_id_t { bit<32> value; }
header port_ids_t { bit<16> ingress; bit<16> egress; }
header latency_t { bit<32> nanoseconds; }
header queue_t { bit<8> id; bit<24> depth; }
header time_t { bit<64> nanoseconds; }
header utilisation_t { bit<32> value; }

header report_t {
    bit<4>  version;
    bit<4>  words;
    bit<3>  next;            // 0: Ethernet
    bit<12> reserved;
    bit<1>  dropped;
    bit<1>  congested;
    bit<1>  tracked;         // it is of a flow that is watched
    bit<6>  hardware;
    bit<32> switch_id;
    bit<32> sequence;
    bit<32> ingress_time;
}

// What a node knows of a packet.
struct node_t {
    bit<16> ingress_port;
    bit<16> egress_port;
    bit<48> ingress_time;    // nanoseconds, as all times
    bit<48> egress_time;
    bit<8>  queue;
    bit<24> depth;
    bit<1>  sink;            // telemetry is taken off, if there is any
    bit<1>  report;          // it is the copy that the collector gets
    bit<32> sequence;        // of reports
    bit<32> switch_id;
    bit<16> bytes;           // by which the node makes the packet longer, or shorter
}
