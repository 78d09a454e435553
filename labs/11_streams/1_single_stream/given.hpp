// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 11.1 single_stream: what single_stream.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"
#include "single_stream.hpp"

namespace lab::single_stream {

struct host_arrays {
  const int* a;
  const int* b;
  int* c;
};
struct device_arrays {
  int* a;
  int* b;
  int* c;
};

}  // namespace lab::single_stream
