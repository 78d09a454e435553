// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: device code has no run-time type information, so kernel `k` cannot use `dynamic_cast`
struct a { virtual __device__ ~a() {} };
struct b : a { __device__ ~b() {} };
__global__ void k(a* p) { b* q = dynamic_cast<b*>(p); if (q) delete q; }
