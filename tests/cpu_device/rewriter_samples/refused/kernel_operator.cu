// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: kernel `operator+` is an operator
struct s {};
__global__ void operator+(s, s) { }
