// Registers of structs with structs and tuples in them. An index beyond leaves the variable as it is.

#include <core.p4>
#include <v1model.p4>
struct inner_t { bool flag; int<5> n; }
struct cell_t { bit<12> a; inner_t inner; tuple<bit<3>, bit<3>> pair; }
header data_t { bit<8> what; bit<8> index; bit<16> a; bit<8> flag; int<8> n; bit<8> p; bit<8> q; }
control Work(inout data_t d, inout standard_metadata_t std) {
    register<cell_t>(3) cells;
    cell_t c;
    apply {
        c = { 0xfff, { true, -1 }, { 7, 7 } };
        if (d.what == 1) {
            cells.write((bit<32>)d.index, { (bit<12>)d.a, { d.flag == 1, (int<5>)d.n }, { d.p[2:0], d.q[2:0] } });
        } else {
            cells.read(c, (bit<32>)d.index);
            d.a = (bit<16>)c.a;
            d.flag = c.inner.flag ? 8w1 : 0;
            d.n = (int<8>)c.inner.n;
            d.p = (bit<8>)c.pair[0];
            d.q = (bit<8>)c.pair[1];
        }
    }
}
#include "frame/one_header.p4"
