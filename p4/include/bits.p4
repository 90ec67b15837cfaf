// Functions of bit strings.

#ifndef _BITS_P4_
#define _BITS_P4_

// How many bits of a `bit<W>` are ones.
@pure
extern T population_count<T>(in T value);

// How many bits of a `bit<W>` are zeros above its highest one; W if it has no one.
@pure
extern T count_leading_zeros<T>(in T value);

#endif
