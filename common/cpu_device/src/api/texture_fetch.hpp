// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What texture objects need to know about fetching. Internal to the CPU device.
#pragma once

#include <string>

#include "cpu_device/textures.h"

namespace cpu_device {

/// The function that reads texels of this format.
using texel_reader = decltype(texture::read);
texel_reader reader_for(const cudaChannelFormatDesc& desc, bool linear, bool normalize);

/// The border as a texel of the format holds it. An integer border is given by its bits.
void set_border(texture& t, const cudaChannelFormatDesc& desc, const float* color, bool normalize);

/// Writes down why the block is given up. give_up_block() follows in a statement of its own: it
/// jumps, so that no string may be alive then.
void note_misuse(const texture_call& call, cudaError_t error, const std::string& what);

}  // namespace cpu_device
