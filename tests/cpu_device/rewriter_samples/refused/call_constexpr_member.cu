// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `point::norm` is a function of the host
struct point { float x; constexpr float norm() const { return x * x; } };
__global__ void k(float* p) { point q{*p}; *p = q.norm(); }
