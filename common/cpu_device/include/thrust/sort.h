// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// CUDA's own Thrust has thrust::device after this header, and programs rely on it.
// clang-format off
#include_next <thrust/sort.h>
#include <thrust/execution_policy.h>
// clang-format on
