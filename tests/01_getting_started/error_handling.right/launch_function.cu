// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: cudaLaunchKernel starts the kernel, and returns what CUDA says to the
// launch itself; a function that calls itself instead of a loop; it waits for a stream; is_lost()
// allocates memory.

// So that CHECK's __FILE__ is that of the file which this one replaces:
#line 10 "error_handling.cu"

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
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  throw failed_call({cudaGetErrorName(status), cudaGetErrorString(status), call, file, line});
}

#define CHECK(...) check_status((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

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
    case mistake::invalid_pointer:
      CHECK(cudaFree(&number));
      break;
    case mistake::bad_direction:
      CHECK(cudaMemcpy(&number, &number, sizeof number, static_cast<cudaMemcpyKind>(9)));
      break;
    case mistake::bad_configuration:
      write_number<<<1, 1025>>>(nullptr);
      CHECK(cudaGetLastError());
      break;
    case mistake::out_of_memory:
      CHECK(cudaMalloc(&memory, std::size_t{1} << 50));
      break;
    case mistake::illegal_address:
      write_number<<<1, 1>>>(nullptr);
      CHECK(cudaGetLastError());
      CHECK(cudaStreamSynchronize(nullptr));
      break;
  }
}

}  // namespace

bool is_lost() {
  static_cast<void>(cudaGetLastError());
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, 4);
  if (status == cudaSuccess) return cudaFree(memory) != cudaSuccess;
  return status != cudaErrorMemoryAllocation;
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

  const auto attempt = [&](auto& self, unsigned width) -> void {
    unsigned* to = values.data();
    std::size_t count = n;
    void* arguments[] = {&to, &count};
    const dim3 grid(static_cast<unsigned>(n / width + (n % width != 0)));
    try {
      CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(&write_numbers), grid, dim3(width),
                             arguments, 0, nullptr));
      out.threads = width;
      return;
    } catch (const failed_call& error) {
      if (width < 2 || !is_refused_launch(error.why.name)) throw;
      out.refused.push_back(error.why);
    }
    self(self, width / 2);
  };
  attempt(attempt, threads);
  CHECK(cudaDeviceSynchronize());
  out.values.resize(n);
  values.copy_to(out.values);
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
