// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Copies that threads have started and not yet waited for.

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

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

void finish(const async_copy& c, look_at look) {
  constexpr std::size_t kPiece = 16;
  char* const to = static_cast<char*>(c.to);
  const char* const from = static_cast<const char*>(c.from);
  for (std::size_t at = kPiece * c.rank; at < c.bytes; at += kPiece * c.ranks) {
    const std::size_t bytes = std::min(c.bytes - at, kPiece);
    if (look != nullptr) {
      look(from + at, bytes, 0, kOfThread, c.file, c.line);
      look(to + at, bytes, 1, kOfThread, c.file, c.line);
    }
    std::memcpy(to + at, from + at, bytes);
  }
  if (c.zeros == 0) return;
  if (look != nullptr) look(to + c.bytes, c.zeros, 1, kOfThread, c.file, c.line);
  std::memset(to + c.bytes, 0, c.zeros);
}

}  // namespace

void start_async_copy(const async_copy& copy) {
  if (!inside_kernel()) return finish(copy, nullptr);
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
  while (done < mine.waiting.size() && mine.waiting[done].batch + but < mine.committed)
    finish(mine.waiting[done++].copy, look);
  mine.waiting.erase(mine.waiting.begin(),
                     mine.waiting.begin() + static_cast<std::ptrdiff_t>(done));
}

}  // namespace cpu_device
