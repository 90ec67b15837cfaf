// Headers of in-band network telemetry in SCION packets: ID-INT (https://github.com/netsys-lab/id-int-spec), options of SCION's
// hop-by-hop extension, in front of which are the SCION header, UDP and IPv4. Words have four bytes.
//
// A source puts in the main option, its own entry, and padding that later entries take the place of: from there on packets have
// one length.

// SCION's numbers.
const bit<8> HOP_BY_HOP_EXTENSION = 200;
const bit<8> PATH_SCION = 1;
// Common header and AS numbers.
const bit<8> SCION_FIXED_WORDS = 7;
// Options: padding of several bytes, and those of the reference implementation of ID-INT.
const bit<8> OPTION_PADDING = 1;
const bit<8> OPTION_MAIN = 253;
const bit<8> OPTION_ENTRY = 254;
// The main option without the address of a verifier.
const bit<8> MAIN_BYTES = 22;
// The extension's header and the main option.
const bit<16> EXTENSION_BYTES = 24;
// Without the first word, which the extension's length does not count.
const bit<8> EXTENSION_WORDS = 5;
// An entry without metadata: its header and the MAC, in units of two bytes.
const bit<8> ENTRY_HALVES = 5;
const bit<2> VERIFIER_DESTINATION = 1;

header scion_t {
    bit<4>  version;
    bit<28> class_flow;
    bit<8>  next;
    bit<8>  words;           // of the whole header
    bit<16> length;          // behind it
    bit<8>  path_type;
    bit<2>  dst_type;
    bit<2>  dst_words;       // less one
    bit<2>  src_type;
    bit<2>  src_words;
    bit<16> reserved;
    bit<64> dst_ia;
    bit<64> src_ia;
}

header path_t {
    bit<2>  segment;
    bit<6>  hop;
    bit<24> lengths;
}

header extension_t {
    bit<8> next;
    bit<8> words;            // less one
}

// The main option.
header main_t {
    bit<8>  type;
    bit<8>  bytes;
    bit<3>  version;
    bit<1>  infrastructure;  // the last node takes it off
    bit<1>  discard;         // ... with the packet
    bit<1>  encrypted;
    bit<1>  exceeded;        // a node found no room
    bit<1>  reserved0;
    bit<2>  aggregation;
    bit<2>  verifier;
    bit<4>  verifier_kind;
    bit<8>  stack_words;
    bit<8>  top;             // where the last entry begins, in words
    bit<6>  delay;
    bit<10> reserved1;
    bit<4>  flags;           // node id, node count, ingress, egress
    bit<12> functions;       // of aggregation
    bit<8>  instruction1;
    bit<8>  instruction2;
    bit<8>  instruction3;
    bit<8>  instruction4;
    bit<48> source_time;
    bit<16> source_port;
}

// The first word of an entry that somebody else has made.
header last_t {
    bit<8>  type;
    bit<8>  bytes;
    bit<16> rest;
}

// An entry of this node, and what it has.
header entry_t {
    bit<8> type;
    bit<8> bytes;
    bit<1> source;
    bit<7> flags;
    bit<6> hop;
    bit<2> reserved;
    bit<4> present;
    bit<3> halves1;
    bit<3> halves2;
    bit<3> halves3;
    bit<3> halves4;
}
header node_id_t { bit<32> value; }
header half_t { bit<16> value; }
header single_t { bit<32> value; }
header long_t { bit<48> value; }
header mac_t { bit<32> value; }

// What a node reports for one of the four instructions: one of three widths.
struct metadatum_t {
    half_t   half;
    single_t single;
    long_t   long;
}

struct entry_parts_t {
    entry_t     head;
    node_id_t   node_id;
    half_t      node_count;
    half_t      ingress;
    half_t      egress;
    metadatum_t slot1;
    metadatum_t slot2;
    metadatum_t slot3;
    metadatum_t slot4;
    half_t      filler;
    mac_t       mac;
}

header padding_t {
    bit<8>  type;
    bit<8>  bytes;           // less two
    bit<16> rest;
}
// More padding of a source, by its length in words.
header fill1_t  { bit<32>  zero; }
header fill2_t  { bit<64>  zero; }
header fill4_t  { bit<128> zero; }
header fill8_t  { bit<256> zero; }
header fill16_t { bit<512> zero; }
struct fills_t {
    fill1_t  one;
    fill2_t  two;
    fill4_t  four;
    fill8_t  eight;
    fill16_t sixteen;
}

// What a node finds of a packet's telemetry, in words.
struct room_t {
    bit<8> entry;            // an entry of this node would have
    bit<8> behind;           // padding has behind it
    bit<8> top;              // it would begin here
    bit<1> adds;
    bit<1> full;             // there is no room
    bit<1> ours;             // a sink takes the telemetry off
}
