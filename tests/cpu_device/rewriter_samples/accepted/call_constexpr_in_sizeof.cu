// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int twice(int x) { return 2 * x; }
__global__ void k(float* p) { *p = sizeof(twice(4)); decltype(twice(1)) x = 3; *p = x; }
