// Section 6.8.2: optional parameters and default values. Packages with optional blocks cannot be run on v1model, which has none;
// their declarations are accepted, and the default value of a function's parameter is used.

#include <core.p4>
#include <v1model.p4>

struct none_t { }

control nothing(inout none_t h, inout none_t m) {
    apply { }
}

parser reading<H, M>(packet_in packet, out H h, inout M m);
control working<H, M>(inout H h, inout M m);
package one_stage<HP, MP, HC, MC>(@optional reading<HP, MP> read, working<HC, MC> work = nothing());
package stage<T>(T x);
package two_stages<A, B>(stage<A> first, @optional stage<B> second);

extern void remind(in bit<32> at, @optional in bool urgent);

header data_t {
    bit<8> both;
    bit<8> position;
    bit<8> name;
}

bit<8> h(in bit<8> a, in bool b = true) {
    return b ? a + 1 : a;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.both = h(a = 10, b = false);
        d.position = h(10);
        d.name = h(a = 10);
    }
}

#include "../stf/frame/one_header.p4"
