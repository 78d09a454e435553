// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Our policies come before the header that uses them.
// clang-format off
#include <thrust/system/cuda/execution_policy.h>
#include_next <thrust/execution_policy.h>
// clang-format on
