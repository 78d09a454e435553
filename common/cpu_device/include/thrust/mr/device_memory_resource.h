// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include_next <thrust/mr/device_memory_resource.h>
#include <thrust/system/cuda/memory_resource.h>
