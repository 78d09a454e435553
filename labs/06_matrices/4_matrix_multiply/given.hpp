// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: what matrix_multiply.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/require_matrix.hpp"
#include "lab/time_kernel.hpp"
#include "matrix_multiply.hpp"
