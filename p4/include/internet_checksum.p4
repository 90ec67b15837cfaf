// Incremental updates of Internet checksums (RFC 1624), as by PSA's InternetChecksum.

#ifndef _INTERNET_CHECKSUM_P4_
#define _INTERNET_CHECKSUM_P4_

// Replaces a checksum by that of the same data with some of its words exchanged: `removed` are words that the checksum
// covered, `added` those that it covers instead; the payload need not be there. Each is a number, or a list, tuple,
// struct or header of numbers, which are concatenated and padded with zeros to 16-bit words; it should begin at an
// even byte of the data.
//
// The result is `~(~checksum + ~removed + added)` in one's complement arithmetic, that is
//     InternetChecksum ck; ck.set_state(~checksum); ck.subtract(removed); ck.add(added); checksum = ck.get();
// Like that it never turns a checksum of 0xffff into 0 or the other way round unless the data demand it. What 0 means
// to the protocol (RFC 768: no checksum) is up to the program.
@noSideEffects
extern void adjust_checksum<R, A>(inout bit<16> checksum, in R removed, in A added);

#endif
