// The Tofino Native Architecture of Tofino 2.

#ifndef _T2NA_P4_
#define _T2NA_P4_

#ifdef __TARGET_TOFINO__
#undef __TARGET_TOFINO__
#endif
#define __TARGET_TOFINO__ 2

#include <tna.p4>

#endif
