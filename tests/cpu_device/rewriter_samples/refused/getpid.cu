// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `getpid` exists only on the host
#include <unistd.h>
__global__ void k(int* p) { *p = getpid(); }
