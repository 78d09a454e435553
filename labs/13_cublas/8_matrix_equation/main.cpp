// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.8 matrix_equation: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "matrix_equation.hpp"
#include "reference.hpp"

namespace {

using lab::matrix_equation::problem;
using lab::matrix_equation::shape;

enum class data { text, random, singular };

void print(const char* name, const std::vector<double>& m, std::size_t rows, std::size_t columns) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::printf("%6s", row == rows / 2 ? name : "");
    for (std::size_t column = 0; column < columns; ++column)
      std::printf(" %7g", m[row * columns + column]);
    std::printf("\n");
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("13.8_matrix_equation",
                       "Solves alpha (A + C) C X = B, where A and C are upper triangular.");
  std::size_t n = lab::on_cpu_device() ? lab::matrix_equation::kDefaultShape.n : 1024;
  std::size_t columns = lab::matrix_equation::kDefaultShape.columns;
  double alpha = 1;
  const auto& chosen = program.add_choice<data>(
      "--data",
      {{"text", data::text, "the 2 x 2 matrices of the text"},
       {"random", data::random, "whole numbers, made from --seed"},
       {"singular", data::singular, "the same, with A + C = 0 at one place of the diagonal"}},
      data::text, "what to solve");
  program.add_size("--size", n, "rows and columns of A and C, with random data").at_most(1U << 14);
  program.add_size("--columns", columns, "columns of B and X, with random data").at_most(1U << 14);
  program.add_number("--alpha", alpha, "the factor on the left side");

  return program.run(argc, argv, [&] {
    shape size{n, columns};
    problem given;
    if (chosen == data::text) {
      size = {2, 2};
      given = {{1, 1, 0, 1}, {1, -1, 0, 1}, {12, 10, 6, 8}, {}};
    } else {
      program.require_memory((4 * n * n + 5 * n * columns) * sizeof(double),
                             (3 * n * n + n * columns) * sizeof(double));
      given = lab::matrix_equation::make_problem(alpha, size, program.seed());
      if (chosen == data::singular && n > 0)
        given.a[(n / 2) * n + n / 2] = -given.c[(n / 2) * n + n / 2];
    }

    const auto result = lab::matrix_equation::solve(alpha, given.a, given.c, given.b, size);
    std::printf("%g (A + C) C X = B, with %zu x %zu and %zu x %zu matrices\n", alpha, size.n,
                size.n, size.n, size.columns);
    if (result.singular) {
      std::printf("%s has a 0 on its diagonal, in row %zu, so there is no solution X\n",
                  result.singular->matrix == lab::matrix_equation::factor::sum ? "A + C" : "C",
                  result.singular->row);
      return program.verdict(chosen == data::singular && result.x.empty(),
                             "the zero is reported, and nothing is solved");
    }
    if (chosen == data::singular && size.n > 0)
      return program.verdict(false, "the zero on the diagonal of A + C is not reported");
    if (std::max(size.n, size.columns) <= 6) {
      print("A", given.a, size.n, size.n);
      print("C", given.c, size.n, size.n);
      print("B", given.b, size.n, size.columns);
      print("X", result.x, size.n, size.columns);
    }
    lab::matrix_equation::residual_report residual;
    const auto right =
        lab::matrix_equation::check(result.x, alpha, given.a, given.c, given.b, size, &residual);
    std::printf("the left side differs from B by at most %.3g; %.3g is allowed\n", residual.largest,
                residual.allowed);
    if (!given.x.empty() && given.x.size() == result.x.size()) {
      double off = 0;
      for (std::size_t i = 0; i < given.x.size(); ++i)
        off = std::max(off, std::fabs(result.x[i] - given.x[i]));
      std::printf("X differs from the integers that B was made from by at most %.3g\n", off);
    }
    if (!program.verdict(right)) return false;
    if (given.b.empty()) return true;
    const auto order = static_cast<double>(size.n);
    program.report_kernel(
        [&] {
          return lab::matrix_equation::solve(alpha, given.a, given.c, given.b, size).solve_ms;
        },
        {.items = 2 * order * order * static_cast<double>(size.columns), .item_name = "FLOP"});
    return true;
  });
}
