// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include_next <thrust/execution_policy.h>
#include <thrust/system/cuda/execution_policy.h>
