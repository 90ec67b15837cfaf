// Section 13.6: the first case that holds the value decides; numbers, truth values, enums, tuples, several values, constants,
// masks.

#include <core.p4>
#include <v1model.p4>

enum bit<8> Proto { Tcp = 6, Udp = 17 }

const bit<8> ICMP = 1;

header data_t {
    bit<8>  how;
    bit<8>  proto;
    bit<16> port;
    bool    flag;
    bit<7>  rest;
    bit<8>  state;
}

struct headers_t {
    data_t data;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.how) {
            1: field;
            2: reserved;
            3: truth;
            4: tuples;
            5: overlap;
            6: no_match;
            7: signed_;
            default: accept;
        }
    }

    state field {
        transition select(hdr.data.proto) {
            8w6: one;
            Proto.Udp: two;
            ICMP: three;
            _: accept;
        }
    }

    state reserved {
        transition select(hdr.data.port) {
            16w0 &&& 16w0xFC00: one;
            _: two;
        }
    }

    state truth {
        transition select(hdr.data.flag, (Proto) hdr.data.proto) {
            (true, Proto.Tcp): one;
            (false, _): two;
            (_, _): three;
        }
    }

    state tuples {
        tuple<bit<8>, bit<16>> t = { hdr.data.proto, hdr.data.port };
        transition select(t) {
            (6, 80 .. 90): one;
            (_, 0x100 &&& 0xff00): two;
            default: three;
        }
    }

    state overlap {
        transition select(hdr.data.port) {
            0 .. 100: one;
            50 .. 200: two;
            120: three;
            default: accept;
        }
    }

    // Nothing matches: BMv2, whose meaning v1model has here, leaves the parser without an error.
    state no_match {
        transition select(hdr.data.port) {
            1: one;
        }
    }

    state signed_ {
        transition select((int<16>) hdr.data.port) {
            -5 .. 5: one;
            -32768: two;
            default: accept;
        }
    }

    state one { hdr.data.state = 1; transition accept; }
    state two { hdr.data.state = 2; transition accept; }
    state three { hdr.data.state = 3; transition accept; }
}

#include "frame/parsed.p4"
