// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What goes over the socket between a grader and a worker. Each message is its length (8 bytes) and
// so many bytes, of which the first says its kind.
//
//   grader                                     worker
//   call      serial, thread, name, arguments  value     serial, result
//   call_kept serial, thread, number, …        exception serial, class, text
//   release   serial, thread, number           callback  number, thread
//   called    (a callback is over)             ready     (at first, once)
//
// One call is under way at a time. While it is, the worker may ask for callbacks. The thread is
// that of the grader which calls: the worker has one for each, since CUDA keeps the current device,
// and OpenGL its context, for every thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wire {

enum class message : std::uint8_t {
  call,
  call_kept,
  release,
  called,
  value,
  exception,
  callback,
  ready
};

inline constexpr int kSocket = 3;                        // the worker's
inline constexpr std::uint32_t kNoThread = 0xFFFF'FFFF;  // of a callback: none of the grader's

}  // namespace wire
