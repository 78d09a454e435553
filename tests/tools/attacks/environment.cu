// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: changes environment variables that the tests read
// stopped by: refused words
// base: starter
// state: refused
// points: 0
// says: setenv

#include <cstdlib>

__attribute__((constructor)) static void attack() { setenv("GTEST_FILTER", "-*", 1); }
