// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.3 gemm: the program.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

#include "gemm.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

void print_small(const char* name, const std::vector<float>& array, std::size_t rows,
                 std::size_t cols, std::size_t pitch) {
  constexpr std::size_t kMost = 6;
  if (rows > kMost || cols > kMost) return;
  std::printf("%s\n", name);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < cols; ++c) std::printf(" %8.3f", array[r * pitch + c]);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::gemm;
  lab::program program("13.3_gemm", "Multiplies row-major matrices: C = alpha A B + beta C.");
  constexpr std::size_t kMost = std::size_t{1} << 16;
  std::size_t size = lab::on_cpu_device() ? kDefaultSize : 4000, m = 0, n = 0, k = 0, padding = 0;
  float alpha = 1, beta = 0;
  program.add_size("--size", size, "m, n and k, where they are not given").at_most(kMost);
  program.add_size("--m", m, "rows of C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "terms of a sum; 0: as --size").at_most(kMost);
  program.add_size("--padding", padding, "how much further apart than long the rows are")
      .at_most(kMost);
  program.add_number("--alpha", alpha, "the product's factor");
  program.add_number("--beta", beta, "the old C's factor");
  const auto& version =
      program.add_step<step>({{"product", step::product, "A B"},
                              {"transposed_a", step::transposed_a, "A^T B"},
                              {"transposed_b", step::transposed_b, "A B^T"},
                              {"transposed_both", step::transposed_both, "A^T B^T"}},
                             step::product);

  return program.run(argc, argv, [&] {
    if (m == 0) m = size;
    if (n == 0) n = size;
    if (k == 0) k = size;
    const bool ta = transposes_a(version), tb = transposes_b(version);
    const std::size_t a_rows = ta ? k : m, a_cols = ta ? m : k;
    const std::size_t b_rows = tb ? n : k, b_cols = tb ? k : n;
    const std::size_t bytes = sizeof(float) * (a_rows * (a_cols + padding) +
                                               b_rows * (b_cols + padding) + m * (n + padding));
    program.require_memory(2 * bytes, bytes);
    const auto array_a = lab::random_floats(a_rows * (a_cols + padding), program.seed(), -1, 1);
    const auto array_b = lab::random_floats(b_rows * (b_cols + padding), program.seed() + 1, -1, 1);
    const auto array_c = lab::random_floats(m * (n + padding), program.seed() + 2, -1, 1);
    const row_major a{array_a, a_rows, a_cols, a_cols + padding};
    const row_major b{array_b, b_rows, b_cols, b_cols + padding};
    const row_major c{array_c, m, n, n + padding};

    const auto result = multiply(version, alpha, a, b, beta, c);
    std::printf("step %s, A %zu x %zu, B %zu x %zu, C %zu x %zu\n", program.step_name().c_str(),
                a_rows, a_cols, b_rows, b_cols, m, n);
    print_small("A", array_a, a_rows, a_cols, a.pitch);
    print_small("B", array_b, b_rows, b_cols, b.pitch);
    print_small("C", result.c, m, n, c.pitch);
    // About a second of the host's time. Without a factor in common with n, so that all columns are
    // met.
    constexpr std::size_t kProducts = std::size_t{1} << 27;
    const std::size_t elements = std::max<std::size_t>(kProducts / std::max<std::size_t>(k, 1), 2);
    std::size_t stride = m * n / elements + 1;
    while (std::gcd(stride, n) > 1) ++stride;
    if (!program.verdict(check(result.c, version, alpha, a, b, beta, c, false, stride)))
      return false;
    program.report_kernel(
        [&] { return multiply(version, alpha, a, b, beta, c).kernel_ms; },
        {.items = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k),
         .item_name = "FLOP"});
    return true;
  });
}
