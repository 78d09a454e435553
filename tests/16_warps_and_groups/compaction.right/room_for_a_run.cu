// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: any_order votes twice, and reserves space once for all that a warp
// keeps of its 1024 elements.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::compaction {
namespace {

// --- votes ---------------------------------------------------------------------------------------

/// How many of the lanes before this one are in the mask `kept`.
__device__ unsigned kept_before(unsigned kept) {
  return __popc(kept & ((1U << threadIdx.x % kLanes) - 1));
}

/// A warp's share: kRun elements from index `begin`; only those below `end` exist. Surplus warps
/// have none: then begin >= end.
struct share {
  std::size_t warp, begin, end;
};
__device__ share share_of_warp(std::size_t n) {
  const std::size_t warp = (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kLanes;
  return {warp, warp * kRun, min(n, (warp + 1) * kRun)};
}

// --- any_order: a warp reserves as much of the output as it needs --------------------------------

/// Writes the kept elements to `out`, and adds their number to *total, which begins at 0.
__global__ void keep_in_any_order(const int* values, std::size_t n, int limit, int* out,
                                  count* total) {
  // One atomic addition reserves space for all that the warp keeps, so it votes twice.
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  if (mine.begin >= mine.end) return;
  unsigned number = 0;
  for (std::size_t at = mine.begin; at < mine.end; at += kLanes)
    number += __popc(__ballot_sync(kAllLanes, at + lane < mine.end && values[at + lane] < limit));
  count position = 0;
  if (lane == kLanes - 1) position = atomicAdd(total, count{number});
  position = __shfl_sync(kAllLanes, position, kLanes - 1);
  for (std::size_t at = mine.begin; at < mine.end; at += kLanes) {
    const bool there = at + lane < mine.end;
    const int value = there ? values[at + lane] : limit;
    const unsigned kept = __ballot_sync(kAllLanes, value < limit);
    if (value < limit) out[position + kept_before(kept)] = value;
    position += __popc(kept);
  }
}

// --- in_order: count, scan, write ----------------------------------------------------------------

/// counts[w]: how many elements warp w keeps.
__global__ void count_kept(const int* values, std::size_t n, int limit, count* counts) {
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  if (mine.begin >= mine.end) return;
  count number = 0;
  for (std::size_t at = mine.begin; at < mine.end; at += kLanes) {
    const std::size_t i = at + lane;
    number += __popc(__ballot_sync(kAllLanes, i < mine.end && values[i] < limit));
  }
  if (lane == 0) counts[mine.warp] = number;
}

/// Writes the kept elements to `out` in their order. first[w] is where those of warp w begin, and
/// first[warps] is their total number. With kPartition the other elements follow them.
template <bool kPartition>
__global__ void write_in_order(const int* values, std::size_t n, int limit, const count* first,
                               std::size_t warps, int* out) {
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  if (mine.begin >= mine.end) return;
  std::size_t position = first[mine.warp];
  for (std::size_t at = mine.begin; at < mine.end; at += kLanes) {
    const std::size_t i = at + lane;
    const bool there = i < mine.end;
    const int value = there ? values[i] : 0;
    const unsigned kept = __ballot_sync(kAllLanes, there && value < limit);
    const std::size_t before = position + kept_before(kept);
    if (kept >> lane & 1)
      out[before] = value;
    else if (kPartition && there)
      out[first[warps] + i - before] = value;
    position += __popc(kept);
  }
}

/// `counts` has an element for each warp and one more, counts[warps]: 0 before and the number of
/// kept elements, the total, afterwards.
void launch(step version, const int* values, std::size_t n, int limit, count* counts, int* out) {
  const std::size_t warps = warps_for(n);
  const unsigned blocks = blocks_for(warps);
  // Each step launches its kernels with `blocks` blocks of kThreads. Between count_kept and
  // write_in_order comes scan_counts<<<1, kScanThreads>>>(counts, warps). If count_kept or
  // scan_counts failed (cudaGetLastError), the counts are invalid: do not use them as indices.
  if (version == step::any_order) {
    keep_in_any_order<<<blocks, kThreads>>>(values, n, limit, out, counts + warps);
    return;
  }
  count_kept<<<blocks, kThreads>>>(values, n, limit, counts);
  CUDA_CHECK(cudaGetLastError());
  scan_counts<<<1, kScanThreads>>>(counts, warps);
  CUDA_CHECK(cudaGetLastError());
  if (version == step::in_order)
    write_in_order<false><<<blocks, kThreads>>>(values, n, limit, counts, warps, out);
  else
    write_in_order<true><<<blocks, kThreads>>>(values, n, limit, counts, warps, out);
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result compact(step version, std::span<const std::int32_t> values, std::int32_t limit) {
  const std::size_t n = values.size(), warps = warps_for(n);
  result done;
  if (n == 0) return done;
  const device_buffer device_values(values);
  device_buffer<int> out(n);
  device_buffer<count> counts(warps + 1);
  done.kernel_ms = time_kernel(
      [&] { launch(version, device_values.data(), n, limit, counts.data(), out.data()); },
      [&] { CUDA_CHECK(cudaMemset(counts.data(), 0, counts.size_bytes())); });

  count kept = 0;
  CUDA_CHECK(cudaMemcpy(&kept, counts.data() + warps, sizeof kept, cudaMemcpyDeviceToHost));
  done.kept = kept;
  done.values.resize(version == step::partition ? n : done.kept);
  CUDA_CHECK(cudaMemcpy(done.values.data(), out.data(), done.values.size() * sizeof(int),
                        cudaMemcpyDeviceToHost));
  return done;
}

}  // namespace lab::compaction
