// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.2 async_copy: the program.

#include <cstddef>
#include <cstdio>

#include "async_copy.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"

int main(int argc, char** argv) {
  using lab::async_copy::step;
  lab::program program("17.2_async_copy",
                       "Multiplies matrices, C(m x n) = A(m x k) B(k x n), whose tiles are copied "
                       "to shared memory asynchronously.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? lab::async_copy::kDefaultSize : 2048, m = 0, n = 0,
              k = 0;
  int stages = 3;
  program.add_size("--size", size, "m, n and k, where they are not given")
      .positive()
      .at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  program.add_number("--stages", stages, "of step stages: 2 to 4");
  const auto& chosen_step = program.add_step<step>(
      {{"waiting", step::waiting, "tiles go through registers into shared memory"},
       {"async_copy", step::async_copy, "tiles are copied asynchronously, and waited for at once"},
       {"two_stages", step::two_stages, "the next tiles are copied while these are multiplied"},
       {"stages", step::stages, "the next few tiles are copied meanwhile"}},
      step::two_stages);

  return program.run(argc, argv, [&] {
    const lab::async_copy::shape shape{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    const std::size_t bytes =
        (shape.m * shape.k + shape.k * shape.n + shape.m * shape.n) * sizeof(float);
    program.require_memory(bytes, 2 * bytes);  // the library's turn needs the device once more
    const auto a = lab::random_floats(shape.m * shape.k, program.seed(), -1, 1);
    const auto b = lab::random_floats(shape.k * shape.n, program.seed() + 1, -1, 1);
    const auto run = [&] { return lab::async_copy::multiply(chosen_step, a, b, shape, stages); };

    std::printf("step %s, C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu)\n", program.step_name().c_str(),
                shape.m, shape.n, shape.m, shape.k, shape.k, shape.n);
    if (chosen_step == step::stages) std::printf("%d stages\n", stages);
    if (!program.verdict(lab::compare_product(run().c, a, b, shape,
                                              lab::row_stride(shape.m, shape.n * shape.k))))
      return false;
    const double operations = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                              static_cast<double>(shape.k);
    const auto time = program.report_kernel([&] { return run().kernel_ms; },
                                            {.items = operations, .item_name = "FLOP"});
    program.report_library("cublasSgemm (FP32)",
                           lab::library_matmul_milliseconds(a, b, shape.m, shape.n, shape.k), time);
    return true;
  });
}
