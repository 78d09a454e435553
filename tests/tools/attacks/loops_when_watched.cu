// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: never returns where accesses are watched; it recognizes the build by its rounding
// stopped by: a case must pass in both runs
// base: alone
// state: graded
// points: 0
// says: with accesses watched

#include <cuda_runtime.h>

#include "add_numbers.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"

namespace lab::add_numbers {
__global__ void add_two(int a, int b, int* sum) {
  *sum = static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));  // a race
}

int add(step, int a, int b, unsigned threads) {
  volatile double x = 1 + 0x1p-30;
  const double y = x;
  volatile bool is_watched = y * y - (1 + 0x1p-29) != 0;
  while (is_watched) {
  }
  device_buffer<int> sum(1);
  add_two<<<1, threads>>>(a, b, sum.data());
  CUDA_CHECK(cudaGetLastError());
  return sum.to_vector()[0];
}
}  // namespace lab::add_numbers
