// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tests that run for every step of an exercise, and numbers for them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "lab/random.hpp"

namespace lab::testing {

/// A step of an exercise. Its name is part of the names of its cases.
template <class Step>
struct named {
  Step value;
  const char* name;
  /// How GoogleTest prints it where a case fails.
  friend void PrintTo(const named& step, std::ostream* out) { *out << step.name; }
};

/// The fixture of TEST_P(EachStep, …), after `using EachStep =
/// lab::testing::each_step<named_step>`.
template <class NamedStep>
class each_step : public ::testing::TestWithParam<NamedStep> {
 protected:
  auto version() const { return this->GetParam().value; }
};

/// The fixture of tests for every step with a number: a seed or a size.
template <class NamedStep, class Number = std::uint64_t>
using each_step_and = ::testing::TestWithParam<std::tuple<NamedStep, Number>>;

/// Names a case of each_step: `shared_tiles`.
inline constexpr auto by_step = [](const auto& test) { return test.param.name; };

/// Names a case of each_step_and: `shared_tiles_seed3` for by_step_and{"_seed"}.
struct by_step_and {
  template <class Test>
  std::string operator()(const Test& test) const {
    const auto& [step, number] = test.param;
    return std::string(step.name) + word + std::to_string(number);
  }
  const char* word;
};

/// Random whole numbers from `low` to `high`. While all sums of them are below 2^24, nothing is
/// rounded, so every order of adding gives the same float.
template <class Number = float>
std::vector<Number> whole_numbers(std::size_t n, std::uint64_t seed, int low, int high) {
  const std::vector<int> numbers = random_ints(n, seed, low, high);
  return {numbers.begin(), numbers.end()};
}

}  // namespace lab::testing
