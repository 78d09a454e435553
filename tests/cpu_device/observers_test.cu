// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Observers of blocks and barriers.

#include <cooperative_groups.h>
#include <cpu_device.h>
#include <cpu_device/events.h>
#include <cuda_pipeline.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cuda/barrier>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

namespace cg = cooperative_groups;
using cpu_device::event_kind;
using cpu_device::event_scope;
using cpu_device_testing::device_array;

constexpr cpu_device::event_set kBlocks = static_cast<cpu_device::event_set>(event_kind::block);
constexpr cpu_device::event_set kBarriers = static_cast<cpu_device::event_set>(event_kind::barrier);

/// What it was told, block by block.
class recorder final : public cpu_device::observer {
 public:
  struct block {
    uint3 index{};
    std::string kernel;
    unsigned begins = 0, ends = 0;
    bool given_up = false;
    std::vector<cpu_device::barrier_event> barriers;
  };
  explicit recorder(cpu_device::event_set kinds) { add_observer(*this, kinds); }
  ~recorder() override { remove_observer(*this); }

  std::map<std::uint32_t, block> blocks;  // by their serial numbers
  std::vector<cpu_device::barrier_event> barriers() const {
    std::vector<cpu_device::barrier_event> all;
    for (const auto& [serial, b] : blocks)
      all.insert(all.end(), b.barriers.begin(), b.barriers.end());
    return all;
  }

 private:
  void block_begins(const cpu_device::block_event& e) override {
    const std::lock_guard lock(mutex_);
    block& b = blocks[e.serial];
    b.index = e.index;
    b.kernel = e.launch.kernel;
    b.begins += 1;
    EXPECT_EQ(b.ends, 0U);
    EXPECT_TRUE(b.barriers.empty());
  }
  void block_ends(const cpu_device::block_event& e) override {
    const std::lock_guard lock(mutex_);
    block& b = blocks[e.serial];
    EXPECT_EQ(b.index.x, e.index.x);
    b.ends += 1;
    b.given_up = e.given_up;
  }
  void barrier_passed(const cpu_device::barrier_event& e) override {
    const std::lock_guard lock(mutex_);
    blocks[e.block].barriers.push_back(e);
  }
  std::mutex mutex_;
};

__global__ void two_barriers(int* data) {
  __syncthreads();
  if (threadIdx.x == 0) data[blockIdx.y * gridDim.x + blockIdx.x] += 1;
  __syncthreads();
}

