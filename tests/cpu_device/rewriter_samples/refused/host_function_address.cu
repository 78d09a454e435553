// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `h` is a function of the host
int h(int x) { return x; }
__global__ void k(int* p) { auto f = &h; *p = f != nullptr; }
