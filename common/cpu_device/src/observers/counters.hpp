// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Counts what the accesses of a warp cost on a GPU: sectors, wavefronts, turns of atomics.
// Internal to the CPU device; cpu_device.h has what programs use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/engine.hpp"

namespace cpu_device {

/// Whether accesses are counted. Changes only while no kernel runs.
extern bool counting_accesses;

/// One lane's access to shared memory, device memory or a variable of the program; called by the
/// check build while a kernel runs. `place`: distance of the instruction from the program's begin.
/// `in_parts`: its alignment is not known to be that of its size.
/// Allocates nothing and locks nothing: the block may be given up at any moment.
void count_access(const worker& w, std::uintptr_t address, std::size_t size, bool write,
                  bool atomic, bool in_parts, bool shared, std::uint32_t place);

/// A worker has done its share of a launch: adds what it counted to the totals.
void add_to_totals(const worker& w);

}  // namespace cpu_device
