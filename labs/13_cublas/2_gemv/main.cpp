// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: the program.

#include <cstddef>
#include <cstdio>
#include <vector>

#include "gemv.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

void print_small(const lab::gemv::row_major& a) {
  constexpr std::size_t kMost = 8;
  if (a.rows == 0 || a.cols == 0 || a.rows > kMost || a.cols > kMost) return;
  std::printf("A, as we write it:\n");
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.cols; ++c) std::printf(" %6.3f", a.data[r * a.pitch + c]);
    std::printf("\n");
  }
  std::printf("what cuBLAS sees in the same memory:\n");
  for (std::size_t i = 0; i < a.cols; ++i) {
    for (std::size_t j = 0; j < a.rows; ++j) std::printf(" %6.3f", a.data[j * a.pitch + i]);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lab::gemv;
  lab::program program("13.2_gemv", "A row-major matrix times a vector: y = alpha A x + beta y.");
  constexpr std::size_t kMost = std::size_t{1} << 20;
  std::size_t size = kDefaultSize, rows = 0, cols = 0, padding = 0;
  float alpha = 2, beta = 0;
  program.add_size("--size", size, "rows, and 3/2 as many columns, where they are not given")
      .at_most(kMost / 2);
  program.add_size("--rows", rows, "rows of A; 0: as --size").at_most(kMost);
  program.add_size("--cols", cols, "columns of A; 0: 3/2 of --size").at_most(kMost);
  program.add_size("--padding", padding, "how much further apart than long the rows are")
      .at_most(kMost);
  program.add_number("--alpha", alpha, "the product's factor");
  program.add_number("--beta", beta, "the old y's factor");
  const auto& version = program.add_step<step>(
      {{"normal", step::normal, "A x"}, {"transposed", step::transposed, "A^T x"}}, step::normal);

  return program.run(argc, argv, [&] {
    if (rows == 0) rows = size;
    if (cols == 0) cols = size + size / 2;
    const std::size_t pitch = cols + padding;
    const std::size_t bytes = rows * pitch * sizeof(float);
    program.require_memory(bytes, bytes);
    const auto array = lab::random_floats(rows * pitch, program.seed(), -1, 1);
    const row_major a{array, rows, cols, pitch};
    const auto x =
        lab::random_floats(version == step::normal ? cols : rows, program.seed() + 1, -1, 1);
    const auto y =
        lab::random_floats(version == step::normal ? rows : cols, program.seed() + 2, -1, 1);

    const auto result = multiply(version, alpha, a, x, beta, y);
    std::printf("step %s, A has %zu rows and %zu columns, rows are %zu apart\n",
                program.step_name().c_str(), rows, cols, pitch);
    print_small(a);
    if (!program.verdict(check(result.y, reference(version, alpha, a, x, beta, y)))) return false;
    program.report_kernel(
        [&] { return multiply(version, alpha, a, x, beta, y).kernel_ms; },
        {.bytes = static_cast<double>(rows) * static_cast<double>(cols) * sizeof(float)});
    return true;
  });
}
