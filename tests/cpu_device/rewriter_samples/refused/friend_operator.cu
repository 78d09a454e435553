// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `operator*` is a function of the host
struct s { float x; friend s operator*(s a, float b) { return {a.x * b}; } };
__global__ void k(float* p) { s a{*p}; s b = a * 2; *p = b.x; }
