// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float f();
const float n = f();
__global__ void k(float* p) { *p = n; }
