// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: which of the devices is the best one for this program?
// Edit:  this nearly empty file: TODO(1) to TODO(3). choose_device.hpp has the rule.
// Run:   scripts/lab run 01.4 -- --memory 4G
// Test:  scripts/lab test 01.4
// Hints: scripts/lab hint 01.4                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::choose_device {

std::vector<candidate> list_candidates() {
  // TODO(1): the facts of each device, in the order of their numbers. count_devices() and
  //          attribute() of given.hpp are those of 01.3. The clock and the compute mode are
  //          attributes; the size of the memory is not.
  throw not_written("listing the devices", 1);
}

std::optional<int> best(std::span<const candidate> list, const requirement& needed) {
  // TODO(2): the rule, without any call of CUDA. Of two versions the part before the point decides;
  //          only where it is equal, the part after. Invariant: of two different devices exactly
  //          one is better, so the order of the list does not matter. How large does the product
  //          become, and what is the largest int?
  throw not_written("choosing the best", 2);
}

int select(int device) {
  // TODO(3): require_device() of given.hpp rejects what the contract rejects. Make the device the
  //          current one. Then ask CUDA for the current device, and return that.
  throw not_written("selecting a device", 3);
}

}  // namespace lab::choose_device
