// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace cpu_device {

/// Whether this process was forked while another thread was inside of a call: the device is of no
/// use.
bool lost_in_fork();
/// Says so, once.
void explain_loss(const char* function);

}  // namespace cpu_device
