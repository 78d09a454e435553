// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A part is sorted as numbers of 64 bits, of a key and its position; one thread finds all cuts.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::many_gpu_sort {
namespace {

// --- each device sorts its own keys --------------------------------------------------------------

__global__ void pack(const std::uint32_t* keys, const std::uint32_t* positions, std::size_t n,
                     std::uint64_t* pairs) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    pairs[i] = std::uint64_t{keys[i]} << 32 | positions[i];
}

__global__ void unpack(const std::uint64_t* pairs, std::size_t n, std::uint32_t* keys,
                       std::uint32_t* positions) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride) {
    keys[i] = static_cast<std::uint32_t>(pairs[i] >> 32);
    positions[i] = static_cast<std::uint32_t>(pairs[i]);
  }
}

/// Memory in the order of a stream: nobody waits for it.
class pool_memory {
 public:
  pool_memory(std::size_t bytes, cudaStream_t queue) : queue_(queue) {
    CUDA_CHECK(cudaMallocAsync(&memory_, bytes, queue));
  }
  ~pool_memory() { CUDA_CHECK_NOTHROW(cudaFreeAsync(memory_, queue_)); }
  pool_memory(const pool_memory&) = delete;
  pool_memory& operator=(const pool_memory&) = delete;
  void* get() const { return memory_; }

 private:
  cudaStream_t queue_;
  void* memory_ = nullptr;
};

/// Puts the sort of p.unsorted into p's stream: its p.count pairs, by their keys, into p.sorted.
void sort_pairs(part& p) {
  if (p.count == 0) return;
  CUDA_CHECK(cudaSetDevice(p.device));
  std::size_t wanted = 0;
  const std::uint64_t* none = nullptr;
  std::uint64_t* no_output = nullptr;
  CUDA_CHECK(
      cub::DeviceRadixSort::SortKeys(nullptr, wanted, none, no_output, p.count, 0, 64, p.queue));
  const pool_memory packed(2 * p.count * sizeof(std::uint64_t), p.queue), own(wanted + 1, p.queue);
  auto* const in = static_cast<std::uint64_t*>(packed.get());
  const unsigned blocks = std::min(blocks_for(p.count), 32U);
  pack<<<blocks, 256, 0, p.queue>>>(p.unsorted.keys.data(), p.unsorted.positions.data(), p.count,
                                    in);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cub::DeviceRadixSort::SortKeys(own.get(), wanted,
                                            static_cast<const std::uint64_t*>(in), in + p.count,
                                            p.count, 0, 64, p.queue));
  unpack<<<blocks, 256, 0, p.queue>>>(in + p.count, p.count, p.sorted.keys.data(),
                                      p.sorted.positions.data());
  CUDA_CHECK(cudaGetLastError());
}

// --- splitters -----------------------------------------------------------------------------------

/// Sample j of `count` is pair n * j / count of the n sorted ones.
__global__ void take_samples(const std::uint32_t* keys, const std::uint32_t* positions,
                             std::size_t n, std::size_t count, std::uint32_t* samples) {
  const std::size_t j = threadIdx.x;
  if (j >= count) return;
  samples[2 * j] = keys[n * j / count];
  samples[2 * j + 1] = positions[n * j / count];
}

/// The samples that divide all samples into `parts` equal parts.
std::vector<splitter> choose(std::vector<splitter> samples, std::size_t parts) {
  std::ranges::sort(samples, [](const splitter& a, const splitter& b) {
    return a.key != b.key ? a.key < b.key : a.position < b.position;
  });
  std::vector<splitter> chosen;
  for (std::size_t k = 1; k < parts; ++k) chosen.push_back(samples[samples.size() * k / parts]);
  return chosen;
}

// --- buckets, and their destinations -------------------------------------------------------------

