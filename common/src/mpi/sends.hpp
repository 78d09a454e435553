// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Messages that a rank is sending by MPI_Isend. Until MPI_Wait, or a function like it, reports that
// a message was sent, its memory belongs to MPI. If the rank changes it earlier, the receiver gets
// the old elements or the new ones: MPI copies a short message at once, and a long one when the
// receiver is ready for it. So changes are looked for here, whatever arrives, if a test asks for
// it: that takes about as long as sending.
#pragma once

#include <cstddef>

namespace lab::mpi::detail {

/// Other work begins, whose messages are watched or not. What earlier work was sending is
/// forgotten.
void watch_sends(bool are_watched);

/// How many messages have been changed since then while they were being sent.
std::size_t changed_sends();

}  // namespace lab::mpi::detail
