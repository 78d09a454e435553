// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: the program.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cublasxt_gemm.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "lab/report.hpp"
#include "reference.hpp"

namespace {

using lab::cublasxt_gemm::matrix;
using lab::cublasxt_gemm::op;

enum class step { multiply, sum_times_product };

/// Whole numbers from -9 to 9 for what is to be printed, else numbers from -1 to 1.
matrix random_matrix(std::size_t rows, std::size_t columns, std::uint64_t seed, bool whole) {
  if (!whole) return {rows, columns, lab::random_floats(rows * columns, seed, -1, 1)};
  const auto numbers = lab::random_ints(rows * columns, seed, -9, 9);
  return {rows, columns, {numbers.begin(), numbers.end()}};
}

void print(const char* name, const matrix& m) {
  for (std::size_t row = 0; row < m.rows; ++row) {
    std::printf("%8s", row == m.rows / 2 ? name : "");
    for (std::size_t column = 0; column < m.columns; ++column)
      std::printf(" %6g", m.elements[row * m.columns + column]);
    std::printf("\n");
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("13.7_cublasxt_gemm",
                       "Multiplies matrices in host memory, by several devices.");
  constexpr std::size_t kMost = std::size_t{1} << 17;  // so that products of sizes do not overflow
  std::size_t size = lab::on_cpu_device() ? 384 : 8192, m = 0, n = 0, k = 0;
  std::size_t device_count = 0, block = lab::on_cpu_device() ? 128 : 2048;
  bool pinned = false;
  program.add_size("--size", size, "m, n and k, where they are not given").at_most(kMost);
  program.add_size("--m", m, "rows of C (step multiply); 0: as --size").at_most(kMost);
  program.add_size("--n", n, "columns of C (step multiply); 0: as --size").at_most(kMost);
  program.add_size("--k", k, "columns of op(A) (step multiply); 0: as --size").at_most(kMost);
  program.add_size("--devices", device_count, "number of devices to use; 0: all").at_most(1024);
  program.add_size("--block", block, "side of a tile").positive().at_most(1U << 16);
  program.add_flag("--pinned", pinned, "pins the matrices' memory for each product");
  const auto& chosen =
      program.add_step<step>({{"multiply", step::multiply, "op(A) B"},
                              {"sum_times_product", step::sum_times_product, "op(A + B) (A B)"}},
                             step::sum_times_product);
  const auto& first =
      program.add_choice<op>("--op",
                             {{"none", op::none, "op(X) is X"},
                              {"transpose", op::transpose, "op(X) is X with rows for columns"}},
                             op::none, "what op does");

  return program.run(argc, argv, [&] {
    const bool sum = chosen == step::sum_times_product;
    if (sum && (m != 0 || n != 0 || k != 0))
      throw lab::invalid_input(
          "--m, --n and --k are for --step multiply: A + B and A B are both possible only for "
          "square matrices; give --size");
    const std::size_t rows = m != 0 ? m : size, columns = n != 0 ? n : size,
                      terms = k != 0 ? k : size;
    const std::size_t elements = rows * terms + terms * columns + 3 * rows * columns;
    // A device needs room for a few tiles only; the CPU device's memory is the host's.
    program.require_memory(elements * sizeof(float), std::min(elements, 4 * block * block));
    const bool small = std::max({rows, columns, terms}) <= 6;
    const bool turned = !sum && first == op::transpose;
    const matrix a =
        random_matrix(turned ? terms : rows, turned ? rows : terms, program.seed(), small);
    const matrix b = random_matrix(terms, columns, program.seed() + 1, small);

    lab::cublasxt_gemm::plan options{{}, static_cast<int>(block), pinned};
    options.devices.resize(device_count);
    std::iota(options.devices.begin(), options.devices.end(), 0);
    const auto run = [&] {
      return sum ? lab::cublasxt_gemm::sum_times_product(first, a, b, options)
                 : lab::cublasxt_gemm::multiply(first, a, b, options);
    };
    const auto result = run();
    std::printf("%s, C is %zu x %zu; %zu of %d devices, tiles of %zu x %zu\n",
                sum ? "op(A + B) (A B)" : "op(A) B", rows, columns,
                device_count != 0 ? device_count : static_cast<std::size_t>(lab::device_count()),
                lab::device_count(), block, block);
    if (small) {
      print("A", a);
      print("B", b);
      print("C", result.c);
    }
    const auto expected = [&](std::size_t row) {
      return sum ? lab::cublasxt_gemm::row_of_sum_times_product(first, a, b, row)
                 : lab::cublasxt_gemm::row_of_product(first, a, b, row);
    };
    if (!program.verdict(
            lab::cublasxt_gemm::check(result.c, rows, columns, expected,
                                      lab::row_stride(rows, (sum ? 4 : 2) * terms * columns))))
      return false;
    if (rows * columns * terms == 0) return true;

    std::vector<float> times, pinning;
    for (int i = 0; i < program.repeat(); ++i) {
      const auto again = run();
      times.push_back(static_cast<float>(again.host_ms));
      pinning.push_back(static_cast<float>(again.pin_ms));
    }
    const lab::timing time = lab::summarize(times);
    std::printf("host to host: %.4g ms (median of %zu, %.4g to %.4g)", time.median_ms, time.runs,
                time.min_ms, time.max_ms);
    if (lab::on_cpu_device())
      std::printf(" (CPU device: not a GPU time)\n");
    else
      std::printf(", %.4g GFLOP/s\n", (sum ? 4.0 : 2.0) * static_cast<double>(rows) *
                                          static_cast<double>(columns) *
                                          static_cast<double>(terms) / (time.median_ms * 1e6));
    if (pinned) std::printf("before that, pinning: %.4g ms\n", lab::summarize(pinning).median_ms);
    return true;
  });
}
