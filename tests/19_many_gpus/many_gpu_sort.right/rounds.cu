// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The exchange in rounds, where no two parts send to the same one.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::many_gpu_sort {
namespace {

// --- each device sorts its own keys --------------------------------------------------------------

/// Puts the sort of p.unsorted into p's stream: its p.count pairs, by their keys, into p.sorted.
void sort_pairs(part& p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaSetDevice(p.device));
  std::size_t bytes = p.temporary.size();
  CUDA_CHECK(cub::DeviceRadixSort::SortPairs(p.temporary.data(), bytes, p.unsorted.keys.data(),
                                             p.sorted.keys.data(), p.unsorted.positions.data(),
                                             p.sorted.positions.data(), p.count, 0, 32, p.queue));
}

// --- splitters -----------------------------------------------------------------------------------

/// Sample j of `count` is pair n * j / count of the n sorted ones.
__global__ void take_samples(const std::uint32_t* keys, const std::uint32_t* positions,
                             std::size_t n, std::size_t count, std::uint32_t* samples) {
  const std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (j >= count) return;
  const std::size_t i = n * j / count;
  samples[2 * j] = keys[i];
  samples[2 * j + 1] = positions[i];
}

/// The samples that divide all samples into `parts` equal parts.
std::vector<splitter> choose(std::vector<splitter> samples, std::size_t parts) {
  std::ranges::sort(samples, {}, [](const splitter& s) { return std::tuple(s.key, s.position); });
  std::vector<splitter> chosen;
  for (std::size_t k = 1; k < parts; ++k) chosen.push_back(samples[samples.size() * k / parts]);
  return chosen;
}

// --- buckets, and their destinations -------------------------------------------------------------

/// cuts[k + 1] = how many of the n sorted pairs come before splitter k.
__global__ void find_cuts(const std::uint32_t* keys, const std::uint32_t* positions, std::size_t n,
                          const splitter* splitters, unsigned count, unsigned long long* cuts) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k == 0) {
    cuts[0] = 0;
    cuts[count + 1] = n;
  }
  if (k >= count) return;
  const splitter mine = splitters[k];
  std::size_t low = 0, high = n;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_before(keys[middle], positions[middle], mine))
      low = middle + 1;
    else
      high = middle;
  }
  cuts[k + 1] = low;
}

/// All-to-all: bucket r of every part goes to part r.
void exchange(part_list& parts, const cut_table& cuts) {
  // In round d each part sends to the d-th one after it: so no two send to the same part.
  const std::size_t all = parts.size();
  for (std::size_t d = 0; d < all; ++d)
    for (std::size_t s = 0; s < all; ++s) {
      const std::size_t r = (s + d) % all;
      const std::size_t begin = cuts[s][r],
                        bytes = (cuts[s][r + 1] - begin) * sizeof(std::uint32_t);
      if (bytes == 0) continue;
      const std::size_t offset = offset_of(cuts, s, r);
      const auto copy = [&](const device_buffer<std::uint32_t>& from,
                            device_buffer<std::uint32_t>& to) {
        CUDA_CHECK(cudaMemcpyPeerAsync(to.data() + offset, parts[r].device, from.data() + begin,
                                       parts[s].device, bytes, parts[s].queue));
      };
      CUDA_CHECK(cudaSetDevice(parts[s].device));
      copy(parts[s].sorted.keys, parts[r].unsorted.keys);
      copy(parts[s].sorted.positions, parts[r].unsorted.positions);
    }
  for (part& s : parts) {
    CUDA_CHECK(cudaSetDevice(s.device));
    CUDA_CHECK(cudaEventRecord(s.sent, s.queue));
    for (part& r : parts) CUDA_CHECK(cudaStreamWaitEvent(r.queue, s.sent, 0));
  }
  for (std::size_t r = 0; r < all; ++r) parts[r].count = offset_of(cuts, all, r);
}

// --- merge: the runs are sorted already ----------------------------------------------------------

