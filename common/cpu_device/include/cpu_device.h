// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the CPU device offers beyond CUDA: thread orders, what is still allocated, its reports.
#pragma once

#include <cstddef>
#include <string>

namespace cpu_device {

/// The order in which the threads of a block (and the blocks of a grid) take their turns.
/// A kernel with a missing barrier is often right in one order and wrong in another.
enum class thread_order { forward, reverse, random };

/// Holds for the launches that follow. The environment variable CPU_DEVICE_ORDER
/// (forward, reverse, random or random:SEED) sets the first one.
void set_thread_order(thread_order order, unsigned seed = 0);

/// How asynchronous work is run: `eager` at once, `deferred` as late as CUDA allows, so that a
/// missing synchronisation shows. CPU_DEVICE_STREAMS (eager, deferred) sets the first one.
enum class stream_policy { eager, deferred };
void set_stream_policy(stream_policy policy);

/// Device, managed and pinned host allocations that have not been freed, over all devices.
std::size_t live_allocations();
std::size_t live_bytes();

/// Streams and events that have not been destroyed, over all devices.
std::size_t live_streams();
std::size_t live_events();

/// How many OS threads run blocks. CPU_DEVICE_WORKERS sets it; otherwise the cores we may use.
unsigned worker_count();

/// Reports are the mistakes that the CPU device found in a program (a barrier that not all
/// threads reach, an access outside an allocation, a race ...). They are printed to stderr.
std::size_t report_count();
std::string last_report();

}  // namespace cpu_device
