// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/nvtx_range.hpp"

#include <cstdlib>
#include <string_view>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define LAB_HAS_NVTX 1
#endif

namespace lab {
namespace {

bool is_asked_for() {
#ifdef LAB_HAS_NVTX
  const char* const value = std::getenv("LAB_NVTX");
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
#else
  return false;
#endif
}

}  // namespace

nvtx_range::nvtx_range(const std::string& name) : begun_(is_asked_for()) {
#ifdef LAB_HAS_NVTX
  if (begun_) nvtxRangePushA(name.c_str());
#else
  (void)name;
#endif
}

nvtx_range::~nvtx_range() {
#ifdef LAB_HAS_NVTX
  if (begun_) nvtxRangePop();
#endif
}

}  // namespace lab
