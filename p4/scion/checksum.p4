// One's complement sums, as the Internet checksums want them (RFC 1071, RFC 1624).
//
// All sums are of 16-bit words modulo 2^16 - 1. Because 2^16 = 1 in that arithmetic, wider numbers may be added as
// they are; 64 bits have room for far more terms than a packet has, and only the end result is folded to 16 bits.
// What is taken out of a sum is subtracted from it.

// A multiple of the modulus: nothing, when added to a sum; keeps what was subtracted from it positive.
const bit<64> SUM_MODULUS = 0xffff0000000000;

bit<64> sum32(in bit<32> a, in bit<32> b) {
    return (bit<64>) a + (bit<64>) b;
}

bit<64> sum128(in bit<128> a) {
    return (bit<64>) a[127:96] + (bit<64>) a[95:64] + (bit<64>) a[63:32] + (bit<64>) a[31:0];
}

// A hop field's twelve bytes.
bit<64> sum_hop(in bit<8> flags, in bit<8> exp_time, in bit<16> cons_ingress, in bit<16> cons_egress,
                in bit<48> mac) {
    return (bit<64>) (flags ++ exp_time) + (bit<64>) cons_ingress + (bit<64>) cons_egress + (bit<64>) mac;
}

// What replacing a word by another adds to the sum, modulo 2^64.
bit<64> sum_change16(in bit<16> before, in bit<16> after) {
    return (bit<64>) after - (bit<64>) before;
}

// The sum as a number of 16 bits. A number plus itself with its halves swapped has the sum of the halves, carry and all,
// in its upper half.
bit<16> fold(in bit<64> sum) {
    bit<64> halves = sum + (sum << 32 | sum >> 32);
    bit<32> word = halves[63:32];
    bit<32> quarters = word + (word << 16 | word >> 16);
    return quarters[31:16];
}
