// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the members of `std::atomic` are functions of the host
#include <atomic>
__global__ void k(std::atomic<int>* p) { p->fetch_add(1); }
