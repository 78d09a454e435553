// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `isdigit` exists only on the host
#include <cctype>
__global__ void k(int* p) { *p = isdigit(*p); }
