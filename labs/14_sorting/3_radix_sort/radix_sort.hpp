// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: the contract. What the program and the tests expect of radix_sort.cu.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lab::radix_sort {

enum class step {
  thrust,     ///< thrust::sort, and thrust::stable_sort_by_key where there are values
  digits,     ///< four passes by hand, for 8 bits each: count, scan, scatter
  one_sweep,  ///< the digits are counted once for all passes; each pass is then one launch, whose
              ///< tiles learn from each other where their keys go
};

template <class Key>
struct result {
  std::vector<Key> keys;
  std::vector<std::uint32_t> values;
  float kernel_ms = 0;  ///< all launches; what Thrust allocates while it sorts is in it, too
};

/// Sorts keys, the smallest first. `values` has a value for each key, which goes where the key
/// goes, or is empty where only keys are to be sorted. Any length will do, 0 as well.
///
/// The sort is stable: what has equal keys keeps its order.
///
/// Floats are in the order of their bit patterns (the total order of IEEE 754): -NaN, -infinity,
/// …, -0, +0, …, infinity, NaN. So -0 comes before +0, and a NaN has a place as well: at the end,
/// or, if its sign bit is set, at the beginning. No bit of a key is changed.
///
/// Throws lab::invalid_input when there are values, but not as many as keys; lab::cuda_error when
/// CUDA reports an error, std::bad_alloc when Thrust finds no memory. None leaves device memory
/// behind.
///
/// Requires: in the steps digits and one_sweep four passes of kernels of yours, without a library
/// and without the host in between; in step thrust the calls of Thrust. Keys without values move no
/// values. In step one_sweep one launch counts the digits of all passes, and one launch per pass
/// reads and writes every key and value once. No block waits for one that may not have begun.
///
/// From: the UVT report on data parallelism, which sorts 1,048,576 and 524,288 keys (uint and
/// float) and their values with Thrust. The step digits is ours. One_sweep is from A. Adinets,
/// D. Merrill, Onesweep: A Faster Least Significant Digit Radix Sort for GPUs, 2022.
result<std::uint32_t> sort(step version, std::span<const std::uint32_t> keys,
                           std::span<const std::uint32_t> values);
result<std::int32_t> sort(step version, std::span<const std::int32_t> keys,
                          std::span<const std::uint32_t> values);
result<float> sort(step version, std::span<const float> keys,
                   std::span<const std::uint32_t> values);

/// One pass of the step digits: sorts by bits 8 * digit to 8 * digit + 7 of the keys alone, and
/// leaves pairs that agree in these in their order. Throws as sort(), and for a digit above 3.
result<std::uint32_t> sort_by_digit(std::span<const std::uint32_t> keys,
                                    std::span<const std::uint32_t> values, unsigned digit);

}  // namespace lab::radix_sort
