// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A pipeline that the block shares, sums that begin with zeros, and one group of products at a
// time.

#include <cuda_runtime.h>
#include <mma.h>

#include "given.hpp"

namespace lab::tf32_product {
namespace {

// --- wmma: as in 18.1, with a different format ---------------------------------------------------

/// Copies a `four` into shared memory through registers, rounded to TF32.
__device__ void load_rounded(four f) {
  float4 x = make_float4(0, 0, 0, 0);
  if (f.from != nullptr) {
    x = *reinterpret_cast<const float4*>(f.from);
    x.x = wmma::__float_to_tf32(x.x);
    x.y = wmma::__float_to_tf32(x.y);
    x.z = wmma::__float_to_tf32(x.z);
    x.w = wmma::__float_to_tf32(x.w);
  }
  *reinterpret_cast<float4*>(f.to) = x;
}

/// Adds the products of a slice to this warp's sums. kRound: its elements are not rounded yet.
template <class T, bool kRound>
__device__ void multiply_slice(const slice<T>& from, block_of_sums<T>& sums) {
  const unsigned row = row_of_warp<T>(), column = column_of_warp<T>();
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += kStep) {
    fragment_a of_a[T::WM];
    fragment_b of_b[T::WN];
#pragma unroll
    for (unsigned r = 0; r < T::WM; ++r) {
      wmma::load_matrix_sync(of_a[r], &from.a[row + r * kTile][i], T::BK + T::kPad);
      if constexpr (kRound)
        for (unsigned e = 0; e < of_a[r].num_elements; ++e)
          of_a[r].x[e] = wmma::__float_to_tf32(of_a[r].x[e]);
    }
#pragma unroll
    for (unsigned s = 0; s < T::WN; ++s) {
      wmma::load_matrix_sync(of_b[s], &from.b[column + s * kTile][i], T::BK + T::kPad);
      if constexpr (kRound)
        for (unsigned e = 0; e < of_b[s].num_elements; ++e)
          of_b[s].x[e] = wmma::__float_to_tf32(of_b[s].x[e]);
    }
#pragma unroll
    for (unsigned r = 0; r < T::WM; ++r)
#pragma unroll
      for (unsigned s = 0; s < T::WN; ++s) wmma::mma_sync(sums[r][s], of_a[r], of_b[s], sums[r][s]);
  }
}

template <class T>
__global__ void __launch_bounds__(T::kThreads) through_registers(factors in, float* c, shape size) {
  __shared__ slice<T> now;
  __shared__ alignas(32) float patches[T::kWarps][kTile * kTile];
  block_of_sums<T> sums;
  fill_with_zeros<T>(sums);
  for (std::size_t first = 0; first < in.a.pitch; first += T::BK) {
    for_fours(in, first, now, load_rounded);
    __syncthreads();
    multiply_slice<T, false>(now, sums);
    __syncthreads();
  }
  store<T>(sums, c, size, patches);
}

// --- staged: copies overlap with products --------------------------------------------------------

using pipeline = cuda::pipeline<cuda::thread_scope_thread>;

/// Starts to copy this thread's fours of a slice, as a separate batch.
template <class T>
__device__ void start_slice(pipeline& pipe, const factors& in, std::size_t first, slice<T>& to) {
  pipe.producer_acquire();
  for_fours(in, first, to, [&](four f) {
    if (f.from != nullptr)
      cuda::memcpy_async(f.to, f.from, cuda::aligned_size_t<16>(16), pipe);
    else
      *reinterpret_cast<float4*>(f.to) = make_float4(0, 0, 0, 0);
  });
  pipe.producer_commit();
}

template <class T>
__global__ void __launch_bounds__(T::kThreads) staged(factors in, float* c, shape size) {
  extern __shared__ unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);  // kStages of them
  block_of_sums<T> sums;
  fill_with_zeros<T>(sums);
  pipeline pipe = cuda::make_pipeline();
  const std::size_t end = in.a.pitch;
  for (unsigned s = 0; s + 1 < kStages; ++s) start_slice<T>(pipe, in, s * T::BK, stage[s]);
  unsigned now = 0, free = kStages - 1;
  for (std::size_t first = 0; first < end; first += T::BK) {
    cuda::pipeline_consumer_wait_prior<kStages - 2>(pipe);
    __syncthreads();
    start_slice<T>(pipe, in, first + (kStages - 1) * T::BK, stage[free]);
    multiply_slice<T, true>(stage[now], sums);
    pipe.consumer_release();
    free = now;
    now = now + 1 < kStages ? now + 1 : 0;
  }
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();  // all have read the last slice, where the patches are
  store<T>(sums, c, size, reinterpret_cast<float(*)[kTile * kTile]>(memory));
}

// --- wgmma: one warpgroup copies, others multiply ------------------------------------------------

#if LAB_WGMMA_CODE  // it compiles only for GPUs of compute capability 9.0

