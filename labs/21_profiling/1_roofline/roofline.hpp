// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: the contract. What the program and the tests expect of roofline.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::roofline {

/// How many elements the program works on, on the CPU device and on a GPU, and the most rounds that
/// it measures, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = std::size_t{1} << 16;
inline constexpr std::size_t kDefaultGpuSize = std::size_t{1} << 26;
inline constexpr unsigned kDefaultRounds = 256;

// --- a kernel of any arithmetic intensity --------------------------------------------------------

/// How the elements are spread over threads.
enum class step {
  one_element,    ///< a thread has one element
  four_elements,  ///< a thread has four neighbours: a 16-byte load, four chains of operations
};

/// One round is y = kScale * y + kShift, rounded once: a fused multiply-add (FMA), 2 operations.
inline constexpr float kScale = 1.0001F, kShift = 0.001F;

struct result {
  std::vector<float> values;  ///< as long as the input
  float kernel_ms = 0;        ///< the time of the kernel alone, in milliseconds
};

/// Each element after `rounds` rounds. Without rounds that is a copy. An FMA has one right result,
/// so all bits are the same, whoever computes them.
///
/// Throws lab::invalid_input when there are more elements than a grid of one_element has threads;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: one kernel, whose threads share the elements. It reads each element once from global
/// memory and writes it once, however many rounds there are. four_elements: loads of 16 bytes.
///
/// From: S. Williams, A. Waterman, D. Patterson, Roofline: An Insightful Visual Performance Model
/// for Multicore Architectures, Communications of the ACM 52(4), 2009. A kernel of adjustable
/// intensity that measures the roof: Y. J. Lo and others, Roofline Model Toolkit: A Practical Tool
/// for Architectural and Program Analysis, PMBS 2014.
result apply(step version, std::span<const float> values, unsigned rounds);

// --- the model -----------------------------------------------------------------------------------

/// What a kernel does: floating-point operations, and bytes that global memory reads plus writes.
struct work {
  double operations = 0;
  double bytes = 0;
};

/// What apply() does with n elements, at least: 2 operations a round, one read and one write of
/// each element.
///
/// From: as apply().
work work_of(std::size_t n, unsigned rounds);

/// Kernels of this course.
enum class course {
  vector_add,     ///< 03.1, n floats: c = a + b
  dot_product,    ///< 05.1, n floats: a multiplication and an addition for each pair
  heat_transfer,  ///< 08.4, n cells, one time step: 7 operations; two floats read, one written
  tile_16,        ///< 06.5, n x n matrices: tiles of 16 x 16
  tile_32,        ///< 06.5, tiles of 32 x 32
  tile_128,       ///< 06.5, tiles of 128 x 128 (double_buffered)
};

/// What a kernel of this course does at least. A product of n x n matrices has 2 n³ operations.
/// With tiles of t x t, both its matrices are read n / t times. The n² floats that it writes are
/// few beside that, and are left out.
///
/// From: the chapters 03, 05, 06 and 08.
work least_work(course kernel, std::size_t n);

/// The roof: bytes and floating-point operations per second.
struct ceilings {
  double bytes_per_second = 0;
  double operations_per_second = 0;
};

/// A kernel that was timed; in milliseconds.
struct measurement {
  work done;
  double ms = 0;
};

/// The highest rate of bytes, and the highest rate of operations, that any of the kernels reached.
/// They may be of different kernels.
///
/// Throws lab::invalid_input when there is no kernel with operations or none with bytes; when a
/// number of `work` is negative or not finite; when a time is not positive or not finite.
///
/// From: as apply().
ceilings roof_of(std::span<const measurement> kernels);

enum class bound { memory, arithmetic };

/// Where a kernel is under the roof.
struct point {
  double intensity = 0;           ///< operations per byte; infinite without bytes
  bound limit = bound::memory;    ///< which of the two ceilings is the lower one at this intensity
  double most_per_second = 0;     ///< operations per second at this place of the roof
  double reached_per_second = 0;  ///< operations per second; 0 if the kernel was not timed
  double least_ms = 0;            ///< a kernel at the roof takes so long
  double share = 0;               ///< least_ms / ms; 0 if the kernel was not timed
};

/// The place of a kernel that did this work in `ms` milliseconds. 0: it was not timed.
///
///     most_per_second = min(operations_per_second, intensity * bytes_per_second)
///
/// Where both ceilings are equal, at the ridge, the limit is bound::arithmetic. A kernel without
/// operations, such as a copy, has a share as well: that of the ceiling of bytes.
///
/// Throws lab::invalid_input when a number of `done` is negative or not finite, or both are 0; when
/// a ceiling is not positive or not finite; when ms is negative or not finite.
///
/// From: as apply().
point locate(const work& done, double ms, const ceilings& roof);

}  // namespace lab::roofline
