// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.5 compaction: the same on the host, by algorithms of the standard library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "compaction.hpp"

namespace lab::compaction {

/// The kept elements in their order; for partition all elements.
inline std::vector<std::int32_t> reference_compact(step version,
                                                   std::span<const std::int32_t> values,
                                                   std::int32_t limit) {
  const auto is_kept = [limit](std::int32_t value) { return value < limit; };
  std::vector<std::int32_t> result;
  if (version == step::partition) {
    result.assign(values.begin(), values.end());
    std::stable_partition(result.begin(), result.end(), is_kept);
  } else {
    std::copy_if(values.begin(), values.end(), std::back_inserter(result), is_kept);
  }
  return result;
}

}  // namespace lab::compaction
