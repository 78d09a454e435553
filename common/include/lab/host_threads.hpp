// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Several host threads, with what goes wrong in them.
#pragma once

#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace lab {

/// Runs work(0), …, work(count - 1), each in its own host thread, and returns when all have
/// finished. If any threw, rethrows the exception of the lowest k. The current device of a new host
/// thread is 0, whatever the caller's is.
template <class Work>
void in_host_threads(std::size_t count, const Work& work) {
  std::vector<std::exception_ptr> errors(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t k = 0; k < count; ++k)
      threads.emplace_back([&, k] {
        try {
          work(k);
        } catch (...) {
          errors[k] = std::current_exception();
        }
      });
  }  // the destructor of a jthread waits for its thread
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace lab
