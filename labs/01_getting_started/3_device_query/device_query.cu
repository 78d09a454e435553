// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.3 device_query: what is this device, and how fast can its memory be?
// Edit:  this file, from TODO(1) to TODO(5). device_query.hpp says what belongs in a report.
// Run:   scripts/lab run 01.3
// Test:  scripts/lab test 01.3
// Hints: scripts/lab hint 01.3                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include "device_query.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab::device_query {
namespace {

/// How many devices this process may use.
int count_devices() {
  // TODO(1): ask CUDA. Check what the call returns: CUDA_CHECK(…) throws when it is an error.
  throw not_written("counting the devices", 1);
}

/// Throws invalid_input unless there is a device with this number.
void require_device(int device) {
  const int count = count_devices();
  // TODO(1): … and reject a number that no device has, before CUDA is asked about it.
  throw not_written("refusing a device that is not there", 1);
}

// --- two ways to ask -----------------------------------------------------------------------------

/// One call fills a whole struct, cudaDeviceProp.
void add_properties(int device, report& out) {
  // TODO(2): fill in whatever the struct has. Look at each field's unit, and at what it is for: per
  //          block is not per multiprocessor.
  throw not_written("reading the properties", 2);
}

/// One call returns one attribute, always as an int. It is much faster if you need only one.
int attribute(cudaDeviceAttr attr, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attr, device));
  return value;
}

/// What CUDA 13 has removed from the struct.
void add_attributes(int device, report& out) {
  // TODO(3): both clocks, the time limit of kernels and the compute mode.
  throw not_written("asking for attributes", 3);
}

}  // namespace

// --- what follows from the answers ---------------------------------------------------------------

double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) {
  // TODO(4): cycles per second, times two transfers a cycle, times the bytes of a transfer. How
  //          large does that become, and what is the largest int?
  throw not_written("the bandwidth", 4);
}

report query(int device) {
  require_device(device);
  report out;
  out.device = device;
  add_properties(device, out);
  add_attributes(device, out);
  out.bandwidth = theoretical_bandwidth(out.memory_clock_khz, out.memory_bus_bits);
  return out;
}

std::vector<report> query_all() {
  const int count = count_devices();
  // TODO(5): a report of each device. You need not make any of them the current device for that.
  throw not_written("the list of all reports", 5);
}

}  // namespace lab::device_query
