// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#define TWICE(x) twice(x)
float twice(float x) { return x; }
__global__ void k(float* p) { *p = TWICE(*p); }
