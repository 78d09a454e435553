// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.1 wmma_product: the program.

#include <cstddef>
#include <cstdio>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "reference.hpp"
#include "wmma_product.hpp"

int main(int argc, char** argv) {
  using lab::wmma_product::step;
  lab::program program("18.1_wmma_product",
                       "Multiplies matrices, C(m x n) = A(m x k) B(k x n), on tensor cores, with "
                       "half precision for A and B.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::wmma_product::kDefaultSize : 4096, m = 0, n = 0,
              k = 0;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  const auto& chosen_step = program.add_step<step>(
      {{"one_tile_a_warp", step::one_tile_a_warp, "a warp loads fragments from global memory"},
       {"shared_tiles", step::shared_tiles, "the warps of a block load them from shared tiles"},
       {"register_blocks", step::register_blocks, "a warp uses each fragment 2 or 4 times"}},
      step::register_blocks);

  return program.run(argc, argv, [&] {
    const lab::wmma_product::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    const std::size_t factors = (shape.m * shape.k + shape.k * shape.n) * sizeof(float);
    const std::size_t product = shape.m * shape.n * sizeof(float);
    program.require_memory(2 * (factors + product), 2 * (factors + product));
    const auto a = lab::random_floats(shape.m * shape.k, program.seed(), -1, 1);
    const auto b = lab::random_floats(shape.k * shape.n, program.seed() + 1, -1, 1);
    const auto run = [&] { return lab::wmma_product::multiply(chosen_step, a, b, shape); };

    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)\n", program.step_name().c_str(),
                shape.m, shape.n, shape.m, shape.k, shape.k, shape.n);
    const auto c = run().c;
    const std::size_t stride = lab::row_stride(shape.m, 2 * shape.n * shape.k);
    if (!program.verdict(lab::wmma_product::check(c, a, b, shape, stride))) return false;
    const auto off = lab::wmma_product::error_of_rounding(c, a, b, shape, stride);
    std::printf(
        "rounding A and B to half: off by at most %.3g of sum |a b|, at most %.3g was "
        "predicted\n",
        off.largest, off.predicted);
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel([&] { return run().kernel_ms; },
                                            {.items = operations, .item_name = "FLOP"});
    program.report_library("cublasGemmEx (half)",
                           lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k,
                                                            lab::library_arithmetic::half),
                           time);
    return true;
  });
}
