// The ways of a packet in the Portable NIC Architecture: sent, dropped, mirrored, recirculated; what blocks are told.
#include <core.p4>
#include <pna.p4>

header data_t {
    bit<8> op;
    bit<8> port;
    bit<8> session;
    bit<8> value;
}

header seen_t {
    bit<32> port;
    bit<5>  zero;
    bit<3>  pass;
    bit<8>  error_and_direction;
}

struct headers_t {
    data_t data;
    seen_t seen;
}

struct meta_t {
    bit<8> from_parser;
    bit<8> from_pre;
}

parser MainParser(packet_in packet,
                  out headers_t hdr,
                  inout meta_t meta,
                  in pna_main_parser_input_metadata_t istd) {
    state start {
        packet.extract(hdr.data);
        meta.from_parser = (bit<8>)(PassNumberUint_t)istd.pass;
        transition select(hdr.data.op) {
            9: short;
            default: accept;
        }
    }
    state short {
        packet.extract(hdr.seen);
        transition accept;
    }
}

// It has the headers and metadata of the main blocks.
control PreControl(in headers_t hdr,
                   inout meta_t meta,
                   in pna_pre_input_metadata_t istd,
                   inout pna_pre_output_metadata_t ostd) {
    apply {
        if (hdr.data.isValid()) {
            meta.from_pre = hdr.data.value + 1;
        }
    }
}

control MainControl(inout headers_t hdr,
                    inout meta_t meta,
                    in pna_main_input_metadata_t istd,
                    inout pna_main_output_metadata_t ostd) {
    Counter<bit<32>, bit<8>>(16, PNA_CounterType_t.PACKETS) by_op;
    Hash<bit<32>>(PNA_HashAlgorithm_t.TARGET_DEFAULT) hash;

    action send() {
        send_to_port((PortId_t)(PortIdUint_t)(bit<32>)hdr.data.port);
    }

    action add() {
        bool added = add_entry("hit", { hdr.data.value }, (ExpireTimeProfileId_t)1);
        hdr.data.value = added ? 8w1 : 8w0;
        send();
    }

    action hit(bit<8> value) {
        hdr.data.value = value;
        restart_expire_timer();
        set_entry_expire_time((ExpireTimeProfileId_t)2);
        send();
    }

    table learnt {
        key = { hdr.data.session : exact; }
        actions = {
            @tableonly hit;
            @defaultonly add;
        }
        default_action = add;
        add_on_miss = true;
        pna_idle_timeout = PNA_IdleTimeout_t.NOTIFY_CONTROL;
    }

    action mirror() {
        mirror_packet((MirrorSlotId_t)0,
                      (MirrorSessionId_t)(MirrorSessionIdUint_t)(bit<16>)hdr.data.session);
    }

    apply {
        by_op.count(hdr.data.op);
        hdr.seen.setValid();
        hdr.seen.port = (bit<32>)(PortIdUint_t)istd.input_port;
        hdr.seen.zero = 0;
        hdr.seen.pass = (PassNumberUint_t)istd.pass;
        hdr.seen.error_and_direction = (istd.parser_error == error.PacketTooShort ? 8w0xe0 : 0)
                                       | SelectByDirection<bit<8>>(istd.direction, 1, 2);
        if (hdr.data.op == 1) {
            hdr.data.value = meta.from_pre;
            send();
        } else if (hdr.data.op == 2) {
            send();
            drop_packet();
        } else if (hdr.data.op == 3) {
            drop_packet();
            send();
        } else if (hdr.data.op == 4) {
            send();
            mirror();
        } else if (hdr.data.op == 5) {
            drop_packet();
            mirror();
        } else if (hdr.data.op == 6) {
            // Once more, behind the headers that this pass has added.
            hdr.data.op = hdr.data.value;
            send();
            recirculate();
        } else if (hdr.data.op == 7) {
            learnt.apply();
        } else if (hdr.data.op == 8) {
            hdr.data.value = hash.get_hash({ hdr.data.value })[7:0];
            send();
            exit;
        } else if (hdr.data.op == 9) {
            send();
        }
        hdr.data.session = meta.from_parser;
    }
}

control MainDeparser(packet_out packet,
                     in headers_t hdr,
                     in meta_t meta,
                     in pna_main_output_metadata_t ostd) {
    apply {
        packet.emit(hdr.data);
        packet.emit(hdr.seen);
    }
}

PNA_NIC(MainParser(), PreControl(), MainControl(), MainDeparser()) main;
