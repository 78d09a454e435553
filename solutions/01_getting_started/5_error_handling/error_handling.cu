// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.5 error_handling: no error goes unseen, and not every error is the end.
// Edit:  this file, from TODO(1) to TODO(5). error_handling.hpp has the contract.
// Run:   scripts/lab run 01.5 -- --threads 4000     (and with --sticky)
// Test:  scripts/lab test 01.5
// Hints: scripts/lab hint 01.5                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "error_handling.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"

namespace lab::error_handling {
namespace {

// --- a macro of your own: do not use any part of CUDA_CHECK for it -------------------------------

/// Throws failed_call unless `status` is cudaSuccess.
void check_status(cudaError_t status, const char* call, const char* file, int line) {
  // TODO(1): cudaGetErrorName and cudaGetErrorString have the text. The runtime keeps the error
  //          as well: take it out by cudaGetLastError(), so that it is not reported twice.
  // BEGIN SOLUTION
  // STUB: throw not_written("check_status", 1);
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();  // clears the error
  throw failed_call({cudaGetErrorName(status), cudaGetErrorString(status), call, file, line});
  // END SOLUTION
}

// TODO(2): a function cannot see how its argument was written, or where; a macro can. Pass on the
//          call, its text, the file and the line. The call is made once.
// BEGIN SOLUTION
// STUB: #define CHECK(...) check_status((__VA_ARGS__), "?", "?", 0)
#define CHECK(...) check_status((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
// END SOLUTION

// --- mistakes ------------------------------------------------------------------------------------

__global__ void write_number(unsigned* to) { *to = 1; }

/// Whatever is wrong here, CHECK throws.
void make(mistake kind) {
  int number = 0;         // on the host
  int* memory = nullptr;  // for device memory
  switch (kind) {
    case mistake::invalid_value:
      CHECK(cudaMalloc(static_cast<int**>(nullptr), sizeof(int)));
      break;
    // TODO(3): the other mistakes, each with CHECK around the call that reports it. A launch
    //          reports nothing: query the error. The last mistake happens later: CHECK the wait.
    // BEGIN SOLUTION
    // STUB: default:
    // STUB:   throw not_written("this mistake", 3);
    case mistake::invalid_pointer:
      CHECK(cudaFree(&number));
      break;
    case mistake::bad_direction:
      CHECK(cudaMemcpy(&number, &number, sizeof number, static_cast<cudaMemcpyKind>(9)));
      break;
    case mistake::bad_configuration:
      write_number<<<1, 1025>>>(nullptr);  // not a single thread runs
      CHECK(cudaGetLastError());
      break;
    case mistake::out_of_memory:
      CHECK(cudaMalloc(&memory, std::size_t{1} << 50));  // a million gibibytes
      break;
    case mistake::illegal_address:
      write_number<<<1, 1>>>(nullptr);
      CHECK(cudaGetLastError());  // the launch itself is fine
      CHECK(cudaDeviceSynchronize());
      break;
      // END SOLUTION
  }
}

}  // namespace

bool is_lost() {
  // TODO(4): take the last error out of the runtime. Then make some call that cannot fail by
  //          itself, such as cudaDeviceSynchronize(): does it fail all the same?
  // BEGIN SOLUTION
  // STUB: throw not_written("is_lost", 4);
  (void)cudaGetLastError();
  return cudaDeviceSynchronize() != cudaSuccess;
  // END SOLUTION
}

// --- recovery ------------------------------------------------------------------------------------

namespace {

/// Each thread writes its own index in the grid, if there is an element for it.
__global__ void write_numbers(unsigned* values, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) values[i] = static_cast<unsigned>(i);
}

}  // namespace

numbering number(std::size_t n, unsigned threads) {
  if (threads == 0) throw invalid_input("error_handling: a block needs at least one thread");
  if (n > kMostNumbers)
    throw invalid_input("error_handling: " + std::to_string(n) + " numbers are more than the " +
                        std::to_string(kMostNumbers) + " that one launch can write");
  numbering out;
  if (n == 0) return out;  // a grid of no blocks would be an error
  out.threads = threads;
  device_buffer<unsigned> values(n);

  // TODO(5): this is finished, and it is wrong. Run it with --threads 1000, then with 4000. What
  //          does the program say, and what does CUDA? Fix it: no launch goes unchecked. If CUDA
  //          refuses the configuration, keep what it said in out.refused and try half as many
  //          threads. Every other error belongs to the caller.
  // BEGIN SOLUTION
  // STUB: const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
  // STUB: write_numbers<<<blocks, threads>>>(values.data(), n);
  for (bool done = false; !done;) {
    try {
      const auto blocks = static_cast<unsigned>((n + out.threads - 1) / out.threads);
      write_numbers<<<blocks, out.threads>>>(values.data(), n);
      CHECK(cudaGetLastError());
      done = true;
    } catch (const failed_call& error) {
      if (!is_refused_launch(error.why.name) || out.threads == 1) throw;
      out.refused.push_back(error.why);
      out.threads /= 2;
    }
  }
  // END SOLUTION
  out.values = values.to_vector();  // waits for the kernel
  return out;
}

// --- given ---------------------------------------------------------------------------------------

checked check_code(int code) {
  checked out;
  const auto status = static_cast<cudaError_t>(code);
  const auto call = [&out, status] {
    ++out.calls;
    return status;
  };
  try {
    if (code % 2 == 0)
      CHECK(call());  // one statement, and the else below is this if's
    else
      CHECK(call());
  } catch (const failed_call& error) {
    out.thrown = error.why;
  }
  return out;
}

std::optional<failure> provoke(mistake kind) {
  try {
    make(kind);
  } catch (const failed_call& error) {
    return error.why;
  }
  return std::nullopt;
}

}  // namespace lab::error_handling
