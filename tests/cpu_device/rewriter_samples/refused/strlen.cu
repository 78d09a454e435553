// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `strlen` exists only on the host
#include <cstring>
__global__ void k(char* p) { *p = strlen(p); }
