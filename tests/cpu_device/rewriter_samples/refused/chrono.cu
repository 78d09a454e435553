// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::chrono` exists only on the host
#include <chrono>
__global__ void k(long* p) { *p = std::chrono::steady_clock::now().time_since_epoch().count(); }
