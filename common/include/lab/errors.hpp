// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Why a program does not do what it was asked: bad input, a machine that lacks something, or code
// that is still to be written.
#pragma once

#include <stdexcept>
#include <string_view>

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

/// Thrown by the stubs of a starter, never by a solution. what() is a sentence that names the
/// place: `step one_block is not written yet: TODO(4) in
/// labs/03_vectors/1_vector_add/vector_add.cu`. Programs exit 1.
class not_written : public std::logic_error {
 public:
  /// `what` is the thing that is missing, `todo` the number of the TODO that asks for it. (The
  /// default of `file` is the caller's; std::source_location would say it too, but clang 14
  /// cannot.)
  explicit not_written(std::string_view what, int todo, const char* file = __builtin_FILE());
};

}  // namespace lab
