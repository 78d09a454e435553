// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `h` is a function of the host
namespace n { int h(int x) { return x; } }
using n::h;
__global__ void k(int* p) { *p = h(1); }