/// Merges sorted runs, where run q is from begins[q] to begins[q + 1] - 1: each pair goes to its
/// final index. Equal keys stay in the order of their runs.
__global__ void merge_runs(const std::uint32_t* keys, const std::uint32_t* positions,
                           const unsigned long long* begins, unsigned runs, std::uint32_t* keys_out,
                           std::uint32_t* positions_out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= begins[runs]) return;
  const std::uint32_t key = keys[i];
  std::size_t offset = 0;
  for (unsigned q = 0; q < runs; ++q) {
    const std::size_t begin = begins[q], end = begins[q + 1];
    if (begin <= i && i < end) {
      offset += i - begin;
      continue;
    }
    std::size_t low = begin, high = end;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const bool before = end <= i ? keys[middle] <= key : keys[middle] < key;
      if (before)
        low = middle + 1;
      else
        high = middle;
    }
    offset += low - begin;
  }
  keys_out[offset] = key;
  positions_out[offset] = positions[i];
}

void merge(part_list& parts) {
  for (part& p : parts) {
    if (p.count == 0) continue;
    CUDA_CHECK(cudaSetDevice(p.device));
    merge_runs<<<blocks_for(p.count), 256, 0, p.queue>>>(
        p.unsorted.keys.data(), p.unsorted.positions.data(), p.cuts.data(),
        static_cast<unsigned>(parts.size()), p.sorted.keys.data(), p.sorted.positions.data());
    CUDA_CHECK(cudaGetLastError());
  }
}

// --- given ---------------------------------------------------------------------------------------

/// Sorts the parts, and returns the splitters.
std::vector<splitter> sort_and_split(part_list& parts) {
  for (part& p : parts) sort_pairs(p);
  for (part& p : parts) {
    if (p.count == 0) continue;
    CUDA_CHECK(cudaSetDevice(p.device));
    take_samples<<<1, kSamples, 0, p.queue>>>(p.sorted.keys.data(), p.sorted.positions.data(),
                                              p.count, samples_of(p), p.samples.data());
    CUDA_CHECK(cudaGetLastError());
  }
  return choose(fetch_samples(parts), parts.size());
}

/// Where the splitters cut each part.
cut_table cuts_of(part_list& parts, const std::vector<splitter>& splitters) {
  cut_table cuts;
  const auto count = static_cast<unsigned>(splitters.size());
  for (part& p : parts) {
    send_to(p, splitters, p.splitters);
    CUDA_CHECK(cudaSetDevice(p.device));
    find_cuts<<<blocks_for(count + 1), 256, 0, p.queue>>>(p.sorted.keys.data(),
                                                          p.sorted.positions.data(), p.count,
                                                          p.splitters.data(), count, p.cuts.data());
    CUDA_CHECK(cudaGetLastError());
  }
  for (part& p : parts) cuts.push_back(fetch(p, p.cuts, parts.size() + 1));
  return cuts;
}

}  // namespace

std::vector<splitter> choose_splitters(int devices, std::span<const std::uint32_t> keys) {
  check(devices, keys);
  if (keys.empty()) return {};
  const keep_current_device keep;
  part_list parts = make_parts(devices, keys);
  return sort_and_split(parts);
}

result sort(step version, int devices, std::span<const std::uint32_t> keys) {
  check(devices, keys);
  if (keys.empty()) return {{}, {}, std::vector<std::size_t>(static_cast<std::size_t>(devices)), 0};
  const keep_current_device keep;
  const access_to_all_peers access(devices);
  part_list parts = make_parts(devices, keys);
  const host_timer timer;
  const cut_table cuts = cuts_of(parts, sort_and_split(parts));
  send_begins_of_runs(parts, cuts);
  exchange(parts, cuts);
  if (version == step::merge)
    merge(parts);
  else
    for (part& p : parts) sort_pairs(p);
  wait_for(parts);
  return results_of(parts, static_cast<float>(timer.milliseconds()));
}

}  // namespace lab::many_gpu_sort
