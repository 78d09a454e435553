// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The main() of the conformance suite on a GPU.

#include "run_tests.hpp"

int main(int argc, char** argv) { return run_tests(argc, argv); }
