/* -*- P4_16 -*- */
#include <core.p4>
#include   "headers.p4"   // ours
#define FIELD(name, width)   bit<width> name;
#define LONG_MACRO(x) \
    x = x + 1;      \
    y = x
  #ifndef   SIZE
  #define SIZE 1024
  #endif
#pragma once


const bit<32>   LIMIT = SIZE*2;
header h_t {
FIELD(a, 8)
    FIELD(long_name, 16)
  bit<8> b;
#ifdef WIDE
      bit<128>   c;
#else
   bit<64>  c;
#endif

}
#if 0
 this isn't P4:   "
   { ( [
#elif 1
typedef bit<9> port_t;
#endif
control c(inout h_t h
#ifdef META
  , inout meta_t m
#endif
) {
#ifdef FAST
  action a(bit<8> x) {
#else
  action a(bit<8> x, bit<8> y) {
#endif
    h.a = x;
  }
  apply {
#ifdef CHECK
    if (h.isValid())
#endif
    { LONG_MACRO(h.a);
      MACRO_STATEMENT(h)
      OTHER_STATEMENT
      h.b = 1; }
    h.a = h.b
#ifdef MORE
      + 1
#else
      + 2
#endif
      ;
#ifdef X
    if (h.a == 1) {
      h.b = 2;
    } else
#endif
    {
      h.b = 3;
    }
  }
}
@pragma   stage 3 // early
@pragma name "x"
DECLARE_TABLE(t, 5)
DECLARE_TABLE(u,   6)
# 12 "other.p4"
