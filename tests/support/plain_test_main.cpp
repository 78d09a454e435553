// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The main() of tests that are not about the course: GoogleTest and the events, nothing else.

#include "test_events.hpp"

int main(int argc, char** argv) {
  return test_events::run(argc, argv, [](bool) { return 0; });
}
