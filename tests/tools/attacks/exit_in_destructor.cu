// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: exits when its static objects are destroyed; the sums are right
// stopped by: its answers had already arrived
// base: solution
// state: graded
// points: 100

#include <unistd.h>

static const struct leaves {
  ~leaves() { _exit(0); }
} at_the_end;
