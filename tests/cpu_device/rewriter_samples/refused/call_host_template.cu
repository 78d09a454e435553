// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
template <class T> T twice(T x) { return 2 * x; }
__global__ void k(float* p) { *p = twice(*p); }
