// What is behind two right MACs, at places in the packet that a header of several lengths moves.

#include <core.p4>
#include <v1model.p4>
#include <crypto.p4>

header kind_t { bit<8> kind; }
header short_t { bit<8> from; }
header long_t { bit<64> from; }
header seal_t {
    bit<16> interface;
    bit<8> life;
    bit<8> flags;
    bit<48> mac;
    bit<32> proof;
}
struct headers { kind_t kind; short_t short; long_t long; seal_t first; seal_t second; }
struct meta { bit<128> tag; bit<128> next_tag; bit<8> class; bit<16> interface; bit<8> reason; }

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t sm) {
    state start {
        p.extract(h.kind);
        transition select(h.kind.kind[0:0]) {
            0: short;
            1: long;
        }
    }
    state short { p.extract(h.short); transition first; }
    state long { p.extract(h.long); transition first; }
    state first {
        p.extract(h.first);
        transition select(h.first.flags[0:0]) {
            0: accept;
            1: second;
        }
    }
    state second { p.extract(h.second); transition accept; }
}

control V(inout headers h, inout meta m) { apply { } }

AesCmac(1) hop_key;

control I(inout headers h, inout meta m, inout standard_metadata_t sm) {
    Aes128WithKey() cipher;
    bit<128> block = 0;

    action leave(bit<9> port, bit<8> class) {
        sm.egress_spec = port;
        m.class = class;
    }
    table links {
        key = { m.interface: exact; }
        actions = { leave; NoAction; }
        default_action = NoAction();
    }

    apply {
        hop_key.mac(0, 96w0 ++ h.first.interface ++ h.first.life ++ 8w0, m.tag);
        if (h.second.isValid()) {
            hop_key.mac(0, 96w0 ++ h.second.interface ++ h.second.life ++ 8w0, m.next_tag);
        }
        if (m.tag[127:80] != h.first.mac) {
            mark_to_drop(sm);
            return;
        }
        m.interface = h.first.interface;
        if (h.second.isValid()) {
            if (m.next_tag[127:80] != h.second.mac) {
                mark_to_drop(sm);
                return;
            }
            m.interface = h.second.interface;
        }
        if (!links.apply().hit) {
            mark_to_drop(sm);
            return;
        }
        // Behind the MACs, and a part of what they are computed from.
        if (h.first.life < 5) {
            h.first.flags[7:7] = 1;
            m.reason = 1;
        }
        // No statement makes it 2.
        if (m.reason == 2) {
            h.first.flags[5:5] = 1;
        }
        if (h.second.isValid() && h.second.life > h.first.life && m.class == 3) {
            h.second.flags[7:7] = 1;
        }
        if (h.first.flags[1:1] == 1) {
            block = h.long.isValid() ? 64w0 ++ h.long.from : 120w0 ++ h.short.from;
            cipher.encrypt(m.tag, block, block);
            if (h.long.isValid()) {
                cipher.encrypt(m.tag, block ^ 1, block);
            }
            if (block[127:96] != h.first.proof) {
                mark_to_drop(sm);
                return;
            }
            if (h.long.isValid() && h.second.isValid()) {
                h.first.flags[6:6] = 1;
            }
        }
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t sm) { apply { } }
control C(inout headers h, inout meta m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;
