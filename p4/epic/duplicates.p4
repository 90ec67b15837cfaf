// Duplicate suppression: a Bloom filter over source, timestamp and counter of the packets of the last seconds.
//
// A cell holds the number of the window in which it was last set, plus one. It counts as set in that window and in the next:
// the filter rotates, and nothing has to be cleared. A packet that is not older than one window is found for certain, as
// long as one worker sees all copies of it. With N packets in two windows, a new packet is taken for a duplicate with
// probability (1 - e^(-N / CELLS))^3.
//
// Off unless the control plane says otherwise. Only packets whose hop fields are good are looked up: others cannot fill it.

#ifndef DUPLICATE_CELLS
#define DUPLICATE_CELLS 1048576
#endif

control CheckDuplicate(in headers_t hdr, inout metadata_t meta) {
    register<bit<16>>(DUPLICATE_CELLS) cells0;
    register<bit<16>>(DUPLICATE_CELLS) cells1;
    register<bit<16>>(DUPLICATE_CELLS) cells2;
    bit<1> enabled = 0;
    bit<16> window = 0;
    bit<128> host = 0;
    bit<32> index0 = 0;
    bit<32> index1 = 0;
    bit<32> index2 = 0;
    bit<16> cell0 = 0;
    bit<16> cell1 = 0;
    bit<16> cell2 = 0;

    action off() { }

    action on() {
        enabled = 1;
    }

    table duplicate_suppression {
        actions = { off; on; }
        default_action = off();
    }

    apply {
        duplicate_suppression.apply();
        if (enabled == 0) {
            return;
        }
        // Windows of 2^22 us = 4.2 s: longer than a packet is accepted. Never zero, which is an empty cell.
        window = 1w1 ++ meta.now[36:22];
        if (hdr.src4.isValid()) {
            host = 96w0 ++ hdr.src4.addr;
        } else if (hdr.src8.isValid()) {
            host = 64w0 ++ hdr.src8.addr;
        } else if (hdr.src12.isValid()) {
            host = 32w0 ++ hdr.src12.addr;
        } else {
            host = hdr.src16.addr;
        }
        hash(index0, HashAlgorithm.crc32, 32w0,
             { hdr.scion.src_ia, host, hdr.path.timestamp, hdr.path.counter }, (bit<32>) DUPLICATE_CELLS);
        hash(index1, HashAlgorithm.crc32, 32w0,
             { hdr.path.counter, 8w1, host, hdr.path.timestamp, hdr.scion.src_ia }, (bit<32>) DUPLICATE_CELLS);
        hash(index2, HashAlgorithm.crc32, 32w0,
             { host, hdr.path.counter, 8w2, hdr.scion.src_ia, hdr.path.timestamp }, (bit<32>) DUPLICATE_CELLS);
        cells0.read(cell0, index0);
        cells1.read(cell1, index1);
        cells2.read(cell2, index2);
        if ((cell0 == window || cell0 == (1w1 ++ (window - 1)[14:0]))
            && (cell1 == window || cell1 == (1w1 ++ (window - 1)[14:0]))
            && (cell2 == window || cell2 == (1w1 ++ (window - 1)[14:0]))) {
            meta.reason = Reason.DUPLICATE;
            return;
        }
        cells0.write(index0, window);
        cells1.write(index1, window);
        cells2.write(index2, window);
    }
}
