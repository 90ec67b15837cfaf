// Header unions in stacks as arguments beside others with effects.

#include <core.p4>
#include <v1model.p4>
header data_t { bit<8> x; bit<8> y; bit<8> i; }
header a_t { bit<8> v; }
header b_t { bit<8> w; bit<8> z; }
header_union u_t { a_t a; b_t b; }
struct s_t { u_t[2] us; bit<8> k; }
struct w_t { s_t s; a_t[2] as; }
bit<8> bump(inout bit<8> n) { n = n + 1; return n; }
void clear(inout u_t[2] us) { us[0].a.setInvalid(); us[1].b.setValid(); us[1].b.w = 5; us[1].b.z = 6; }
bit<8> effect(inout s_t s) { clear(s.us); return 1; }
bit<8> in_s(in s_t s, in bit<8> n) { return s.us[0].a.v + s.us[1].a.v + s.k + n; }
bit<8> in_us(in u_t[2] us, in bit<8> n) { return us[0].a.v + us[1].a.v + n; }
bit<8> io_us(inout u_t[2] us, in bit<8> n) { us[0].b.setValid(); us[0].b.w = n; us[0].b.z = us[1].a.v; return n; }
bit<8> io_s(inout s_t s, in bit<8> n) { s.us[1].a.setValid(); s.us[1].a.v = n + s.k; return n; }
bit<8> o_us(out u_t[2] us, in bit<8> n) { us[1].a.setValid(); us[1].a.v = n; return n; }
bit<8> w_in(in w_t w, in bit<8> n) { return w.s.us[1].b.w + w.as[0].v + n; }
control Sub(inout u_t[2] us, in bit<8> n, out bit<8> r) { apply { r = us[1].a.v + n; us.pop_front(1); } }
control Work(inout data_t d, inout standard_metadata_t std) {
    s_t s; w_t w; u_t[2] us;
    Sub() sub;
    action act(inout u_t[2] us, in bit<8> n) { us[0].a.setValid(); us[0].a.v = n; }
    apply {
        s.us[0].a.setValid(); s.us[0].a.v = 10;
        s.us[1].a.setValid(); s.us[1].a.v = 20;
        s.k = 100;
        us = s.us;
        d.x = in_s(s, effect(s));       // 131
        d.y = s.us[1].b.w;              // 5
        d.x = d.x + in_us(us, bump(d.i));
        d.x = d.x + io_us(us, bump(d.i));
        d.y = d.y + us[0].b.w;
        d.x = d.x + io_s(s, bump(d.i));
        d.x = d.x + s.us[1].a.v;
        w.s = s; w.as[0].setValid(); w.as[0].v = 3;
        d.x = d.x + w_in(w, effect(w.s));
        d.x = d.x + o_us(s.us, bump(d.i));
        act(us, bump(d.i));
        sub.apply(s.us, bump(d.i), d.y);
        sub.apply(n = bump(d.i), r = d.y, us = us);
        d.x = d.x + us[0].a.v + s.us[0].a.v;
        if (us == s.us) { d.i = 77; }
        tuple<u_t[2], bit<8>> t = { s.us, bump(d.i) };
        d.x = d.x + t[0][0].a.v;
    }
}
#include "frame/one_header.p4"
