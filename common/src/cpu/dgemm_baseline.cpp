// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/dgemm_baseline.hpp"

#include "lab/errors.hpp"

namespace lab {

std::optional<float> library_dgemm_milliseconds(std::span<const double> a,
                                                std::span<const double> b, std::size_t m,
                                                std::size_t n, std::size_t k) {
  if (a.size() != m * k || b.size() != k * n)
    throw invalid_input("a matrix product needs m * k elements of A and k * n of B");
  return std::nullopt;  // a library's time on host threads says nothing about a GPU
}

}  // namespace lab
