// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Bulk copies: what is checked when they are started, and how they are done.

#include "cpu_device/bulk_copies.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/events.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"
#include "engine/bulk_copies.hpp"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

/// Those that the block running on this OS thread has started and not done, the oldest first.
struct copies_of_block {
  std::vector<bulk_copy> waiting;
  unsigned groups[kMaxThreads] = {};  // that each thread has committed
};
thread_local copies_of_block* copies = nullptr;

copies_of_block& copies_here() {
  if (copies == nullptr) {
    // On the heap: a shared library that is loaded late has little room for variables of a thread.
    static thread_local const auto mine = std::make_unique<copies_of_block>();
    copies = mine.get();
  }
  return *copies;
}

const tensor& tensor_of(const bulk_copy& copy) {
  return *reinterpret_cast<const tensor*>(copy.kept_map);
}

void remove(std::vector<bulk_copy>& waiting, std::size_t i) {
  waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
  if (waiting.empty()) progress.copies = nullptr;
}

bool is_multiple(const void* address, std::uintptr_t of) {
  return reinterpret_cast<std::uintptr_t>(address) % of == 0;
}

void check_memory(const bulk_copy& c) {
  if (find_allocation(c.shared))
    refuse(
        "A bulk copy is between global and shared memory; this one's shared address is one of "
        "global memory. Are the arguments in the order (to, from)?",
        c.file, c.line);
  if (c.global == nullptr) return;
  const auto a = find_allocation(c.global);
  if (a && static_cast<char*>(c.global) + c.bytes > a->begin + a->bytes)
    refuse(("A bulk copy of " + std::to_string(c.bytes) + " bytes goes " +
            std::to_string(static_cast<char*>(c.global) + c.bytes - (a->begin + a->bytes)) +
            " bytes past the end of " + describe(*a) + ".")
               .c_str(),
           c.file, c.line);
}

void check_tensor(bulk_copy& c) {
  const tensor& t = tensor_of(c);
  if (t.mark != tensor::kMark)
    refuse(
        "A bulk copy was given no tensor map. Try: fill one with cuTensorMapEncodeTiled() and pass "
        "it to the kernel as const __grid_constant__ CUtensorMap.",
        c.file, c.line);
  if (t.rank != c.rank)
    refuse(("A bulk copy has " + std::to_string(c.rank) + " coordinates, and its tensor map " +
            std::to_string(t.rank) + " dimensions.")
               .c_str(),
           c.file, c.line);
  if (!is_multiple(c.shared, 128))
    refuse(
        "The address in shared memory of a bulk copy with a tensor map must be a multiple of 128 "
        "bytes. Try: __shared__ alignas(128).",
        c.file, c.line);
  if (c.at[0] * static_cast<std::int64_t>(t.stride[0]) % 16 != 0)
    refuse(("The first coordinate of a bulk copy is " + std::to_string(c.at[0]) + ", which is " +
            std::to_string(c.at[0] * static_cast<std::int64_t>(t.stride[0])) +
            " bytes from the beginning of the row: no multiple of 16 bytes, and an illegal "
            "instruction "
            "on a GPU. Try: boxes that begin at such multiples, and a wider one for a border.")
               .c_str(),
           c.file, c.line);
  for (unsigned d = 0; d < t.rank && c.to_global; ++d)
    if (c.at[d] < 0)
      refuse(("A bulk copy to global memory begins at " + std::to_string(c.at[d]) +
              " in dimension " + std::to_string(d) +
              ": an illegal instruction on a GPU, which leaves out what is behind the end of the "
              "array and not what is before its beginning.")
                 .c_str(),
             c.file, c.line);
  std::uint64_t bytes = t.stride[0];
  for (unsigned d = 0; d < t.rank; ++d) bytes *= (t.box[d] + t.step[d] - 1U) / t.step[d];
  c.bytes = static_cast<std::uint32_t>(bytes);
}

/// What the check build is told: no warp's request, but an access of the thread that waited.
struct access_notes {
  const bulk_copy& c;
  look_at look;
  void operator()(const void* address, std::size_t bytes, bool write) const {
    if (look != nullptr && bytes != 0)
      look(address, bytes, write ? 1 : 0, kOfCopyEngine, c.file, c.line);
  }
};

