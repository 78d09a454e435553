// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What is on the CPU device between two tests. A grader asks its worker for all of it at once
// (grading/proxy/device.cpp): a question for each number would take longer than most tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab::testing::detail {

struct device_state {
  std::size_t allocations = 0, bytes = 0;  ///< of device memory
  std::vector<std::size_t> objects = {};   ///< of each cpu_device::object_kind
  std::size_t reports = 0;                 ///< since the process began
};

device_state state_of_devices();

enum class repair : std::uint8_t { none, reset, never_ended };

/// Resets what a failed kernel leaves behind, so that the next tests test their own code; except
/// after a kernel that never ended, whose device can no longer be used.
repair repair_devices();

}  // namespace lab::testing::detail
