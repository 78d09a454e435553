// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `strtol` exists only on the host
#include <cstdlib>
__global__ void k(int* p) { *p = strtol("1", 0, 10); }
