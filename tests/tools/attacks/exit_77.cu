// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: asks to be counted as skipped
// stopped by: another process decides the result
// base: starter
// state: graded
// points: 0
// says: no test ran

#include <unistd.h>

__attribute__((constructor)) static void attack() { _exit(77); }
