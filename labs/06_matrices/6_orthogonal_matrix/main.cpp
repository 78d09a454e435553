// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "examples.hpp"
#include "lab/command_line.hpp"
#include "lab/device_limits.hpp"
#include "lab/matrix_closeness.hpp"
#include "lab/random.hpp"
#include "orthogonal_matrix.hpp"
#include "reference.hpp"

namespace {

enum class kind { rotation, reflection, permutation, identity, perturbed, scaled, random, nan };

std::vector<float> make(kind example, std::size_t n, std::uint64_t seed) {
  using namespace lab::orthogonal_matrix;
  const std::size_t somewhere = n * n / 3;
  std::vector<float> a;
  switch (example) {
    case kind::rotation:
      return rotation(n, seed);
    case kind::reflection:
      return reflection(n, seed);
    case kind::permutation:
      return permutation(n, seed);
    case kind::identity:
      return identity(n);
    case kind::perturbed:
      a = rotation(n, seed);
      if (n > 0) a[somewhere] += 0.01F;
      return a;
    case kind::scaled:
      a = rotation(n, seed);
      for (float& x : a) x *= 2;
      return a;
    case kind::random:
      return lab::random_floats(n * n, seed, -1, 1);
    case kind::nan:
      a = rotation(n, seed);
      if (n > 0) a[somewhere] = std::numeric_limits<float>::quiet_NaN();
      return a;
  }
  return a;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("06.6_orthogonal_matrix",
                       "Is a matrix orthogonal? A · Aᵀ is compared with the identity.");
  constexpr std::size_t kMost = std::size_t{1} << 20;  // so that the square does not overflow
  std::size_t size = lab::on_cpu_device() ? lab::orthogonal_matrix::kDefaultSize : 4096;
  program.add_size("--size", size, "rows, and columns").at_most(kMost);
  const auto& chosen = program.add_choice<kind>(
      "--matrix",
      {{"rotation", kind::rotation, "about many axes, by random angles"},
       {"reflection", kind::reflection, "at a random plane"},
       {"permutation", kind::permutation, "of the axes"},
       {"identity", kind::identity, "ones in the diagonal"},
       {"perturbed", kind::perturbed, "the rotation, 0.01 added to one entry"},
       {"scaled", kind::scaled, "twice the rotation"},
       {"random", kind::random, "numbers from -1 to 1"},
       {"nan", kind::nan, "the rotation, one entry of which is no number"}},
      kind::rotation, "which matrix to examine");

  return program.run(argc, argv, [&] {
    const std::size_t bytes = size * size * sizeof(float);
    program.require_memory(3 * bytes, bytes + bytes / 8);  // the rotation is made in double
    const auto a = make(chosen, size, program.seed());

    const auto result = lab::orthogonal_matrix::examine(a, size, size);
    std::printf("%zu x %zu: %s\n", size, size, result.orthogonal ? "orthogonal" : "not orthogonal");
    std::printf("farthest from the identity: row %zu, column %zu, off by %.3g; %.3g is allowed\n",
                result.row, result.column, static_cast<double>(result.deviation),
                static_cast<double>(lab::orthogonal_matrix::tolerance(size)));
    if (!program.verdict(
            lab::orthogonal_matrix::check(result, a, size, lab::row_stride(size, size * size))))
      return false;
    if (size == 0) return true;
    const auto n = static_cast<double>(size);
    program.report_kernel([&] { return lab::orthogonal_matrix::examine(a, size, size).kernel_ms; },
                          {.items = 2 * n * n * n, .item_name = "FLOP"});
    return true;
  });
}
