// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.2 add_numbers: two numbers go to the device, one comes back.
// Edit:  this file, from TODO(1) to TODO(4). add_numbers.hpp has the contract.
// Run:   scripts/lab run 01.2 -- --step by_hand --a 2 --b 7     (then --step owner)
// Test:  scripts/lab test 01.2
// Hints: scripts/lab hint 01.2                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include <span>

#include "add_numbers.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"

namespace lab::add_numbers {
namespace {

// A kernel's pointers point to device memory: here two numbers, and memory for their sum.
__global__ void add_two(const int* numbers, int* sum) {
  // TODO(1): thread 0 stores the sum of both numbers; the other threads do nothing. In C++
  //          an int must not overflow, and an unsigned wraps around: add as unsigned.
  // BEGIN SOLUTION
  if (threadIdx.x == 0)
    *sum = static_cast<int>(static_cast<unsigned>(numbers[0]) + static_cast<unsigned>(numbers[1]));
  // END SOLUTION
}

// --- by_hand: each error is checked, and what has been allocated so far is freed -----------------

int add_by_hand(int a, int b, unsigned threads) {
  const int numbers[] = {a, b};   // this is memory of the host,
  int* device_numbers = nullptr;  // and these two will point to the device's
  int* device_sum = nullptr;

  const cudaError_t first_allocation = cudaMalloc(&device_numbers, sizeof numbers);
  CUDA_CHECK(first_allocation);  // throws unless it is cudaSuccess; there is nothing to free yet

  const cudaError_t second_allocation = cudaMalloc(&device_sum, sizeof(int));
  if (second_allocation != cudaSuccess) {
    (void)cudaFree(device_numbers);
    CUDA_CHECK(second_allocation);
  }

  // TODO(2): copy the numbers to the device. Invariant, here and below: whatever fails, all that
  //          has been allocated is freed before the exception leaves this function.
  // BEGIN SOLUTION
  // STUB: throw not_written("step by_hand", 1);  // 1, 2 and 3 are this step
  const cudaError_t copy_there =
      cudaMemcpy(device_numbers, numbers, sizeof numbers, cudaMemcpyHostToDevice);
  if (copy_there != cudaSuccess) {
    (void)cudaFree(device_sum);      // fails if the device is lost, which does no harm
    (void)cudaFree(device_numbers);  // the same
    CUDA_CHECK(copy_there);
  }
  // END SOLUTION

  // TODO(3): launch add_two in one block, and check that CUDA has accepted it. Copy the sum back
  //          (cudaMemcpy waits for the kernel), free both (even if the first cudaFree fails), and
  //          return the sum.
  // BEGIN SOLUTION
  add_two<<<1, threads>>>(device_numbers, device_sum);
  const cudaError_t launch = cudaGetLastError();
  if (launch != cudaSuccess) {
    (void)cudaFree(device_sum);
    (void)cudaFree(device_numbers);
    CUDA_CHECK(launch);
  }

  int sum = 0;
  const cudaError_t copy_back = cudaMemcpy(&sum, device_sum, sizeof sum, cudaMemcpyDeviceToHost);
  if (copy_back != cudaSuccess) {
    (void)cudaFree(device_sum);      // fails if the device is lost, which does no harm
    (void)cudaFree(device_numbers);  // the same
    CUDA_CHECK(copy_back);
  }

  const cudaError_t first_free = cudaFree(device_sum);
  const cudaError_t second_free = cudaFree(device_numbers);  // even if the first one fails
  CUDA_CHECK(first_free);
  CUDA_CHECK(second_free);
  return sum;
  // END SOLUTION
}

// --- owner: the same, but destructors free the memory --------------------------------------------

int add_with_owners(int a, int b, unsigned threads) {
  const int numbers[] = {a, b};
  // TODO(4): lab::device_buffer<int> owns device memory. Constructed from a span of host values it
  //          holds a copy of them; constructed from a number, that many elements. data() is the
  //          pointer for the kernel, and to_vector() copies its elements back. It throws by itself.
  //          You still have to check the launch.
  // BEGIN SOLUTION
  // STUB: throw not_written("step owner", 4);
  const device_buffer<int> device_numbers{std::span<const int>(numbers)};
  device_buffer<int> device_sum(1);
  add_two<<<1, threads>>>(device_numbers.data(), device_sum.data());
  CUDA_CHECK(cudaGetLastError());
  return device_sum.to_vector()[0];
  // END SOLUTION
}

}  // namespace

int add(step version, int a, int b, unsigned threads) {
  return version == step::by_hand ? add_by_hand(a, b, threads) : add_with_owners(a, b, threads);
}

}  // namespace lab::add_numbers
