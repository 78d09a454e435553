// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::source_location` exists only on the host
#include <source_location>
__global__ void k(int* p) { *p = std::source_location::current().line(); }
