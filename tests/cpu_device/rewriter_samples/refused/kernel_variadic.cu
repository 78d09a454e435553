// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: kernel `k` takes any number of arguments (`...`)
#include <cstdarg>
__global__ void k(int* p, ...) { *p = 1; }
