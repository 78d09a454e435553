// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.1 hello_gpu: the contract. What the program and the tests expect of hello_gpu.cu.
#pragma once

namespace lab::hello_gpu {

/// The most lines that greet() is asked for. A GPU keeps what a kernel prints in a buffer of 1 MiB
/// until the host waits for the kernel; this many lines are safely in it.
inline constexpr unsigned kMostLines = 8192;

/// Launches `blocks` blocks of `threads` threads. Each of these threads prints one line to
/// standard output, in any order:
///
///     Hello from block 1, thread 3
///
/// Blocks, and the threads of a block, are counted from 0. All lines have been printed when the
/// function returns.
///
/// Throws lab::cuda_error, and prints nothing, when CUDA refuses the launch: no blocks, no threads,
/// more threads than a block may have. (CUDA 13 says cudaErrorInvalidValue, CUDA 12 said
/// cudaErrorInvalidConfiguration.) Throws lab::invalid_input for more than kMostLines lines.
///
/// Requires: a kernel in which every thread prints its own line; the host prints none.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 3.2.1 and 3.2.2; the grid of 2 x 5 from the Kazan
/// course on CUDA programming technology, chapters 1 and 3.
void greet(unsigned blocks, unsigned threads);

}  // namespace lab::hello_gpu