/// A row of the box, from the place in shared memory where it would be without the swizzle: pieces
/// of 16 bytes change places within 32, 64 or 128 bytes.
template <class Move>
void for_pieces(const tensor& t, char* row, std::size_t bytes, Move move) {
  if (t.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE) return move(row, 0, bytes);
  const std::uintptr_t bits = ((1U << t.swizzle) - 1U) << 4;
  for (std::size_t at = 0; at < bytes; at += 16) {
    const auto address = reinterpret_cast<std::uintptr_t>(row + at);
    move(reinterpret_cast<char*>(address ^ (address >> 3 & bits)), at, std::size_t{16});
  }
}

void fill_outside(const tensor& t, char* row, std::size_t bytes) {
  std::memset(row, t.nan_outside ? 0xFF : 0, bytes);
  if (t.nan_outside)  // a quiet NaN without its sign
    for (std::size_t at = t.stride[0] - 1; at < bytes; at += t.stride[0]) row[at] = 0x7F;
}

/// Floats become TF32: the nearest one, ties to the even one (as an H200 does it).
void round_to_tf32(char* row, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, row + at, sizeof bits);
    if ((bits & 0x7f800000U) != 0x7f800000U) bits += 0x0fffU + (bits >> 13 & 1U);
    if ((bits & 0x7fffffffU) <= 0x7f800000U) bits &= ~0x1fffU;  // a NaN stays one
    std::memcpy(row + at, &bits, sizeof bits);
  }
}

/// The row of the box that begins at these indices of the array.
void move_row(const bulk_copy& c, const std::int64_t* index, char* shared,
              const access_notes& note) {
  const tensor& t = tensor_of(c);
  const std::size_t element = t.stride[0], count = t.box[0];
  bool inside = true;
  char* begin = t.address;
  for (unsigned d = 1; d < t.rank; ++d) {
    inside = inside && index[d] >= 0 && index[d] < std::int64_t{t.length[d]};
    begin += static_cast<std::uint64_t>(index[d]) * t.stride[d];
  }
  // The elements first .. last - 1 of the row are in the array.
  const std::int64_t before = std::max<std::int64_t>(-index[0], 0);
  const std::int64_t until = std::int64_t{t.length[0]} - index[0];
  const auto first = static_cast<std::size_t>(std::min<std::int64_t>(before, count));
  const auto last =
      inside ? static_cast<std::size_t>(std::clamp<std::int64_t>(until, 0, count)) : 0;
  char row[256 * 8];
  const auto in_memory = [&](std::size_t i) {
    return begin + (index[0] + static_cast<std::int64_t>(i)) * static_cast<std::int64_t>(element);
  };
  const auto note_global = [&] {
    if (first >= last) return;
    note(in_memory(first), (last - first) * element, c.to_global);
  };
  if (c.to_global) {
    for_pieces(t, shared, count * element, [&](char* piece, std::size_t at, std::size_t bytes) {
      note(piece, bytes, false);
      std::memcpy(row + at, piece, bytes);
    });
    note_global();
    for (std::size_t i = first; i < last; ++i)
      std::memcpy(in_memory(i), row + i * element, element);
  } else {
    note_global();
    fill_outside(t, row, count * element);
    for (std::size_t i = first; i < last; ++i)
      std::memcpy(row + i * element, in_memory(i), element);
    if (t.tf32) round_to_tf32(row, count * element);
    for_pieces(t, shared, count * element, [&](char* piece, std::size_t at, std::size_t bytes) {
      note(piece, bytes, true);
      std::memcpy(piece, row + at, bytes);
    });
  }
}

[[gnu::noinline, gnu::cold]] void publish_copy(const bulk_copy& c,
                                               void (observer::*what)(const bulk_copy_event&)) {
  worker& w = *progress.self;
  const engine_work work(w);  // an observer's code may be watched
  publish(event_kind::async_copy, what,
          {c.shared, c.bytes, c.to_global, c.rank, w.serial, c.thread});
}

