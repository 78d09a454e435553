// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `errno` exists only on the host
#include <cerrno>
__global__ void k(int* p) { *p = errno; }
