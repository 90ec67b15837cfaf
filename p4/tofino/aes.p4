// AES-128 in match-action tables: a pipe that encrypts the blocks of the bridge header.
//
// Ingress and egress compute three rounds each, of two blocks in parallel. A round is sixteen lookups in T-tables for each block. A packet
// comes from another pipe, so egress is first: rounds 1 to 3, then 4 to 6 in ingress. Rounds 7 to 10 are a second way through the
// same pipe, or one through a second pipe.
//
// Round keys are those of AES-CMAC of one block: its subkey is part of the first.

#include "t_table.p4"

// A column of the state after a round, of the bytes that ShiftRows puts there.
control Column(in bit<8> b0, in bit<8> b1, in bit<8> b2, in bit<8> b3, in bit<32> key, out bit<32> column) {
    TTable() t0;
    TTable() t1;
    TTable() t2;
    TTable() t3;
    bit<32> c0 = 0;
    bit<32> c1 = 0;
    bit<32> c2 = 0;
    bit<32> c3 = 0;

    apply {
        t0.apply(b0, c0);
        t1.apply(b1, c1);
        t2.apply(b2, c2);
        t3.apply(b3, c3);
        column = key ^ c0 ^ (c1[7:0] ++ c1[31:8]) ^ (c2[15:0] ++ c2[31:16]) ^ (c3[23:0] ++ c3[31:24]);
    }
}

// The same in the last round, which has no MixColumns.
control LastColumn(in bit<8> b0, in bit<8> b1, in bit<8> b2, in bit<8> b3, in bit<32> key, out bit<32> column) {
    TTable() t0;
    TTable() t1;
    TTable() t2;
    TTable() t3;
    bit<32> c0 = 0;
    bit<32> c1 = 0;
    bit<32> c2 = 0;
    bit<32> c3 = 0;

    apply {
        t0.apply(b0, c0);
        t1.apply(b1, c1);
        t2.apply(b2, c2);
        t3.apply(b3, c3);
        column = key ^ (c0[23:16] ++ c1[23:16] ++ c2[23:16] ++ c3[23:16]);
    }
}

control Round(inout bit<128> state, in bit<128> key) {
    Column() column0;
    Column() column1;
    Column() column2;
    Column() column3;
    bit<32> c0 = 0;
    bit<32> c1 = 0;
    bit<32> c2 = 0;
    bit<32> c3 = 0;

    apply {
        column0.apply(state[127:120], state[87:80], state[47:40], state[7:0], key[127:96], c0);
        column1.apply(state[95:88], state[55:48], state[15:8], state[103:96], key[95:64], c1);
        column2.apply(state[63:56], state[23:16], state[111:104], state[71:64], key[63:32], c2);
        column3.apply(state[31:24], state[119:112], state[79:72], state[39:32], key[31:0], c3);
        state = c0 ++ c1 ++ c2 ++ c3;
    }
}

control LastRound(inout bit<128> state, in bit<128> key) {
    LastColumn() column0;
    LastColumn() column1;
    LastColumn() column2;
    LastColumn() column3;
    bit<32> c0 = 0;
    bit<32> c1 = 0;
    bit<32> c2 = 0;
    bit<32> c3 = 0;

    apply {
        column0.apply(state[127:120], state[87:80], state[47:40], state[7:0], key[127:96], c0);
        column1.apply(state[95:88], state[55:48], state[15:8], state[103:96], key[95:64], c1);
        column2.apply(state[63:56], state[23:16], state[111:104], state[71:64], key[63:32], c2);
        column3.apply(state[31:24], state[119:112], state[79:72], state[39:32], key[31:0], c3);
        state = c0 ++ c1 ++ c2 ++ c3;
    }
}

control ThreeRounds(inout bit<128> state, in bit<128> key0, in bit<128> key1, in bit<128> key2) {
    Round() round0;
    Round() round1;
    Round() round2;

    apply {
        round0.apply(state, key0);
        round1.apply(state, key1);
        round2.apply(state, key2);
    }
}

control RoundKey(in bit<2> key, in bit<4> number, out bit<128> round_key) {
    apply {
        if (key == 0) {
            hop_key.round_key(0, number, round_key);
        } else {
            other_key.round_key((bit<32>) key - 1, number, round_key);
        }
    }
}

// The keys of three rounds.
control RoundKeys(in bit<2> key, in bit<4> number, out bit<128> key0, out bit<128> key1, out bit<128> key2) {
    RoundKey() first;
    RoundKey() second;
    RoundKey() third;

    apply {
        first.apply(key, number, key0);
        second.apply(key, number + 1, key1);
        third.apply(key, number + 2, key2);
    }
}

// Of both blocks, those that are to be encrypted.
control ThreeRoundsOfBoth(inout bridge_t bridge, in bit<4> number, in bit<128> first) {
    RoundKeys() round_keys;
    ThreeRounds() rounds;
    ThreeRounds() rounds_next;
    bit<128> key0 = 0;
    bit<128> key1 = 0;
    bit<128> key2 = 0;

    apply {
        round_keys.apply(bridge.key, number, key0, key1, key2);
        if (bridge.check == 1) {
            bridge.block = bridge.block ^ first;
            rounds.apply(bridge.block, key0, key1, key2);
        }
        if (bridge.check_next == 1) {
            bridge.block_next = bridge.block_next ^ first;
            rounds_next.apply(bridge.block_next, key0, key1, key2);
        }
        bridge.rounds_done = bridge.rounds_done + 1;
    }
}

// In egress: rounds 1 to 3, or 7 to 9.
control OuterRounds(inout bridge_t bridge) {
    RoundKey() first_key;
    ThreeRoundsOfBoth() rounds;
    bit<4> number = 7;
    bit<128> first = 0;

    apply {
        if (bridge.rounds_done == 0) {
            first_key.apply(bridge.key, 0, first);
            number = 1;
        }
        rounds.apply(bridge, number, first);
    }
}

// In ingress: rounds 4 to 6.
control InnerRounds(inout bridge_t bridge) {
    ThreeRoundsOfBoth() rounds;

    apply {
        rounds.apply(bridge, 4, 0);
    }
}

// In ingress: round 10.
control LastRoundOfBoth(inout bridge_t bridge) {
    RoundKey() last_key;
    LastRound() round;
    LastRound() round_next;
    bit<128> key = 0;

    apply {
        last_key.apply(bridge.key, 10, key);
        if (bridge.check == 1) {
            round.apply(bridge.block, key);
        }
        if (bridge.check_next == 1) {
            round_next.apply(bridge.block_next, key);
        }
    }
}

parser AesIngressParser(packet_in packet, out bridge_headers_t hdr, out no_metadata_t meta,
                        out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        packet.extract(hdr.bridge);
        transition accept;
    }
}
