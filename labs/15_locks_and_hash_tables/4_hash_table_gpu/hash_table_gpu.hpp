// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the contract. What the program and the tests expect of hash_table_gpu.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../3_hash_table_cpu/hash_table_cpu.hpp"

namespace lab::hash_table_gpu {

/// Keys and buckets of the program's table unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 512 * 1024, kDefaultBuckets = 1024;

using hash_table_cpu::entry;
using hash_table_cpu::kEnd;
using hash_table_cpu::table;  // what 15.3 builds; the order within a chain is free

enum class step {
  locks,      ///< a lock for each bucket; entries linked by pointers, which the host relocates
  lock_free,  ///< one atomicExch per key; entries linked by indices, which are valid in any memory
};

struct result {
  table built;
  float kernel_ms = 0;  ///< the time of the kernel alone
  float whole_ms = 0;   ///< from the keys in host memory to the table in device memory
};

/// Builds on the device the table that hash_table_cpu::build() builds on the host, and copies it
/// back: entry i of the pool holds keys[i] and values[i], and stands in the chain of bucket
/// keys[i] % buckets. Its position in that chain varies from run to run.
///
/// Throws lab::invalid_input when there are not as many values as keys, when there are no buckets,
/// or when there are more than kEnd keys or buckets; lab::cuda_error when CUDA reports an error.
/// Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the keys, and insert with a lock for each bucket, or
/// with one atomic exchange per key; the host inserts nothing.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, A.2.3 and A.2.4.
result build(step version, std::span<const std::uint32_t> keys,
             std::span<const std::uint32_t> values, std::size_t buckets);

}  // namespace lab::hash_table_gpu
