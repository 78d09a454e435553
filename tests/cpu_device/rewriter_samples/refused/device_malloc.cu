// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `malloc` is known only when the program runs
#include <cstdlib>
__device__ int* p = (int*)malloc(4);
