// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice::operator()` is a function of the host
struct twice { float operator()(float x) const { return 2 * x; } };
__global__ void k(float* p) { *p = twice{}(*p); twice t; *p = t(*p); }
