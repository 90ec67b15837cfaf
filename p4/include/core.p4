// The core library of P4-16: what every program may count on, whatever the architecture.
//
// Declarations follow appendix D of the P4-16 specification, version 1.2.5.

#ifndef _CORE_P4_
#define _CORE_P4_

// Errors that the language itself raises in parsers. Programs may declare more.
error {
    NoError,               // nothing went wrong
    PacketTooShort,        // fewer bits left in the packet than the operation needs
    NoMatch,               // no case of a `select` matches
    StackOutOfBounds,      // a header stack has no such element
    HeaderTooShort,        // more bits for a varbit field than its type can hold
    ParserTimeout,         // the parser ran longer than the target permits
    ParserInvalidArgument  // an argument the target does not support
}

// The packet a parser reads, with a cursor.
extern packet_in {
    // Fills a fixed-size header from the packet, makes it valid and moves the cursor behind it.
    // Errors: PacketTooShort, StackOutOfBounds.
    void extract<T>(out T hdr);

    // The same for a header with exactly one varbit field, which gets the given number of bits.
    // Errors: PacketTooShort, StackOutOfBounds, HeaderTooShort, ParserInvalidArgument.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);

    // The next bits of the packet as a value of a fixed-size type; the cursor stays.
    // Error: PacketTooShort.
    T lookahead<T>();

    // Moves the cursor. Error: PacketTooShort.
    void advance(in bit<32> sizeInBits);

    // Length of the whole packet in bytes.
    bit<32> length();
}

// The packet a deparser builds.
extern packet_out {
    // Appends a header if it is valid; of a stack, union or struct every valid header in order.
    void emit<T>(in T hdr);
}

// In a parser: goes on if the check holds; otherwise sets the parser error and goes to `reject`.
extern void verify(in bool check, in error toSignal);

// Does nothing.
@noWarn("unused")
action NoAction() {}

// Match kinds that every architecture knows.
match_kind {
    exact,    // all bits equal
    ternary,  // bits under a mask equal
    lpm       // longest matching prefix
}

// Stops compilation with the message unless the check, a compile-time value, holds. Returns true, so that
// it can initialise a top-level constant.
extern bool static_assert(bool check, string message);

// The same with a standard message.
extern bool static_assert(bool check);

#endif
