// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
float twice(float x) { return x; }
__global__ void k(float* p) { if constexpr (false) *p = twice(*p); if (false) *p = twice(*p); }
