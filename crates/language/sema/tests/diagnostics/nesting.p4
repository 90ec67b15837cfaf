#include <core.p4>
// Each control has an instance of the one before it.
control C(inout bit<8> b);
package Top(C c);
control c0(inout bit<8> b) { apply { } }
control c1(inout bit<8> b) { c0() inner; apply { inner.apply(b); } }
control c2(inout bit<8> b) { c1() inner; apply { inner.apply(b); } }
control c3(inout bit<8> b) { c2() inner; apply { inner.apply(b); } }
control c4(inout bit<8> b) { c3() inner; apply { inner.apply(b); } }
control c5(inout bit<8> b) { c4() inner; apply { inner.apply(b); } } //~ E0407
control c6(inout bit<8> b) { c5() inner; apply { inner.apply(b); } }
control c7(inout bit<8> b) { c6() inner; apply { inner.apply(b); } }
control c8(inout bit<8> b) { c7() inner; apply { inner.apply(b); } }
control c9(inout bit<8> b) { c8() inner; apply { inner.apply(b); } }
control c10(inout bit<8> b) { c9() inner; apply { inner.apply(b); } }
control c11(inout bit<8> b) { c10() inner; apply { inner.apply(b); } }
control c12(inout bit<8> b) { c11() inner; apply { inner.apply(b); } }
control c13(inout bit<8> b) { c12() inner; apply { inner.apply(b); } }
control c14(inout bit<8> b) { c13() inner; apply { inner.apply(b); } }
control c15(inout bit<8> b) { c14() inner; apply { inner.apply(b); } }
control c16(inout bit<8> b) { c15() inner; apply { inner.apply(b); } }
control c17(inout bit<8> b) { c16() inner; apply { inner.apply(b); } }
control c18(inout bit<8> b) { c17() inner; apply { inner.apply(b); } }
control c19(inout bit<8> b) { c18() inner; apply { inner.apply(b); } }
control c20(inout bit<8> b) { c19() inner; apply { inner.apply(b); } }
control c21(inout bit<8> b) { c20() inner; apply { inner.apply(b); } }
control c22(inout bit<8> b) { c21() inner; apply { inner.apply(b); } }
control c23(inout bit<8> b) { c22() inner; apply { inner.apply(b); } }
control c24(inout bit<8> b) { c23() inner; apply { inner.apply(b); } }
control c25(inout bit<8> b) { c24() inner; apply { inner.apply(b); } }
control c26(inout bit<8> b) { c25() inner; apply { inner.apply(b); } }
control c27(inout bit<8> b) { c26() inner; apply { inner.apply(b); } }
control c28(inout bit<8> b) { c27() inner; apply { inner.apply(b); } }
control c29(inout bit<8> b) { c28() inner; apply { inner.apply(b); } }
control c30(inout bit<8> b) { c29() inner; apply { inner.apply(b); } }
control c31(inout bit<8> b) { c30() inner; apply { inner.apply(b); } }
control c32(inout bit<8> b) { c31() inner; apply { inner.apply(b); } }
control c33(inout bit<8> b) { c32() inner; apply { inner.apply(b); } }
control c34(inout bit<8> b) { c33() inner; apply { inner.apply(b); } }
control c35(inout bit<8> b) { c34() inner; apply { inner.apply(b); } }
control c36(inout bit<8> b) { c35() inner; apply { inner.apply(b); } }
control c37(inout bit<8> b) { c36() inner; apply { inner.apply(b); } }
control c38(inout bit<8> b) { c37() inner; apply { inner.apply(b); } }
control c39(inout bit<8> b) { c38() inner; apply { inner.apply(b); } }
control c40(inout bit<8> b) { c39() inner; apply { inner.apply(b); } }
control c41(inout bit<8> b) { c40() inner; apply { inner.apply(b); } }
control c42(inout bit<8> b) { c41() inner; apply { inner.apply(b); } }
control c43(inout bit<8> b) { c42() inner; apply { inner.apply(b); } }
control c44(inout bit<8> b) { c43() inner; apply { inner.apply(b); } }
Top(c44()) main;
