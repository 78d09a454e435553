// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `f` is a function of the host
constexpr int f() { return 3; }
__global__ void k(float* p) { static_assert(f() == 3); }
