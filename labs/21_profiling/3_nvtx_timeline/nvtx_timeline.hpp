// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.3 nvtx_timeline: the contract. What the program and the tests expect of nvtx_timeline.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::nvtx_timeline {

/// What the program works on, on the CPU device and on a GPU, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 16, kDefaultChunk = 1 << 13;
inline constexpr std::size_t kDefaultGpuSize = std::size_t{20} << 20, kDefaultGpuChunk = 1 << 20;

// --- a program that can be read in a timeline ----------------------------------------------------

enum class step {
  one_stream,   ///< 11.2, one_stream
  two_streams,  ///< 11.2, breadth_first
};

struct result {
  std::vector<int> c;
  float total_ms = 0;  ///< from the first copy to the device to the last copy back, by the device
};

/// 11.2's averages of neighbours, in chunks, with ranges and names for a timeline. What is computed
/// is two_streams::process(), and so are the refusals.
///
/// Ranges, by nvtxRangePush and nvtxRangePop, where those further right are inside of the one
/// above:
///
///     process
///         prepare      the input is checked, memory is allocated, streams are made and named
///         queue        all work is put into the streams
///             chunks 0, chunks 1, …     one for each turn
///         wait         the host waits for the streams
///         fetch        the result is copied out of pinned memory
///
/// A turn is one chunk with one_stream, and two chunks with two_streams (the second one may be
/// empty). Nothing else is a range, and for no elements there is only "process" with "prepare" in
/// it. Every range ends, whatever is thrown. The streams are called "stream 0" and "stream 1" (with
/// one_stream only the first one is used, and named). Memory is freed in "fetch" or, after it, in
/// "process".
///
/// Throws lab::invalid_input when the lengths differ, or when chunk is 0 or not a multiple of 256;
/// lab::cuda_error when CUDA reports an error. Neither leaves memory, pinned memory, a stream or an
/// event behind.
///
/// Requires: these ranges and names, with the calls of CUDA inside of them; pinned memory,
/// cudaMemcpyAsync and kernels in one or two streams of your own.
///
/// From: the documentation of NVTX, https://nvidia.github.io/NVTX. The work: J. Sanders, E.
/// Kandrot, CUDA by Example, 10.5 and 10.7.
result process(step version, std::span<const int> a, std::span<const int> b, std::size_t chunk);

// --- what the timeline says ----------------------------------------------------------------------

enum class activity { copy_to_device, kernel, copy_to_host };

/// Something that a device did, from begin_ns up to, but not including, end_ns.
struct interval {
  activity kind = activity::kernel;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// How long the device did what; all in nanoseconds, and exact.
struct utilization {
  std::int64_t span = 0;       ///< from the first begin to the last end
  std::int64_t copying = 0;    ///< at least one copy runs
  std::int64_t computing = 0;  ///< at least one kernel runs
  std::int64_t overlap = 0;    ///< at least one copy and at least one kernel run
  std::int64_t both_ways = 0;  ///< copies to the device and copies to the host run
  std::int64_t idle = 0;       ///< nothing runs, within the span
  std::int64_t longest_idle =
      0;  ///< the longest time without an interruption in which nothing runs
};

/// The utilization that the intervals show. They come in any order, and may overlap, touch, be
/// equal, or lie inside each other. An empty one, whose begin is its end, counts for the span only:
/// it does not interrupt a time in which nothing runs. Without intervals, all is 0.
///
/// Throws lab::invalid_input when an interval begins before 0, or ends before it begins.
///
/// From: a sweep over the ends of intervals: F. Preparata, M. Shamos, Computational Geometry, 1985,
/// 8.3 (Klee's measure).
utilization measure(std::span<const interval> intervals);

}  // namespace lab::nvtx_timeline
