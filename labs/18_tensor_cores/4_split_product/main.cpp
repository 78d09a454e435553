// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.4 split_product: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "split_product.hpp"

namespace {

enum class elements { random, positive, cancelling, wide, adversarial };

/// Matrices with such elements.
void make(elements kind, std::vector<float>& a, std::vector<float>& b, std::size_t k,
          std::size_t n) {
  if (kind == elements::positive) {
    for (float& x : a) x = 1 + std::fabs(x) * 0.99F;
    for (float& x : b) x = 1 + std::fabs(x) * 0.99F;
  }
  if (kind == elements::cancelling) {  // the second half of k almost takes away the first one
    for (std::size_t i = k / 2; i < k / 2 * 2; ++i)
      for (std::size_t column = 0; column < n; ++column)
        b[i * n + column] = -b[(i - k / 2) * n + column] * (1 + 0x1p-12F);
    for (std::size_t row = 0; row < a.size() / k; ++row)
      for (std::size_t i = k / 2; i < k / 2 * 2; ++i) a[row * k + i] = a[row * k + i - k / 2];
  }
  if (kind == elements::wide) {  // exponents from -60 to 60
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = std::ldexp(a[i], static_cast<int>(i * 37 % 121) - 60);
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = std::ldexp(b[i], static_cast<int>(i * 53 % 121) - 60);
  }
  if (kind == elements::adversarial) {
    // All elements are rounded down, by as much as any float, and no errors cancel out.
    std::fill(a.begin(), a.end(), lab::split_product::kHardToSplit);
    std::fill(b.begin(), b.end(), lab::split_product::kHardToSplit);
  }
}

}  // namespace

int main(int argc, char** argv) {
  using lab::split_product::step;
  lab::program program(
      "18.4_split_product",
      "Multiplies matrices of floats, C(m x n) = A(m x k) B(k x n), by products of "
      "their pieces in bfloat16.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::split_product::kDefaultSize : 4096;
  std::size_t m = 0, n = 0, k = 0;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  const auto& chosen = program.add_choice<elements>(
      "--elements",
      {{"random", elements::random, "from -1 to 1"},
       {"positive", elements::positive, "from 1 to 2: nothing cancels out"},
       {"cancelling", elements::cancelling, "sums of products that almost cancel out"},
       {"wide", elements::wide, "with exponents from -60 to 60"},
       {"adversarial", elements::adversarial, "all are rounded down, by almost as much as can be"}},
      elements::random, "what the matrices hold");
  const auto& chosen_step = program.add_step<step>(
      {{"one_product", step::one_product, "floats are rounded to bfloat16"},
       {"three_products", step::three_products, "three products of two pieces of each float"},
       {"six_products", step::six_products, "six products of three pieces: float accuracy"}},
      step::six_products);

  return program.run(argc, argv, [&] {
    const lab::split_product::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    const std::size_t bytes =
        (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(float);
    program.require_memory(2 * bytes, 3 * bytes);  // on the device also 6 bytes of pieces
    auto a = lab::random_floats(shape.m * shape.k, program.seed(), -1, 1);
    auto b = lab::random_floats(shape.k * shape.n, program.seed() + 1, -1, 1);
    make(chosen, a, b, shape.k, shape.n);

    const auto result = lab::split_product::multiply(chosen_step, a, b, shape);
    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)\n", program.step_name().c_str(),
                shape.m, shape.n, shape.m, shape.k, shape.k, shape.n);
    const std::size_t stride = lab::row_stride(shape.m, shape.n * shape.k);
    if (!program.verdict(lab::split_product::check(chosen_step, result.c, a, b, shape, stride)))
      return false;
    const auto error = [&](std::span<const float> c) {
      return lab::split_product::largest_error(c, a, b, shape, 4 * stride);
    };
    std::printf("largest error, in units of 2^-24 * sum |a * b|: %.2f, and at most %.0f may be\n",
                error(result.c), lab::split_product::error_bound(chosen_step, shape.k));
    std::printf("  a product in float, one multiply-add after the other: %.2f\n",
                error(lab::split_product::float_product(a, b, shape, 4 * stride)));
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel(
        [&] { return lab::split_product::multiply(chosen_step, a, b, shape).kernel_ms; },
        {.items = operations, .item_name = "FLOP"});
    program.report_library("cublasSgemm (FP32)",
                           lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k), time);
    return true;
  });
}
