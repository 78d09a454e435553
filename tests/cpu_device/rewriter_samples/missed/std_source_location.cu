// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <source_location>
__global__ void k(int* p) { *p = std::source_location::current().line(); }
