// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.3 fp64_product: the program.

#include <cstddef>
#include <cstdio>

#include "fp64_product.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "reference.hpp"

int main(int argc, char** argv) {
  using lab::fp64_product::step;
  lab::program program("18.3_fp64_product",
                       "Multiplies matrices of doubles, C(m x n) = A(m x k) B(k x n), on tensor "
                       "cores.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::fp64_product::kDefaultSize : 4096;
  std::size_t m = 0, n = 0, k = 0;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  const auto& chosen_step = program.add_step<step>(
      {{"cuda_cores", step::cuda_cores, "a fused multiply-add per thread and product"},
       {"wmma", step::wmma, "a warp multiplies 8 x 4 by 4 x 8 elements on a tensor core"},
       {"staged", step::staged, "larger tiles; the next slices are copied meanwhile"},
       {"large_mma", step::large_mma, "a warp multiplies 16 x 8 by 8 x 8 elements at once"},
       {"prefetched", step::prefetched, "taller tiles; the next numbers are read meanwhile"}},
      step::staged);

  return program.run(argc, argv, [&] {
    const lab::fp64_product::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    const std::size_t bytes =
        (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(double);
    program.require_memory(bytes, 2 * bytes);  // the library's turn needs the device once more
    const auto a = lab::fp64_product::random_doubles(shape.m * shape.k, program.seed());
    const auto b = lab::fp64_product::random_doubles(shape.k * shape.n, program.seed() + 1);

    const auto result = lab::fp64_product::multiply(chosen_step, a, b, shape);
    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)\n", program.step_name().c_str(),
                shape.m, shape.n, shape.m, shape.k, shape.k, shape.n);
    const std::size_t stride = lab::row_stride(shape.m, shape.n * shape.k);
    if (!program.verdict(lab::fp64_product::check(result.c, a, b, shape, stride))) return false;
    const auto errors = lab::fp64_product::largest_errors(result.c, a, b, shape, 8 * stride);
    std::printf("largest error: %.2g of sum |a * b|, and at most %.2g may be; %.2g of C itself\n",
                errors.of_sizes, (static_cast<double>(shape.k) + 1) * 0x1p-53, errors.of_result);
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel(
        [&] { return lab::fp64_product::multiply(chosen_step, a, b, shape).kernel_ms; },
        {.items = operations, .item_name = "FLOP"});
    program.report_library("cublasDgemm (FP64)",
                           lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k), time);
    return true;
  });
}
