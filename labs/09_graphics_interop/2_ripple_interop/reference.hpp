// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 09.2 ripple_interop: what the pictures are compared with, which is what 04.2 compares with. There
// is the reason for its bound, too: each pixel has the reference's grey, or, within rounding of a
// whole number, that of its neighbour.
#pragma once

#include "../../04_images/2_ripple/reference.hpp"

namespace lab::ripple_interop {

using ripple::compare_with_reference;

}  // namespace lab::ripple_interop
