// Section 6.2: includes in both forms, macros without arguments, conditions, lines that are continued.
// Section 6.3: the core library is included as a file of the system.

# include <core.p4>
#  include <v1model.p4>

#define WIDTH 8
#define STEP 3
#undef STEP
#define STEP 5
#define LONG_SUM d.a + \
    STEP

header data_t {
    bit<WIDTH> a;
    bit<WIDTH> sum;
    bit<WIDTH> branch;
    bit<WIDTH> defined_;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.sum = LONG_SUM;
#if WIDTH == 16
        d.branch = 1;
#elif WIDTH == 8 && STEP != 3
        d.branch = 2;
#else
        d.branch = 3;
#endif
#ifdef NOTHING
        this is never read
#endif
#ifndef NOTHING
        d.defined_ = 1;
#endif
    }
}

# include "../stf/frame/one_header.p4"