/// Describes a tile to an instruction; 8 rows of the tile take 1024 bytes, with the swizzle of
/// 128 bytes. lab/wgmma.hpp has the bits.
__device__ std::uint64_t descriptor(const float* tile) {
  const std::uint64_t address = wgmma::shared_address(tile) / 16;
  return (address & 0x3fffU) | std::uint64_t{1} << 16U | std::uint64_t{1024 / 16} << 32U |
         std::uint64_t{1} << 62U;
}

/// For one thread: starts the copies of all tiles of this block, each once a stage is empty.
template <class T>
__device__ void produce(ring<T>& stages, const CUtensorMap& map_a, const CUtensorMap& map_b,
                        shape size, unsigned slices) {
  const tiles_of_c<T> tiles(size);
  position at;
  for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
    const uint2 first = tiles.first_element(tile);
    for (unsigned slice = 0; slice < slices; ++slice) {
      std::uint64_t& full = stages.full[at.stage];
      wait_for(stages.empty[at.stage], at.parity ^ 1U);
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                     (T::BM + T::BN) * T::BK * sizeof(float));
      start_copy(stages.a[at.stage], map_a, first.y, slice * T::BK, full);
      start_copy(stages.b[at.stage], map_b, first.x, slice * T::BK, full);
      at.next<T>();
    }
  }
}

/// For a warpgroup: computes the 64 rows of each of the block's tiles that belong to `consumer`.
template <class T>
__device__ void consume(ring<T>& stages, float* c, shape size, unsigned slices, unsigned consumer) {
  const tiles_of_c<T> tiles(size);
  position at;
  const auto release = [&](unsigned stage) {  // this warp has read it
    if (threadIdx.x % kWarp == 0) ptx::mbarrier_arrive(&stages.empty[stage]);
  };
  for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
    wgmma::sums<T::BN> sums;
    for (float& x : sums.x) x = 0;
    for (unsigned slice = 0; slice < slices; ++slice) {
      wait_for(stages.full[at.stage], at.parity);
      const std::uint64_t of_a = descriptor(stages.a[at.stage] + consumer * 64 * T::BK);
      const std::uint64_t of_b = descriptor(stages.b[at.stage]);
      wgmma::fence();
#pragma unroll
      for (unsigned i = 0; i < T::BK / 8; ++i)
        wgmma::multiply(sums, of_a + 2 * i, of_b + 2 * i, true);
      wgmma::commit(sums);
      wgmma::wait<0>(sums);
      release(at.stage);
      at.next<T>();
    }
    const uint2 first = tiles.first_element(tile);
    store(sums, c, size, first.y + consumer * 64, first.x);
  }
}

#endif  // LAB_WGMMA_CODE

template <class T>
__global__ void __launch_bounds__(T::kThreads, T::kResident)
    by_warpgroups(const __grid_constant__ CUtensorMap map_a,
                  const __grid_constant__ CUtensorMap map_b, float* c, shape size,
                  unsigned slices) {
#if LAB_WGMMA_CODE
  extern __shared__ unsigned char memory[];
  ring<T>& stages = ring_in<T>(memory);
  start_barriers(stages);
  // With two consumers a thread has 168 registers, and a consumer's 128 sums need most of them.
  const unsigned group = threadIdx.x / 128;
  if (group == 0) {
    if constexpr (T::kConsumers == 2) wgmma::give_registers_back<24>();
    if (threadIdx.x == 96) produce(stages, map_a, map_b, size, slices);
  } else {
    if constexpr (T::kConsumers == 2) wgmma::take_registers<240>();
    consume(stages, c, size, slices, group - 1);
  }
#endif
}

// --- given ---------------------------------------------------------------------------------------

template <class T>
void launch_by_warpgroups(const factors& in, float* c, shape size) {
  const CUtensorMap map_a = map_of(in.a, T::BM), map_b = map_of(in.b, T::BN);
  const unsigned blocks = persistent_blocks<T>(by_warpgroups<T>, size);
  const auto slices = static_cast<unsigned>((in.a.pitch + T::BK - 1) / T::BK);
  constexpr std::size_t kBytes = kRingBytes<T>;
  by_warpgroups<T><<<blocks, T::kThreads, kBytes>>>(map_a, map_b, c, size, slices);
}

void launch(step version, const factors& in, float* c, shape size) {
  switch (version) {
    case step::wmma: {
      using T = tiling_wmma;
      const dim3 grid = grid_for<T>(size);
      through_registers<T><<<grid, T::kThreads>>>(in, c, size);
      return;
    }
    case step::staged: {
      using T = tiling_staged;
      constexpr int kBytes = kStages * sizeof(slice<T>);
      CUDA_CHECK(
          cudaFuncSetAttribute(staged<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
      const dim3 grid = grid_for<T>(size);
      staged<T><<<grid, T::kThreads, kBytes>>>(in, c, size);
      return;
    }
    case step::wgmma:
      if (large_tiles_suit(size))
        launch_by_warpgroups<large_tiling>(in, c, size);
      else
        launch_by_warpgroups<small_tiling>(in, c, size);
      return;
  }
  throw invalid_input("tf32_product: there is no such step");
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(version, a, b, size,
                     [&](const factors& in, float* c) { launch(version, in, c, size); });
}

}  // namespace lab::tf32_product
