// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// MPI_CHECK: no MPI error goes unnoticed, and a waiting rank can say what it waits for.
#pragma once

// The C++ functions of old versions, which are obsolete, need a separate library.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <stdexcept>
#include <string>

namespace lab {

/// An MPI call that failed. what() is a sentence with the place, the call and the reason:
/// `mpi_dot.cu:41: MPI_Send(&sum, 1, MPI_FLOAT, 7, 0, world) failed: MPI_ERR_RANK: invalid rank`.
class mpi_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace mpi::detail {

/// The MPI call that this process is in, as it is written in the source; nullptr where it is in
/// none. A rank that does not answer is asked for it.
struct call_site {
  const char* expression;
  const char* file;
  int line;
};
void enter(const call_site& where) noexcept;
void leave() noexcept;
void check(int status, const call_site& where);

}  // namespace mpi::detail
}  // namespace lab

/// Throws lab::mpi_error unless the call returns MPI_SUCCESS. MPI itself ends the whole job at the
/// first error; the communicators that ranks of a lab::mpi::job are given return it instead.
#define MPI_CHECK(...)                                            \
  (::lab::mpi::detail::enter({#__VA_ARGS__, __FILE__, __LINE__}), \
   ::lab::mpi::detail::check(__VA_ARGS__, {#__VA_ARGS__, __FILE__, __LINE__}))
