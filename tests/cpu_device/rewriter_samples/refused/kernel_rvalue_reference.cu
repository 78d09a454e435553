// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: kernel `k` takes an rvalue reference
__global__ void k(int&& p) { }
