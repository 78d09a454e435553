// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::atomic` exists only on the host
#include <atomic>
__global__ void k(int* p) { std::atomic<int> a{0}; ++a; *p = a; }
