#include <core.p4>

// Values of an enum fit its underlying type (7.2.1).
enum bit<8> Small {
    most = 255,
    unrepresentable = 256       //~ E0402
}
enum int<4> Signed {
    least = -8,
    less = -9,                  //~ E0402
    more = 8                    //~ E0402
}

// Parsers, controls and packages are no run-time parameters (7.2.12).
control Inner(inout bit<8> x) { apply { } }
parser Sub(packet_in packet) { state start { transition accept; } }
control Outer(inout bit<8> x, Inner inner) { apply { } } //~ E0308
parser Around(packet_in packet, Sub sub) { state start { transition accept; } } //~ E0308
void called(Inner inner) { }    //~ E0308

// An optional parameter has no default value (6.8.2).
extern void remind(in bit<32> at, @optional in bool urgent = true); //~ E0317

header item_t {
    bit<8>  v;
    bit<16> w;
}

bit<8> inc(inout bit<4> x) {
    x = x + 1;
    return 1;
}

parser Stacks(packet_in packet, inout item_t[4] s) {
    bit<4> local;
    state start {
        packet.extract(s.next);
        s.next = { 1, 2 };
        s.last = { 1, 2 };      //~ E0305
        s.last.v = 1;           //~ E0305
        packet.extract(s.last); //~ E0305
        transition local;
    }
    state local {               //~ E0201
        transition accept;
    }
}

action same() { }
action other() { }

control Work(packet_in packet, inout item_t item, inout item_t[4] s) {
    action same() { }
    table names {
        key = { item.v: exact; }
        actions = { same; .same; } //~ E0201
    }
    table default_first {
        default_action = same();   //~ E0311
        actions = { same; other; }
    }
    @kind(1)
    @kind[2]                    //~ E0201
    table mixed { actions = { NoAction; } }
    @once[1]
    @once[2]                    //~ E0201
    table twice { actions = { NoAction; } }
    @keys[k = 4, l = 4, k = 5]  //~ E0201
    table repeated { actions = { NoAction; } }
    @free(1) @free(2)
    table free { actions = { NoAction; } }

    apply {
        s.push_front(1);
        s.push_front(0);        //~ E0402
        s.pop_front(0);         //~ E0402
        packet.extract(item);   //~ E0310
        packet.advance(8);      //~ E0310
        static_assert(item.v == 1, "not known"); //~ E0400
        tuple<bit<8>, bit<8>> t = { 1, 2 };
        t = { 3, t[0] };
        item.w[item.v+:4] = 1;
        item.w[15:4][item.v+:4] = 1;
        item.w[item.v+:8][3:0] = 1; //~ E0500
        item.w[item.v+:8][item.v+:4] = 1; //~ E0500
        inc(item.w[item.v+:4]); //~ E0500
        (item.v ++ item.v)[item.v+:4] = 1; //~ E0305
    }
}

// Blocks are constructor parameters of blocks of their kind; nothing returns one (7.2.12, appendix F).
control Prototype(@optional inout bit<8> x);
control Implemented(@optional inout bit<8> x) { apply { } }
package Both(Prototype p);
control TakesPackage(in bit<8> y)(Both b) { apply { } }   //~ E0308
control TakesParser(in bit<8> y)(Sub s) { apply { } }     //~ E0308
control TakesControl(in bit<8> y)(Inner i) { apply { } }
parser TakesControlToo(packet_in p)(Inner i) { state start { transition accept; } } //~ E0308
extern void handed(Inner i);    //~ E0308
extern Thing { Thing(); }
extern Thing thing();           //~ E0308
extern Inner inner();           //~ E0308
@deprecated(5) extern void old(); //~ E0308
@deprecated extern void older();
