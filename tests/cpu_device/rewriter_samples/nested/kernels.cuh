// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "storage.cuh"

namespace helpers {

template <class T>
__global__ void from_header(T value) {
  __shared__ T copy;
  copy = value;
  (void)copy;
}

}  // namespace helpers
