// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.4 many_gpu_sort: what many_gpu_sort.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <deque>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/event.hpp"
#include "lab/keep_current_device.hpp"
#include "lab/peer_access.hpp"
#include "lab/refuse_if.hpp"
#include "lab/stream.hpp"
#include "lab/timer.hpp"
#include "many_gpu_sort.hpp"

namespace lab::many_gpu_sort {

// --- keys with their positions -------------------------------------------------------------------

/// Keys, and where each of them was in the input, in the memory of a device.
struct pairs {
  explicit pairs(std::size_t capacity) : keys(capacity), positions(capacity) {}
  device_buffer<std::uint32_t> keys, positions;
};

/// Whether the pair (key, position) comes before the splitter.
__host__ __device__ inline bool is_before(std::uint32_t key, std::uint32_t position,
                                          const splitter& s) {
  return key < s.key || (key == s.key && position < s.position);
}

/// The bytes that CUB wants for itself to sort up to n pairs on the current device.
inline std::size_t bytes_for_sorting(std::size_t n) {
  std::size_t bytes = 0;
  const std::uint32_t* in = nullptr;
  std::uint32_t* out = nullptr;
  CUDA_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, n));
  return std::max<std::size_t>(bytes, 1);
}

// --- parts ---------------------------------------------------------------------------------------

/// What a device has; it has to be current when it is made. No device ever gets more keys than
/// most_per_device(), so all memory is there before the first key is looked at.
struct part {
  part(int its_device, int devices, std::size_t its_begin, std::size_t its_count, std::size_t most)
      : device(its_device),
        begin(its_begin),
        count(its_count),
        unsorted(std::max(most, count)),
        sorted(std::max(most, count)),
        temporary(bytes_for_sorting(std::max(most, count))),
        samples(2 * kSamples),
        splitters(static_cast<std::size_t>(devices)),
        cuts(static_cast<std::size_t>(devices) + 1) {}

  int device;
  std::size_t begin;  ///< of its keys in the input
  std::size_t count;  ///< of the keys that it has now
  pairs unsorted, sorted;
  device_buffer<unsigned char> temporary;  ///< for CUB
  device_buffer<std::uint32_t> samples;    ///< key, position, key, position, …
  device_buffer<splitter> splitters;       ///< devices - 1 of them
  device_buffer<unsigned long long> cuts;  ///< where the buckets, or the runs, begin and end
  event sent;                              ///< recorded when it has sent its buckets
  stream queue;                            ///< destroyed first, after it has waited
};
using part_list = std::deque<part>;  // a part stays where it is made

/// How many samples a part takes.
inline std::size_t samples_of(const part& p) { return std::min(p.count, kSamples); }

inline unsigned blocks_for(std::size_t threads) {
  return static_cast<unsigned>((threads + 255) / 256);
}

static __global__ void number_from(std::uint32_t first, std::size_t n, std::uint32_t* positions) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) positions[i] = first + static_cast<std::uint32_t>(i);
}

inline void wait_for(const part_list& parts) {
  for (const part& p : parts) CUDA_CHECK(cudaStreamSynchronize(p.queue));
}

/// A part for each device, with its keys and their positions in `unsorted`.
inline part_list make_parts(int devices, std::span<const std::uint32_t> keys) {
  const std::size_t n = keys.size(), most = most_per_device(n, devices);
  part_list parts;
  for (int k = 0; k < devices; ++k) {
    const auto i = static_cast<std::size_t>(k), all = static_cast<std::size_t>(devices);
    const std::size_t begin = n * i / all, count = n * (i + 1) / all - begin;
    CUDA_CHECK(cudaSetDevice(k));
    part& p = parts.emplace_back(k, devices, begin, count, most);
    if (count == 0) continue;
    CUDA_CHECK(cudaMemcpyAsync(p.unsorted.keys.data(), keys.data() + begin,
                               count * sizeof(std::uint32_t), cudaMemcpyHostToDevice, p.queue));
    number_from<<<blocks_for(count), 256, 0, p.queue>>>(static_cast<std::uint32_t>(begin), count,
                                                        p.unsorted.positions.data());
    CUDA_CHECK(cudaGetLastError());
  }
  wait_for(parts);
  return parts;
}

/// The first n elements of device memory, when all that is in the stream has happened.
template <class T>
std::vector<T> fetch(const part& p, const device_buffer<T>& from, std::size_t n) {
  std::vector<T> values(n);
  if (n == 0) return values;
  CUDA_CHECK(cudaSetDevice(p.device));
  CUDA_CHECK(
      cudaMemcpyAsync(values.data(), from.data(), n * sizeof(T), cudaMemcpyDeviceToHost, p.queue));
  CUDA_CHECK(cudaStreamSynchronize(p.queue));
  return values;
}

/// The samples of all parts, in no particular order.
inline std::vector<splitter> fetch_samples(const part_list& parts) {
  std::vector<splitter> all;
  for (const part& p : parts) {
    const auto words = fetch(p, p.samples, 2 * samples_of(p));
    for (std::size_t i = 0; i < words.size(); i += 2) all.push_back({words[i], words[i + 1]});
  }
  return all;
}

/// Sends values to a part's device, before what is put into its stream from now on.
template <class T>
void send_to(part& p, const std::vector<T>& values, device_buffer<T>& to) {
  if (values.empty()) return;
  CUDA_CHECK(cudaSetDevice(p.device));
  CUDA_CHECK(cudaMemcpyAsync(to.data(), values.data(), values.size() * sizeof(T),
                             cudaMemcpyHostToDevice, p.queue));
  CUDA_CHECK(cudaStreamSynchronize(p.queue));  // `values` may go now
}

/// Bucket r of part s has the keys from cuts[s][r] to cuts[s][r + 1] - 1 of s.sorted.
using cut_table = std::vector<std::vector<unsigned long long>>;

/// Where in r.unsorted what part s sends begins; for s = the number of parts: where all of it ends.
inline std::size_t offset_of(const cut_table& cuts, std::size_t s, std::size_t r) {
  std::size_t offset = 0;
  for (std::size_t before = 0; before < s; ++before)
    offset += static_cast<std::size_t>(cuts[before][r + 1] - cuts[before][r]);
  return offset;
}

/// For step merge: where in r.unsorted the run of each part will begin, and where the last one
/// ends.
inline void send_begins_of_runs(part_list& parts, const cut_table& cuts) {
  for (std::size_t r = 0; r < parts.size(); ++r) {
    std::vector<unsigned long long> begins;
    for (std::size_t s = 0; s <= parts.size(); ++s) begins.push_back(offset_of(cuts, s, r));
    send_to(parts[r], begins, parts[r].cuts);
  }
}

// --- the host's part of the contract -------------------------------------------------------------

inline void check(int devices, std::span<const std::uint32_t> keys) {
  const int there = device_count();
  refuse_if(devices < 1 || devices > there, "many_gpu_sort: there cannot be ", devices,
            " devices: this machine has ", there);
  refuse_if(keys.size() >> 32 != 0, "many_gpu_sort: ", keys.size(),
            " keys; a position has 32 bits, so there may be 4294967295");
}

inline result results_of(const part_list& parts, float milliseconds) {
  result all{{}, {}, {}, milliseconds};
  for (const part& p : parts) {
    const auto keys = fetch(p, p.sorted.keys, p.count);
    const auto positions = fetch(p, p.sorted.positions, p.count);
    all.keys.insert(all.keys.end(), keys.begin(), keys.end());
    all.positions.insert(all.positions.end(), positions.begin(), positions.end());
    all.counts.push_back(p.count);
  }
  return all;
}

}  // namespace lab::many_gpu_sort
