// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Our resources come before the header that uses them.
// clang-format off
#include <thrust/system/cuda/memory_resource.h>
#include_next <thrust/mr/device_memory_resource.h>
// clang-format on
