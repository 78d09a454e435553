// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.1 mpi_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <span>

#include "lab/dot_reference.hpp"

namespace lab::mpi_dot {

/// The dot product in double, on the host.
inline double reference(std::span<const float> x, std::span<const float> y) {
  return dot_in_double(x, y);
}

/// How far a result may be from the reference, on any number of ranks.
///
/// With 1024 threads or more on each rank (fewer only where each has a single product), a thread
/// adds at most n / 1024 products in float, rounded up. 32 more roundings cover the rest: the
/// product's own, and the levels of the tree (10 for a block of 1024 threads). The sums of blocks
/// and of ranks are added in double. More ranks only mean more threads.
inline double error_bound(std::span<const float> x, std::span<const float> y) {
  return dot_error_bound(x, y, std::ceil(static_cast<double>(x.size()) / 1024) + 32);
}

}  // namespace lab::mpi_dot
