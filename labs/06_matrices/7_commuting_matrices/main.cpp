// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "commuting_matrices.hpp"
#include "examples.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

enum class pair { polynomial, real_polynomial, changed, random };

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::commuting_matrices;
  lab::program program("06.7_commuting_matrices", "Do two matrices commute: is A B = B A?");
  constexpr std::size_t kMost = 4096;  // the host checks every entry
  std::size_t size = lab::on_cpu_device() ? kDefaultSize : 999;
  program.add_size("--size", size, "rows, and columns").at_most(kMost);
  const auto& chosen = program.add_choice<pair>(
      "--pair",
      {{"polynomial", pair::polynomial, "A of whole numbers, B = 2A² - 3A + I (size up to 1000)"},
       {"real_polynomial", pair::real_polynomial, "the same with numbers from -1 to 1"},
       {"changed", pair::changed, "as polynomial, one element of B changed by 1"},
       {"random", pair::random, "whole numbers from -2 to 2, both"}},
      pair::polynomial, "which matrices to compare");

  return program.run(argc, argv, [&] {
    const std::size_t bytes = size * size * sizeof(float);
    program.require_memory(4 * bytes, 2 * bytes + bytes / 64);
    const bool whole = chosen != pair::real_polynomial;
    if (whole && chosen != pair::random && size > 1000)
      throw lab::invalid_input(
          "--size: with more than 1000 rows these whole numbers are not exact "
          "in floats; try --pair real_polynomial");
    const auto a = whole ? whole_numbers(size, program.seed())
                         : lab::random_floats(size * size, program.seed(), -1, 1);
    auto b = chosen == pair::random ? whole_numbers(size, program.seed() + 1) : polynomial(a, size);
    if (chosen == pair::changed && size > 0) b[size * size / 3] += 1;
    const float relative = whole ? kExact : rounding_allowance(size);

    const auto result = compare_products(a, b, size, relative);
    std::printf("%zu x %zu: A and B %s: %zu of %zu entries differ\n", size, size,
                result.differing == 0 ? "commute" : "do not commute", result.differing,
                size * size);
    std::printf("allowed for roundings: %.3g of the sum of the products' magnitudes\n",
                static_cast<double>(relative));
    if (!program.verdict(check(result.differing, reference(a, b, size, relative)))) return false;
    if (size == 0) return true;
    // For each of n³ pairs of products: two multiplications, and four additions to three sums.
    const auto n = static_cast<double>(size);
    program.report_kernel([&] { return compare_products(a, b, size, relative).kernel_ms; },
                          {.items = 6 * n * n * n, .item_name = "FLOP"});
    return true;
  });
}
