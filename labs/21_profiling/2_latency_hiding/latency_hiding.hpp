// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.2 latency_hiding: the contract. What the program and the tests expect of latency_hiding.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::latency_hiding {

/// How many values the program adds up, and how many rounds the arithmetic has, on the CPU device
/// and on a GPU, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 17;
inline constexpr std::size_t kDefaultGpuSize = std::size_t{1} << 27;
inline constexpr unsigned kDefaultRounds = 8, kDefaultGpuRounds = 4096;

// --- kernels with a chosen amount of work in flight ----------------------------------------------

/// How many elements a thread works on at the same time: so many loads are under way, and so many
/// chains of operations do not depend on each other.
enum class step {
  one,    ///< a thread has one load, or one chain of multiply-adds, in flight
  two,    ///< two loads or chains, which do not wait for each other
  four,   ///< four
  eight,  ///< eight
};

inline constexpr unsigned in_flight(step version) {
  return version == step::one ? 1 : version == step::two ? 2 : version == step::four ? 4 : 8;
}

/// A launch: so many blocks, of so many threads each, a multiple of 32. Thread i of the grid has
/// the elements i, i + s, i + 2s, …, where s is the number of threads of the grid.
struct launch_shape {
  unsigned blocks = 1;
  unsigned threads = 32;
};

struct total {
  std::uint32_t value = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone, in milliseconds
};

/// The sum of all values, modulo 2^32. A thread starts in_flight(version) loads before it uses what
/// the first of them brings.
///
/// Throws lab::invalid_input when the shape has no blocks or more than the device allows; when its
/// threads are not a multiple of 32 from 32 to what the device allows. Throws lab::cuda_error when
/// CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: one kernel of exactly this shape, whose threads read each value once.
///
/// From: V. Volkov, Better Performance at Lower Occupancy, GPU Technology Conference 2010.
total sum(step version, std::span<const std::uint32_t> values, const launch_shape& shape);

/// One round is y = kScale * y + kShift, rounded once, as in 21.1.
inline constexpr float kScale = 1.0001F, kShift = 0.001F;

struct advanced {
  std::vector<float> values;  ///< as long as the input
  float kernel_ms = 0;
};

/// Each element after `rounds` rounds. A thread takes in_flight(version) of its elements at a time
/// through all rounds; the round of one does not wait for those of the others. All steps give the
/// same bits.
///
/// Throws as sum().
///
/// Requires: one kernel of exactly this shape, which reads each element once and writes it once.
///
/// From: as sum().
advanced advance(step version, std::span<const float> values, unsigned rounds,
                 const launch_shape& shape);

struct journey {
  std::uint32_t end = 0;
  float kernel_ms = 0;
};

/// Where a single thread arrives that begins at element 0 and hops to next[0], from there to
/// next[next[0]], and so on, `hops` times. No load can begin before the one before it has ended, so
/// kernel_ms / hops is the latency of a load.
///
/// Throws lab::invalid_input when `next` is empty, or an element of it is no index of `next`;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: one kernel of one thread, which reads one element for each hop.
///
/// From: L. McVoy, C. Staelin, lmbench: Portable Tools for Performance Analysis, USENIX 1996.
journey chase(std::span<const std::uint32_t> next, unsigned hops);

// --- occupancy -----------------------------------------------------------------------------------

/// What a multiprocessor has, and in which units it is given out. The values here are those of
/// compute capability 9.0.
struct multiprocessor {
  unsigned warps = 64;              ///< that can be resident
  unsigned blocks = 32;             ///< that can be resident
  unsigned registers = 65536;       ///< of 32 bits
  unsigned register_unit = 256;     ///< a warp gets a multiple of so many registers
  unsigned parts = 4;               ///< each has 1 / parts of the registers, and whole warps
  std::size_t shared = 228 * 1024;  ///< bytes of shared memory
  std::size_t shared_of_block = 227 * 1024;  ///< the most that a block may ask for
  std::size_t shared_reserved = 1024;        ///< bytes that CUDA adds for each block
  std::size_t shared_unit = 128;             ///< a block gets a multiple of so many bytes
};

/// What a block of a kernel needs.
struct block_needs {
  unsigned threads = 32;
  unsigned registers = 0;  ///< of a thread
  std::size_t shared = 0;  ///< bytes of shared memory, static and dynamic together
};

/// How many blocks can be resident on a multiprocessor at the same time.
struct occupancy {
  unsigned by_blocks = 0, by_warps = 0, by_registers = 0, by_shared = 0;  ///< if only that counted
  unsigned blocks = 0;                                                    ///< the least of the four
  double share = 0;  ///< resident warps, of those that there could be
};

/// - A block has whole warps: 33 threads are 2.
/// - A warp's registers are 32 times those of a thread, rounded up to register_unit. Each part of
///   the multiprocessor takes as many warps as fit into its registers. Without registers, they are
///   no limit: by_registers is limits.blocks then.
/// - A block's shared memory and shared_reserved, added up and then rounded up to shared_unit.
///   by_shared is 0 if the block asks for more than shared_of_block, and limits.blocks if the sum
///   is 0.
///
/// Throws lab::invalid_input when the block has no threads.
///
/// From: the CUDA C++ Programming Guide, compute capabilities; cuda_occupancy.h of the CUDA
/// toolkit.
occupancy resident_blocks(const block_needs& needs, const multiprocessor& limits);

/// Two kernels to ask about.
enum class subject {
  sum_of_four,     ///< the one of sum(step::four)
  many_registers,  ///< a given one, which keeps many floats in registers
};

/// What CUDA says about a kernel in blocks of `threads` threads with `dynamic_shared` bytes of
/// dynamic shared memory.
struct answer {
  block_needs needs;      ///< its registers and its static shared memory: cudaFuncGetAttributes
  multiprocessor limits;  ///< those of the current device
  unsigned blocks = 0;    ///< cudaOccupancyMaxActiveBlocksPerMultiprocessor
};

/// The answer. For more than 48 KiB of dynamic shared memory the kernel has to be allowed so much
/// first (cudaFuncSetAttribute).
///
/// Throws lab::invalid_input when `threads` is not from 1 to what the device allows in a block, or
/// dynamic_shared is more than a block may ask for; lab::cuda_error when CUDA reports an error.
///
/// From: the CUDA C++ Programming Guide, "Occupancy Calculator".
answer ask_runtime(subject kernel, unsigned threads, std::size_t dynamic_shared);

// --- Little's law --------------------------------------------------------------------------------

/// Loads that are under way on the whole device: `warps` warps, each of whose lanes has `loads`
/// loads of `bytes_of_load` bytes in flight.
double bytes_in_flight(double warps, unsigned loads, unsigned bytes_of_load);

/// What these bring, in bytes per second: all of them once in every latency, but no more than the
/// bandwidth (in bytes per second).
///
/// Throws lab::invalid_input unless all three are positive and finite.
///
/// From: J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9(3), 1961.
double predicted_rate(double in_flight_bytes, double latency_ns, double bandwidth);

/// The fewest warps of the whole device with which the bandwidth is reached.
///
/// Throws lab::invalid_input when loads or bytes_of_load is 0, or unless the other two are positive
/// and finite.
///
/// From: as predicted_rate().
double warps_needed(double bandwidth, double latency_ns, unsigned loads, unsigned bytes_of_load);

}  // namespace lab::latency_hiding
