// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Bulk copies between global and shared memory, which a GPU's copy engine (TMA) makes, and the
// barriers that count their bytes.
//
// A copy is done as late as CUDA allows: when a thread waits for its barrier or for its group. So
// an earlier read finds the old values, and the check build finds a race with the thread that has
// waited. A block that ends before a thread has waited is reported.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_device/async_copy.h"
#include "cpu_device/atomics.h"
#include "cpu_device/kernel_functions.h"

struct CUtensorMap_st;

namespace cpu_device {

struct bulk_copy {
  void* shared = nullptr;
  void* global = nullptr;  ///< null: `map` says where
  std::uint32_t bytes = 0;
  bool to_global = false;
  std::uint64_t* barrier = nullptr;  ///< that counts the bytes; null: the copy is of a group
  const CUtensorMap_st* map = nullptr;
  unsigned rank = 0;
  int at[5] = {};  ///< the box's first element
  const char* file = nullptr;
  int line = 0;
  // For the engine.
  unsigned thread = 0, group = 0;
  // The map as it was at the start: the thread may have returned when the copy is done, and its
  // parameters with it. On a GPU, those of a grid stay while the grid runs.
  std::uint64_t kept_map[16] = {};
};

/// Checks the copy and keeps it for later. The check build takes its destination for written from
/// now on.
void start_bulk_copy(const bulk_copy& copy, look_at look);
inline void start_bulk_copy(const bulk_copy& copy) {
  start_bulk_copy(copy, &cpu_device_look_at_call);
}
/// The next copy of this barrier, if there is one.
bool take_bulk_copy(const std::uint64_t* barrier, bulk_copy& copy);
void do_bulk_copy(const bulk_copy& copy, look_at look);
/// The calling thread's copies since the last call are a group.
void commit_bulk_group();
/// Does the calling thread's groups but the last `but` ones.
void finish_bulk_groups(unsigned but, look_at look);

/// A barrier that waits for arrivals and for bytes to be copied, phase by phase: cuda::barrier, and
/// PTX's mbarrier. It is a word: 20 bits for the arrivals still missing in this phase, 20 for those
/// expected in each phase, 21 for the bytes still to come (plus 2^20, since they may come before
/// they are expected), and 3 for the phase.
namespace phases {

constexpr std::uint64_t kMost = (1U << 20) - 1, kNoBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kNobodys = ~std::uint64_t{0};  // as shared memory is at first

inline std::uint64_t pending(std::uint64_t word) { return word & kMost; }
inline std::uint64_t expected(std::uint64_t word) { return word >> 20 & kMost; }
inline std::uint64_t biased_bytes(std::uint64_t word) { return word >> 40 & 0x1fffffU; }
inline unsigned phase(std::uint64_t word) { return static_cast<unsigned>(word >> 61); }
inline std::uint64_t in_phase(unsigned phase, std::uint64_t expected) {
  return std::uint64_t{phase & 7U} << 61 | kNoBytes << 40 | expected << 20 | expected;
}
inline std::uint64_t now(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

inline void check_initialised(const std::uint64_t* word, const char* file, int line) {
  if (__atomic_load_n(word, __ATOMIC_RELAXED) == kNobodys)
    refuse(
        "this cuda::barrier was never initialised. Try: init(&barrier, blockDim.x) in one thread, "
        "and then __syncthreads().",
        file, line);
}

inline void start(std::uint64_t* word, std::uint64_t expected) {
  __atomic_store_n(word, in_phase(0, expected), __ATOMIC_RELEASE);
}

/// Ends the phase if no arrival and no byte is missing.
template <class Completion>
void end_if_complete(std::uint64_t* word, std::uint64_t state, Completion completion) {
  if (pending(state) != 0 || biased_bytes(state) != kNoBytes) return;
  completion();
  const std::uint64_t all = expected(__atomic_load_n(word, __ATOMIC_RELAXED));
  __atomic_store_n(word, in_phase(phase(state) + 1, all), __ATOMIC_RELEASE);
}

/// Returns the state before.
template <class Completion>
std::uint64_t arrive(std::uint64_t* word, std::uint64_t count, Completion completion,
                     const char* file, int line) {
  check_initialised(word, file, line);
  const std::uint64_t before = __atomic_fetch_sub(word, count, __ATOMIC_ACQ_REL);
  if (pending(before) < count)
    refuse("more threads arrive at this cuda::barrier than it was initialised for.", file, line);
  end_if_complete(word, before - count, completion);
  return before;
}
inline void drop(std::uint64_t* word) {
  __atomic_fetch_sub(word, std::uint64_t{1} << 20, __ATOMIC_RELAXED);
}
inline void expect_bytes(std::uint64_t* word, std::uint64_t bytes, const char* file, int line) {
  check_initialised(word, file, line);
  const std::uint64_t before = __atomic_fetch_add(word, bytes << 40, __ATOMIC_ACQ_REL);
  if (bytes > kMost || biased_bytes(before) + bytes > kNoBytes + kMost)
    refuse("a barrier counts at most 1,048,575 bytes in a phase, and more are expected.", file,
           line);
}

/// Does the copies that the barrier waits for. False if there are none.
inline bool copy_what_is_missing(std::uint64_t* word) {
  bulk_copy copy;
  bool any = false;
  while (progress.copies != nullptr && take_bulk_copy(word, copy)) {
    do_bulk_copy(copy, &cpu_device_look_at_call);
    const std::uint64_t bytes = std::uint64_t{copy.bytes} << 40;
    const std::uint64_t before = __atomic_fetch_sub(word, bytes, __ATOMIC_ACQ_REL);
    end_if_complete(word, before - bytes, [] {});
    any = true;
  }
  return any;
}

/// A thread that waits lets others run.
inline void wait_a_moment(const std::uint64_t* word, const char* file, int line) {
  if (copy_what_is_missing(const_cast<std::uint64_t*>(word))) return;
  const std::uint64_t state = now(word);
  if (pending(state) == 0 && biased_bytes(state) > kNoBytes)
    yield(file, line,
          "cuda::barrier (for bytes that no bulk copy brings: more are expected than copied)");
  else if (pending(state) == 0 && biased_bytes(state) < kNoBytes)
    yield(file, line, "cuda::barrier (which got more bytes than were expected)");
  else
    spin_pause(file, line);
}

}  // namespace phases
}  // namespace cpu_device
