// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::thread` exists only on the host
#include <thread>
__global__ void k(int* p) { std::thread t; *p = 1; }
