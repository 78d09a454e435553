// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The worker's view of the grader: functions that can be asked for, by name.
#pragma once

#include <cstdint>
#include <string>

#include "../wire/call.hpp"

namespace worker {

/// Offers a function to the grader, as a variable outside of all functions.
struct offer {
  offer(const char* name, wire::handler function);
};

/// Has the grader run its callback of this number, and waits until it has. For the thread that does
/// the work of a call.
void call_back(std::uint64_t number);

}  // namespace worker
