// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: changes what the tests are told by the environment
// stopped by: words that are refused
// base: starter
// state: refused
// points: 0
// says: setenv

#include <cstdlib>

__attribute__((constructor)) static void attack() { setenv("GTEST_FILTER", "-*", 1); }
