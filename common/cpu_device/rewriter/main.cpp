// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "command_line.hpp"

int main(int argc, char** argv) { return rewriter::run_command_line(argc, argv); }
