// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `memchr` exists only on the host
#include <cstring>
__global__ void k(int* p) { *p = memchr(p, 1, 4) != 0; }
