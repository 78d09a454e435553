// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::async` exists only on the host
#include <future>
__global__ void k(int* p) { std::async([] {}); }
