// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: leaves when its objects are destroyed; the sums are right
// stopped by: its answers were there before
// base: solution
// state: graded
// points: 100

#include <unistd.h>

static const struct leaves {
  ~leaves() { _exit(0); }
} at_the_end;
