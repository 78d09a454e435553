// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
float twice(float x) { return x; }
namespace { __global__ void k(float* p) { *p = twice(*p); } }
