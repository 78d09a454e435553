// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What is reported about ranks that do not match: on GPUs, such programs hang or give wrong data.

#include <cpu_device/events.h>
#include <nccl.h>

#include <cstdlib>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "0.3", 1);
[[maybe_unused]] const int three_devices = setenv("CPU_DEVICE_COUNT", "3", 1);

class NcclReports : public testing::Test {
 protected:
  NcclReports() {
    EXPECT_EQ(ncclCommInitAll(comms_, 3, nullptr), ncclSuccess);
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(cudaSetDevice(r), cudaSuccess);
      EXPECT_EQ(cudaMalloc(&data_[r], 100 * sizeof(float)), cudaSuccess);
    }
  }
  ~NcclReports() override {
    for (int r = 0; r < 3; ++r) {
      EXPECT_EQ(cudaFree(data_[r]), cudaSuccess);
      EXPECT_EQ(ncclCommDestroy(comms_[r]), ncclSuccess);
    }
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  ncclResult_t sum(int rank, std::size_t count, ncclRedOp_t op = ncclSum) {
    return ncclAllReduce(data_[rank], data_[rank], count, ncclFloat, op, comms_[rank], nullptr);
  }
  /// What the end of a group of all ranks' calls returns.
  ncclResult_t sum_of_all() {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(sum(rank, 100), ncclSuccess);
    return ncclGroupEnd();
  }
  /// The clique fails with this, and says so.
  void expect(ncclResult_t result, std::size_t reports, const std::vector<std::string>& parts) {
    EXPECT_EQ(cpu_device::report_count(), reports + 1);
    for (const std::string& part : parts)
      EXPECT_NE(cpu_device::last_report().find(part), std::string::npos)
          << part << " is not in: " << cpu_device::last_report();
    ncclResult_t error = ncclSuccess;
    EXPECT_EQ(ncclCommGetAsyncError(comms_[1], &error), ncclSuccess);
    EXPECT_EQ(error, result);
    EXPECT_EQ(sum(0, 1), result);  // and no more is waited for
  }

  ncclComm_t comms_[3] = {};
  float* data_[3] = {};
};

class names_of_work : public cpu_device::observer {
 public:
  names_of_work() { cpu_device::add_observer(*this, 0U | cpu_device::event_kind::work); }
  ~names_of_work() override { cpu_device::remove_observer(*this); }
  void work_begins(const cpu_device::work_event& e) override { names.insert(e.name); }
  std::set<std::string> names;
};

TEST_F(NcclReports, WorkIsNamedAfterItsCall) {
  const names_of_work seen;
  EXPECT_EQ(sum_of_all(), ncclSuccess);
  EXPECT_EQ(seen.names, std::set<std::string>{"ncclAllReduce"});
}

TEST_F(NcclReports, ARankThatNeverComes) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(sum(0, 100), ncclSuccess);
  EXPECT_EQ(sum(2, 100), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSystemError);
  expect(ncclSystemError, before, {"ncclAllReduce: rank 0 waits, and rank 1 has not called it"});
}

TEST_F(NcclReports, OneThreadWithoutAGroup) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(sum(0, 100), ncclSystemError);
  expect(ncclSystemError, before, {"ranks 1-2 have not called it", "ncclGroupStart()"});
}

TEST_F(NcclReports, CountsThatDiffer) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(sum(0, 100), ncclSuccess);
  EXPECT_EQ(sum(1, 99), ncclSuccess);
  EXPECT_EQ(sum(2, 100), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  expect(ncclInvalidUsage, before,
         {"rank 1 calls ncclAllReduce with 99 elements", "rank 0 calls ncclAllReduce with 100"});
}

TEST_F(NcclReports, OperationsThatDiffer) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(sum(0, 100), ncclSuccess);
  EXPECT_EQ(sum(1, 100, ncclMax), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  expect(ncclInvalidUsage, before, {"operation 2", "operation 0"});
}

TEST_F(NcclReports, SendAndReceiveOfDifferentSizes) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclSend(data_[0], 50, ncclFloat, 1, comms_[0], nullptr), ncclSuccess);
  EXPECT_EQ(ncclRecv(data_[1], 60, ncclFloat, 0, comms_[1], nullptr), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  expect(ncclInvalidUsage, before, {"ncclRecv with 60", "ncclSend with 50", "the same count"});
}

TEST_F(NcclReports, TwoThreadsThatBothSendFirst) {
  const std::size_t before = cpu_device::report_count();
  const auto send = [&](int rank) {
    EXPECT_EQ(ncclSend(data_[rank], 50, ncclFloat, 1 - rank, comms_[rank], nullptr),
              ncclSystemError);
  };
  std::thread other(send, 1);
  send(0);
  other.join();
  expect(ncclSystemError, before, {"has not called ncclRecv"});
}

TEST_F(NcclReports, ARankThatAborts) {
  std::thread waiting([&] { EXPECT_EQ(sum(0, 100), ncclRemoteError); });
  ncclComm_t lost = comms_[2];
  comms_[2] = nullptr;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ncclCommAbort(lost), ncclSuccess);
  waiting.join();
}

// If a call of a group fails, for whatever reason, the other ranks do not wait for it.
TEST_F(NcclReports, NothingOfAGroupInWhichACallFails) {
  const std::size_t before = cpu_device::report_count();
  cpu_device::fail_call("ncclAllReduce", 2, ncclInternalError);
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(sum(0, 100), ncclSuccess);
  EXPECT_EQ(sum(1, 100), ncclInternalError);
  EXPECT_EQ(ncclGroupEnd(), ncclInternalError);
  EXPECT_EQ(sum_of_all(), ncclSuccess);
  EXPECT_EQ(cpu_device::report_count(), before);
}

TEST_F(NcclReports, NothingOfAGroupWhoseEndFails) {
  const std::size_t before = cpu_device::report_count();
  cpu_device::fail_call("ncclGroupEnd", 1, ncclInternalError);
  EXPECT_EQ(sum_of_all(), ncclInternalError);
  EXPECT_EQ(sum_of_all(), ncclSuccess);  // no group is open any more
  EXPECT_EQ(cpu_device::report_count(), before);
}

TEST_F(NcclReports, ABufferThatIsTooSmall) {
  const std::size_t before = cpu_device::report_count();
  EXPECT_EQ(sum(0, 101), ncclInvalidArgument);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("has only 400 bytes left"), std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(sum(0, 100), ncclUnhandledCudaError);  // as after a failed kernel
  EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  data_[0] = nullptr;
}

TEST(NcclInit, ARankThatNeverComes) {
  const std::size_t before = cpu_device::report_count();
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 3, id, 1), ncclSystemError);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("rank 1 of 3 waits, and ranks 0, 2 have not called it"),
            std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(comm, nullptr);
}

TEST(NcclInit, AnIdThatHasBeenUsed) {
  const std::size_t before = cpu_device::report_count();
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(cpu_device::report_count(), before);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidUsage);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("the id has made a communicator before"),
            std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_EQ(ncclCommInitRank(&comm, 1, id, 0), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
}

TEST(NcclInit, TwoRanksOnOneDevice) {
  const std::size_t before = cpu_device::report_count();
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  ncclComm_t comms[2] = {};
  EXPECT_EQ(ncclGroupStart(), ncclSuccess);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(ncclCommInitRank(&comms[rank], 2, id, rank), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_NE(cpu_device::last_report().find("both have device 0"), std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(comms[0], nullptr);
  EXPECT_EQ(comms[1], nullptr);
}

}  // namespace
