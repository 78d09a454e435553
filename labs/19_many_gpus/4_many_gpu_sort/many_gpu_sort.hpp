// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.4 many_gpu_sort: the contract. What the program and the tests expect of many_gpu_sort.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::many_gpu_sort {

/// How many keys the program sorts unless it is told otherwise, on a GPU and on the CPU device.
inline constexpr std::size_t kDefaultSize = 32 * 1024 * 1024, kDefaultSizeOnCpu = 64 * 1024;

inline constexpr std::size_t kSamples = 64;  ///< that a device takes of its keys, at most

enum class step {
  sort_again,  ///< each device sorts what it has received
  merge,       ///< each device merges the sorted runs that it has received
};

/// A place between keys. (k, p) comes before the splitter (key, position) if k < key, or if
/// k == key and p < position, where p is the position of k in the input.
struct splitter {
  std::uint32_t key = 0, position = 0;
};

struct result {
  std::vector<std::uint32_t> keys;       ///< sorted
  std::vector<std::uint32_t> positions;  ///< positions[i]: where keys[i] was in the input
  std::vector<std::size_t> counts;       ///< how many of them each device has in the end
  float milliseconds = 0;                ///< from unsorted to sorted keys in the devices' memory
};

/// At most so many keys may end up on one device, whatever the keys are. With m = n / devices,
/// rounded up, that is m for m <= kSamples, and else about m * (1 + devices / kSamples) + kSamples.
///
/// Each of kSamples samples of a device stands for at most b = m / kSamples keys, rounded up: those
/// up to the next sample. Between two splitters lie kSamples samples, and with them kSamples * b
/// keys, and of each device at most b - 1 keys whose sample is before the first splitter.
inline constexpr std::size_t most_per_device(std::size_t n, int devices) {
  const auto p = static_cast<std::size_t>(devices);
  const std::size_t m = (n + p - 1) / p;
  if (m <= kSamples) return m;
  const std::size_t b = (m + kSamples - 1) / kSamples;
  return kSamples * b + p * (b - 1);
}

/// The devices - 1 splitters for these keys, the smallest first: between two neighbours, before the
/// first and after the last are at most most_per_device() keys. Device k has the keys from
/// n * k / devices to n * (k + 1) / devices - 1. No splitters for no keys.
///
/// Throws as sort().
///
/// Requires: each device sorts its own keys, and takes the samples. Only these come to the host.
std::vector<splitter> choose_splitters(int devices, std::span<const std::uint32_t> keys);

/// Sorts the keys, the smallest first, on the first `devices` devices. In the end device 0 has the
/// first counts[0] of them, device 1 the next ones, and so on: the keys between the splitters of
/// choose_splitters(), so counts[k] <= most_per_device(), and equal keys may be on different
/// devices.
///
/// The sort is stable: equal keys are in the order of their positions.
///
/// The calling thread's current device is the same afterwards, also after an exception.
///
/// Throws lab::invalid_input when devices is not from 1 to the number of devices, or when there are
/// 2^32 keys or more; lab::cuda_error when CUDA reports an error. Neither leaves memory or streams
/// behind.
///
/// Requires: each device sorts its part (by CUB, say), and gets its bucket by copies from device to
/// device (cudaMemcpyPeerAsync): 2 from each other device that has any of it, for keys and for
/// positions. From the host each device gets its part of the keys, and no array that could hold all
/// of them. The host does not wait between the sorts of two devices, nor from the first copy
/// between devices to the last sort or merge. merge: a kernel of many threads on each device. (A
/// single device has nothing to exchange, and need not sort or merge again.)
///
/// From: sampling at regular distances is by H. Shi, J. Schaeffer, Parallel Sorting by Regular
/// Sampling, 1992; the splitting of equal keys by position is common, the bound is ours.
result sort(step version, int devices, std::span<const std::uint32_t> keys);

}  // namespace lab::many_gpu_sort
