// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: the program.

#include <cstddef>
#include <cstdio>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "tiled_matmul.hpp"

int main(int argc, char** argv) {
  using lab::tiled_matmul::step;
  lab::program program("06.5_tiled_matmul",
                       "Multiplies matrices, C(m x n) = A(m x k) B(k x n), with tiles in shared "
                       "memory and in registers.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::tiled_matmul::kDefaultSize : 4096, m = 0, n = 0,
              k = 0;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  const auto& chosen_step = program.add_step<step>(
      {{"tile_16", step::tile_16, "16 x 16 threads, a tile each of A and B in shared memory"},
       {"tile_32", step::tile_32, "the same with 32 x 32"},
       {"coarse_1d", step::coarse_1d, "8 elements of a column per thread, in registers"},
       {"coarse_2d", step::coarse_2d, "8 x 8 elements per thread"},
       {"vectorized", step::vectorized, "the same, 16 bytes at a time"},
       {"double_buffered", step::double_buffered, "the next slice is loaded during this one"},
       {"by_size", step::by_size, "tiles that suit the size of C and the GPU"}},
      step::by_size);

  return program.run(argc, argv, [&] {
    const lab::tiled_matmul::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    const std::size_t bytes =
        (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(float);
    program.require_memory(bytes, 2 * bytes);  // the library's turn needs the device once more
    const auto a = lab::random_floats(shape.m * shape.k, program.seed(), -1, 1);
    const auto b = lab::random_floats(shape.k * shape.n, program.seed() + 1, -1, 1);

    const auto result = lab::tiled_matmul::multiply(chosen_step, a, b, shape);
    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)\n", program.step_name().c_str(),
                shape.m, shape.n, shape.m, shape.k, shape.k, shape.n);
    if (!program.verdict(lab::compare_product(result.c, a, b, shape,
                                              lab::row_stride(shape.m, shape.n * shape.k))))
      return false;
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel(
        [&] { return lab::tiled_matmul::multiply(chosen_step, a, b, shape).kernel_ms; },
        {.items = operations, .item_name = "FLOP"});
    program.report_library("cublasSgemm (FP32)",
                           lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k), time);
    program.report_library("cuBLASLt, the fastest that it proposes",
                           lab::fastest_matmul_milliseconds(a, b, shape.m, shape.n, shape.k), time);
    return true;
  });
}
