// Headers.

// ---------------------------------------------------------------------------------------------------------
// Between this program and its control plane

// Port of the control plane. Everything sent there carries a packet_in_t.
#ifdef TOFINO
const bit<9> CPU_PORT = 64;
#else
const bit<9> CPU_PORT = 510;
#endif
// The same for layer management, which must not wait behind a flood of other packets. SEPARATE_MANAGEMENT is for control
// planes that read two ports.
#ifdef SEPARATE_MANAGEMENT
const bit<9> URGENT_CPU_PORT = 508;
#else
const bit<9> URGENT_CPU_PORT = CPU_PORT;
#endif

// In front of a punted packet, which follows unmodified.
@controller_header("packet_in")
header packet_in_t {
    bit<16> ingress_port;
    bit<8>  reason;          // Reason
}

// In front of a frame from the control plane, which leaves as it is.
@controller_header("packet_out")
header packet_out_t {
    bit<16> egress_port;
    bit<8>  priority;        // the egress queue, as standard_metadata.priority
}

// ---------------------------------------------------------------------------------------------------------
// Link layer

typedef bit<48> mac_t;

header ethernet_t {
    mac_t   dst;
    mac_t   src;
    bit<16> type;
}

header vlan_t {
    bit<3>  priority;
    bit<1>  drop_eligible;
    bit<12> id;              // 0: only the priority counts, the frame belongs to no VLAN
    bit<16> type;
}

const bit<16> TYPE_IPV4 = 0x0800;
const bit<16> TYPE_ARP = 0x0806;
const bit<16> TYPE_VLAN = 0x8100;
const bit<16> TYPE_LLDP = 0x88cc;
const bit<16> TYPE_RINA = 0xd1f0;
// Smaller numbers are lengths: an LLC header follows.
const bit<16> FIRST_TYPE = 0x0600;

const bit<32> ETHERNET_BYTES = 14;
const bit<32> VLAN_BYTES = 4;

// ---------------------------------------------------------------------------------------------------------
// EFCP

// The syntax of the RINA interior router of Gimenez, Grasa and Bunch (ICIN 2020), in network byte order.
header efcp_t {
    bit<8>  version;
    bit<16> dst;
    bit<16> src;
    bit<8>  qos_id;
    bit<16> dst_cep;
    bit<16> src_cep;
    bit<8>  type;
    bit<8>  flags;
    bit<16> length;          // bytes of the PDU, this header included
    bit<32> sequence;
    bit<16> checksum;        // Internet checksum of this header
}

// The syntax of IRATI (kernel/pci.c) with its default widths, in the byte order of x86: little-endian numbers. Control PDUs
// have their own sequence number where data transfer PDUs have theirs.
header irati_t {
    bit<8>  version;
    bit<16> dst;
    bit<16> src;
    bit<16> qos_id;
    bit<16> dst_cep;
    bit<16> src_cep;
    bit<8>  type;
    bit<8>  flags;
    bit<16> length;          // bytes of the PDU, this header included
    bit<32> sequence;
}

// The syntax of rlite (kernel/normal.c, struct rina_pci) with its default widths, in the byte order of x86: little-endian numbers.
header rlite_t {
    bit<8>  version;         // any
    bit<8>  type;            // of control PDUs bit 2 says that they acknowledge, bit 3 that they give credit
    bit<8>  flags;           // a number of two bytes: the lower one, and the upper one
    bit<8>  flags_high;
    bit<16> checksum;        // Internet checksum of the PDU, where the DIF has them; 0 where not
    bit<16> ttl;
    bit<32> sequence;
    bit<16> dst;             // the lower half
    bit<16> dst_high;
    bit<16> src;
    bit<16> src_high;
    bit<16> dst_cep;
    bit<16> src_cep;
    bit<16> length;          // bytes of the PDU, this header included
    bit<16> qos_id;
}

const bit<16> EFCP_BYTES = 20;
const bit<16> IRATI_BYTES = 19;
const bit<16> RLITE_BYTES = 28;
const bit<8> EFCP_VERSION = 1;

// SDU protection (kernel/sdup-ttl-ps-default.c, sdup-errc-ps-default.c): a TTL in front of the PDU, and behind it a CRC of
// all of it.
header ttl_t {
    bit<8> ttl;
}

// Bytes that an SDU under a CRC can have.
#define SDU_BYTES 8192

header sdu_t {
    varbit<(8 * SDU_BYTES)> data;
}

header crc_t {
    bit<32> value;           // little-endian
}

const bit<8> TTL_INITIAL = 64;

const bit<8> FLAG_CONGESTION = 0x01;

// The egress queue of layer management, also of that which is relayed.
const bit<3> MANAGEMENT_QUEUE = 7;

// PDU types.
const bit<8> PDU_MANAGEMENT = 0x40;
const bit<8> PDU_DATA = 0x80;
const bit<8> PDU_CONTROL_ACK = 0xc0;
const bit<8> PDU_ACK = 0xc1;
const bit<8> PDU_NACK = 0xc2;
const bit<8> PDU_FLOW = 0xc4;
const bit<8> PDU_ACK_FLOW = 0xc5;
const bit<8> PDU_NACK_FLOW = 0xc6;
const bit<8> PDU_SACK = 0xc9;
const bit<8> PDU_SNACK = 0xca;
const bit<8> PDU_SACK_FLOW = 0xcd;
const bit<8> PDU_SNACK_FLOW = 0xce;
const bit<8> PDU_RENDEZVOUS = 0xcf;

// ---------------------------------------------------------------------------------------------------------
// IPv4

header ipv4_t {
    bit<4>  version;
    bit<4>  ihl;             // in words of four bytes
    bit<8>  tos;
    bit<16> length;          // bytes, this header included
    bit<16> id;
    bit<1>  reserved;
    bit<1>  dont_fragment;
    bit<1>  more_fragments;
    bit<13> offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> src;
    bit<32> dst;
}

const bit<8> PROTOCOL_TCP = 6;
const bit<8> PROTOCOL_UDP = 17;
const bit<8> PROTOCOL_SCTP = 132;

// What TCP, UDP and SCTP begin with.
header ports_t {
    bit<16> src;
    bit<16> dst;
}
