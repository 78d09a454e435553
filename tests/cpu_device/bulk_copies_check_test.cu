// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What is reported about bulk copies that are used wrongly, and what the check build sees of them.

#include <cuda.h>

#include <cuda/barrier>
#include <string>
#include <utility>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;

constexpr int kThreads = 64;

void expect_parts(const std::string& report, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in: " << report;
}
std::string line_of(int line) { return "bulk_copies_check_test.cu:" + std::to_string(line); }

enum class wait_for { the_barrier, nobody };

// Thread 0 starts the copy of a tile; all threads reverse it.
constexpr int kStartLine = __LINE__ + 9;
template <wait_for What>
__global__ void turn(const int* in, int* out, int expected) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) init(&full, kThreads);
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_global_to_shared(tile, in, sizeof tile, full);
    token = cuda::device::barrier_arrive_tx(full, 1, expected);
  } else {
    token = full.arrive();
  }
  if (What == wait_for::the_barrier || threadIdx.x == 5) full.wait(std::move(token));
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

std::size_t reports_of_turning(wait_for what, const device_array<int>& out) {
  std::vector<int> numbers;
  for (int i = 0; i < kThreads; ++i) numbers.push_back(i);
  const device_array<int> in(numbers);
  const std::size_t before = cpu_device::report_count();
  if (what == wait_for::the_barrier)
    turn<wait_for::the_barrier><<<1, kThreads>>>(in.data(), out.data(), sizeof(int) * kThreads);
  else
    turn<wait_for::nobody><<<1, kThreads>>>(in.data(), out.data(), sizeof(int) * kThreads);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() - before;
}

TEST(BulkCopyChecks, AreSilentWhereAllWait) {
  in_every_order([] {
    const device_array<int> out(kThreads, -7);
    EXPECT_EQ(reports_of_turning(wait_for::the_barrier, out), 0U) << cpu_device::last_report();
    std::vector<int> expected;
    for (int i = kThreads - 1; i >= 0; --i) expected.push_back(i);
    EXPECT_EQ(out.to_host(), expected);
  });
}

TEST(BulkCopyChecks, ShowWhatWasThereBeforeToWhoDoesNotWait) {
  const device_array<int> out(kThreads, -7);
  [[maybe_unused]] const std::size_t reports = reports_of_turning(wait_for::nobody, out);
  const std::vector<int> got = out.to_host();
  EXPECT_EQ(got[0], -1);  // nobody has written there yet: 0xFF bytes
  EXPECT_EQ(got[5], kThreads - 1 - 5);
#ifdef CPU_DEVICE_CHECK
  EXPECT_GT(reports, 0U);
  expect_parts(cpu_device::last_report(), {"race on shared memory", line_of(kStartLine)});
#endif
}

// Thread 0 starts to copy the next tile to where all threads read this one.
constexpr int kRefillLine = __LINE__ + 8;
__global__ void turn_two(const int* in, int* out, bool with_barrier) {
  __shared__ alignas(16) int tile[kThreads];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) init(&full, 1);
  __syncthreads();
  const auto start = [&](const int* from) {
    static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, sizeof tile));
    cde::cp_async_bulk_global_to_shared(tile, from, sizeof tile, full);
  };
  if (threadIdx.x == 0) start(in);
  full.wait_parity(false);
  out[threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
  if (with_barrier) __syncthreads();
  if (threadIdx.x == 0) start(in + kThreads);
  __syncthreads();
  full.wait_parity(true);
  out[kThreads + threadIdx.x] = tile[kThreads - 1 - threadIdx.x];
}

TEST(BulkCopyChecks, SeeACopyThatIsStartedWhileOthersStillRead) {
  in_every_order([] {
    std::vector<int> numbers, expected;
    for (int i = 0; i < 2 * kThreads; ++i) {
      numbers.push_back(i);
      expected.push_back(i ^ (kThreads - 1));
    }
    const device_array<int> in(numbers), out(2 * kThreads, -7);
    for (const bool with_barrier : {true, false}) {
      cpu_device::report_again();
      const std::size_t before = cpu_device::report_count();
      turn_two<<<1, kThreads>>>(in.data(), out.data(), with_barrier);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      EXPECT_EQ(out.to_host(), expected);
      const std::size_t reports = cpu_device::report_count() - before;
#ifdef CPU_DEVICE_CHECK
      EXPECT_EQ(reports != 0, !with_barrier) << cpu_device::last_report();
      if (!with_barrier)
        expect_parts(cpu_device::last_report(), {"race on shared memory", line_of(kRefillLine)});
#else
      EXPECT_EQ(reports, 0U);
#endif
    }
  });
}

TEST(BulkCopyReports, BytesThatNobodyBrings) {
  const auto report = [](int expected) {
    const device_array<int> data(kThreads, 1), out(kThreads, 0);
    return expect_report(
        [&] { turn<wait_for::the_barrier><<<1, kThreads>>>(data.data(), out.data(), expected); },
        cudaErrorLaunchTimeout);
  };
  expect_parts(report(sizeof(int) * kThreads + 16), {"more are expected than copied"});
  expect_parts(report(sizeof(int) * kThreads - 16), {"got more bytes than were expected"});
}

