// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// NCCL between processes. The program starts itself several times at once, as
//   program --child TASK ID RANKS RANK…
// for each process, with the ranks that it has, and looks at what they print.

#include <fcntl.h>
#include <nccl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"
#include "run_tests.hpp"

namespace {

// --- a process with some of the ranks -----------------------------------------------------------

[[noreturn]] void wrong(const char* what, int line) {
  std::printf("line %d: %s\n", line, what);
  std::fflush(stdout);
  _exit(1);
}
#define CHECK(condition)                           \
  do {                                             \
    if (!(condition)) wrong(#condition, __LINE__); \
  } while (false)

std::string hexadecimal(const ncclUniqueId& id) {
  std::string text;
  for (const char c : id.internal)
    for (const int shift : {4, 0}) text += "0123456789abcdef"[(c >> shift) & 15];
  return text;
}
ncclUniqueId id_of(const std::string& text) {
  ncclUniqueId id;
  for (std::size_t i = 0; i < sizeof id.internal; ++i)
    id.internal[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return id;
}
std::string path_of(const ncclUniqueId& id) {
  return "/dev/shm/cpu_device.nccl." + hexadecimal(id).substr(16, 32);
}
bool exists(const ncclUniqueId& id) { return access(path_of(id).c_str(), F_OK) == 0; }

/// Different for each rank and place, and exact in every order of additions.
std::int64_t number(int rank, std::size_t i) {
  return static_cast<std::int64_t>(i * 7 + 1) * (rank + 3) % 1009 - 300;
}

/// The ranks of this process, rank r with device r.
struct local_ranks {
  ncclUniqueId id{};
  int ranks = 0;
  std::vector<int> mine;
  std::map<int, ncclComm_t> comms;

  local_ranks(int argc, char** argv) : id(id_of(argv[3])), ranks(std::atoi(argv[4])) {
    for (int i = 5; i < argc; ++i) mine.push_back(std::atoi(argv[i]));
  }
  ncclResult_t join() {
    CHECK(ncclGroupStart() == ncclSuccess);
    for (const int r : mine) {
      CHECK(cudaSetDevice(r) == cudaSuccess);
      CHECK(ncclCommInitRank(&comms[r], ranks, id, r) == ncclSuccess);
    }
    return ncclGroupEnd();
  }
  void leave() {
    for (const auto& [r, comm] : comms) CHECK(ncclCommDestroy(comm) == ncclSuccess);
    CHECK(cpu_device::live_objects(cpu_device::object_kind::library_handle) == 0);
  }
  ncclResult_t together(const std::function<ncclResult_t(int)>& call) {
    CHECK(ncclGroupStart() == ncclSuccess);
    for (const int r : mine) CHECK(call(r) == ncclSuccess);
    return ncclGroupEnd();
  }
};

struct buffer {
  explicit buffer(int device, std::size_t n) : device(device), n(n) {
    CHECK(cudaSetDevice(device) == cudaSuccess);
    CHECK(cudaMalloc(&data, std::max<std::size_t>(n, 1) * sizeof *data) == cudaSuccess);
  }
  ~buffer() { cudaFree(data); }
  buffer(const buffer&) = delete;
  buffer& operator=(const buffer&) = delete;
  void fill(const std::vector<std::int64_t>& values) const {
    CHECK(cudaSetDevice(device) == cudaSuccess);
    CHECK(cudaMemcpy(data, values.data(), n * sizeof *data, cudaMemcpyHostToDevice) == cudaSuccess);
    CHECK(cudaStreamSynchronize(nullptr) == cudaSuccess);  // they may still be on their way
  }
  std::vector<std::int64_t> values() const {
    std::vector<std::int64_t> host(n);
    CHECK(cudaSetDevice(device) == cudaSuccess);
    CHECK(cudaMemcpy(host.data(), data, n * sizeof *data, cudaMemcpyDeviceToHost) == cudaSuccess);
    return host;
  }
  int device;
  std::size_t n;
  std::int64_t* data = nullptr;
};
using buffers = std::map<int, std::unique_ptr<buffer>>;

std::vector<std::int64_t> numbers(int rank, std::size_t n) {
  std::vector<std::int64_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = number(rank, i);
  return v;
}

/// Every collective call, with `n` elements a rank.
void check_collectives(local_ranks& all, std::size_t n) {
  const auto ranks = static_cast<std::size_t>(all.ranks);
  const int root = all.ranks - 1;
  buffers send, receive;
  for (const int r : all.mine) {
    send[r] = std::make_unique<buffer>(r, n * ranks);
    receive[r] = std::make_unique<buffer>(r, n * ranks);
    send[r]->fill(numbers(r, n * ranks));
    receive[r]->fill(std::vector<std::int64_t>(n * ranks, -1));
  }
  const auto sum = [&](std::size_t i) {
    std::int64_t s = 0;
    for (int r = 0; r < all.ranks; ++r) s += number(r, i);
    return s;
  };
  const auto expect = [&](int r, std::size_t count, auto value) {
    const std::vector<std::int64_t> got = receive[r]->values();
    for (std::size_t i = 0; i < count; ++i) CHECK(got[i] == value(i));
  };
  CHECK(all.together([&](int r) {
    return ncclAllReduce(send[r]->data, receive[r]->data, n, ncclInt64, ncclSum, all.comms[r], {});
  }) == ncclSuccess);
  for (const int r : all.mine) expect(r, n, sum);
  CHECK(all.together([&](int r) {
    return ncclBroadcast(send[r]->data, receive[r]->data, n, ncclInt64, root, all.comms[r], {});
  }) == ncclSuccess);
  for (const int r : all.mine) expect(r, n, [&](std::size_t i) { return number(root, i); });
  CHECK(all.together([&](int r) {
    return ncclReduce(send[r]->data, receive[r]->data, n, ncclInt64, ncclMax, 0, all.comms[r], {});
  }) == ncclSuccess);
  for (const int r : all.mine)
    expect(r, n, [&](std::size_t i) {
      if (r != 0) return number(root, i);  // as it was
      std::int64_t most = number(0, i);
      for (int other = 1; other < all.ranks; ++other) most = std::max(most, number(other, i));
      return most;
    });
  CHECK(all.together([&](int r) {
    return ncclAllGather(send[r]->data, receive[r]->data, n, ncclInt64, all.comms[r], {});
  }) == ncclSuccess);
  for (const int r : all.mine)
    expect(r, n * ranks, [&](std::size_t i) { return number(static_cast<int>(i / n), i % n); });
  CHECK(all.together([&](int r) {
    return ncclReduceScatter(send[r]->data, receive[r]->data, n, ncclInt64, ncclSum, all.comms[r],
                             {});
  }) == ncclSuccess);
  for (const int r : all.mine)
    expect(r, n, [&](std::size_t i) { return sum(static_cast<std::size_t>(r) * n + i); });
}

/// Each rank sends to each, itself too, twice, in one group.
void check_sends(local_ranks& all, std::size_t n) {
  const auto ranks = static_cast<std::size_t>(all.ranks);
  buffers send, receive;
  for (const int r : all.mine) {
    send[r] = std::make_unique<buffer>(r, 2 * n * ranks);
    receive[r] = std::make_unique<buffer>(r, 2 * n * ranks);
    send[r]->fill(numbers(r, 2 * n * ranks));
  }
  CHECK(all.together([&](int r) {
    for (std::size_t k = 0; k < 2 * ranks; ++k) {
      const int peer = static_cast<int>(k % ranks);
      CHECK(ncclSend(send[r]->data + k * n, n, ncclInt64, peer, all.comms[r], {}) == ncclSuccess);
      CHECK(ncclRecv(receive[r]->data + k * n, n, ncclInt64, peer, all.comms[r], {}) ==
            ncclSuccess);
    }
    return ncclSuccess;
  }) == ncclSuccess);
  for (const int r : all.mine) {
    const std::vector<std::int64_t> got = receive[r]->values();
    for (std::size_t k = 0; k < 2 * ranks; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t sent = (k / ranks * ranks + static_cast<std::size_t>(r)) * n + i;
        CHECK(got[k * n + i] == number(static_cast<int>(k % ranks), sent));
      }
  }
}

__global__ void add_to_each(std::int64_t* data, std::int64_t x) { data[threadIdx.x] += x; }

/// A kernel, a sum and a copy in one stream, without waits in between.
void check_streams(local_ranks& all) {
  constexpr std::size_t n = 32;
  using cpu_device::stream_policy;
  for (const auto policy :
       {stream_policy::eager, stream_policy::deferred, stream_policy::interleaved}) {
    cpu_device::set_stream_policy(policy);
    buffers data;
    std::map<int, cudaStream_t> streams;
    for (const int r : all.mine) {
      data[r] = std::make_unique<buffer>(r, n);
      data[r]->fill(numbers(r, n));
      CHECK(cudaStreamCreateWithFlags(&streams[r], cudaStreamNonBlocking) == cudaSuccess);
      add_to_each<<<1, n, 0, streams[r]>>>(data[r]->data, 5);
    }
    CHECK(all.together([&](int r) {
      return ncclAllReduce(data[r]->data, data[r]->data, n, ncclInt64, ncclSum, all.comms[r],
                           streams[r]);
    }) == ncclSuccess);
    for (const int r : all.mine) {  // nobody has waited
      std::int64_t first = 0;
      for (int other = 0; other < all.ranks; ++other) first += number(other, 0) + 5;
      if (policy == stream_policy::eager) CHECK(data[r]->values()[0] == first);
      if (policy == stream_policy::deferred && all.ranks > 1) CHECK(data[r]->values()[0] != first);
    }
    for (const int r : all.mine) {
      CHECK(cudaSetDevice(r) == cudaSuccess);
      add_to_each<<<1, n, 0, streams[r]>>>(data[r]->data, 1);
      CHECK(cudaStreamSynchronize(streams[r]) == cudaSuccess);
      for (std::size_t i = 0; i < n; ++i) {
        std::int64_t sum = 1;
        for (int other = 0; other < all.ranks; ++other) sum += number(other, i) + 5;
        CHECK(data[r]->values()[i] == sum);
      }
      CHECK(cudaStreamDestroy(streams[r]) == cudaSuccess);
    }
  }
  cpu_device::set_stream_policy(stream_policy::eager);
}

ncclResult_t sum_of_counts(local_ranks& all, const std::function<std::size_t(int)>& count) {
  buffers data;
  for (const int r : all.mine) {
    data[r] = std::make_unique<buffer>(r, 100);
    data[r]->fill(numbers(r, 100));
  }
  return all.together([&](int r) {
    return ncclAllReduce(data[r]->data, data[r]->data, count(r), ncclInt64, ncclSum, all.comms[r],
                         {});
  });
}
ncclResult_t one_sum(local_ranks& all) {
  return sum_of_counts(all, [](int) { return std::size_t{100}; });
}

void say(ncclResult_t result, const local_ranks& all) {
  std::printf("%d %s\n", result,
              ncclGetLastError(all.comms.empty() ? nullptr : all.comms.begin()->second));
}
/// The error is there to stay, and everything can be freed.
void expect_stays(local_ranks& all, ncclResult_t result) {
  CHECK(one_sum(all) == result);
  for (const auto& [r, comm] : all.comms) {
    ncclResult_t error = ncclSuccess;
    CHECK(ncclCommGetAsyncError(comm, &error) == ncclSuccess);
    CHECK(error == result);
    CHECK(ncclCommAbort(comm) == ncclSuccess);
  }
  CHECK(cpu_device::live_objects(cpu_device::object_kind::library_handle) == 0);
}

int child(int argc, char** argv) {
  const std::string task = argv[2];
  local_ranks all(argc, argv);
  const bool is_last = all.mine.back() == all.ranks - 1;
  if (task == "waits_to_join") {
    say(all.join(), all);
    return 0;
  }
  if (task == "same_device") {  // as if cudaSetDevice() had been forgotten
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, all.ranks, all.id, all.mine[0]);
    CHECK(comm == nullptr);
    say(result, all);
    return 0;
  }
  CHECK(all.join() == ncclSuccess);
  CHECK(!exists(all.id));  // so nothing can stay behind
  if (task == "everything") {
    for (const std::size_t n : {0, 1, 37}) check_collectives(all, n);
    check_sends(all, 19);
    check_streams(all);
    all.leave();
  } else if (task == "in_pieces") {
    const std::size_t piece = (1 << 20) / sizeof(std::int64_t);
    for (const std::size_t n : {piece - 1, piece, piece + 1, 2 * piece + 3})
      check_collectives(all, n);
    check_sends(all, piece + 1);
    all.leave();
  } else if (task == "dies") {
    CHECK(one_sum(all) == ncclSuccess);
    if (is_last) std::raise(SIGKILL);
    const ncclResult_t result = one_sum(all);
    say(result, all);
    expect_stays(all, ncclRemoteError);
  } else if (task == "dies_unseen") {  // nobody waits for it
    if (is_last) std::raise(SIGKILL);
    ncclResult_t error = ncclSuccess;
    while (error == ncclSuccess)
      CHECK(ncclCommGetAsyncError(all.comms.begin()->second, &error) == ncclSuccess);
    say(error, all);
    expect_stays(all, ncclRemoteError);
  } else if (task == "ends_after_its_part") {
    CHECK(one_sum(all) == ncclSuccess);
    if (is_last) _exit(0);
    all.leave();
  } else if (task == "leaves") {
    CHECK(one_sum(all) == ncclSuccess);
    if (is_last) {
      all.leave();
    } else {
      say(one_sum(all), all);
      expect_stays(all, ncclRemoteError);
    }
  } else if (task == "aborts") {
    if (is_last) {
      for (const auto& [r, comm] : all.comms) CHECK(ncclCommAbort(comm) == ncclSuccess);
    } else {
      say(one_sum(all), all);
      expect_stays(all, ncclRemoteError);
    }
  } else if (task == "counts_differ") {
    say(sum_of_counts(all, [&](int r) { return std::size_t{r == all.ranks - 1 ? 99u : 100u}; }),
        all);
    expect_stays(all, ncclInvalidUsage);
  } else if (task == "one_does_not_call" || task == "one_does_not_receive") {
    const buffer data(all.mine[0], 10);
    if (is_last) {
      ncclResult_t error = ncclSuccess;
      while (error == ncclSuccess)
        CHECK(ncclCommGetAsyncError(all.comms.begin()->second, &error) == ncclSuccess);
    } else if (task == "one_does_not_call") {
      say(one_sum(all), all);
    } else {
      say(ncclSend(data.data, 10, ncclInt64, 1, all.comms[0], {}), all);
    }
    expect_stays(all, ncclSystemError);
  } else {
    wrong("no such task", __LINE__);
  }
  return 0;
}

// --- the tests ----------------------------------------------------------------------------------

struct ended {
  int status = 0;
  std::string output;
};

class processes {
 public:
  explicit processes(const std::string& environment = "") : environment_(environment) {
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  }
  /// Starts one with these of `count` ranks.
  void start(const std::string& task, int count, const std::string& ranks) {
    const std::string command = "exec env CPU_DEVICE_COUNT=" + std::to_string(count) + " " +
                                environment_ + " timeout -s KILL 100 " + self() + " --child " +
                                task + " " + hexadecimal(id) + " " + std::to_string(count) + " " +
                                ranks + " 2>&1";
    pipes_.push_back(popen(command.c_str(), "re"));
    EXPECT_NE(pipes_.back(), nullptr);
  }
  std::vector<ended> wait() {
    std::vector<ended> all;
    for (std::FILE* pipe : pipes_) {
      ended e;
      char piece[4096];
      while (std::fgets(piece, sizeof piece, pipe) != nullptr) e.output += piece;
      e.status = pclose(pipe);
      all.push_back(e);
    }
    pipes_.clear();
    return all;
  }
  static std::vector<ended> run(const std::string& task, int count,
                                const std::vector<std::string>& ranks,
                                const std::string& environment = "") {
    processes all(environment);
    for (const std::string& r : ranks) all.start(task, count, r);
    std::vector<ended> result = all.wait();
    EXPECT_FALSE(exists(all.id)) << path_of(all.id) << " has stayed";
    return result;
  }

  ncclUniqueId id{};

 private:
  static std::string self() {
    char path[4096] = {};
    return readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? "'" + std::string(path) + "'"
                                                                 : "";
  }
  std::string environment_;
  std::vector<std::FILE*> pipes_;
};

void expect_silence(const std::vector<ended>& all) {
  for (const ended& e : all) {
    EXPECT_EQ(e.status, 0);
    EXPECT_EQ(e.output, "");
  }
}
/// All except the last have ended successfully, and have printed this.
void expect_others_say(const std::vector<ended>& all, ncclResult_t result,
                       const std::string& sentence) {
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    EXPECT_EQ(all[i].status, 0) << all[i].output;
    EXPECT_NE(all[i].output.find("\n" + std::to_string(result) + " " + sentence), std::string::npos)
        << all[i].output;
  }
}

TEST(NcclProcesses, OneRankInEachOfTwo) {
  expect_silence(processes::run("everything", 2, {"0", "1"}));
}
TEST(NcclProcesses, OneRankInEachOfEight) {
  expect_silence(processes::run("everything", 8, {"7", "1", "2", "0", "3", "4", "5", "6"}));
}
TEST(NcclProcesses, SeveralRanksInEach) {
  expect_silence(processes::run("everything", 5, {"0 3", "1", "4 2"}));
}
TEST(NcclProcesses, AllRanksInOne) { expect_silence(processes::run("everything", 3, {"0 1 2"})); }
TEST(NcclProcesses, OneRankAlone) { expect_silence(processes::run("everything", 1, {"0"})); }
TEST(NcclProcesses, SendsMuchInPieces) {
  expect_silence(processes::run("in_pieces", 3, {"0", "1 2"}));
}

TEST(NcclProcesses, TheDeathOfOneIsToldByAllOthers) {
  const std::vector<ended> all = processes::run("dies", 4, {"0", "1", "2", "3"});
  expect_others_say(all, ncclRemoteError, "NCCL: the process of rank 3 has ended");
  EXPECT_NE(all.back().status, 0);
}
TEST(NcclProcesses, TheDeathOfOneWithSeveralRanksIsToldByAllOthers) {
  const std::vector<ended> all = processes::run("dies", 4, {"0 2", "1 3"});
  expect_others_say(all, ncclRemoteError, "NCCL: the process of ranks 1, 3 has ended");
}
TEST(NcclProcesses, ADeathIsSeenWithoutACallThatWaits) {
  const std::vector<ended> all = processes::run("dies_unseen", 3, {"0", "1", "2"});
  expect_others_say(all, ncclRemoteError, "NCCL: the process of rank 2 has ended");
}
TEST(NcclProcesses, WhoHasDoneItsPartMayEnd) {
  expect_silence(processes::run("ends_after_its_part", 2, {"0", "1"}));
}
TEST(NcclProcesses, OneThatLeavesIsNotWaitedFor) {
  const std::vector<ended> all = processes::run("leaves", 3, {"0", "1", "2"});
  expect_others_say(all, ncclRemoteError, "ncclAllReduce: rank ");
  EXPECT_EQ(all.back().status, 0) << all.back().output;
}
TEST(NcclProcesses, AnAbortIsToldByAllOthers) {
  const std::vector<ended> all = processes::run("aborts", 3, {"0", "1", "2"});
  expect_others_say(all, ncclRemoteError, "NCCL: rank 2 has aborted its communicator.");
  EXPECT_EQ(all.back().status, 0) << all.back().output;
}
TEST(NcclProcesses, CountsThatDifferAreToldByAll) {
  std::vector<ended> all = processes::run("counts_differ", 3, {"0", "1", "2"});
  all.emplace_back();
  expect_others_say(all, ncclInvalidUsage, "NCCL: rank ");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NE(all[i].output.find("rank 2 calls ncclAllReduce with 99 elements"), std::string::npos)
        << all[i].output;
}
TEST(NcclProcesses, OneThatDoesNotCallIsNamed) {
  const std::vector<ended> all =
      processes::run("one_does_not_call", 2, {"0", "1"}, "CPU_DEVICE_TIME_LIMIT=0.5");
  expect_others_say(all, ncclSystemError,
                    "ncclAllReduce: rank 0 waits, and rank 1 has not called it");
  EXPECT_EQ(all.back().status, 0) << all.back().output;
}
TEST(NcclProcesses, OneThatDoesNotReceiveIsNamed) {
  const std::vector<ended> all =
      processes::run("one_does_not_receive", 2, {"0", "1"}, "CPU_DEVICE_TIME_LIMIT=0.5");
  expect_others_say(all, ncclSystemError,
                    "ncclSend: rank 0 waits, and rank 1 has not called ncclRecv");
  EXPECT_EQ(all.back().status, 0) << all.back().output;
}
TEST(NcclProcesses, OneThatDoesNotJoinIsNamed) {
  const std::vector<ended> all =
      processes::run("waits_to_join", 2, {"0"}, "CPU_DEVICE_TIME_LIMIT=0.3");
  EXPECT_NE(all[0].output.find("rank 0 of 2 waits, and rank 1 has not called it"),
            std::string::npos)
      << all[0].output;
}
TEST(NcclProcesses, ADeviceBelongsToOneRank) {
  std::vector<ended> all = processes::run("same_device", 3, {"0", "1", "2"});
  all.emplace_back();
  expect_others_say(all, ncclInvalidUsage, "ncclCommInitRank: ranks ");
  EXPECT_NE(all[0].output.find("both have device 0"), std::string::npos) << all[0].output;
}
TEST(NcclProcesses, TwoRanksOfOneNumberAreRefused) {
  std::vector<ended> all = processes::run("waits_to_join", 2, {"1", "1"});
  all.emplace_back();
  expect_others_say(all, ncclInvalidUsage, "ncclCommInitRank: there are two ranks 1.");
}

// A process was killed before all had come. Its file has a name, and the next one to join whatever
// it is removes it; but not one whose process lives.
TEST(NcclProcesses, WhatAKilledOneLeftIsRemoved) {
  if (cpu_device_testing::is_emulated()) GTEST_SKIP() << "QEMU 7.2 lists no files of a tmpfs";
  ncclUniqueId left, used;
  ASSERT_EQ(ncclGetUniqueId(&left), ncclSuccess);
  ASSERT_EQ(ncclGetUniqueId(&used), ncclSuccess);
  int files[2];
  const ncclUniqueId* ids[2] = {&left, &used};
  for (int i = 0; i < 2; ++i) {
    files[i] = open(path_of(*ids[i]).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(files[i], 0);
    const timespec old[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    ASSERT_EQ(futimens(files[i], old), 0);
  }
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_start = (off_t{1} << 40) + 1;
  range.l_len = 1;
  ASSERT_EQ(fcntl(files[1], F_SETLK, &range), 0);
  expect_silence(processes::run("everything", 1, {"0"}));
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(used));
  for (const int file : files) close(file);
  unlink(path_of(left).c_str());
  unlink(path_of(used).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 5 && std::string(argv[1]) == "--child") return child(argc, argv);
  return run_tests(argc, argv);
}
