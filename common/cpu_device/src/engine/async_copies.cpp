// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Copies that threads have started and not yet waited for.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/events.hpp"
#include "cpu_device/async_copy.h"
#include "engine/engine.hpp"

namespace cpu_device {
namespace {

struct copies_of_thread {
  struct waiting_copy {
    async_copy copy;
    std::size_t batch;
  };
  std::vector<waiting_copy> waiting;  // the oldest first
  std::size_t committed = 0;          // batches
  unsigned block = 0;                 // whose thread it is
};

copies_of_thread& my_copies() {
  // On the heap: a shared library that is loaded late has little room for variables of a thread.
  static thread_local const auto all =
      std::make_unique<std::array<copies_of_thread, kMaxThreads>>();
  copies_of_thread& mine = (*all)[progress.position->linear];
  if (mine.block != progress.block_serial) {  // what a thread of another block has left
    mine.waiting.clear();
    mine.committed = 0;
    mine.block = progress.block_serial;
  }
  return mine;
}

/// Calls piece(at, bytes) for each piece of 16 bytes or less that the thread copies.
template <class Piece>
void for_pieces(const async_copy& c, const Piece& piece) {
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = kPiece * c.rank; at < c.bytes; at += kPiece * c.ranks)
    piece(at, std::min(c.bytes - at, kPiece));
}

[[gnu::noinline, gnu::cold]] void publish_copy(const async_copy& c,
                                               void (observer::*what)(const async_copy_event&)) {
  worker& w = *progress.self;
  const engine_work work(w);  // an observer's code may be watched
  const char* const to = static_cast<const char*>(c.to);
  const auto tell = [&](std::size_t at, std::size_t bytes) {
    publish(event_kind::async_copy, what, {to + at, bytes, w.serial, progress.position->linear});
  };
  for_pieces(c, tell);
  if (c.zeros != 0) tell(c.bytes, c.zeros);
}

void finish(const async_copy& c, look_at look) {
  char* const to = static_cast<char*>(c.to);
  const char* const from = static_cast<const char*>(c.from);
  for_pieces(c, [&](std::size_t at, std::size_t bytes) {
    if (look != nullptr) {
      look(from + at, bytes, 0, kOfThread, c.file, c.line);
      look(to + at, bytes, 1, kOfThread, c.file, c.line);
    }
    std::memcpy(to + at, from + at, bytes);
  });
  if (c.zeros == 0) return;
  if (look != nullptr) look(to + c.bytes, c.zeros, 1, kOfThread, c.file, c.line);
  std::memset(to + c.bytes, 0, c.zeros);
}

}  // namespace

void start_async_copy(const async_copy& copy, look_at look) {
  if (!inside_kernel()) return finish(copy, nullptr);
  // A GPU may write from now on until the wait, so that those who still read there race with it,
  // too. It is one store, which finish() tells of: no other request is counted.
  if (look != nullptr)
    for_pieces(copy, [&](std::size_t at, std::size_t bytes) {
      look(static_cast<char*>(copy.to) + at, bytes, 1, kOfCopyEngine, copy.file, copy.line);
    });
  if (listening(event_kind::async_copy)) [[unlikely]]
    publish_copy(copy, &observer::async_copy_started);
  const engine_work work(*progress.self);  // what is allocated here is not the kernel's
  copies_of_thread& mine = my_copies();
  mine.waiting.push_back({copy, mine.committed});
}

void commit_async_copies() {
  if (inside_kernel()) ++my_copies().committed;
}

void finish_async_copies(std::size_t but, look_at look) {
  if (!inside_kernel()) return;
  copies_of_thread& mine = my_copies();
  std::size_t done = 0;
  while (done < mine.waiting.size() && mine.waiting[done].batch + but < mine.committed) {
    const async_copy& copy = mine.waiting[done++].copy;
    finish(copy, look);
    if (listening(event_kind::async_copy)) [[unlikely]]
      publish_copy(copy, &observer::async_copy_done);
  }
  mine.waiting.erase(mine.waiting.begin(),
                     mine.waiting.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace cpu_device
