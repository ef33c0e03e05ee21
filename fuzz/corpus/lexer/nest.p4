#define A B C
#define B(x) x x
#define C (A)
A B(B(A)) C
#include "input.p4"
#include <none.p4>
#if (1 << 3) / 0
#endif
#pragma once
99999999999999999999999999999999w0xffff 8s1 0o17 0d10 _ $ ` é
