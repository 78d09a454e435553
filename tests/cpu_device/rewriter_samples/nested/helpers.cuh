// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Needs no rewriting itself, but includes a header that does.
#pragma once

#include "kernels.cuh"

namespace helpers {

template <int Block>
int ceil_div(int n) {
  return (n + Block - 1) / Block;
}

}  // namespace helpers
