// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a worker's device was given to do, on its way to the test that judges it.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "codec.hpp"
#include "recording.hpp"

namespace wire {

/// Streams are told apart by their addresses, which are never followed.
template <>
struct codec<const void*> {
  static void put(writer& to, const void* value) {
    wire::put(to, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(value)));
  }
  static const void* get(reader& from, arena& memory) {
    return reinterpret_cast<const void*>(
        static_cast<std::uintptr_t>(wire::get<std::uint64_t>(from, memory)));
  }
};

template <class Value>
struct codec<std::map<std::string, Value>> {
  using map = std::map<std::string, Value>;
  static void put(writer& to, const map& values) {
    wire::put(to, std::vector<std::pair<std::string, Value>>(values.begin(), values.end()));
  }
  static map get(reader& from, arena& memory) {
    const auto values = wire::get<std::vector<std::pair<std::string, Value>>>(from, memory);
    return map(values.begin(), values.end());
  }
};

/// (A member that is missing here does not compile: the names have to be as many as the members.)
template <class K>
auto members_of_kernel(K& k) {
  auto& [name, blocks, threads_per_block, shared_bytes, grid_x, grid_y, block_x, block_y, device,
         stream, host_thread, of_library, barriers, barriers_of_all, grid_barriers, warp_functions,
         warp_barriers, votes, reductions, fragment_loads, multiplications, async_bytes, bulk_bytes,
         tensor_bytes, tensor_copies, copying_blocks, reads, writes, plain_writes, reads_of_data,
         shared, atomics, shared_atomics, system_atomics, fences, bytes_a_load, bytes_a_shared_load,
         atomic_places, accesses, busiest, plain, busiest_of_blocks, threads, busy_blocks,
         loading_threads, last_thread, atomic_threads, writing_threads, shared_of_busiest, fetches,
         fetching_threads, exchanges, loads_ahead, reads_while_loading, reads_of_warp,
         reads_of_warp_early, copies_under_way, shared_meanwhile, copies_meanwhile] = k;
  return std::tie(
      name, blocks, threads_per_block, shared_bytes, grid_x, grid_y, block_x, block_y, device,
      stream, host_thread, of_library, barriers, barriers_of_all, grid_barriers, warp_functions,
      warp_barriers, votes, reductions, fragment_loads, multiplications, async_bytes, bulk_bytes,
      tensor_bytes, tensor_copies, copying_blocks, reads, writes, plain_writes, reads_of_data,
      shared, atomics, shared_atomics, system_atomics, fences, bytes_a_load, bytes_a_shared_load,
      atomic_places, accesses, busiest, plain, busiest_of_blocks, threads, busy_blocks,
      loading_threads, last_thread, atomic_threads, writing_threads, shared_of_busiest, fetches,
      fetching_threads, exchanges, loads_ahead, reads_while_loading, reads_of_warp,
      reads_of_warp_early, copies_under_way, shared_meanwhile, copies_meanwhile);
}
template <class W>
auto members_of_work(W& w) {
  return std::tie(w.kernels, w.copies, w.device_memory, w.host_memory, w.pinned, w.calls,
                  w.sequence, w.named_streams, w.host_threads, w.stream_ordered, w.in_streams,
                  w.not_accessed, w.host_atomics, w.host_plain, w.costs, w.received_by_mpi,
                  w.watched, w.pretended_kernels, w.pretended_copies, w.pretended_memsets,
                  w.threads_of);
}
inline auto members_of(const lab::testing::recorded_work::kernel& k) {
  return members_of_kernel(k);
}
inline auto members_of(lab::testing::recorded_work::kernel& k) { return members_of_kernel(k); }
inline auto members_of(const lab::testing::recorded_work& w) { return members_of_work(w); }
inline auto members_of(lab::testing::recorded_work& w) { return members_of_work(w); }

/// A structure whose members_of() ties them together.
template <class T>
struct tied {
  static void put(writer& to, const T& value) {
    std::apply([&](const auto&... each) { (wire::put(to, each), ...); }, members_of(value));
  }
  static T get(reader& from, arena& memory) {
    T value;
    std::apply(
        [&](auto&... each) {
          ((each = wire::get<std::remove_reference_t<decltype(each)>>(from, memory)), ...);
        },
        members_of(value));
    return value;
  }
};

template <>
struct codec<lab::testing::recorded_work::kernel> : tied<lab::testing::recorded_work::kernel> {};
template <>
struct codec<lab::testing::recorded_work> : tied<lab::testing::recorded_work> {};

}  // namespace wire
