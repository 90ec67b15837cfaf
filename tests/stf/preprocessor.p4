// The preprocessor: macros with arguments, conditions, nesting and undefining.

#include <core.p4>
#include <v1model.p4>

#define WIDTH 8
#define FIELD(name) bit<WIDTH> name
#define ADD(a, b) ((a) + (b))
#if WIDTH == 8 && defined(FIELD)
#define STEP 3
#elif WIDTH == 16
#define STEP 5
#else
#error "no such width"
#endif

header data_t {
    FIELD(x);
    FIELD(sum);
    FIELD(taken);
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = ADD(d.x, STEP) * 2;   /* a comment
                                         of two lines */
#undef STEP
#ifdef STEP
        d.taken = 1;
#else
# ifndef WIDTH
        d.taken = 2;
# else
        d.taken = 3; // d.taken = 4;
# endif
#endif
    }
}

#include "frame/one_header.p4"
