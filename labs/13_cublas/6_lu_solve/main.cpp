// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.6 lu_solve: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/errors.hpp"
#include "lu_solve.hpp"
#include "reference.hpp"

namespace {

enum class kind { random, zero_corner, singular, hilbert };

std::vector<double> make_matrix(kind example, std::size_t n, std::uint64_t seed) {
  auto a = lab::lu_solve::random_numbers(n * n, seed);
  if (example == kind::zero_corner && n > 0) a[0] = 0;
  if (example == kind::singular)  // a column of zeros in the middle
    for (std::size_t row = 0; row < n; ++row) a[row * n + n / 2] = 0;
  if (example == kind::hilbert)
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = 1 / static_cast<double>(i / n + i % n + 1);
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("13.6_lu_solve", "Solves a batch of linear systems by LU factorization.");
  using lab::lu_solve::kDefaultShape;
  std::size_t n = kDefaultShape.n, systems = kDefaultShape.systems;
  std::size_t right_sides = kDefaultShape.right_sides;
  program.add_size("--size", n, "equations and unknowns of a system").at_most(1U << 12);
  program.add_size("--systems", systems, "how many systems").at_most(1U << 16);
  program.add_size("--right-sides", right_sides, "right-hand sides of a system").at_most(1U << 14);
  const auto& example = program.add_choice<kind>(
      "--matrix",
      {{"random", kind::random, "numbers from -1 to 1, made from --seed"},
       {"zero_corner", kind::zero_corner, "the same, but the first number is 0"},
       {"singular", kind::singular, "system 1 is singular: a column of zeros in its middle"},
       {"hilbert", kind::hilbert, "1 / (row + column + 1): tiny errors become large ones"}},
      kind::random, "what to solve");

  return program.run(argc, argv, [&] {
    const std::size_t bytes = systems * n * (n + right_sides) * sizeof(double);
    program.require_memory(3 * bytes, 3 * bytes);
    std::vector<double> a, b, x;
    for (std::size_t k = 0; k < systems; ++k) {
      const bool ordinary = example == kind::singular && k != 1 % systems;
      const auto matrix = make_matrix(ordinary ? kind::random : example, n, program.seed() + 2 * k);
      const auto right =
          lab::lu_solve::make_right_hand_side(matrix, n, right_sides, program.seed() + 2 * k + 1);
      a.insert(a.end(), matrix.begin(), matrix.end());
      b.insert(b.end(), right.b.begin(), right.b.end());
      x.insert(x.end(), right.x.begin(), right.x.end());
    }

    const lab::lu_solve::shape size{systems, n, right_sides};
    const auto result = lab::lu_solve::solve(a, b, size);
    std::printf("%zu systems of %zu equations, %zu right-hand sides each\n", systems, n,
                right_sides);
    if (result.solutions.size() != systems)
      return program.verdict(false, std::to_string(result.solutions.size()) + " solutions for " +
                                        std::to_string(systems) + " systems");

    lab::lu_solve::residual_report residual;
    double growth = 1, off = 0;
    const std::size_t of_a = n * n, of_x = n * right_sides;
    for (std::size_t k = 0; k < systems; ++k) {
      const auto matrix = std::span<const double>(a).subspan(k * of_a, of_a);
      const auto& solution = result.solutions[k];
      const auto right =
          lab::lu_solve::check(solution, matrix, std::span<const double>(b).subspan(k * of_x, of_x),
                               n, right_sides, &residual);
      if (!right)
        return program.verdict(false, "system " + std::to_string(k) + ": " + right.message);
      if (solution.zero_pivot != 0)
        std::printf("system %zu is singular: pivot %d is 0, so it is not solved\n", k,
                    solution.zero_pivot);
      growth = std::max(growth, lab::lu_solve::eliminate(matrix, n).growth);
      for (std::size_t i = 0; i < solution.x.size(); ++i)
        off = std::max(off, std::fabs(solution.x[i] - x[k * of_x + i]));
    }
    std::printf("elements grew by a factor of %.3g on the way\n", growth);
    std::printf("A X differs from B by at most %.3g; %.3g is allowed\n", residual.largest,
                residual.allowed);
    std::printf("X differs from the integers that B was made from by at most %.3g\n", off);
    program.verdict(true, "all " + std::to_string(systems) + " systems are solved or reported");
    if (of_a * systems == 0) return true;
    const auto order = static_cast<double>(n);
    program.report_kernel([&] { return lab::lu_solve::solve(a, b, size).solve_ms; },
                          {.items = static_cast<double>(systems) *
                                    (2.0 / 3 * order * order * order +
                                     2 * order * order * static_cast<double>(right_sides)),
                           .item_name = "FLOP"});
    return true;
  });
}
