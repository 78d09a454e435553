// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Needs no rewriting and includes nothing: used where it is.
#pragma once

namespace helpers {

template <class T, bool Wide>
struct storage {
  struct type {
    T value[Wide ? 4 : 1];
  };
};

}  // namespace helpers
