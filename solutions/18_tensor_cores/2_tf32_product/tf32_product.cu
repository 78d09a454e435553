// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: C = A · Bᵀ on tensor cores, with TF32 for A and B and floats for C.
// Edit:  this file, from TODO(1) to TODO(9); 6 to 9 are a bonus. Contract: tf32_product.hpp
// Run:   scripts/lab run 18.2 -- --step wmma     (then staged and wgmma)
// Test:  scripts/lab test 18.2
// Hints: scripts/lab hint 18.2                  Chapter: docs/18_tensor_cores.md

#include <cuda_runtime.h>
#include <mma.h>

#include "given.hpp"

namespace lab::tf32_product {
namespace {

// --- wmma: as in 18.1, with a different format ---------------------------------------------------

/// Copies a `four` into shared memory through registers, rounded to TF32.
__device__ void load_rounded(four f) {
  // TODO(1): load 16 bytes, or take zeros if f.from is null; wmma::__float_to_tf32() each of the
  //          four; store 16 bytes.
  // BEGIN SOLUTION
  float4 x = make_float4(0, 0, 0, 0);
  if (f.from != nullptr) x = *reinterpret_cast<const float4*>(f.from);
  *reinterpret_cast<float4*>(f.to) =
      make_float4(wmma::__float_to_tf32(x.x), wmma::__float_to_tf32(x.y),
                  wmma::__float_to_tf32(x.z), wmma::__float_to_tf32(x.w));
  // END SOLUTION
}

/// Adds the products of a slice to this warp's sums. kRound: its elements are not rounded yet.
template <class T, bool kRound>
__device__ void multiply_slice(const slice<T>& from, block_of_sums<T>& sums) {
  const unsigned row = row_of_warp<T>(), column = column_of_warp<T>();
  // TODO(2): as in 18.1, with kStep elements of k at a time. With kRound, round all elements
  //          x[i] of each fragment after loading it: tensor cores would truncate them.
  // BEGIN SOLUTION
  const auto round = [](auto& fragment) {
    if constexpr (kRound)
      for (auto& x : fragment.x) x = wmma::__float_to_tf32(x);
  };
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += kStep) {
    fragment_a a[T::WM];
    fragment_b b[T::WN];
#pragma unroll
    for (unsigned y = 0; y < T::WM; ++y) {
      wmma::load_matrix_sync(a[y], &from.a[row + y * kTile][i], T::BK + T::kPad);
      round(a[y]);
    }
#pragma unroll
    for (unsigned x = 0; x < T::WN; ++x) {
      wmma::load_matrix_sync(b[x], &from.b[column + x * kTile][i], T::BK + T::kPad);
      round(b[x]);
    }
#pragma unroll
    for (unsigned y = 0; y < T::WM; ++y)
#pragma unroll
      for (unsigned x = 0; x < T::WN; ++x) wmma::mma_sync(sums[y][x], a[y], b[x], sums[y][x]);
  }
  // END SOLUTION
}

template <class T>
__global__ void __launch_bounds__(T::kThreads) through_registers(factors in, float* c, shape size) {
  __shared__ slice<T> now;
  __shared__ alignas(32) float patches[T::kWarps][kTile * kTile];
  block_of_sums<T> sums;
  fill_with_zeros<T>(sums);
  // TODO(3): for each slice of BK along k (a.pitch is where it ends): for_fours(in, first, now,
  //          load_rounded), and multiply_slice<T, false>(). Invariants: those of 18.1.
  // BEGIN SOLUTION
  for (std::size_t first = 0; first < in.a.pitch; first += T::BK) {
    for_fours(in, first, now, load_rounded);
    __syncthreads();  // the tiles are complete
    multiply_slice<T, false>(now, sums);
    __syncthreads();  // all warps have read them
  }
  // END SOLUTION
  store<T>(sums, c, size, patches);
}

// --- staged: asynchronous copies during the multiplication ---------------------------------------

using pipeline = cuda::pipeline<cuda::thread_scope_thread>;

/// Starts to copy this thread's fours of a slice, as a separate batch.
template <class T>
__device__ void start_slice(pipeline& pipe, const factors& in, std::size_t first, slice<T>& to) {
  // TODO(4): as in 17.2: a batch with a cuda::memcpy_async of 16 bytes for each four that exists.
  //          Zeros if it does not.
  // BEGIN SOLUTION
  pipe.producer_acquire();
  for_fours(in, first, to, [&](four f) {
    if (f.from != nullptr)
      cuda::memcpy_async(f.to, f.from, cuda::aligned_size_t<16>(16), pipe);
    else
      *reinterpret_cast<float4*>(f.to) = make_float4(0, 0, 0, 0);
  });
  pipe.producer_commit();
  // END SOLUTION
}

template <class T>
__global__ void __launch_bounds__(T::kThreads) staged(factors in, float* c, shape size) {
  extern __shared__ unsigned char memory[];
  auto* const stage = reinterpret_cast<slice<T>*>(memory);  // kStages of them
  block_of_sums<T> sums;
  fill_with_zeros<T>(sums);
  pipeline pipe = cuda::make_pipeline();
  // TODO(5): a ring of kStages slices, as in 17.2: kStages - 1 of them are started before the loop,
  //          and in it one barrier guarantees "all have arrived" and "all have been read". Slices
  //          past the end are zeros: they may be started, too.
  // BEGIN SOLUTION
  for (unsigned s = 0; s + 1 < kStages; ++s) start_slice(pipe, in, s * T::BK, stage[s]);
  unsigned current = 0, free = kStages - 1;
  for (std::size_t first = 0; first < in.a.pitch; first += T::BK) {
    cuda::pipeline_consumer_wait_prior<kStages - 2>(pipe);  // this thread's copies have arrived
    __syncthreads();  // all copies have arrived, and all warps are done with stage[free]
    start_slice(pipe, in, first + (kStages - 1) * T::BK, stage[free]);
    multiply_slice<T, true>(stage[current], sums);
    free = current;
    current = (current + 1) % kStages;
  }
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();  // before the ring is used for the sums
  // END SOLUTION
  store<T>(sums, c, size, reinterpret_cast<float(*)[kTile * kTile]>(memory));
}

// --- wgmma: one warpgroup copies, others multiply ------------------------------------------------

#if LAB_WGMMA_CODE  // it compiles only for GPUs of compute capability 9.0

/// Describes a tile to an instruction; 8 rows of the tile take 1024 bytes, with the swizzle of
/// 128 bytes. lab/wgmma.hpp has the bits.
__device__ std::uint64_t descriptor(const float* tile) {
  // TODO(6, bonus): build the descriptor.
  // BEGIN SOLUTION
  // STUB: return 0;
  const std::uint64_t address = wgmma::shared_address(tile) / 16;
  constexpr std::uint64_t kDistance = 1024 / 16, kSwizzle128 = 1;
  return (address & 0x3fffU) | kDistance << 32U | kSwizzle128 << 62U;
  // END SOLUTION
}

/// For one thread: starts the copies of all tiles of this block, each once a stage is empty.
template <class T>
__device__ void produce(ring<T>& stages, const CUtensorMap& map_a, const CUtensorMap& map_b,
                        shape size, unsigned slices) {
  const tiles_of_c<T> tiles(size);
  position at;
  // TODO(7, bonus): for each of this block's tiles of C (from blockIdx.x in steps of gridDim.x) and
  //          each slice: wait until the stage is empty; announce the number of bytes with
  //          ptx::mbarrier_arrive_expect_tx(); start both copies. Invariant: `at` continues from
  //          tile to tile, as in consume().
  // BEGIN SOLUTION
  for (unsigned tile = blockIdx.x; tile < tiles.count(); tile += gridDim.x) {
    const uint2 first = tiles.first_element(tile);
    for (unsigned i = 0; i < slices; ++i) {
      wait_for(stages.empty[at.stage], at.parity ^ 1U);
      std::uint64_t& full = stages.full[at.stage];
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full,
                                     (T::BM + T::BN) * T::BK * sizeof(float));
      start_copy(stages.a[at.stage], map_a, first.y, i * T::BK, full);
      start_copy(stages.b[at.stage], map_b, first.x, i * T::BK, full);
      at.next<T>();
    }
  }
  // END SOLUTION
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
    unsigned previous = 0;
    // TODO(8, bonus): for each slice: wait until its stage is full, fence(), four products of 8
    //          elements of k (the first one of a tile does not add), commit(). Wait until only this
    //          group is in flight, and release() the stage of the previous slice. Invariant: no
    //          stage is released before all products that read it have finished.
    // BEGIN SOLUTION
    for (unsigned i = 0; i < slices; ++i) {
      wait_for(stages.full[at.stage], at.parity);
      const std::uint64_t a = descriptor(stages.a[at.stage] + consumer * 64 * T::BK);
      const std::uint64_t b = descriptor(stages.b[at.stage]);
      wgmma::fence();
#pragma unroll
      for (unsigned j = 0; j < T::BK / 8; ++j)  // 8 floats are 32 bytes: 2 units of 16
        wgmma::multiply(sums, a + 2 * j, b + 2 * j, i != 0 || j != 0);
      wgmma::commit(sums);
      wgmma::wait<1>(sums);  // the products of the previous slice are complete
      if (i != 0) release(previous);
      previous = at.stage;
      at.next<T>();
    }
    wgmma::wait<0>(sums);
    release(previous);
    // END SOLUTION
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
  // With two consumers a thread has 168 registers; the 128 sums of a consumer take most of them.
  // TODO(9, bonus): one thread of warpgroup 0 produces, the other warpgroups consume. With two
  //          consumers, the producer keeps 24 registers, and each consumer thread takes 240.
  // BEGIN SOLUTION
  if (threadIdx.x < 128) {
    if constexpr (T::kConsumers == 2) wgmma::give_registers_back<24>();
    if (threadIdx.x == 0) produce(stages, map_a, map_b, size, slices);
  } else {
    if constexpr (T::kConsumers == 2) wgmma::take_registers<240>();
    consume(stages, c, size, slices, threadIdx.x / 128 - 1);
  }
  // END SOLUTION
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
      // BEGIN SOLUTION
      // STUB: throw not_written("step wmma", 1);  // 1 to 3; through_registers<T><<<…>>>(…)
      return through_registers<T><<<grid, T::kThreads>>>(in, c, size);
      // END SOLUTION
    }
    case step::staged: {
      using T = tiling_staged;
      constexpr int kBytes = kStages * sizeof(slice<T>);
      CUDA_CHECK(
          cudaFuncSetAttribute(staged<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
      const dim3 grid = grid_for<T>(size);
      // BEGIN SOLUTION
      // STUB: throw not_written("step staged", 4);  // 4 and 5; staged<T><<<…, kBytes>>>(…)
      return staged<T><<<grid, T::kThreads, kBytes>>>(in, c, size);
      // END SOLUTION
    }
    case step::wgmma:
      // BEGIN SOLUTION
      // STUB: // launch_by_warpgroups<large_tiling>(…), or <small_tiling>: large_tiles_suit()
      // STUB: throw not_written("step wgmma", 6);  // 6 to 9
      if (large_tiles_suit(size)) return launch_by_warpgroups<large_tiling>(in, c, size);
      return launch_by_warpgroups<small_tiling>(in, c, size);
      // END SOLUTION
  }
  throw invalid_input("tf32_product: there is no such step");
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(version, a, b, size,
                     [&](const factors& in, float* c) { launch(version, in, c, size); });
}

}  // namespace lab::tf32_product
