// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `setjmp` exists only on the host
#include <csetjmp>
__global__ void k(int* p) { jmp_buf b; *p = setjmp(b); }
