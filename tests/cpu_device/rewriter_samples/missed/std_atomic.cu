// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
__global__ void k(std::atomic<int>* p) { p->fetch_add(1); }
