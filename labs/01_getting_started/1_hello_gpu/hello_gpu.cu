// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.1 hello_gpu: a first kernel. Every thread of it prints a line.
// Edit:  this file, from TODO(1) to TODO(3). hello_gpu.hpp has the contract.
// Run:   scripts/lab run 01.1 -- --blocks 3 --threads 4
// Test:  scripts/lab test 01.1
// Hints: scripts/lab hint 01.1                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <string>

#include "hello_gpu.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab::hello_gpu {
namespace {

// This function runs on the device, once for each thread of the launch. All threads run the same
// code; the built-in variables blockIdx and threadIdx tell them apart.
__global__ void hello() {
  // TODO(1): print the line "Hello from block …, thread …" with this thread's own two numbers.
}

}  // namespace

// This function runs on the host.
void greet(unsigned blocks, unsigned threads) {
  if (std::size_t{blocks} * threads > kMostLines)
    throw invalid_input("hello_gpu: " + std::to_string(blocks) + " blocks of " +
                        std::to_string(threads) + " threads would print more than " +
                        std::to_string(kMostLines) + " lines");

  // TODO(2): launch the kernel hello with that many blocks of that many threads.
  throw not_written("the kernel with its launch", 1);  // 1, 2 and 3 belong together

  // TODO(3): has CUDA accepted the launch? A launch returns nothing, so query the last error.
  //          Then wait: the host continues while the kernel runs, and this function promises that
  //          all lines are printed when it returns.
}

}  // namespace lab::hello_gpu
