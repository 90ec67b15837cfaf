// Functions of bit strings.

#ifndef _BITS_P4_
#define _BITS_P4_

// How many bits of a `bit<W>` are ones.
@pure
extern T population_count<T>(in T value);

#endif
