// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const float n = 4;
__global__ void k(float* p) { *p = n; }
