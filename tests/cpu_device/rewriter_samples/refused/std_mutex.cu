// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `std::lock_guard` exists only on the host
#include <mutex>
std::mutex m;
__global__ void k(int* p) { std::lock_guard<std::mutex> l(m); *p = 1; }
