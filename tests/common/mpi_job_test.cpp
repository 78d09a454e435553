// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/mpi_job.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"

namespace {

using lab::mpi::job;

int rank_in(MPI_Comm world) {
  int rank = 0;
  MPI_CHECK(MPI_Comm_rank(world, &rank));
  return rank;
}

// --- what ranks do -------------------------------------------------------------------------------

std::tuple<int, long, std::vector<double>> adds(MPI_Comm world, int mine, const std::string& text,
                                                std::span<const double> values) {
  int sum = 0;
  MPI_CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, world));
  std::vector<double> doubled(values.begin(), values.end());
  for (double& value : doubled) value *= 2;
  return {sum, static_cast<long>(text.size()), doubled};
}
const job kAdds("adds", adds);

int process_of(MPI_Comm) { return static_cast<int>(::getpid()); }
const job kProcess("process", process_of);

int device_memory_of(MPI_Comm) {
  const lab::device_buffer<unsigned char> buffer(1);
  return buffer.to_vector()[0];
}
const job kNewMemory("new memory", device_memory_of);

enum class mishap : std::uint8_t {
  none,
  refuses,
  cuda,
  mpi,
  crashes,
  exits,
  aborts,
  hangs,
  waits,
  leaks,
  leaves_communicators,
  changes_a_message,
  frees_and_changes,
  unwritten,
  all_refuse
};

