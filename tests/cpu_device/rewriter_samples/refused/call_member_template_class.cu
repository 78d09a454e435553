// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `point::norm` is a function of the host
template <class T> struct point { T x; T norm() const { return x * x; } };
__global__ void k(float* p) { point<float> q{*p}; *p = q.norm(); }
