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

/// How asynchronous work is run. `eager`: at once. `deferred`: as late as CUDA allows, so that a
/// missing synchronisation shows. `interleaved`: late, too, and then one piece of work of each
/// stream in turn, as far as CUDA allows, so that it shows when two streams use the same memory.
/// CPU_DEVICE_STREAMS (eager, deferred, interleaved) sets the first one.
enum class stream_policy { eager, deferred, interleaved };
void set_stream_policy(stream_policy policy);

/// Device, managed and pinned host allocations that have not been freed, over all devices.
std::size_t live_allocations();
std::size_t live_bytes();

/// How many OS threads run blocks. CPU_DEVICE_WORKERS sets it; otherwise the cores we may use.
unsigned worker_count();

/// Reports are the mistakes that the CPU device found in a program (a barrier that not all
/// threads reach, an access outside an allocation, a race ...). They are printed to stderr.
std::size_t report_count();
std::string last_report();

}  // namespace cpu_device
