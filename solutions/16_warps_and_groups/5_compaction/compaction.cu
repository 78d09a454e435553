// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.5 compaction: keep the elements that satisfy a condition; each lane computes its index.
// Edit:  this file, from TODO(1) to TODO(5). compaction.hpp has the contract.
// Run:   scripts/lab run 16.5 -- --step any_order     (then in_order, partition)
// Test:  scripts/lab test 16.5
// Hints: scripts/lab hint 16.5                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::compaction {
namespace {

// --- votes ---------------------------------------------------------------------------------------

/// How many of the lanes before this one are in the mask `kept`.
__device__ unsigned kept_before(unsigned kept) {
  // TODO(1): a mask of the lanes before this one, and __popc, which counts bits.
  // BEGIN SOLUTION
  // STUB: return kept;
  const unsigned lane = threadIdx.x % kLanes;
  return __popc(kept & ((1U << lane) - 1));
  // END SOLUTION
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
  // TODO(2): this warp's share, 32 elements at a time, one per lane. The lanes vote (__ballot_sync)
  //          whether to keep their elements: lanes beyond the end have none. One lane reserves
  //          space for all, with one atomicAdd, and tells the others its start (__shfl_sync).
  //          All lanes of the warp take part in every vote and every shuffle.
  // BEGIN SOLUTION
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  for (std::size_t begin = mine.begin; begin < mine.end; begin += kLanes) {
    const std::size_t i = begin + lane;
    const int value = i < mine.end ? values[i] : 0;
    const bool keep = i < mine.end && value < limit;
    const unsigned kept = __ballot_sync(kAllLanes, keep);
    if (kept == 0) continue;  // the same for all lanes
    count position = 0;
    if (lane == 0) position = atomicAdd(total, static_cast<count>(__popc(kept)));
    position = __shfl_sync(kAllLanes, position, 0);  // outside the if: all lanes take part
    if (keep) out[position + kept_before(kept)] = value;
  }
  // END SOLUTION
}

// --- in_order: count, scan, write ----------------------------------------------------------------

/// counts[w]: how many elements warp w keeps.
__global__ void count_kept(const int* values, std::size_t n, int limit, count* counts) {
  // TODO(3): this warp's share again. One lane writes the number; a warp without elements writes
  //          none.
  // BEGIN SOLUTION
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  unsigned kept = 0;
  for (std::size_t begin = mine.begin; begin < mine.end; begin += kLanes) {
    const std::size_t i = begin + lane;
    kept += __popc(__ballot_sync(kAllLanes, i < mine.end && values[i] < limit));
  }
  if (lane == 0 && mine.begin < mine.end) counts[mine.warp] = kept;
  // END SOLUTION
}

/// Writes the kept elements to `out` in their order. first[w] is where those of warp w begin, and
/// first[warps] is their total number. With kPartition the other elements follow them.
template <bool kPartition>
__global__ void write_in_order(const int* values, std::size_t n, int limit, const count* first,
                               std::size_t warps, int* out) {
  // TODO(4): like count_kept, but each lane with an element to keep writes it.
  //          Invariant: before each round, `position` is the number of elements kept before the
  //          round's first one, in the whole array.
  // TODO(5): if kPartition, the others. How many of them are before element i, if `before` elements
  //          before it are kept?
  // BEGIN SOLUTION
  const share mine = share_of_warp(n);
  const unsigned lane = threadIdx.x % kLanes;
  count position = mine.begin < mine.end ? first[mine.warp] : 0;
  for (std::size_t begin = mine.begin; begin < mine.end; begin += kLanes) {
    const std::size_t i = begin + lane;
    const int value = i < mine.end ? values[i] : 0;
    const bool keep = i < mine.end && value < limit;
    const unsigned kept = __ballot_sync(kAllLanes, keep);
    const count before = position + kept_before(kept);
    if (keep)
      out[before] = value;
    else if (kPartition && i < mine.end)
      out[first[warps] + (i - before)] = value;
    position += __popc(kept);
  }
  // END SOLUTION
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
    // BEGIN SOLUTION
    // STUB: throw not_written("step any_order", 1);  // 1 and 2
    keep_in_any_order<<<blocks, kThreads>>>(values, n, limit, out, counts + warps);
    // END SOLUTION
  } else {
    // BEGIN SOLUTION
    // STUB: throw not_written(version == step::in_order ? "step in_order" : "step partition",
    // STUB:                   version == step::in_order ? 3 : 5);  // 3 and 4; then 5
    count_kept<<<blocks, kThreads>>>(values, n, limit, counts);
    scan_counts<<<1, kScanThreads>>>(counts, warps);
    CUDA_CHECK(cudaGetLastError());  // of both: the next kernel uses the counts as indices
    if (version == step::in_order)
      write_in_order<false><<<blocks, kThreads>>>(values, n, limit, counts, warps, out);
    else
      write_in_order<true><<<blocks, kThreads>>>(values, n, limit, counts, warps, out);
    // END SOLUTION
  }
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
