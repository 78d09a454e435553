// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.2 two_streams: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "two_streams.hpp"

namespace lab::two_streams {

/// The mean of each element and the next two around the circle of its group.
inline std::vector<std::int64_t> mean_of_neighbours(std::span<const int> values) {
  std::vector<std::int64_t> mean;
  mean.reserve(values.size());
  while (!values.empty()) {
    const auto group = values.first(std::min(values.size(), kGroup));
    // The group turned by one place, and by two (a group of one turns into itself).
    std::vector<int> next(group.size()), next_but_one(group.size());
    const auto size = static_cast<std::ptrdiff_t>(group.size());
    std::rotate_copy(group.begin(), group.begin() + 1 % size, group.end(), next.begin());
    std::rotate_copy(group.begin(), group.begin() + 2 % size, group.end(), next_but_one.begin());
    for (std::size_t i = 0; i < group.size(); ++i)
      mean.push_back((std::int64_t{group[i]} + next[i] + next_but_one[i]) / 3);
    values = values.subspan(group.size());
  }
  return mean;
}

/// process() on the host, without chunks. The spans are equally long.
inline std::vector<int> reference(std::span<const int> a, std::span<const int> b) {
  const std::vector<std::int64_t> as = mean_of_neighbours(a), bs = mean_of_neighbours(b);
  std::vector<int> c(a.size());
  std::transform(as.begin(), as.end(), bs.begin(), c.begin(),
                 [](std::int64_t x, std::int64_t y) { return static_cast<int>((x + y) / 2); });
  return c;
}

}  // namespace lab::two_streams
