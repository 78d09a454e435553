// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ float two(float x) { return x; }
float (*p)(float) = two;
void f() { float (*q)(float) = &two; (void)q; }
