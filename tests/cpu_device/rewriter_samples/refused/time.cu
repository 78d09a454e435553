// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `time` exists only on the host
#include <ctime>
__global__ void k(int* p) { *p = time(nullptr); }
