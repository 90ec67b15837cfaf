// Header unions and structs with stacks as local variables: copied, compared, shifted, changed apart from each
// other.

#include <core.p4>
#include <v1model.p4>

header x_t {
    bit<8> v;
}

header y_t {
    bit<16> w;
}

header_union u_t {
    x_t x;
    y_t y;
}

struct holder_t {
    x_t[2] s;
    u_t    u;
    bit<8> k;
}

header data_t {
    bit<8>  a;
    bit<16> b;
    bit<8>  which;
    bit<8>  equal;
    bit<8>  stack;
    bit<16> member;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        u_t u;
        u.x = { d.a };
        u_t w = u;
        bit<8> equal = u == w ? 8w1 : 0;
        w.y = { d.b };
        d.which = (u.x.isValid() ? 8w1 : 0) + (u.y.isValid() ? 8w2 : 0) + (w.x.isValid() ? 8w4 : 0)
            + (w.y.isValid() ? 8w8 : 0);
        equal = equal + (u == w ? 8w2 : 0);
        holder_t p;
        p.s[0] = { d.a };
        p.u = w;
        p.k = 1;
        holder_t q = p;
        equal = equal + (p == q ? 8w4 : 0);
        q.s.push_front(1);
        equal = equal + (p == q ? 8w8 : 0);
        d.equal = equal;
        d.stack = (q.s[0].isValid() ? 8w0xee : q.s[1].v) + p.s[0].v;
        d.member = q.u.y.w;
    }
}

#include "frame/one_header.p4"
