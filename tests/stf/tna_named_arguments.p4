// TNA: arguments of externs that are named in another order than the declaration's are evaluated once, in the order of the text; those that
// come later change none that were evaluated.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8> state;
    bit<8> most;
    bit<8> least;
    bit<8> shifted;
    bit<8> read;
    bit<8> second;
    bit<8> colour;
    bit<8> last;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }

bit<8> next(inout bit<8> state) {
    state = state + 1;
    return state;
}

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<8>, bit<8>>(256, 5) cells;
    Counter<bit<32>, bit<8>>(256, CounterType_t.BYTES) counts;
    Meter<bit<8>>(256, MeterType_t.BYTES) meter;

    RegisterAction<bit<8>, bit<8>, bit<8>>(cells) add = {
        void apply(inout bit<8> value, out bit<8> before, out bit<8> index) {
            before = value;
            value = value + 1;
            index = value;
        }
    };

    apply {
        // state is 0
        hdr.data.most = max(t2 = next(hdr.data.state), t1 = hdr.data.state);                            // 1, 1
        hdr.data.least = min(hdr.data.state, next(hdr.data.state));                                     // 1, 2
        funnel_shift_right(src2 = next(hdr.data.state), src1 = next(hdr.data.state), dst = hdr.data.shifted, shift_amount = 4); // 0x40
        counts.count(adjust_byte_count = (bit<32>) next(hdr.data.state), index = next(hdr.data.state)); // cell 6, 5 bytes less
        hdr.data.read = add.execute(rv2 = hdr.data.second, index = next(hdr.data.state));               // cell 7: 5, 6
        hdr.data.colour = meter.execute(adjust_byte_count = 1, index = next(hdr.data.state));           // cell 8, green
        cells.write(value = next(hdr.data.state), index = next(hdr.data.state));                        // cell 10: 9
        hdr.data.last = cells.read(10);
        ig_tm_md.ucast_egress_port = ig_intr_md.ingress_port;
    }
}

#include "frame/tna.p4"
