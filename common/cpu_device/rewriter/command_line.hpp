// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Apart from rewriter.hpp so that main.cpp includes no header of the standard library: to read
// those once more would take longer than a tenth of the rewriter takes.
#pragma once

namespace rewriter {

/// The command `cuda_rewriter`; gives its exit code.
int run_command_line(int argc, char** argv);

}  // namespace rewriter
