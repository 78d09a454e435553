// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/matmul_baseline.hpp"

#include "lab/errors.hpp"

namespace lab {
namespace {

// A library's time on host threads says nothing about a GPU.
std::optional<float> no_mark(std::size_t a, std::size_t b, std::size_t m, std::size_t n,
                             std::size_t k) {
  if (a != m * k || b != k * n)
    throw invalid_input("a matrix product needs m * k elements of A and k * n of B");
  return std::nullopt;
}

}  // namespace

std::optional<float> library_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k,
                                                 library_arithmetic, library_b) {
  return no_mark(a.size(), b.size(), m, n, k);
}

std::optional<float> fastest_matmul_milliseconds(std::span<const float> a, std::span<const float> b,
                                                 std::size_t m, std::size_t n, std::size_t k) {
  return no_mark(a.size(), b.size(), m, n, k);
}

std::optional<float> library_matmul_milliseconds(std::span<const double> a,
                                                 std::span<const double> b, std::size_t m,
                                                 std::size_t n, std::size_t k) {
  return no_mark(a.size(), b.size(), m, n, k);
}

}  // namespace lab
