parser P(packet_in p,out headers h,inout meta m) {
  value_set<bit<8> >(4) vs;
  state start { transition accept; }
  state next {
    p.extract( h.ipv4 );
    transition select(h.ipv4.protocol , h.ipv4.version) {
      (6, 4) : tcp; (17, _): udp;
      (0x80 &&& 0xf0, 1..3)  : other;
      vs :more;
      default : accept;
    }
  }
}
control C(inout headers h, inout meta m)(bit<32> size) {
  Register<bit<32>,bit<16> >(32w65536,0) reg;
  RegisterAction<bit<32>, bit<16>, bit<32>>(reg) read = { void apply(inout bit<32> v, out bit<32> r) { r = v; } };
  action none() { }
  action drop() { mark_to_drop(m); }
  action both(bit<8> a) { m.a = a; m.b = a; }
  @name("t") @id(3)
  table t {
    key = { h.ipv4.dst : lpm @name("dst"); h.ipv4.protocol: exact; }
    actions = { drop; @defaultonly none; }
    const entries = {
      (1, 2) : drop();
      (0x10 &&& 0xf0, _) : both(7);
      const priority=10: (3, _) : none();
    }
    const default_action=none();
    size=1024;
  }
  apply
  {
    if(t.apply().hit){m.a=(bit<8>)m.b+~m.c;}
    else
    {
      m.a = -1;
    }
    if (m.a == 1) return;
    else if (m.b < 2 && m.c > 3 || !m.valid) m.a = (x == 1) ? 2 : 3;
    if (m.a == 2)
      for (bit<8> i in 1 .. 3) { m.a = m.a << i >> 1; }
    switch (t.apply().action_run) {
      drop: { m.a = 1; }
      none:
      both: { return; }
      default: { exit; }
    }
    m.x[7 : 0] = m.y[i * 8 + 7:i * 8] ++ m.z;
    m.list = { a=1,b={2,3} , ... };
    h.stack.push_front( 1 );
    const tuple<bit<8>, bool> pair = {1,true};
    hash(m.hash, HashAlgorithm.crc32, 32w0, { h.ipv4.src, h.ipv4.dst, h.ipv4.protocol, h.tcp.src, h.tcp.dst }, 32w65536);
    if (h.ethernet.isValid() && h.ipv4.isValid() && h.ipv4.version == 4 && (h.ipv4.ihl == 5 || m.options_allowed)) {
      m.metadata_with_a_long_name = some_function_with_a_long_name(h.ipv4.src, h.ipv4.dst) + another_value;
    }
    update_checksum(
        h.ipv4.isValid(),
        { h.ipv4.version, h.ipv4.ihl,
          h.ipv4.src },
        h.ipv4.checksum, HashAlgorithm.csum16
    );
  }
}
enum bit<8> Kind { A = 1, B = 2,
  C = 3 }
enum Short { A, B }
extern Object<T> { Object(T value); abstract bit<8> get(in T x); @pure void set(T value); }
bit<8> max(in bit<8> a, in bit<8> b) { return a > b ? a : b; }
package Pkg<H, M>(Parser<H, M> p, Control<H, M> c);
Pkg(P(), C(1024)) main;
