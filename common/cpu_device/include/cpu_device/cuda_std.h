// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuda::std where no toolkit is: kernels run on the host, and so what the host's library has is
// right for them. Each header of include/cuda/std/ brings in the one of the same name.
#pragma once

namespace cuda::std {
using namespace ::std;
}  // namespace cuda::std