/// cuts[k + 1] = how many of the n sorted pairs come before splitter k.
__global__ void find_cuts(const std::uint32_t* keys, const std::uint32_t* positions, std::size_t n,
                          const splitter* splitters, unsigned count, unsigned long long* cuts) {
  if (threadIdx.x == 0) {
    cuts[0] = 0;
    cuts[count + 1] = n;
    std::size_t at = 0;  // each search begins where the last one ended
    for (unsigned k = 0; k < count; ++k) {
      std::size_t step = 1, low = at, high = n;
      while (low + step < n && is_before(keys[low + step], positions[low + step], splitters[k])) {
        low += step;
        step *= 2;
      }
      if (low + step < n) high = low + step;
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (is_before(keys[middle], positions[middle], splitters[k]))
          low = middle + 1;
        else
          high = middle;
      }
      cuts[k + 1] = at = low;
    }
  }
}

/// All-to-all: bucket r of every part goes to part r.
void exchange(part_list& parts, const cut_table& cuts) {
  const std::size_t count = parts.size();
  for (std::size_t s = 0; s < count; ++s) {
    part& from = parts[s];
    CUDA_CHECK(cudaSetDevice(from.device));
    for (std::size_t step = 0; step < count; ++step) {
      const std::size_t r = (s + step) % count;  // everybody begins with another receiver
      part& to = parts[r];
      const auto begin = static_cast<std::size_t>(cuts[s][r]);
      const std::size_t n = static_cast<std::size_t>(cuts[s][r + 1]) - begin;
      if (n == 0) continue;
      const std::size_t at = offset_of(cuts, s, r);
      const auto copy = [&](const device_buffer<std::uint32_t>& a,
                            device_buffer<std::uint32_t>& b) {
        CUDA_CHECK(cudaMemcpyPeerAsync(b.data() + at, to.device, a.data() + begin, from.device,
                                       n * sizeof(std::uint32_t), from.queue));
      };
      copy(from.sorted.positions, to.unsorted.positions);
      copy(from.sorted.keys, to.unsorted.keys);
    }
    CUDA_CHECK(cudaEventRecord(from.sent, from.queue));
  }
  for (std::size_t r = 0; r < count; ++r) {
    for (const part& s : parts) CUDA_CHECK(cudaStreamWaitEvent(parts[r].queue, s.sent, 0));
    parts[r].count = offset_of(cuts, count, r);
  }
}

// --- merge: the runs are sorted already ----------------------------------------------------------

/// Merges sorted runs, where run q is from begins[q] to begins[q + 1] - 1: each pair goes to its
/// final index. Equal keys stay in the order of their runs.
__global__ void merge_runs(const std::uint32_t* keys, const std::uint32_t* positions,
                           const unsigned long long* begins, unsigned runs, std::uint32_t* keys_out,
                           std::uint32_t* positions_out) {
  // A block for a run at a time: its threads have every blockDim.x-th pair of it.
  for (unsigned mine = blockIdx.x; mine < runs; mine += gridDim.x)
    for (std::size_t i = begins[mine] + threadIdx.x; i < begins[mine + 1]; i += blockDim.x) {
      std::size_t rank = i - begins[mine];
      for (unsigned q = 0; q < runs; ++q) {
        if (q == mine) continue;
        std::size_t low = begins[q], high = begins[q + 1];
        while (low < high) {
          const std::size_t middle = (low + high) / 2;
          if (q < mine ? keys[middle] <= keys[i] : keys[middle] < keys[i])
            low = middle + 1;
          else
            high = middle;
        }
        rank += low - begins[q];
      }
      keys_out[rank] = keys[i];
      positions_out[rank] = positions[i];
    }
}

void merge(part_list& parts) {
  for (part& p : parts) {
    if (p.count == 0) continue;
    CUDA_CHECK(cudaSetDevice(p.device));
    merge_runs<<<static_cast<unsigned>(parts.size()), 512, 0, p.queue>>>(
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
    find_cuts<<<1, 32, 0, p.queue>>>(p.sorted.keys.data(), p.sorted.positions.data(), p.count,
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
