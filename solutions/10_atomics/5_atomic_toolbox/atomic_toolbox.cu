// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.5 atomic_toolbox: all atomic functions, one that is missing, and their scopes.
// Edit:  this file, from TODO(1) to TODO(5). atomic_toolbox.hpp has the contract.
// Run:   scripts/lab run 10.5
// Test:  scripts/lab test 10.5
// Hints: scripts/lab hint 10.5                  Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::atomic_toolbox {
namespace {

// --- one cell, many requests ---------------------------------------------------------------------

/// Calls the atomic function and returns its result.
__device__ unsigned call(operation op, unsigned* cell, const request& operands) {
  // TODO(1): the other functions. atomic_toolbox.hpp says what each one does.
  switch (op) {
    case operation::add:
      return atomicAdd(cell, operands.value);
    // BEGIN SOLUTION
    // STUB: default:
    // STUB:   break;
    case operation::sub:
      return atomicSub(cell, operands.value);
    case operation::exch:
      return atomicExch(cell, operands.value);
    case operation::min:
      return atomicMin(cell, operands.value);
    case operation::max:
      return atomicMax(cell, operands.value);
    case operation::inc:
      return atomicInc(cell, operands.value);
    case operation::dec:
      return atomicDec(cell, operands.value);
    case operation::cas:
      return atomicCAS(cell, operands.expected, operands.value);
    case operation::bit_and:
      return atomicAnd(cell, operands.value);
    case operation::bit_or:
      return atomicOr(cell, operands.value);
    case operation::bit_xor:
      return atomicXor(cell, operands.value);
      // END SOLUTION
  }
  return 0;
}

__global__ void apply_to_cell(operation op, unsigned* cell, const request* requests, std::size_t n,
                              unsigned* returned) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) returned[i] = call(op, cell, requests[i]);
}

// --- the largest float: there is no atomicMax for it ---------------------------------------------

/// Whether a should replace b: it is larger, where a NaN is larger than everything else, and +0
/// is larger than -0.
__device__ bool is_larger(float a, float b) {
  // TODO(2): comparisons with a NaN are false, and -0 == +0. So both cases need special treatment.
  //          How do you tell a NaN from all other numbers without isnan()? What is different in the
  //          bits of -0? (__float_as_int)
  // BEGIN SOLUTION
  // STUB: return false;
  if (b != b) return false;  // a NaN is never replaced
  if (a != a) return true;
  if (a == 0 && b == 0) return __float_as_int(a) > __float_as_int(b);  // only -0 sets the sign bit
  return a > b;
  // END SOLUTION
}

/// Replaces the float in the cell by `value` if that is larger. The cell holds the float's bits.
__device__ void raise_to(unsigned* cell, float value) {
  // TODO(3): guess the value in the cell (kLowest will do). As long as `value` is larger than the
  //          guess, store its bits with atomicCAS, which does so only if the guess is right. It
  //          returns the old value: if that is what you guessed, you are done; if not, it is the
  //          next guess.
  //          Invariant: the value in the cell is only ever replaced by a larger one.
  // BEGIN SOLUTION
  unsigned guess = __float_as_uint(kLowest);
  while (is_larger(value, __uint_as_float(guess))) {
    const unsigned found = atomicCAS(cell, guess, __float_as_uint(value));
    if (found == guess)
      break;  // the bits are compared: a NaN as a float is not even equal to itself
    guess = found;
  }
  // END SOLUTION
}

__global__ void find_float_max(const float* values, std::size_t n, unsigned* cell) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) raise_to(cell, values[i]);
}

// --- scopes: for which threads an operation must be atomic ---------------------------------------

/// One block of kGroup threads for each group.
__global__ void add_up_groups(const unsigned* values, std::size_t n, unsigned* sums) {
  // TODO(4): this thread adds its value to its block's sum. No other block accesses that sum.
  //          Which scope is enough?
  // BEGIN SOLUTION
  const std::size_t i = blockIdx.x * kGroup + threadIdx.x;
  if (i < n) atomicAdd_block(&sums[blockIdx.x], values[i]);
  // END SOLUTION
}

