// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// NVTX for C++: ranges that end with their scope, and marks. Domains, colours and the like are not
// here.
#pragma once

#include <string>

#include "nvToolsExt.h"

namespace nvtx3 {

class scoped_range {
 public:
  explicit scoped_range(const char* text) { nvtxRangePushA(text); }
  explicit scoped_range(const wchar_t* text) { nvtxRangePushW(text); }
  explicit scoped_range(const std::string& text) : scoped_range(text.c_str()) {}
  ~scoped_range() { nvtxRangePop(); }
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;
};

inline void mark(const char* text) { nvtxMarkA(text); }
inline void mark(const wchar_t* text) { nvtxMarkW(text); }
inline void mark(const std::string& text) { nvtxMarkA(text.c_str()); }

}  // namespace nvtx3
