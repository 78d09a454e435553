// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Merges by (key, position), whatever the order of the runs, with fewer threads than pairs.

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
  std::ranges::sort(samples, [](const splitter& a, const splitter& b) {
    return is_before(a.key, a.position, b);
  });
  std::vector<splitter> chosen;
  for (std::size_t k = 1; k < parts; ++k) chosen.push_back(samples[samples.size() * k / parts]);
  return chosen;
}

// --- buckets, and their destinations -------------------------------------------------------------

/// cuts[k + 1] = how many of the n sorted pairs come before splitter k.
__global__ void find_cuts(const std::uint32_t* keys, const std::uint32_t* positions, std::size_t n,
                          const splitter* splitters, unsigned count, unsigned long long* cuts) {
  const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k > count) return;
  if (k == 0) cuts[0] = 0;
  std::size_t first = 0, rest = k == count ? 0 : n;
  while (rest > 0) {
    const std::size_t half = rest / 2;
    if (is_before(keys[first + half], positions[first + half], splitters[k])) {
      first += half + 1;
      rest -= half + 1;
    } else {
      rest = half;
    }
  }
  cuts[k + 1] = k == count ? n : first;
}

/// All-to-all: bucket r of every part goes to part r.
void exchange(part_list& parts, const cut_table& cuts) {
  for (std::size_t s = 0; s < parts.size(); ++s) {
    part& from = parts[s];
    CUDA_CHECK(cudaSetDevice(from.device));
    for (std::size_t r = 0; r < parts.size(); ++r) {
      part& to = parts[r];
      const std::size_t begin = cuts[s][r], count = cuts[s][r + 1] - begin;
      if (count == 0) continue;
      const std::size_t offset = offset_of(cuts, s, r), bytes = count * sizeof(std::uint32_t);
      CUDA_CHECK(cudaMemcpyPeerAsync(to.unsorted.keys.data() + offset, to.device,
                                     from.sorted.keys.data() + begin, from.device, bytes,
                                     from.queue));
      CUDA_CHECK(cudaMemcpyPeerAsync(to.unsorted.positions.data() + offset, to.device,
                                     from.sorted.positions.data() + begin, from.device, bytes,
                                     from.queue));
    }
    CUDA_CHECK(cudaEventRecord(from.sent, from.queue));
  }
  for (std::size_t r = 0; r < parts.size(); ++r) {
    for (const part& s : parts) CUDA_CHECK(cudaStreamWaitEvent(parts[r].queue, s.sent, 0));
    parts[r].count = offset_of(cuts, parts.size(), r);
  }
}

// --- merge: the runs are sorted already ----------------------------------------------------------

/// How many of the n sorted pairs come before (key, position).
__device__ std::size_t pairs_before(const std::uint32_t* keys, const std::uint32_t* positions,
                                    std::size_t n, const splitter& offset) {
  std::size_t found = 0;
  for (std::size_t width = std::size_t{1} << 32; width > 0; width /= 2)
    if (found + width <= n &&
        is_before(keys[found + width - 1], positions[found + width - 1], offset))
      found += width;
  return found;
}

/// Merges sorted runs, where run q is from begins[q] to begins[q + 1] - 1: each pair goes to its
/// final index. Equal keys stay in the order of their runs.
__global__ void merge_runs(const std::uint32_t* keys, const std::uint32_t* positions,
                           const unsigned long long* begins, unsigned runs, std::uint32_t* keys_out,
                           std::uint32_t* positions_out) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x, n = begins[runs];
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    const splitter mine{keys[i], positions[i]};
    std::size_t offset = 0;
    for (unsigned q = 0; q < runs; ++q)
      offset +=
          pairs_before(keys + begins[q], positions + begins[q], begins[q + 1] - begins[q], mine);
    keys_out[offset] = mine.key;
    positions_out[offset] = mine.position;
  }
}

void merge(part_list& parts) {
  for (part& p : parts) {
    if (p.count == 0) continue;
    CUDA_CHECK(cudaSetDevice(p.device));
    merge_runs<<<blocks_for((p.count + 3) / 4), 256, 0, p.queue>>>(
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
