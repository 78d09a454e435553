// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// NCCL for the devices of one process: all collectives, types and operations, in groups and from
// several threads. Runs on the CPU device (with four devices) and on as many GPUs as there are.

#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <thread>

#include "conformance.hpp"
#include "small_floats.hpp"

namespace {

using namespace conformance;

#ifdef __CPU_DEVICE__
[[maybe_unused]] const int four_devices = setenv("CPU_DEVICE_COUNT", "4", 1);
#endif

int rank_count() {
  int devices = 0;
  EXPECT_EQ(cudaGetDeviceCount(&devices), cudaSuccess);
  return std::min(devices, 4);
}

/// A communicator, a stream and two buffers on each device.
template <class T>
class ranks {
 public:
  explicit ranks(std::size_t sent, std::size_t received) : comms(count_of()), received_(received) {
    EXPECT_EQ(ncclCommInitAll(comms.data(), count, nullptr), ncclSuccess);
    for (int r = 0; r < count; ++r) {
      EXPECT_EQ(cudaSetDevice(r), cudaSuccess);
      streams.push_back(nullptr);
      EXPECT_EQ(cudaStreamCreateWithFlags(&streams.back(), cudaStreamNonBlocking), cudaSuccess);
      send.push_back(nullptr);
      receive.push_back(nullptr);
      EXPECT_EQ(cudaMalloc(&send.back(), sent * sizeof(T)), cudaSuccess);
      EXPECT_EQ(cudaMalloc(&receive.back(), received * sizeof(T)), cudaSuccess);
      EXPECT_EQ(cudaMemset(receive.back(), 0x55, received * sizeof(T)), cudaSuccess);
    }
  }
  ~ranks() {
    for (int r = 0; r < count; ++r) {
      EXPECT_EQ(cudaSetDevice(r), cudaSuccess);
      EXPECT_EQ(cudaFree(send[at(r)]), cudaSuccess);
      EXPECT_EQ(cudaFree(receive[at(r)]), cudaSuccess);
      EXPECT_EQ(cudaStreamDestroy(streams[at(r)]), cudaSuccess);
      EXPECT_EQ(ncclCommDestroy(comms[at(r)]), ncclSuccess);
    }
    EXPECT_EQ(cudaSetDevice(0), cudaSuccess);
  }
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  /// Into a rank's send buffer, in its stream.
  void fill(int rank, const std::vector<T>& values) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(send[at(rank)], values.data(), values.size() * sizeof(T),
                              cudaMemcpyHostToDevice, streams[at(rank)]),
              cudaSuccess);
  }
  /// What a rank has received, once its stream has got that far.
  std::vector<T> result(int rank) {
    std::vector<T> values(received_);
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), receive[at(rank)], received_ * sizeof(T),
                              cudaMemcpyDeviceToHost, streams[at(rank)]),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(streams[at(rank)]), cudaSuccess);
    return values;
  }
  /// call(rank) of every rank, in a group.
  template <class Call>
  void together(Call call) {
    EXPECT_EQ(ncclGroupStart(), ncclSuccess);
    for (int r = 0; r < count; ++r) EXPECT_EQ(call(r), ncclSuccess);
    EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  }

  int count = rank_count();
  std::vector<ncclComm_t> comms;
  std::vector<cudaStream_t> streams;
  std::vector<T*> send, receive;

 private:
  static std::size_t count_of() { return static_cast<std::size_t>(rank_count()); }
  std::size_t received_;
};

/// Whole numbers, different for each rank and place, and small enough for products of four.
int number(int rank, int i) { return 1 + (rank * 3 + i * 5 + rank * i) % 3; }

template <class T>
std::vector<T> numbers(int rank, int n) {
  std::vector<T> v;
  for (int i = 0; i < n; ++i) v.push_back(converted<T>(number(rank, i)));
  return v;
}

double reduced(int i, int count, ncclRedOp_t op) {
  double result = number(0, i);
  for (int r = 1; r < count; ++r) {
    const double x = number(r, i);
    result = op == ncclProd  ? result * x
             : op == ncclMax ? std::max(result, x)
             : op == ncclMin ? std::min(result, x)
                             : result + x;
  }
  return result;
}

constexpr int kCount = 37;

template <class T>
void check_all_reduce(ncclDataType_t type, ncclRedOp_t op) {
  ranks<T> all(kCount, kCount);
  for (int r = 0; r < all.count; ++r) all.fill(r, numbers<T>(r, kCount));
  all.together([&](int r) {
    return ncclAllReduce(all.send[all.at(r)], all.receive[all.at(r)], kCount, type, op,
                         all.comms[all.at(r)], all.streams[all.at(r)]);
  });
  for (int r = 0; r < all.count; ++r) {
    const std::vector<T> result = all.result(r);
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(as_double(result[all.at(i)]), reduced(i, all.count, op))
          << "type " << type << ", operation " << op << ", rank " << r << ", element " << i;
  }
}

