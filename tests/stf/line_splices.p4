// A backslash at the end of a line continues it anywhere, and directives work in the lines of a string.

#include <core.p4>
#include <v1mod\
el.p4>
#define AD\
D(a, b) ((a) \
 + (b))
header data_t { bit<8> x; bi\
t<8> y; }
// a comment that goes on \
header bad { }
const bit<8> lo\
ng_name = 1\
2;
@name("a\
b")
const string s = "
#define X 1
#if 0
 left out "
#elif X == 1
 kept \" #endif
# no directive
#endif
";
#if 0
"unbalanced
# not a directive
#else
#endif
#def\
ine ONE 1
/\
* comment *\
/
/\
/ another
control Work(inout data_t d, inout standard_metadata_t std) {
    apply { d.x = AD\
D(d.x, long_name) + O\
NE; d.y = d.y <\
< 1; }
}
#include "frame/one_header.p4"
