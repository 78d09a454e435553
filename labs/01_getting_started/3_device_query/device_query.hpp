// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.3 device_query: the contract. What the program and the tests expect of device_query.cu.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace lab::device_query {

/// What CUDA says about a device. Sizes are in bytes and clocks in kHz; a 0 means that CUDA does
/// not tell.
struct report {
  int device = -1;        ///< its number: 0, 1, …
  std::string name;       ///< as the vendor calls it
  int compute_major = 0;  ///< the compute capability, 9.0 for example: before the point …
  int compute_minor = 0;  ///< … and after it
  int pci_domain = 0;     ///< where it is plugged in: tells two cards of one type apart
  int pci_bus = 0;
  int pci_device = 0;

  // Memory.
  std::size_t global_bytes = 0;
  std::size_t constant_bytes = 0;
  std::size_t l2_bytes = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  double bandwidth = 0;         ///< theoretical_bandwidth() of the two above
  std::size_t pitch_bytes = 0;  ///< the longest row that copies of pitched memory can handle
  std::size_t texture_alignment_bytes = 0;

  // Multiprocessors.
  int multiprocessors = 0;
  int clock_khz = 0;
  int warp_size = 0;
  int threads_per_multiprocessor = 0;
  std::size_t shared_bytes_per_multiprocessor = 0;

  // What one block, and one grid, may have at most.
  int threads_per_block = 0;
  std::size_t shared_bytes_per_block = 0;  ///< without asking for more
  int registers_per_block = 0;             ///< of 32 bits
  std::array<int, 3> block_dimensions{};   ///< x, y, z
  std::array<int, 3> grid_dimensions{};

  // What it can do.
  int copy_engines = 0;             ///< copies that can go on while a kernel runs
  bool concurrent_kernels = false;  ///< several kernels at the same time
  bool kernel_timeout = false;      ///< a kernel that runs too long is stopped
  bool integrated = false;          ///< a part of the processor, with its memory
  bool maps_host_memory = false;    ///< kernels can use memory of the host in place
  int compute_mode = 0;             ///< a cudaComputeMode: 0 is open to every process
};

/// Bytes per second over a memory bus of this width, at two transfers a clock cycle (double data
/// rate). 0 where the clock or the width is 0 or less, which means unknown.
double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits);

/// The report of one device. The current device (cudaGetDevice) stays what it is.
///
/// Throws lab::invalid_input, with the number, when there is no such device; no CUDA error is left
/// behind then. Throws lab::cuda_error when CUDA reports an error.
///
/// Requires: the answers of the runtime for each device; no kernel is needed.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, 3.3.
report query(int device);

/// The reports of all visible devices, in the order of their numbers.
std::vector<report> query_all();

}  // namespace lab::device_query
