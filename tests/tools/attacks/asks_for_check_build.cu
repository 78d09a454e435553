// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks for a macro that only the check build defines
// stopped by: both builds must see the same text, or it is refused
// base: solution
// state: refused
// points: 0
// says: talks to the CPU device itself

#include <unistd.h>

#ifdef CPU_DEVICE_CHECK
__attribute__((constructor)) static void attack() { _exit(0); }
#endif