/// A rank sends itself messages of one element and of many. `change` is called with the memory of
/// both and with the requests, before it waits for them.
template <class Change>
void sends_to_itself(MPI_Comm world, const Change& change) {
  const int rank = rank_in(world);
  std::vector<int> few(1, 1), many(100'000, 1), few_here(1), many_here(100'000);
  MPI_Request receives[2] = {}, sends[2] = {};
  MPI_CHECK(MPI_Irecv(few_here.data(), 1, MPI_INT, rank, 1, world, &receives[0]));
  MPI_CHECK(MPI_Irecv(many_here.data(), 100'000, MPI_INT, rank, 2, world, &receives[1]));
  MPI_CHECK(MPI_Isend(few.data(), 1, MPI_INT, rank, 1, world, &sends[0]));
  MPI_CHECK(MPI_Isend(many.data(), 100'000, MPI_INT, rank, 2, world, &sends[1]));
  change(few, many, sends);
  MPI_CHECK(MPI_Waitall(2, receives, MPI_STATUSES_IGNORE));
  MPI_CHECK(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

/// Changes messages only when they are sent.
int sends_in_order(MPI_Comm world) {
  const auto in_turn = [&](std::vector<int>& few, std::vector<int>& many, MPI_Request* sends) {
    MPI_CHECK(MPI_Wait(&sends[0], MPI_STATUS_IGNORE));
    few[0] = 2;
    for (int done = 0; done == 0;) MPI_CHECK(MPI_Test(&sends[1], &done, MPI_STATUS_IGNORE));
    many[99'999] = 2;
  };
  sends_to_itself(world, in_turn);
  // All ranks know that it was received, though it was freed.
  int sent = 1, received = 0;
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_CHECK(MPI_Isend(&sent, 1, MPI_INT, rank_in(world), 1, world, &send));
  MPI_CHECK(MPI_Request_free(&send));
  MPI_CHECK(MPI_Recv(&received, 1, MPI_INT, rank_in(world), 1, world, MPI_STATUS_IGNORE));
  MPI_CHECK(MPI_Barrier(world));
  sent = 2;
  sends_to_itself(world, in_turn);
  return received;
}
const job kSendsInOrder("sends in order", sends_in_order);

int has_a_mishap(MPI_Comm world, mishap what, int who) {
  if (what == mishap::all_refuse)
    throw lab::invalid_input("rank " + std::to_string(rank_in(world)) + " does not like that");
  if (rank_in(world) == who) switch (what) {
      case mishap::refuses:
        throw lab::invalid_input("this cannot be");
      case mishap::cuda:
        CUDA_CHECK(cudaSetDevice(-1));
        break;
      case mishap::mpi:
        MPI_CHECK(MPI_Send(&who, 1, MPI_INT, 1000, 0, world));
        break;
      case mishap::crashes:
        std::raise(SIGKILL);
        break;
      case mishap::exits:
        std::_Exit(3);
      case mishap::aborts:
        MPI_Abort(world, 5);
        break;
      case mishap::hangs:
        std::this_thread::sleep_for(std::chrono::hours(1));
        break;
      case mishap::waits:
        MPI_CHECK(MPI_Recv(&who, 1, MPI_INT, who, 77, world, MPI_STATUS_IGNORE));
        break;
      case mishap::leaks: {
        void* memory = nullptr;
        CUDA_CHECK(cudaMalloc(&memory, 100));
        break;
      }
      case mishap::leaves_communicators:
        for (MPI_Comm never_freed : {MPI_COMM_NULL, MPI_COMM_NULL})
          MPI_CHECK(MPI_Comm_split(MPI_COMM_SELF, 0, 0, &never_freed));
        break;
      case mishap::changes_a_message:
        sends_to_itself(world, [](auto&, auto& many, MPI_Request*) { many[99'999] = 2; });
        break;
      case mishap::frees_and_changes:
        sends_to_itself(world, [](auto& few, auto& many, MPI_Request* sends) {
          for (int i = 0; i < 2; ++i) MPI_CHECK(MPI_Request_free(&sends[i]));
          few[0] = many[0] = 2;
        });
        break;
      case mishap::unwritten:
        throw lab::not_written("this rank's work", 4);
      default:
        break;
    }
  if (what != mishap::leaks) MPI_CHECK(MPI_Barrier(world));
  return 1;
}
const job kMishap("mishap", has_a_mishap);

// -------------------------------------------------------------------------------------------------

std::vector<int> processes(int ranks) {
  return kProcess.run(ranks, [](int) { return std::tuple<>(); });
}

struct outcome {
  std::string sentence;
  double seconds = 0;
};

template <class Error>
outcome outcome_of(int ranks, mishap what, int who) {
  (void)processes(ranks);  // have started
  const auto begin = std::chrono::steady_clock::now();
  outcome result;
  try {
    (void)kMishap.run(ranks, [&](int) { return std::tuple(what, who); });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    result.sentence = error.what();
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(result.seconds, 10.0);
  return result;
}

bool has(const outcome& result, std::string_view part) {
  return result.sentence.find(part) != std::string::npos;
}

TEST(MpiJob, GivesEachRankItsArgumentsAndReturnsTheirAnswers) {
  for (const int ranks : {1, 3}) {
    const auto answers = kAdds.run(ranks, [](int rank) {
      return std::tuple(10 + rank, std::string(static_cast<std::size_t>(rank), 'x'),
                        std::vector<double>(static_cast<std::size_t>(rank) * 100'000, rank + 0.5));
    });
    ASSERT_EQ(answers.size(), static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      const auto& [sum, length, doubled] = answers[static_cast<std::size_t>(rank)];
      EXPECT_EQ(sum, ranks == 1 ? 10 : 33);
      EXPECT_EQ(length, rank);
      EXPECT_EQ(doubled,
                std::vector<double>(static_cast<std::size_t>(rank) * 100'000, 2 * rank + 1));
    }
  }
}

TEST(MpiJob, HasAProcessForEachRankAndKeepsThem) {
  const std::vector<int> first = processes(3);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NE(first[i], ::getpid());
    EXPECT_NE(first[i], first[(i + 1) % 3]);
  }
  EXPECT_EQ(processes(3), first);
}

TEST(MpiJob, HasTheNewMemoryOfItsLauncher) {
  for (const int byte : kNewMemory.run(2, [](int) { return std::tuple<>(); }))
    EXPECT_EQ(byte, lab::detail::new_memory_byte);
}

TEST(MpiJob, PassesOnWhatARankThrows) {
  EXPECT_EQ(outcome_of<lab::invalid_input>(3, mishap::refuses, 1).sentence, "this cannot be");
  const outcome cuda = outcome_of<lab::cuda_error>(3, mishap::cuda, 2);
  EXPECT_TRUE(has(cuda, "rank 2 of 3: cudaSetDevice(-1) failed: cudaErrorInvalidDevice"))
      << cuda.sentence;
  const outcome mpi = outcome_of<lab::mpi_error>(2, mishap::mpi, 0);
  EXPECT_TRUE(has(mpi, "rank 0 of 2: mpi_job_test.cpp:")) << mpi.sentence;
  EXPECT_TRUE(has(mpi, "failed: MPI_ERR_RANK")) << mpi.sentence;
  EXPECT_TRUE(
      has(outcome_of<lab::not_written>(2, mishap::unwritten, 1), "this rank's work is not"));
}

TEST(MpiJob, GoesOnWithItsRanksWhenAllHaveThrown) {
  const std::vector<int> before = processes(2);
  EXPECT_TRUE(has(outcome_of<lab::invalid_input>(2, mishap::all_refuse, 0), "does not like that"));
  EXPECT_EQ(processes(2), before);
}

TEST(MpiJob, NamesTheRankThatHasEndedAndHow) {
  EXPECT_EQ(outcome_of<lab::mpi_error>(3, mishap::crashes, 1).sentence,
            "rank 1 of 3 was ended by SIGKILL, and that is the end of the job");
  EXPECT_EQ(outcome_of<lab::mpi_error>(3, mishap::exits, 2).sentence,
            "rank 2 of 3 ended with exit status 3, and that is the end of the job");
  EXPECT_EQ(outcome_of<lab::mpi_error>(2, mishap::aborts, 1).sentence,
            "rank 1 of 2: called MPI_Abort with code 5, and that is the end of the job");
}

TEST(MpiJob, NamesTheRanksThatDoNotAnswerAndWhatTheyWaitFor) {
  for (const int ranks : {1, 2}) (void)processes(ranks);  // their start may take longer than that
  ::setenv("LAB_MPI_TIME_LIMIT", "0.5", 1);
  const outcome hangs = outcome_of<lab::mpi_error>(2, mishap::hangs, 0);
  const outcome waits = outcome_of<lab::mpi_error>(1, mishap::waits, 0);
  ::unsetenv("LAB_MPI_TIME_LIMIT");
  EXPECT_TRUE(has(hangs,
                  "ranks 0 and 1 of 2 have not answered after 0.5 s; rank 1 waits in "
                  "mpi_job_test.cpp:"))
      << hangs.sentence;
  EXPECT_TRUE(has(hangs, ": MPI_Barrier(world); rank 0 is in no call of MPI")) << hangs.sentence;
  EXPECT_TRUE(has(waits, "rank 0 of 1 has not answered after 0.5 s; rank 0 waits in "))
      << waits.sentence;
}

TEST(MpiJob, StartsWithinTheTimeLimitOfTheEnvironment) {
  static int times = 0;  // the tests are repeated, and no job that is there already is started
  const lab::mpi::options fresh{.environment = {"MPI_JOB_TEST=" + std::to_string(++times)}};
  const auto start = [&] {
    return kProcess.run(
        2, [](int) { return std::tuple<>(); }, fresh);
  };
  ::setenv("LAB_MPI_TIME_LIMIT", "0.001", 1);
  try {
    (void)start();
    ADD_FAILURE() << "two processes have started in a millisecond";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "mpirun cannot start 2 ranks: it takes longer than 0.001 s");
  }
  ::unsetenv("LAB_MPI_TIME_LIMIT");
  EXPECT_EQ(start().size(), 2U);
}

#ifdef __CPU_DEVICE__
TEST(MpiJob, FailsWhereARankLeavesDeviceMemoryBehind) {
  const outcome leaks = outcome_of<std::logic_error>(2, mishap::leaks, 1);
  EXPECT_TRUE(has(leaks, "rank 1 of 2: its work leaves behind: 1")) << leaks.sentence;
}
#endif

TEST(MpiJob, FailsWhereARankLeavesCommunicatorsBehind) {
  const outcome leaves = outcome_of<std::logic_error>(2, mishap::leaves_communicators, 0);
  EXPECT_EQ(leaves.sentence, "rank 0 of 2: its work leaves behind: 2 communicators of MPI");
}

#ifdef __CPU_DEVICE__  // the tests watch the ranks only there
TEST(MpiJob, FailsWhereARankChangesAMessageThatIsBeingSent) {
  const outcome one = outcome_of<std::logic_error>(2, mishap::changes_a_message, 1);
  EXPECT_EQ(one.sentence,
            "rank 1 of 2: it changed a message before MPI_Wait, MPI_Test or the like had reported "
            "that it was sent");
  const outcome two = outcome_of<std::logic_error>(2, mishap::frees_and_changes, 0);
  EXPECT_EQ(two.sentence,
            "rank 0 of 2: it changed 2 messages before MPI_Wait, MPI_Test or the like had reported "
            "that they were sent");
  for (const int received : kSendsInOrder.run(2, [](int) { return std::tuple<>(); }))
    EXPECT_EQ(received, 1);
}
#endif

TEST(MpiJob, RefusesNoRanksAndTooMany) {
  EXPECT_THROW((void)processes(0), lab::invalid_input);
  EXPECT_THROW((void)processes(lab::mpi::kMostRanks + 1), lab::invalid_input);
}

TEST(MpiJob, WorksWithoutAHome) {
  const char* const old = std::getenv("HOME");
  const std::string home = old == nullptr ? "" : old;
  ::unsetenv("HOME");
  EXPECT_EQ(processes(5).size(), 5U);  // no such job has been started before
  if (old != nullptr) ::setenv("HOME", home.c_str(), 1);
}

TEST(CudaSupport, IsNotRunningWhereItWasNotCompiled) {
  const lab::mpi::cuda_support support = lab::mpi::query_cuda_support();
  EXPECT_LE(support.running, support.compiled);
}

}  // namespace
