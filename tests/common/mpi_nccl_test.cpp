// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What a job says when NCCL fails in its ranks.

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "lab/errors.hpp"
#include "lab/mpi_job.hpp"
#include "lab/nccl_check.hpp"

namespace {

/// Rank `reason` fails by itself, if there is one; the others have lost it.
int fails(MPI_Comm world, int reason) {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(world, &rank));
  if (rank == reason) throw lab::invalid_input("this cannot be");
  NCCL_CHECK(rank == 1 && reason < 0 ? ncclInvalidUsage : ncclRemoteError);
  return 0;
}
const lab::mpi::job kFails("fails", fails);

void run(int ranks, int reason) {
  kFails.run(ranks, [&](int) { return std::tuple(reason); });
}

TEST(MpiNccl, ThrowsWhatTheRankHasThrown) {
  try {
    run(1, -1);
    FAIL() << "nothing was thrown";
  } catch (const lab::nccl_error& error) {
    EXPECT_EQ(error.result(), ncclRemoteError);
    EXPECT_EQ(error.file(), "mpi_nccl_test.cpp");
    EXPECT_NE(std::string(error.what()).find("rank 0 of 1: rank == 1 && reason < 0"),
              std::string::npos)
        << error.what();
  }
}

TEST(MpiNccl, TellsTheReasonAndNotWhoHasLostIt) {
  EXPECT_THROW(run(3, 2), lab::invalid_input);
  try {
    run(3, -1);
    FAIL() << "nothing was thrown";
  } catch (const lab::nccl_error& error) {
    EXPECT_EQ(error.result(), ncclInvalidUsage) << error.what();
  }
}

}  // namespace