TEST(Observers, AreToldOfEveryBlockOnce) {
  cpu_device_testing::in_every_order([] {
    const device_array<int> data(15, 0);
    recorder seen(kBlocks | event_kind::barrier);
    two_barriers<<<dim3(5, 3), 48>>>(data.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(seen.blocks.size(), 15U);
    std::set<std::pair<unsigned, unsigned>> indices;
    for (const auto& [serial, b] : seen.blocks) {
      indices.insert({b.index.x, b.index.y});
      EXPECT_EQ(b.kernel, "two_barriers");
      EXPECT_EQ(b.begins, 1U);
      EXPECT_EQ(b.ends, 1U);
      EXPECT_FALSE(b.given_up);
      EXPECT_EQ(b.barriers.size(), 2U);
    }
    EXPECT_EQ(indices.size(), 15U);
  });
}

TEST(Observers, AreToldOfNothingTheyHaveNotAskedFor) {
  const device_array<int> data(4, 0);
  recorder blocks(kBlocks), barriers(kBarriers), gone(kBlocks | event_kind::barrier);
  remove_observer(gone);
  two_barriers<<<4, 32>>>(data.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(blocks.blocks.size(), 4U);
  for (const auto& [serial, b] : blocks.blocks) EXPECT_TRUE(b.barriers.empty());
  ASSERT_EQ(barriers.blocks.size(), 4U);
  for (const auto& [serial, b] : barriers.blocks) EXPECT_EQ(b.begins + b.ends, 0U);
  EXPECT_TRUE(gone.blocks.empty());
}

__global__ void barriers_of_a_block(int* sum, int* line) {
  *line = __LINE__;
  __syncthreads();
  const int all = __syncthreads_count(1);
  if (threadIdx.x == 0) *sum = all;
}

TEST(Observers, AreToldOfTheBarriersOfABlock) {
  for (const unsigned threads : {1U, 45U}) {
    const device_array<int> sum(1, 0), line(1, 0);
    recorder seen(kBarriers);
    barriers_of_a_block<<<1, threads>>>(sum.data(), line.data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    const int first = line.to_host()[0];
    ASSERT_EQ(seen.blocks.size(), 1U);
    ASSERT_EQ(seen.barriers().size(), 2U) << threads;
    for (int i = 0; i < 2; ++i) {
      const cpu_device::barrier_event e = seen.barriers()[static_cast<std::size_t>(i)];
      EXPECT_EQ(e.scope, event_scope::block);
      EXPECT_EQ(e.threads, threads);
      EXPECT_EQ(e.line, first + 1 + i);
      EXPECT_NE(std::string(e.file).find("observers_test.cu"), std::string::npos);
    }
  }
}

__global__ void meetings_of_warps(int* data, int* line) {
  *line = __LINE__;
  int value = __shfl_down_sync(0xffffffffU, static_cast<int>(threadIdx.x), 1);
  if (threadIdx.x % 32 < 8) __syncwarp(0xffU);
  data[threadIdx.x] = value;
}

TEST(Observers, AreToldOfTheMeetingsOfAWarp) {
  const device_array<int> data(40, 0), line(1, 0);
  recorder seen(kBarriers);
  meetings_of_warps<<<1, 40>>>(data.data(), line.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const int first = line.to_host()[0];
  std::vector<std::pair<int, unsigned>> met;  // lines and lanes: the second warp has only 8 of them
  for (const auto& e : seen.barriers()) {
    EXPECT_EQ(e.scope, event_scope::warp);
    EXPECT_STREQ(e.function, e.line - first == 1 ? "__shfl_down_sync" : "__syncwarp");
    EXPECT_EQ(e.warp, e.line - first == 1 && e.threads == 8 ? 1U : e.warp);
    EXPECT_LT(e.warp, 2U);
    met.emplace_back(e.line - first, e.threads);
  }
  std::sort(met.begin(), met.end());
  EXPECT_EQ(met, (std::vector<std::pair<int, unsigned>>{{1, 8}, {1, 32}, {2, 8}, {2, 8}}));
}

__global__ void meet_the_grid() { cg::this_grid().sync(); }

TEST(Observers, AreToldOfTheBarrierOfAGridOnceForEachBlock) {
  recorder seen(kBarriers);
  ASSERT_EQ(cudaLaunchCooperativeKernel((void*)meet_the_grid, 3, 20, nullptr), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(seen.blocks.size(), 3U);
  for (const auto& [serial, b] : seen.blocks) {
    ASSERT_EQ(b.barriers.size(), 1U);
    EXPECT_EQ(b.barriers[0].scope, event_scope::device);
    EXPECT_EQ(b.barriers[0].threads, 20U);
  }
}

class copy_recorder final : public cpu_device::observer {
 public:
  copy_recorder() { add_observer(*this, static_cast<unsigned>(event_kind::async_copy)); }
  ~copy_recorder() override { remove_observer(*this); }
  std::vector<cpu_device::async_copy_event> started, done;

 private:
  void async_copy_started(const cpu_device::async_copy_event& e) override { started.push_back(e); }
  void async_copy_done(const cpu_device::async_copy_event& e) override { done.push_back(e); }
};

__global__ void copy_and_wait_for_the_first(const int4* in, const void** places) {
  __shared__ int4 first, second;
  if (threadIdx.x != 5) return;
  places[0] = &first;
  places[1] = &second;
  __pipeline_memcpy_async(&first, in, sizeof first, 4);
  __pipeline_commit();
  __pipeline_memcpy_async(&second, in, sizeof second);
  __pipeline_commit();
  __pipeline_wait_prior(1);
}

TEST(Observers, AreToldOfAsynchronousCopiesWhenTheyStartAndWhenTheyAreDone) {
  const device_array<int4> in(1, int4{});
  const device_array<const void*> places(2, nullptr);
  copy_recorder seen;
  const recorder others(kBlocks | event_kind::barrier);
  copy_and_wait_for_the_first<<<1, 8>>>(in.data(), places.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto at = places.to_host();
  ASSERT_EQ(seen.started.size(), 3U);  // twelve bytes and four zeros, and sixteen bytes
  EXPECT_EQ(seen.started[0].to, at[0]);
  EXPECT_EQ(seen.started[0].bytes, 12U);
  EXPECT_EQ(seen.started[1].to, static_cast<const char*>(at[0]) + 12);
  EXPECT_EQ(seen.started[1].bytes, 4U);
  EXPECT_EQ(seen.started[2].to, at[1]);
  EXPECT_EQ(seen.started[2].bytes, 16U);
  for (const auto& e : seen.started) {
    EXPECT_EQ(e.thread, 5U);
    EXPECT_TRUE(others.blocks.contains(e.block));
  }
  ASSERT_EQ(seen.done.size(), 2U) << "nobody waits for the second copy";
  EXPECT_EQ(seen.done[0].to, at[0]);
  EXPECT_EQ(seen.done[1].bytes, 4U);
}

class bulk_recorder final : public cpu_device::observer {
 public:
  bulk_recorder() { add_observer(*this, static_cast<unsigned>(event_kind::async_copy)); }
  ~bulk_recorder() override { remove_observer(*this); }
  std::vector<std::string> seen;

 private:
  void note(const char* what, const cpu_device::bulk_copy_event& e) {
    seen.push_back(what + std::to_string(e.bytes) + (e.to_global ? " out" : " in") + ", thread " +
                   std::to_string(e.thread) + ", " + std::to_string(e.dimensions));
  }
  void bulk_copy_started(const cpu_device::bulk_copy_event& e) override { note("start ", e); }
  void bulk_copy_done(const cpu_device::bulk_copy_event& e) override { note("done ", e); }
};

__global__ void through_shared_memory(const int4* in, int4* out) {
  __shared__ alignas(16) int4 four[4];
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  if (threadIdx.x != 5) return;
  init(&full, 1);
  cuda::device::experimental::cp_async_bulk_global_to_shared(four, in, sizeof four, full);
  full.wait(cuda::device::barrier_arrive_tx(full, 1, sizeof four));
  cuda::device::experimental::cp_async_bulk_shared_to_global(out, four, sizeof four / 2);
  cuda::device::experimental::cp_async_bulk_commit_group();
  cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
}

TEST(Observers, AreToldOfBulkCopiesWhenTheyStartAndWhenTheyAreDone) {
  const device_array<int4> in(4, int4{}), out(4, int4{});
  bulk_recorder recorder;
  through_shared_memory<<<1, 8>>>(in.data(), out.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(recorder.seen,
            (std::vector<std::string>{"start 64 in, thread 5, 0", "done 64 in, thread 5, 0",
                                      "start 32 out, thread 5, 0", "done 32 out, thread 5, 0"}));
}

__device__ int variable[2];

class plain_copy_recorder final : public cpu_device::observer {
 public:
  plain_copy_recorder() { add_observer(*this, static_cast<unsigned>(event_kind::copy)); }
  ~plain_copy_recorder() override { remove_observer(*this); }

  std::vector<int> kinds;

 private:
  void copied(const cpu_device::copy_event& e) override { kinds.push_back(e.kind); }
};

TEST(Observers, AreToldThatAVariableIsOnTheDevice) {
  const device_array<int> array(2, 0);
  const plain_copy_recorder seen;
  int values[2] = {1, 2};
  EXPECT_EQ(cudaMemcpyToSymbol(variable, values, sizeof(int), sizeof(int)), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromSymbol(values, variable, sizeof values), cudaSuccess);
  EXPECT_EQ(
      cudaMemcpyFromSymbol(array.data(), variable, sizeof values, 0, cudaMemcpyDeviceToDevice),
      cudaSuccess);
  const std::vector<int> kinds = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                  cudaMemcpyDeviceToDevice};
  EXPECT_EQ(seen.kinds, kinds);
}

/// The bytes that copies read, row by row.
class row_recorder final : public cpu_device::observer {
 public:
  row_recorder() { add_observer(*this, static_cast<unsigned>(event_kind::copy)); }
  ~row_recorder() override { remove_observer(*this); }

  std::string bytes;

 private:
  void copied(const cpu_device::copy_event& e) override {
    for (std::size_t z = 0; z < e.rows.depth; ++z)
      for (std::size_t y = 0; y < e.rows.height; ++y)
        bytes.append(static_cast<const char*>(e.from) + z * e.rows.slice + y * e.rows.pitch,
                     e.rows.width_bytes);
    EXPECT_EQ(e.bytes, e.rows.width_bytes * e.rows.height * e.rows.depth);
  }
};

TEST(Observers, AreToldWhereTheRowsOfACopyLie) {
  const std::string text = "row0....row1....ROW0....ROW1....";
  const device_array<char> array(static_cast<int>(text.size()), 0);
  ASSERT_EQ(cudaMemcpy(array.data(), text.data(), text.size(), cudaMemcpyHostToDevice),
            cudaSuccess);
  const row_recorder seen;
  std::string back(text.size(), ' ');
  EXPECT_EQ(cudaMemcpy2D(back.data(), 4, array.data(), 8, 4, 2, cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaMemcpy3DParms p = {};
  p.srcPtr = {array.data(), 8, 4, 2};
  p.dstPtr = {back.data(), 4, 4, 2};
  p.extent = {4, 2, 2};
  p.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  EXPECT_EQ(seen.bytes, "row0row1row0row1ROW0ROW1");
}

__global__ void skip_the_barrier() {
  if (threadIdx.x != 3) __syncthreads();
}

TEST(Observers, AreToldThatABlockWasGivenUp) {
  recorder seen(kBlocks | event_kind::barrier);
  cpu_device_testing::expect_report([] { skip_the_barrier<<<1, 8>>>(); }, cudaErrorLaunchFailure);
  ASSERT_EQ(seen.blocks.size(), 1U);
  const recorder::block& b = seen.blocks.begin()->second;
  EXPECT_EQ(b.begins, 1U);
  EXPECT_EQ(b.ends, 1U);
  EXPECT_TRUE(b.given_up);
  EXPECT_TRUE(b.barriers.empty());  // no thread has passed it
}

TEST(CheckBuild, IsWhatWasCompiledForIt) {
#ifdef __SANITIZE_THREAD__
  EXPECT_TRUE(cpu_device::is_check_build());
#else
  EXPECT_FALSE(cpu_device::is_check_build());  // though the checks may be linked
#endif
}

}  // namespace
