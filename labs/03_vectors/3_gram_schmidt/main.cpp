// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.3 gram_schmidt: the program.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <vector>

#include "gram_schmidt.hpp"
#include "lab/command_line.hpp"
#include "lab/random.hpp"
#include "reference.hpp"

namespace {

enum class data { text, random, nearly_parallel };

void print_corner(const char* name, const std::vector<float>& vectors, std::size_t count,
                  std::size_t length) {
  constexpr std::size_t kMost = 4;
  for (std::size_t k = 0; k < std::min(count, kMost); ++k) {
    std::printf("  %s[%zu] = (", name, k);
    for (std::size_t i = 0; i < std::min(length, kMost); ++i)
      std::printf("%s%.4g", i == 0 ? "" : ", ", static_cast<double>(vectors[k * length + i]));
    std::printf(length > kMost ? ", ...)\n" : ")\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  using lab::gram_schmidt::step;
  lab::program program("03.3_gram_schmidt", "Makes vectors orthogonal, in two orders.");
  std::size_t count = lab::gram_schmidt::kDefaultSize, length = 0;
  program.add_size("--size", count, "number of vectors").at_most(1 << 16);
  program.add_size("--length", length, "components of each, with --data random (0: as --size)")
      .at_most(std::size_t{1} << 32);
  const auto& chosen_step = program.add_step<step>(
      {{"classical", step::classical, "all projections of a vector at once"},
       {"modified", step::modified,
        "projections on each finished vector are subtracted from all later ones"}},
      step::modified);
  const auto& chosen_data = program.add_choice<data>(
      "--data",
      {{"text", data::text, "(1, 1, 1, ...), (0, 1, 1, ...), ... (0, ..., 0, 1)"},
       {"random", data::random, "numbers from -1 to 1, made from --seed"},
       {"nearly_parallel", data::nearly_parallel, "three vectors that make it hard"}},
      data::text, "what to make orthogonal");

  return program.run(argc, argv, [&] {
    if (chosen_data == data::nearly_parallel) count = 3, length = 4;
    if (chosen_data == data::text || length == 0) length = count;
    const std::size_t all = count * length;
    program.require_memory(
        all * (3 * sizeof(float) + 3 * sizeof(double)) + count * count * 2 * sizeof(double),
        all * sizeof(float) + count * 257 * sizeof(float));
    const std::vector<float> a = chosen_data == data::text ? lab::gram_schmidt::staircase(count)
                                 : chosen_data == data::random
                                     ? lab::random_floats(all, program.seed(), -1, 1)
                                     : lab::gram_schmidt::nearly_parallel();

    const auto run = [&] {
      return lab::gram_schmidt::orthogonalize(chosen_step, a, count, length);
    };
    const auto result = run();
    std::printf("step %s, %zu vectors of %zu components\n", program.step_name().c_str(), count,
                length);
    print_corner("a", a, count, length);
    print_corner("b", result.b, count, length);

    std::printf("largest cosine of the angle between two of them: %.3g before, %.3g now\n",
                lab::gram_schmidt::largest_cosine(a, count, length),
                lab::gram_schmidt::largest_cosine(result.b, count, length));
    if (!program.verdict(lab::gram_schmidt::check(chosen_step, a, result.b, count, length)))
      return false;
    if (chosen_data == data::text) {
      double furthest = 0;
      const auto exact = lab::gram_schmidt::staircase_result(count);
      for (std::size_t i = 0; i < all; ++i)
        furthest = std::max(furthest, std::fabs(static_cast<double>(result.b[i]) - exact[i]));
      std::printf("no component is further than %.3g from the closed form\n", furthest);
    }
    // Each pair of vectors is read for its dot product, and again to subtract. Modified writes the
    // later one of each pair, too.
    const double pairs = static_cast<double>(count) * static_cast<double>(count) / 2;
    program.report_kernel([&] { return run().milliseconds; },
                          {.bytes = (chosen_step == step::classical ? 2 : 3) * pairs *
                                    static_cast<double>(length) * sizeof(float)});
    return true;
  });
}
