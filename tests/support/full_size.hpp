// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Cases at the size that the program has by default, and beyond the limits of small grids: no small
// case can show that one element in a million is lost, or block 65,536.
//
//   TEST_P(EachStep, IsExactAtTheProgramsSize) {
//     expect_at_full_size([&] { return is_right(version(), random_ints(kDefaultSize, 1, 0, 9)); });
//   }
//
// The size is the program's own constant, from the contract's header. Take data of which every
// element counts, and compare all of the result: a bound for roundings may allow for a lost
// element.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <type_traits>
#include <vector>

namespace lab::testing {

/// More blocks along one dimension of a grid than a grid may have along the other two. On early
/// GPUs it was the limit for all three, and many copied loops still stop there.
inline constexpr std::size_t kManyBlocks = 65'537;

/// n elements: those of `part`, repeated. So the expected elements can come from a part, too; take
/// a length that divides no chunk and no stride, or swapped elements may not show.
template <class T>
std::vector<T> repeated(const std::vector<T>& part, std::size_t n) {
  std::vector<T> all;
  all.reserve(n);
  while (all.size() < n)
    all.insert(all.end(), part.begin(),
               part.begin() + static_cast<std::ptrdiff_t>(std::min(part.size(), n - all.size())));
  return all;
}

namespace detail {
/// Once a run: in its last repetition, when every small case has passed in every order. Never in
/// the check build, which would take a minute to watch accesses that it knows from small cases.
bool is_time_for_full_size();
}  // namespace detail

/// Expects `call` to return something that is true, as matches() does, or nothing if it has its own
/// expectations. In the other repetitions it is not called.
template <class Call>
void expect_at_full_size(const Call& call) {
  if (!detail::is_time_for_full_size()) return;
  // scripts/lab (done.py) reads this: that the other orders were right means nothing.
  constexpr const char* kOnce = "(Large data: this case runs in one thread order only.)";
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<const Call&>>) {
      call();
      if (::testing::Test::HasFailure()) std::puts(kOnce);  // (no failure: that would hide a TODO)
    } else {
      EXPECT_TRUE(call()) << kOnce;
    }
  } catch (...) {
    std::puts(kOnce);
    throw;
  }
}

}  // namespace lab::testing
