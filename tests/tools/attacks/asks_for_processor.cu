// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks which instructions the build may use
// stopped by: both builds must see the same text, or it is refused
// base: solution
// state: refused
// points: 0
// says: accesses are watched

#include <unistd.h>

#ifdef __FMA__
__attribute__((constructor)) static void attack() { _exit(0); }
#endif
