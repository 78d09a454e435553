// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 02.2 copy_rates: the contract. What the program and the tests expect of copy_rates.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::copy_rates {

/// Bytes of the program's largest copy unless it is told otherwise: the book's.
inline constexpr std::size_t kDefaultSize = std::size_t{40} << 20;

/// The kind of host memory that is copied from or to.
enum class memory {
  pageable,  ///< ordinary memory: a std::vector, new, malloc
  pinned,    ///< memory that stays where it is, from cudaHostAlloc
};

enum class direction { to_device, to_host };

struct result {
  std::vector<std::uint8_t> arrived;  ///< what is at the destination when all copies are done
  bool pinned = false;                ///< what CUDA says of the host's memory
  float milliseconds = 0;             ///< the time of one copy, by events: the mean over all copies
};

/// Copies `bytes` from the host's memory to the device's, or the other way round, `copies` times
/// with cudaMemcpy. The source holds the bytes before the first copy; allocating, filling and
/// freeing is not in the time. If there are no bytes, nothing is copied, in 0 ms.
///
/// Throws lab::invalid_input for 0 copies; lab::cuda_error when CUDA reports an error. Neither
/// leaves memory behind, on the device or pinned.
///
/// Requires: as many copies as were asked for, from or to memory of the kind that was asked for.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 10.2; the Kazan course on CUDA programming
/// technology, chapter 3.
result copy(memory host_memory, direction dir, std::span<const std::uint8_t> bytes,
            unsigned copies = 1);

/// The rate in GB/s, of 10^9 bytes each, at which `bytes` are copied in `milliseconds`. Where the
/// time is not above 0, nothing can be said, and the result is 0.
double gigabytes_per_second(std::size_t bytes, double milliseconds);

}  // namespace lab::copy_rates
