// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "check_kernels.cuh"

CPU_DEVICE_CHECK_KERNELS(fast)
