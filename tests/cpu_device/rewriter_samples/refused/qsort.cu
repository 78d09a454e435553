// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `qsort` exists only on the host
#include <cstdlib>
__global__ void k(int* p) { qsort(p, 1, 1, nullptr); }
