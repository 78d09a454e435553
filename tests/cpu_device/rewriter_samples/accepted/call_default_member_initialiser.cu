// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct point { float x = 3; int n = 2; };
__global__ void k(float* p) { point a; *p = a.x; }
