// TNA: extern objects and functions.

#include <core.p4>
#include <tna.p4>

header data_t {
    bit<8>  op;
    bit<8>  index;
    bit<16> a;
    bit<16> b;
    bit<32> result;
}

// A header with a checksum, and options that a parser counter counts.
header summed_t {
    bit<8>  length;          // bytes of options
    bit<8>  kind;
    bit<16> checksum;
    bit<16> value;
}

header option_t {
    bit<8> value;
}

struct headers_t {
    data_t      data;
    summed_t    summed;
    option_t[4] options;
}

struct metadata_t {
    bool    wrong;
    bit<16> residual;
}

struct pair_t {
    bit<32> low;
    bit<32> high;
}

struct digest_t {
    bit<16> a;
    bit<8>  index;
}

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    Checksum() checksum;
    ParserCounter() counter;

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.data);
        transition select(hdr.data.op) {
            0x40 .. 0x4f: summed;
            default: accept;
        }
    }

    state summed {
        pkt.extract(hdr.summed);
        checksum.add(hdr.summed);
        md.wrong = checksum.verify();
        checksum.subtract(hdr.summed);
        checksum.subtract({hdr.summed.checksum, hdr.summed.value});
        checksum.subtract_all_and_deposit(md.residual);
        // (length / 4 & 7) + 1
        counter.set(hdr.summed.length, 20, 2, 2, 1);
        transition option;
    }

    state option {
        counter.decrement(1);
        transition select(counter.is_zero(), counter.is_negative()) {
            (true, _): accept;
            (_, true): accept;
            default: next;
        }
    }

    state next {
        pkt.extract(hdr.options.next);
        transition option;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Register<bit<32>, bit<8>>(16) numbers;
    Register<pair_t, bit<8>>(16, {0, 0}) pairs;
    Register<bit<32>, bit<8>>(16, 77) seventy_seven;
    Register<pair_t, bit<8>>(16, {1, 2}) one_and_two;
    Counter<bit<32>, bit<8>>(16, CounterType_t.PACKETS) counts;
    DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) direct;
    Counter<bit<32>, bit<8>>(16, CounterType_t.PACKETS_AND_BYTES) adjusted;
    Meter<bit<8>>(16, MeterType_t.PACKETS) meter;
    Meter<bit<8>>(16, MeterType_t.BYTES, 7, 6, 5) bytes_meter;
    Hash<bit<32>>(HashAlgorithm_t.CRC32) crc;
    Hash<bit<16>>(HashAlgorithm_t.CRC16) crc16;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) identity;
    Hash<bit<8>>(HashAlgorithm_t.CRC8) crc8;
    Hash<bit<64>>(HashAlgorithm_t.CRC64) crc64;
    CRCPolynomial<bit<16>>(0x1021, false, false, false, 0xffff, 0) ccitt;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, ccitt) custom;
    CRCPolynomial<bit<32>>(32w0x04c11db7, true, false, false, 0xffffffff, 0xffffffff) ieee;
    Hash<bit<32>>(HashAlgorithm_t.CUSTOM, ieee) custom32;
    Hash<bit<8>>(HashAlgorithm_t.XOR8) xor8;
    Hash<bit<32>>(HashAlgorithm_t.XOR32) xor32;
    Random<bit<8>>() random;
    MathUnit<bit<32>>(MathOp_t.MUL, 3, 2) half_more;

    // Adds to a cell, and returns what was there.
    RegisterAction<bit<32>, bit<8>, bit<32>>(numbers) fetch_add = {
        void apply(inout bit<32> value, out bit<32> before) {
            before = value;
            value = value + (bit<32>) hdr.data.a;
        }
    };

    RegisterAction<bit<32>, bit<8>, bit<32>>(numbers) scale = {
        void apply(inout bit<32> value) {
            value = half_more.execute(value);
        }
    };

    // The least of what was seen in one half, the number of packets in the other.
    RegisterAction<pair_t, bit<8>, bit<32>>(pairs) smallest = {
        void apply(inout pair_t value, out bit<32> least) {
            if (value.high == 0 || (bit<32>) hdr.data.a < value.low) {
                value.low = (bit<32>) hdr.data.a;
            }
            value.high = value.high + 1;
            least = value.low;
        }
    };

    action add(bit<8> index) {
        hdr.data.result = fetch_add.execute(index);
    }

    action hit(bit<16> value) {
        direct.count();
        hdr.data.result = (bit<32>) value;
    }

    table adds {
        key = { hdr.data.index: exact; }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    table counted {
        key = { hdr.data.a: ternary; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        counters = direct;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        switch (hdr.data.op) {
            0x01: { hdr.data.result = fetch_add.execute(hdr.data.index); }
            0x02: { adds.apply(); }
            0x03: { hdr.data.result = smallest.execute(hdr.data.index); }
            0x04: { scale.execute(hdr.data.index); hdr.data.result = numbers.read(hdr.data.index); }
            0x05: { numbers.write(hdr.data.index, (bit<32>) hdr.data.b); }
            0x06: { counts.count(hdr.data.index); }
            0x07: { counted.apply(); }
            0x08: { hdr.data.result = (bit<32>) meter.execute(hdr.data.index); }
            0x09: { hdr.data.result = crc.get({hdr.data.a, hdr.data.b}); }
            0x0a: { hdr.data.result = (bit<32>) crc16.get({hdr.data.a, hdr.data.b}); }
            0x0b: { hdr.data.result = identity.get({hdr.data.index, hdr.data.a, hdr.data.b}); }
            0x0c: { bit<8> r = random.get(); hdr.data.result = r < 255 || r == 255 ? 32w1 : 0; }
            0x0d: { hdr.data.result = max(hdr.data.a, hdr.data.b) ++ min(hdr.data.a, hdr.data.b); }
            0x0e: { funnel_shift_right(hdr.data.a, hdr.data.a, hdr.data.b, 4); }
            0x0f: { hdr.data.result = sizeInBytes(hdr.data); }
            0x11: { hdr.data.result = (bit<32>) meter.execute(hdr.data.index, (MeterColor_t) (bit<8>) hdr.data.a); }
            0x10: { ig_dprsr_md.digest_type = 1; }
            0x12: { hdr.data.result = (bit<32>) crc8.get({hdr.data.a, hdr.data.b}); }
            0x13: { hdr.data.result = (bit<32>) custom.get({hdr.data.a, hdr.data.b}); }
            0x14: { hdr.data.result = custom32.get({hdr.data.a, hdr.data.b}); }
            0x15: { hdr.data.result = (bit<32>) xor8.get({hdr.data.a, hdr.data.b}); }
            0x16: { hdr.data.result = xor32.get({hdr.data.index, hdr.data.a, hdr.data.b}); }
            0x17: { hdr.data.result = seventy_seven.read(hdr.data.index); seventy_seven.write(hdr.data.index, 5); }
            0x18: { hdr.data.result = one_and_two.read(hdr.data.index).high; }
            0x1b: { adjusted.count(hdr.data.index, 4); adjusted.count(1, 1000); }
            0x1c: { hdr.data.result = (bit<32>) bytes_meter.execute(hdr.data.index, MeterColor_t.GREEN, 4); }
            0x19: { ig_tm_md.copy_to_cpu = 1; }
            0x1a: { hdr.data.result = (bit<32>) crc64.get({hdr.data.a, hdr.data.b}); }
        }
        if (hdr.summed.isValid()) {
            hdr.data.result[31:16] = md.residual;
            hdr.data.result[15:8] = md.wrong ? 8w1 : 0;
        }
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    Checksum() checksum;
    Digest<digest_t>(1) digest;

    apply {
        if (ig_dprsr_md.digest_type == 1) {
            digest.pack({hdr.data.a, hdr.data.index});
        }
        if (hdr.summed.isValid()) {
            hdr.summed.checksum = checksum.update({hdr.summed.length, hdr.summed.kind, hdr.summed.value});
        }
        pkt.emit(hdr);
    }
}

struct egress_headers_t { }
struct egress_metadata_t { }

parser OutParser(packet_in pkt, out egress_headers_t hdr, out egress_metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Out(inout egress_headers_t hdr, inout egress_metadata_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout egress_headers_t hdr, in egress_metadata_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;
Switch(pipe) main;
