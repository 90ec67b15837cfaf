// Functions of bit strings.

#ifndef _BITS_P4_
#define _BITS_P4_

// How many bits of a `bit<W>` are ones.
@pure
extern T population_count<T>(in T value);

// How many bits of a `bit<W>` are zeros above its highest one; W if it has no one.
@pure
extern T count_leading_zeros<T>(in T value);

// 1 if an odd number of bits of a `bit<W>` are ones, otherwise 0.
@pure
extern T parity<T>(in T value);

// The bits of a `bit<W>` in reverse order: the lowest becomes the highest.
@pure
extern T reverse_bits<T>(in T value);

#endif
