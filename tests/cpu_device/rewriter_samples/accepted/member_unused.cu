// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float twice(float x) { return x; }
struct s { __device__ void k(float* p) { *p = twice(*p); } };
