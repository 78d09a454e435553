// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: what single_stream.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"
#include "single_stream.hpp"

namespace lab::single_stream {

struct host_arrays {
  const int* a;
  const int* b;
  int* c;
};
struct device_arrays {
  int* a;
  int* b;
  int* c;
};

/// A copy of pageable memory is not asynchronous: cudaMemcpyAsync then waits, and says nothing.
inline void require_pinned(const int* memory) {
  cudaPointerAttributes attributes{};
  CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
  if (attributes.type != cudaMemoryTypeHost)
    throw std::logic_error(
        "single_stream: allocate_pinned() gave memory that is not pinned; copies of it would not "
        "be asynchronous");
}

/// process() with the functions of single_stream.cu and its class of streams.
template <class Stream, class Allocate, class EnqueueAll, class Finish>
result host_part_of_process(const Allocate& allocate_pinned, const EnqueueAll& enqueue_all,
                            const Finish& finish, std::span<const int> a, std::span<const int> b,
                            std::size_t chunk) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "single_stream: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  refuse_if(chunk == 0 || chunk % kGroup != 0, "single_stream: a chunk of ", chunk,
            " elements is not a positive multiple of ", kGroup);
  if (n == 0) return {};
  chunk = std::min(chunk, (n + kGroup - 1) / kGroup * kGroup);  // no more memory than there is use

  const auto host_a = allocate_pinned(n);
  const auto host_b = allocate_pinned(n);
  const auto host_c = allocate_pinned(n);
  for (const int* memory : {host_a.get(), host_b.get(), host_c.get()}) require_pinned(memory);
  std::copy(a.begin(), a.end(), host_a.get());
  std::copy(b.begin(), b.end(), host_b.get());
  std::fill_n(host_c.get(), n, -1);  // not an older result, which may be right by chance

  device_buffer<int> device_a(chunk);
  device_buffer<int> device_b(chunk);
  device_buffer<int> device_c(chunk);

  const Stream queue;  // made last, so destroyed first: before the memory that its work uses
  event_timer timer;
  timer.start(queue.get());
  enqueue_all(queue.get(), {host_a.get(), host_b.get(), host_c.get()},
              {device_a.data(), device_b.data(), device_c.data()}, n, chunk);
  timer.stop();
  finish(queue.get());

  result r;
  r.c.assign(host_c.get(), host_c.get() + n);
  r.total_ms = timer.milliseconds();
  return r;
}

}  // namespace lab::single_stream
