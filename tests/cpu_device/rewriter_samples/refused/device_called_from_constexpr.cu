// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `two` is a `__device__` function
__device__ constexpr float two(float x) { return x; }
constexpr float f(float x) { return two(x); }
