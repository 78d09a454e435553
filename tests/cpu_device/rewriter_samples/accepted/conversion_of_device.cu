// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { float x; __device__ operator float() const { return x; } operator int() const { return 1; } };
__global__ void k(float* p) { s a{*p}; float f = a; *p = f; }