void move_box(const bulk_copy& c, const access_notes& note) {
  const tensor& t = tensor_of(c);
  std::int64_t index[5] = {};
  for (unsigned d = 0; d < t.rank; ++d) index[d] = c.at[d];
  const std::size_t row_bytes = t.box[0] * t.stride[0];
  for (auto* shared = static_cast<char*>(c.shared);; shared += row_bytes) {
    move_row(c, index, shared, note);
    unsigned d = 1;
    for (; d < t.rank; ++d) {
      index[d] += t.step[d];
      if (index[d] < std::int64_t{c.at[d]} + t.box[d]) break;
      index[d] = c.at[d];
    }
    if (d >= t.rank) return;
  }
}

}  // namespace

void start_bulk_copy(const bulk_copy& given, look_at look) {
  bulk_copy c = given;
  if (c.map != nullptr) std::memcpy(c.kept_map, c.map, sizeof c.kept_map);
  if (!inside_kernel()) refuse("A bulk copy belongs into a kernel.", c.file, c.line);
  if (c.barrier != nullptr) phases::check_initialised(c.barrier, c.file, c.line);
  if (c.map != nullptr) check_tensor(c);
  if (!is_multiple(c.shared, 16) || !is_multiple(c.global, 16) || c.bytes % 16 != 0 || c.bytes == 0)
    refuse(
        "Both addresses of a bulk copy and its size must be multiples of 16 bytes, and here one is "
        "not. Try: __shared__ alignas(16), or alignas(128) for all kinds of bulk copies.",
        c.file, c.line);
  check_memory(c);
  copies_of_block& all = copies_here();
  c.thread = progress.position->linear;
  c.group = all.groups[c.thread];
  all.waiting.push_back(c);
  progress.copies = &all;
  // A GPU may write from now on, so that those who still read there race with it.
  if (!c.to_global && look != nullptr) look(c.shared, c.bytes, 1, kFromNowOn, c.file, c.line);
  if (listening(event_kind::async_copy)) [[unlikely]]
    publish_copy(c, &observer::bulk_copy_started);
}

bool take_bulk_copy(const std::uint64_t* barrier, bulk_copy& copy) {
  std::vector<bulk_copy>& waiting = copies_here().waiting;
  for (std::size_t i = 0; i < waiting.size(); ++i)
    if (waiting[i].barrier == barrier) {
      copy = waiting[i];
      remove(waiting, i);
      return true;
    }
  return false;
}

void do_bulk_copy(const bulk_copy& c, look_at look) {
  if (listening(event_kind::async_copy)) [[unlikely]]
    publish_copy(c, &observer::bulk_copy_done);
  const access_notes note{c, look};
  if (c.map != nullptr) return move_box(c, note);
  const void* const from = c.to_global ? c.shared : c.global;
  void* const to = c.to_global ? c.global : c.shared;
  note(from, c.bytes, false);
  note(to, c.bytes, true);
  std::memcpy(to, from, c.bytes);
}

void commit_bulk_group() { ++copies_here().groups[progress.position->linear]; }

void finish_bulk_groups(unsigned but, look_at look) {
  copies_of_block& all = copies_here();
  const unsigned me = progress.position->linear;
  for (std::size_t i = 0; i < all.waiting.size();) {
    const bulk_copy c = all.waiting[i];
    if (c.barrier == nullptr && c.thread == me && c.group + but < all.groups[me]) {
      remove(all.waiting, i);
      do_bulk_copy(c, look);
    } else {
      ++i;
    }
  }
}

void forget_bulk_copies() {
  if (copies == nullptr) return;
  copies->waiting.clear();
  progress.copies = nullptr;
}

void refuse_unfinished_copies(worker& w) {
  const bulk_copy& c = copies->waiting.front();
  w.problem.what = failure::kind::misuse;
  w.problem.error = cudaErrorLaunchFailure;
  w.problem.text =
      "a bulk copy that thread " + std::to_string(c.thread) + " of the block started at " +
      place(c.file, c.line) + " was still under way when the block ended.\n  Try: " +
      (c.barrier != nullptr
           ? "a wait for its barrier before shared memory is read, and before the kernel ends."
           : "cp_async_bulk_commit_group() and cp_async_bulk_wait_group_read<0>() in the thread "
             "that "
             "started it.");
  give_up_block(w);
}

}  // namespace cpu_device