TEST(Nccl, ReducesEveryTypeWithEveryOperation) {
  for (const ncclRedOp_t op : {ncclSum, ncclProd, ncclMax, ncclMin}) {
    check_all_reduce<signed char>(ncclInt8, op);
    check_all_reduce<unsigned char>(ncclUint8, op);
    check_all_reduce<int>(ncclInt32, op);
    check_all_reduce<unsigned>(ncclUint32, op);
    check_all_reduce<std::int64_t>(ncclInt64, op);
    check_all_reduce<std::uint64_t>(ncclUint64, op);
    check_all_reduce<__half>(ncclFloat16, op);
    check_all_reduce<__nv_bfloat16>(ncclBfloat16, op);
    check_all_reduce<float>(ncclFloat32, op);
    check_all_reduce<double>(ncclFloat64, op);
  }
}

TEST(Nccl, Averages) {
  ranks<float> all(kCount, kCount);
  for (int r = 0; r < all.count; ++r) all.fill(r, numbers<float>(r, kCount));
  all.together([&](int r) {
    return ncclAllReduce(all.send[all.at(r)], all.receive[all.at(r)], kCount, ncclFloat, ncclAvg,
                         all.comms[all.at(r)], all.streams[all.at(r)]);
  });
  for (int r = 0; r < all.count; ++r) {
    const std::vector<float> result = all.result(r);
    for (int i = 0; i < kCount; ++i)
      EXPECT_NEAR(static_cast<double>(result[all.at(i)]),
                  reduced(i, all.count, ncclSum) / all.count, 1e-6);
  }
}

__global__ void add_to_each(int* data, int x) { data[threadIdx.x] += x; }

TEST(Nccl, ReducesInPlaceAndInTheOrderOfTheStreams) {
  in_every_policy([] {
    ranks<int> all(kCount, kCount);
    for (int r = 0; r < all.count; ++r) {
      all.fill(r, numbers<int>(r, kCount));
      add_to_each<<<1, kCount, 0, all.streams[all.at(r)]>>>(all.send[all.at(r)], 100);
    }
    // In place, twice: the second sum is that of the first one's results.
    for (int round = 0; round < 2; ++round)
      all.together([&](int r) {
        return ncclAllReduce(all.send[all.at(r)], all.send[all.at(r)], kCount, ncclInt, ncclSum,
                             all.comms[all.at(r)], all.streams[all.at(r)]);
      });
    for (int r = 0; r < all.count; ++r) {
      EXPECT_EQ(cudaSetDevice(r), cudaSuccess);
      EXPECT_EQ(cudaMemcpyAsync(all.receive[all.at(r)], all.send[all.at(r)], kCount * sizeof(int),
                                cudaMemcpyDeviceToDevice, all.streams[all.at(r)]),
                cudaSuccess);
    }
    for (int r = all.count - 1; r >= 0; --r) {
      const std::vector<int> result = all.result(r);
      for (int i = 0; i < kCount; ++i)
        ASSERT_EQ(result[all.at(i)],
                  all.count * (reduced(i, all.count, ncclSum) + 100 * all.count));
    }
  });
}

TEST(Nccl, BroadcastsAndReducesToARoot) {
  in_every_policy([] {
    ranks<float> all(kCount, kCount);
    const int root = all.count - 1;
    for (int r = 0; r < all.count; ++r) all.fill(r, numbers<float>(r, kCount));
    all.together([&](int r) {
      return ncclBroadcast(all.send[all.at(r)], all.receive[all.at(r)], kCount, ncclFloat, root,
                           all.comms[all.at(r)], all.streams[all.at(r)]);
    });
    for (int r = 0; r < all.count; ++r) EXPECT_EQ(all.result(r), numbers<float>(root, kCount));
    all.together([&](int r) {
      return ncclReduce(all.send[all.at(r)], all.receive[all.at(r)], kCount, ncclFloat, ncclSum,
                        root, all.comms[all.at(r)], all.streams[all.at(r)]);
    });
    std::vector<float> expected;
    for (int i = 0; i < kCount; ++i)
      expected.push_back(static_cast<float>(reduced(i, all.count, ncclSum)));
    EXPECT_EQ(all.result(root), expected);
    if (root != 0) {
      EXPECT_EQ(all.result(0), numbers<float>(root, kCount));  // as it was
    }
  });
}

