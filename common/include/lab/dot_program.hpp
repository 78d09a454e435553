// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the programs of the dot products have in common: options, data, verdict.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"

namespace lab {

/// The options that say what is multiplied. They are read from the program's command line, so this
/// stays where it is until the program has run.
class dot_options {
 public:
  struct vectors {
    std::vector<float> a, b;
  };

  dot_options(program& frame, std::size_t size) : size_(size) {
    frame.add_size("--size", size_, "number of elements");
    random_ = &frame.add_choice<bool>("--data",
                                      {{"book", false, "a[i] = i, b[i] = 2 * i"},
                                       {"random", true, "numbers from 0 to 1, made from --seed"}},
                                      false, "what to multiply");
  }
  dot_options(const dot_options&) = delete;
  dot_options& operator=(const dot_options&) = delete;

  std::size_t size() const { return size_; }
  /// Of both vectors.
  std::size_t bytes() const { return 2 * size_ * sizeof(float); }
  bool from_the_book() const { return !*random_; }

  vectors input(std::uint64_t seed) const {
    // None is negative: else the sum could be smaller than its bound, and 0 as good a result.
    if (*random_) return {random_floats(size_, seed, 0, 1), random_floats(size_, seed + 1, 0, 1)};
    vectors made{std::vector<float>(size_), std::vector<float>(size_)};
    for (std::size_t i = 0; i < size_; ++i) {
      made.a[i] = static_cast<float>(i);
      made.b[i] = 2 * static_cast<float>(i);
    }
    return made;
  }

 private:
  std::size_t size_;
  const bool* random_ = nullptr;
};

/// Prints the dot product, and how far it is from the sum in double. False, with what is wrong, if
/// that is more than `bound`.
inline bool is_close(program& frame, float dot, double in_double, double bound) {
  std::printf("dot product: %.6g\n", static_cast<double>(dot));
  std::printf("off by %.3g from the sum in double; %.3g is allowed\n", std::fabs(dot - in_double),
              bound);
  return frame.verdict(compare(dot, in_double, {.absolute = bound}));
}

}  // namespace lab
