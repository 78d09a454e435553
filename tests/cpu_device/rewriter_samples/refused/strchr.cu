// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `strchr` exists only on the host
#include <cstring>
__global__ void k(int* p) { *p = *strchr("ab", 98); }
