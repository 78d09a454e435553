// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.1 lock: what the results are compared with.
#pragma once

#include <cstdint>

#include "lock.hpp"

namespace lab::lock {

/// What a lock that lets in one thread at a time counts.
inline std::uint64_t expected_count(const work& job) {
  return std::uint64_t{job.blocks} * job.threads * job.times;
}

/// How often that lock is taken.
inline std::uint64_t expected_entries(step version, const work& job) {
  const bool one_for_all = version == step::one_per_block && job.threads > 0;
  return std::uint64_t{job.blocks} * (one_for_all ? 1 : job.threads) * job.times;
}

}  // namespace lab::lock
