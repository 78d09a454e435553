// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `name` is a variable of the host (line 5)
const char* name = "x";
__global__ void k(int* p) { *p = name[0]; }
