// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build: the shared memory of another block of the cluster. Accesses to it are remembered
// beside the cells of the block that owns it, which only that block touches. The two are compared
// when the owner passes a barrier of the cluster, or leaves. Internal to the CPU device; linked
// only into programs whose kernels are watched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "observers/race_check.hpp"

namespace cpu_device::check {

/// An access outside of the block's own memory: false if that is no shared memory of the cluster.
/// Elements past the end of dynamic shared memory are for the caller to refuse: `own` is where the
/// access would be in the block's own.
bool find_remote_access(const worker& w, std::uintptr_t address, remote_shared& found);
void look_at_remote(worker& w, thread_times& times, const remote_shared& where, std::size_t size,
                    access now, std::uint8_t flags);

/// The running block passes a barrier of its cluster, or leaves it: compares. `own_cell` is that of
/// an address in its own shared memory.
void compare_with_remote(worker& w, thread_times& times, bool leaves,
                         const std::function<const cell&(std::uintptr_t)>& own_cell);

}  // namespace cpu_device::check