__global__ void add_to_counter(unsigned* counter, unsigned threads, unsigned amount) {
  // TODO(5): the first `threads` threads of the grid add `amount`. The host adds to the same
  //          counter. Which scope does that need?
  // BEGIN SOLUTION
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < threads) atomicAdd_system(counter, amount);
  // END SOLUTION
}

/// The host's additions, while the kernel may be running.
void add_on_host(unsigned* counter, unsigned times, unsigned amount) {
  // TODO(5): the host's atomic functions are those of std::atomic_ref. (fetch_add)
  // BEGIN SOLUTION
  const std::atomic_ref<unsigned> shared(*counter);
  for (unsigned time = 0; time < times; ++time) shared.fetch_add(amount);
  // END SOLUTION
}

}  // namespace

// --- the host code -------------------------------------------------------------------------------

outcome apply(operation op, std::uint32_t start, std::span<const request> requests) {
  outcome out;
  out.left = start;
  if (requests.empty()) return out;
  const device_buffer device_requests(requests);
  device_buffer cell(std::span<const unsigned>(&start, 1));
  device_buffer<unsigned> returned(requests.size());
  out.kernel_ms = time_kernel([&] {
    // TODO(1): … and launch apply_to_cell, with a thread for each request.
    // BEGIN SOLUTION
    // STUB: throw not_written("calling the atomic functions", 1);
    apply_to_cell<<<blocks_for(requests.size()), kThreads>>>(
        op, cell.data(), device_requests.data(), requests.size(), returned.data());
    // END SOLUTION
  });
  out.returned = returned.to_vector();
  out.left = cell.to_vector().front();
  return out;
}

float float_max(std::span<const float> values) {
  if (values.empty()) return kLowest;
  const device_buffer device_values(values);
  device_buffer cell(std::span<const float>(&kLowest, 1));
  // TODO(3): … and launch find_float_max, with a thread for each value. It takes the cell as an
  //          unsigned, for its bits: reinterpret_cast<unsigned*>(cell.data()). Nothing is
  //          converted, and no thread accesses the cell as a float.
  // BEGIN SOLUTION
  // STUB: throw not_written("the largest float", 2);  // 2 and 3 belong together
  find_float_max<<<blocks_for(values.size()), kThreads>>>(device_values.data(), values.size(),
                                                          reinterpret_cast<unsigned*>(cell.data()));
  // END SOLUTION
  CUDA_CHECK(cudaGetLastError());
  return cell.to_vector().front();
}

std::vector<std::uint32_t> sums_of_groups(std::span<const std::uint32_t> values) {
  const std::size_t groups = (values.size() + kGroup - 1) / kGroup;
  if (groups == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> sums(groups);
  CUDA_CHECK(cudaMemset(sums.data(), 0, sums.size_bytes()));
  // TODO(4): … and launch add_up_groups, with a block for each group.
  // BEGIN SOLUTION
  // STUB: throw not_written("the sums of groups", 4);
  add_up_groups<<<static_cast<unsigned>(groups), kGroup>>>(device_values.data(), values.size(),
                                                           sums.data());
  // END SOLUTION
  CUDA_CHECK(cudaGetLastError());
  return sums.to_vector();
}

std::uint32_t add_together(std::uint32_t start, unsigned threads, unsigned host_times,
                           std::uint32_t amount) {
  int device = 0, concurrent = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
  if (concurrent == 0)
    throw not_possible(
        "atomic_toolbox: on this system the host must not touch managed memory while a kernel runs "
        "(cudaDevAttrConcurrentManagedAccess is 0)");

  unsigned* memory = nullptr;
  CUDA_CHECK(cudaMallocManaged(&memory, sizeof(unsigned)));
  const std::unique_ptr<unsigned, managed_free> counter(memory);
  *counter = start;
  // TODO(5): launch add_to_counter (a grid of no blocks would be an error), add on the host, and
  //          return the counter's value when both are done. What waits for the kernel?
  // BEGIN SOLUTION
  // STUB: throw not_written("adding together", 5);
  if (threads != 0) add_to_counter<<<blocks_for(threads), kThreads>>>(memory, threads, amount);
  CUDA_CHECK(cudaGetLastError());
  add_on_host(memory, host_times, amount);
  CUDA_CHECK(cudaDeviceSynchronize());  // no copy follows that would wait
  return *counter;
  // END SOLUTION
}

}  // namespace lab::atomic_toolbox
