// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The tag comes before the header that uses it.
// clang-format off
#include <thrust/system/cuda/detail/execution_policy.h>
#include_next <thrust/iterator/detail/device_system_tag.h>
#include <thrust/system/cuda/detail/sort.h>
// clang-format on
