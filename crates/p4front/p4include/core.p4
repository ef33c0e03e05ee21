// The declarations every P4_16 program may rely on (language specification 1.2.5, appendix on the
// core library): errors and match kinds, packet input and output, verify, NoAction, static_assert.

#ifndef _CORE_P4_
#define _CORE_P4_

error {
    NoError,                // nothing is wrong
    PacketTooShort,         // the packet ends before what is extracted does
    NoMatch,                // no case of a select matches
    StackOutOfBounds,       // a header stack has no such element
    HeaderTooShort,         // more bits are extracted than a varbit field can hold
    ParserTimeout,          // the parser takes longer than the target allows
    ParserInvalidArgument   // a parser operation is given a value the target cannot handle
}

// The packet as a parser reads it: bits and a cursor.
extern packet_in {
    // Fills the header (of fixed size) from the cursor on, makes it valid, advances the cursor.
    void extract<T>(out T hdr);
    // The same for a header with exactly one varbit field, which gets the given number of bits.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // The value at the cursor; the cursor stays.
    T lookahead<T>();
    // Moves the cursor.
    void advance(in bit<32> sizeInBits);
    // Length of the packet in bytes.
    bit<32> length();
}

// The packet as a deparser writes it.
extern packet_out {
    // Appends a header if it is valid; for stacks, unions and structs, each of their headers.
    void emit<T>(in T hdr);
}

// In a parser: if the check fails, sets the error and goes to the state reject.
extern void verify(in bool check, in error toSignal);

// Does nothing.
@noWarn("unused")
action NoAction() {}

match_kind {
    exact,      // all bits
    ternary,    // the bits of a mask
    lpm         // the longest prefix
}

// Stops compilation with the message if the check, known at compile time, is false. The result
// allows its use as the value of a constant at the top level.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif  // _CORE_P4_
