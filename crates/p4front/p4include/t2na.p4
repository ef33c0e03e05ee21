// The Tofino 2 Native Architecture: what a program for Tofino 2 sees of the chip. See `tna.p4`.

#ifndef _T2NA_P4_
#define _T2NA_P4_

#ifndef __TARGET_TOFINO__
#define __TARGET_TOFINO__ 2
#endif
#define TNA_T2NA 1

#define TNA_OPTIONAL
#include <tofino_native.p4>

#endif  // _T2NA_P4_
