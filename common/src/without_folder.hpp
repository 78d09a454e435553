// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstring>

namespace lab {

/// A file's name, for messages: __FILE__ holds the folders too.
inline const char* without_folder(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

}  // namespace lab
