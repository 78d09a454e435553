// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

consteval int twice(int x) { return 2 * x; }
__global__ void k(float* p) { *p = twice(3); }
