// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: the program.

#include <cstddef>
#include <cstdio>
#include <span>
#include <type_traits>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matmul_baseline.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "matrix_multiply.hpp"

namespace {

using lab::matrix_multiply::shape;

enum class type { single, twice };

template <class T>
bool multiply(lab::program& program, shape size) {
  const std::size_t bytes = (size.m * size.k + size.k * size.n + size.m * size.n) * sizeof(T);
  program.require_memory(2 * bytes, 2 * bytes);  // the library's turn needs the device once more
  const auto floats_a = lab::random_floats(size.m * size.k, program.seed(), -1, 1);
  const auto floats_b = lab::random_floats(size.k * size.n, program.seed() + 1, -1, 1);
  const std::vector<T> a(floats_a.begin(), floats_a.end()), b(floats_b.begin(), floats_b.end());
  const std::span<const T> view_a(a), view_b(b);

  const auto result = lab::matrix_multiply::multiply(view_a, view_b, size);
  std::printf("C(%zu x %zu) = A(%zu x %zu) B(%zu x %zu), in %s\n", size.m, size.n, size.m, size.k,
              size.k, size.n, std::is_same_v<T, float> ? "float" : "double");
  if (!program.verdict(lab::compare_product(std::span<const T>(result.c), view_a, view_b, size,
                                            lab::row_stride(size.m, size.n * size.k))))
    return false;
  const double operations =
      2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  const auto time = program.report_kernel(
      [&] { return lab::matrix_multiply::multiply(view_a, view_b, size).kernel_ms; },
      {.items = operations, .item_name = "FLOP"});
  if constexpr (std::is_same_v<T, float>)
    program.report_library("cublasSgemm (FP32)",
                           lab::library_matmul_milliseconds(a, b, size.m, size.n, size.k), time);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("06.4_matrix_multiply",
                       "Multiplies matrices, C(m x n) = A(m x k) B(k x n), a thread for each "
                       "element of C.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that no product of two overflows
  std::size_t size = lab::on_cpu_device() ? 256 : 4096, m = 0, n = 0, k = 0;
  program.add_size("--size", size, "m, n and k, where they are not given").at_most(kMost);
  program.add_size("--m", m, "rows of A and C; 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of B and C; 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of A, rows of B; 0: as --size").at_most(kMost);
  const auto& chosen = program.add_choice<type>("--type",
                                                {{"float", type::single, "4 bytes an element"},
                                                 {"double", type::twice, "8 bytes an element"}},
                                                type::single, "precision");

  return program.run(argc, argv, [&] {
    const shape wanted{m != 0 ? m : size, n != 0 ? n : size, k != 0 ? k : size};
    return chosen == type::single ? multiply<float>(program, wanted)
                                  : multiply<double>(program, wanted);
  });
}
