#define ONE 1
#define ADD(a, b) ((a) + (b))
#define NAME(x) f_ ## x
#define TEXT(x) #x
#define EMPTY
#if defined(ONE) && ADD(ONE, 2) == 3 && !defined(NONE)
#include <core.p4>
const bit<8> NAME(a) = ADD(ADD(1, ONE), 8w0x_f); // comment
#elif 1 ? 2 : 3
#error "not here"
#else
@name(TEXT(a b)) const int<16> c = -16s0b1010;
#endif
#undef ONE
#line 7 "other.p4"
#ifndef ONE
/* block
 * comment */ const bool s = "a\"b\\n" == "c" EMPTY;
#endif
