// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace lab::mpi::detail {

/// The MPI call that this process is in: `mpi_dot.cu:41: MPI_Recv(…)`; empty where it is in none.
std::string current_place();

}  // namespace lab::mpi::detail
