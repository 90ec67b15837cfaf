// Duplicate suppression for Tofino 2: the Bloom filter of duplicates.p4. A register action looks at a cell and writes it in one
// go, so that a duplicate is remembered anew.
//
// Off unless the control plane says otherwise. Only packets whose hop fields are good are looked up: others cannot fill it.

#ifndef DUPLICATE_CELLS_LOG
#define DUPLICATE_CELLS_LOG 16
#endif

// One of the filter's registers: `seen` if its cell was written in this window or the last one.
#define DUPLICATE_REGISTER(cells, visit) \
    Register<bit<16>, bit<DUPLICATE_CELLS_LOG>>(1 << DUPLICATE_CELLS_LOG, 0) cells; \
    RegisterAction<bit<16>, bit<DUPLICATE_CELLS_LOG>, bit<1>>(cells) visit = { \
        void apply(inout bit<16> cell, out bit<1> seen) { \
            if (cell == window || cell == last_window) { \
                seen = 1; \
            } else { \
                seen = 0; \
            } \
            cell = window; \
        } \
    };

control CheckDuplicate(in headers_t hdr, inout metadata_t meta, in bit<48> nanoseconds) {
    bit<1> enabled = 0;
    bit<15> number = 0;
    bit<16> window = 0;
    bit<16> last_window = 0;
    bit<128> host = 0;
    bit<1> seen0 = 0;
    bit<1> seen1 = 0;
    bit<1> seen2 = 0;
    Hash<bit<DUPLICATE_CELLS_LOG>>(HashAlgorithm_t.CRC32) hash0;
    Hash<bit<DUPLICATE_CELLS_LOG>>(HashAlgorithm_t.CRC32) hash1;
    Hash<bit<DUPLICATE_CELLS_LOG>>(HashAlgorithm_t.CRC32) hash2;
    DUPLICATE_REGISTER(cells0, visit0)
    DUPLICATE_REGISTER(cells1, visit1)
    DUPLICATE_REGISTER(cells2, visit2)

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
        // Windows of 2^32 ns = 4.3 s: longer than a packet is accepted. Never zero, which is an empty cell.
        number = nanoseconds[46:32];
        window = 1w1 ++ number;
        number = number - 1;
        last_window = 1w1 ++ number;
        if (hdr.src4.isValid()) {
            host = 96w0 ++ hdr.src4.addr;
        } else if (hdr.src8.isValid()) {
            host = 64w0 ++ hdr.src8.addr;
        } else if (hdr.src12.isValid()) {
            host = 32w0 ++ hdr.src12.addr;
        } else {
            host = hdr.src16.addr;
        }
        if (meta.reason == Reason.NONE && meta.again == 0 && enabled == 1) {
            seen0 = visit0.execute(hash0.get({ hdr.scion.src_ia, host, hdr.path.timestamp, hdr.path.counter }));
            seen1 = visit1.execute(hash1.get({ hdr.path.counter, 8w1, host, hdr.path.timestamp, hdr.scion.src_ia }));
            seen2 = visit2.execute(hash2.get({ host, hdr.path.counter, 8w2, hdr.scion.src_ia, hdr.path.timestamp }));
        }
        if (seen0 == 1 && seen1 == 1 && seen2 == 1) {
            meta.reason = Reason.DUPLICATE;
        }
    }
}
