// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The two ways in which a program can refuse: bad input, and a machine that lacks something.
#pragma once

#include <stdexcept>

namespace lab {

/// The caller or the user asked for something that makes no sense (a wrong length, an unknown
/// device, a path that cannot be written). what() is one sentence for the user. Programs exit 2.
class invalid_input : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// The request is fine, but this machine cannot do it (no GPU, no display). what() gives the
/// reason. Programs exit 77, which CTest shows as skipped.
class not_possible : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace lab