constexpr int kCopyLine = __LINE__ + 9;
template <class To, class From>
__global__ void copy(To to, From from, std::uint32_t bytes, int offset) {
  __shared__ alignas(128) char memory[1024];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    char* const shared = memory + offset;
    // The call that is looked at.
    cde::cp_async_bulk_global_to_shared(to(shared), from(shared), bytes, full);
    static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, bytes));
    full.wait_parity(false);
  }
}

struct itself {
  __device__ char* operator()(char* p) const { return p; }
};
struct another {
  char* address;
  __device__ char* operator()(char*) const { return address; }
};

TEST(BulkCopyReports, AnAddressThatIsNotAligned) {
  const device_array<char> data(512, 'x');
  copy<<<1, 32>>>(itself{}, another{data.data()}, 512U, 16);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expect_parts(expect_report([&] { copy<<<1, 32>>>(itself{}, another{data.data()}, 512U, 8); },
                             cudaErrorLaunchFailure),
               {"must be multiples of 16 bytes", line_of(kCopyLine)});
}
TEST(BulkCopyReports, ASizeThatIsNoMultipleOf16) {
  const device_array<char> data(512, 'x');
  expect_parts(expect_report([&] { copy<<<1, 32>>>(itself{}, another{data.data()}, 24U, 0); },
                             cudaErrorLaunchFailure),
               {"must be multiples of 16 bytes", line_of(kCopyLine)});
}
TEST(BulkCopyReports, BytesPastTheEnd) {
  const device_array<char> data(512, 'x');
  expect_parts(expect_report([&] { copy<<<1, 32>>>(itself{}, another{data.data()}, 528U, 0); },
                             cudaErrorLaunchFailure),
               {"16 bytes past the end of device memory (512 bytes", line_of(kCopyLine)});
}
TEST(BulkCopyReports, ArgumentsInTheWrongOrder) {
  const device_array<char> data(512, 'x');
  expect_parts(expect_report([&] { copy<<<1, 32>>>(another{data.data()}, itself{}, 512U, 0); },
                             cudaErrorLaunchFailure),
               {"(to, from)", line_of(kCopyLine)});
}

constexpr int kStoreLine = __LINE__ + 4;
__global__ void store_and_leave(int* to) {
  __shared__ alignas(16) int tile[4];
  tile[threadIdx.x] = 1;
  if (threadIdx.x == 0) cde::cp_async_bulk_shared_to_global(to, tile, sizeof tile);
}

TEST(BulkCopyReports, OneThatNobodyWaitsFor) {
  const device_array<int> data(4, 0);
  expect_parts(
      expect_report([&] { store_and_leave<<<1, 4>>>(data.data()); }, cudaErrorLaunchFailure),
      {"thread 0 of the block started at " + line_of(kStoreLine), "still under way",
       "kernel store_and_leave"});
  // It is forgotten with its block.
  const device_array<char> more(512, 'x');
  copy<<<1, 32>>>(itself{}, another{more.data()}, 512U, 0);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

__global__ void load_box(const __grid_constant__ CUtensorMap map, int offset, int column) {
  __shared__ alignas(128) char box[1024];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) {
    init(&full, 1);
    cde::cp_async_bulk_tensor_2d_global_to_shared(box + offset, &map, column, 0, full);
    static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, 64));
    full.wait_parity(false);
  }
}

__global__ void store_box(const __grid_constant__ CUtensorMap map, int row) {
  __shared__ alignas(128) int box[16];
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, 0, row, box);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

TEST(BulkCopyReports, TensorMapsThatDoNotFit) {
  const device_array<int> data(16 * 16, 0);
  CUtensorMap map{}, line{}, square{};
  const cuuint64_t lengths[] = {16, 16}, strides[] = {64};
  const cuuint32_t box[] = {4, 4}, ones[] = {1, 1};
  for (const auto& [rank, to] : {std::pair{1U, &line}, {2U, &square}})
    ASSERT_EQ(cuTensorMapEncodeTiled(to, CU_TENSOR_MAP_DATA_TYPE_INT32, rank, data.data(), lengths,
                                     strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                     CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                     CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
  const auto expect = [](const CUtensorMap& given, int offset, int column, const char* what) {
    expect_parts(
        expect_report([&] { load_box<<<1, 32>>>(given, offset, column); }, cudaErrorLaunchFailure),
        {what});
  };
  load_box<<<1, 32>>>(square, 128, -4);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expect(map, 0, 0, "was given no tensor map");
  expect(line, 0, 0, "has 2 coordinates, and its tensor map 1 dimensions");
  expect(square, 64, 0, "must be a multiple of 128 bytes");
  expect(square, 0, -3, "is -3, which is -12 bytes from the beginning of the row");
  expect_parts(expect_report([&] { store_box<<<1, 32>>>(square, -1); }, cudaErrorLaunchFailure),
               {"begins at -1 in dimension 1"});
}

}  // namespace