TEST(Nccl, GathersAndScatters) {
  in_every_policy([] {
    const auto n = static_cast<std::size_t>(rank_count()) * kCount;
    ranks<int> all(n, n);
    for (int r = 0; r < all.count; ++r) all.fill(r, numbers<int>(r, static_cast<int>(n)));
    all.together([&](int r) {
      return ncclAllGather(all.send[all.at(r)], all.receive[all.at(r)], kCount, ncclInt,
                           all.comms[all.at(r)], all.streams[all.at(r)]);
    });
    std::vector<int> expected;
    for (int r = 0; r < all.count; ++r)
      for (int i = 0; i < kCount; ++i) expected.push_back(number(r, i));
    for (int r = 0; r < all.count; ++r) EXPECT_EQ(all.result(r), expected);
    all.together([&](int r) {
      return ncclReduceScatter(all.send[all.at(r)], all.receive[all.at(r)], kCount, ncclInt,
                               ncclSum, all.comms[all.at(r)], all.streams[all.at(r)]);
    });
    for (int r = 0; r < all.count; ++r) {
      const std::vector<int> result = all.result(r);
      for (int i = 0; i < kCount; ++i)
        ASSERT_EQ(result[all.at(i)], reduced(r * kCount + i, all.count, ncclSum));
    }
  });
}

TEST(Nccl, SendsAroundARing) {
  in_every_policy([] {
    ranks<int> all(kCount, kCount);
    for (int r = 0; r < all.count; ++r) all.fill(r, numbers<int>(r, kCount));
    all.together([&](int r) {
      const int next = (r + 1) % all.count, before = (r + all.count - 1) % all.count;
      const ncclResult_t sent = ncclSend(all.send[all.at(r)], kCount, ncclInt, next,
                                         all.comms[all.at(r)], all.streams[all.at(r)]);
      return sent != ncclSuccess ? sent
                                 : ncclRecv(all.receive[all.at(r)], kCount, ncclInt, before,
                                            all.comms[all.at(r)], all.streams[all.at(r)]);
    });
    for (int r = 0; r < all.count; ++r)
      EXPECT_EQ(all.result(r), numbers<int>((r + all.count - 1) % all.count, kCount));
  });
}

// A thread for each rank, without groups.
TEST(Nccl, TakesAThreadForEachRank) {
  const int count = rank_count();
  ncclUniqueId id;
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<std::vector<int>> results(static_cast<std::size_t>(count));
  const auto work = [&](int rank) {
    EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
    ncclComm_t comm = nullptr;
    ASSERT_EQ(ncclCommInitRank(&comm, count, id, rank), ncclSuccess);
    int ranks_there = 0, me = -1, device = -1;
    EXPECT_EQ(ncclCommCount(comm, &ranks_there), ncclSuccess);
    EXPECT_EQ(ncclCommUserRank(comm, &me), ncclSuccess);
    EXPECT_EQ(ncclCommCuDevice(comm, &device), ncclSuccess);
    EXPECT_EQ(ranks_there, count);
    EXPECT_EQ(me, rank);
    EXPECT_EQ(device, rank);
    {
      const device_array<int> data(numbers<int>(rank, kCount));
      for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(ncclAllReduce(data.data(), data.data(), kCount, ncclInt, ncclMax, comm, nullptr),
                  ncclSuccess);
        EXPECT_EQ(
            ncclBroadcast(data.data(), data.data(), kCount, ncclInt, round % count, comm, nullptr),
            ncclSuccess);
      }
      results[static_cast<std::size_t>(rank)] = data.to_host();
    }
    ncclResult_t error = ncclInternalError;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
    EXPECT_EQ(error, ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) threads.emplace_back(work, rank);
  for (std::thread& t : threads) t.join();
  for (const std::vector<int>& result : results) {
    ASSERT_EQ(result.size(), static_cast<std::size_t>(kCount));
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(result[static_cast<std::size_t>(i)], reduced(i, count, ncclMax));
  }
}

TEST(Nccl, RefusesWrongArguments) {
  ranks<int> all(kCount, kCount);
  const auto reduce = [&](ncclDataType_t type, ncclRedOp_t op) {
    return ncclAllReduce(all.send[0], all.receive[0], kCount, type, op, all.comms[0],
                         all.streams[0]);
  };
  EXPECT_EQ(reduce(static_cast<ncclDataType_t>(77), ncclSum), ncclInvalidArgument);
  EXPECT_EQ(reduce(ncclInt, static_cast<ncclRedOp_t>(77)), ncclInvalidArgument);
  EXPECT_EQ(ncclBroadcast(all.send[0], all.receive[0], kCount, ncclInt, all.count, all.comms[0],
                          all.streams[0]),
            ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(nullptr, 1, nullptr), ncclInvalidArgument);
  EXPECT_NE(std::string(ncclGetErrorString(ncclInvalidArgument)), "");
  EXPECT_NE(std::string(ncclGetErrorString(ncclInvalidArgument)),
            ncclGetErrorString(ncclInvalidUsage));
}

}  // namespace
