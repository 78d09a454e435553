// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.2 tf32_product: what tf32_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <limits>
#include <span>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/require_matrix.hpp"
#include "lab/time_kernel.hpp"
#include "lab/wgmma.hpp"
#include "tf32_product.hpp"

namespace lab::tf32_product {

namespace wmma = nvcuda::wmma;
namespace ptx = cuda::ptx;

constexpr unsigned kWarp = 32;

/// A matrix on the device. Rows are a multiple of 16 bytes apart; what is after the k elements of
/// each is 0.
struct matrix {
  const float* data;
  std::size_t rows, pitch;  ///< pitch: from a row to the next, in elements; a multiple of 4
};
struct factors {
  matrix a, b;
};

// --- wmma, staged: who has what ------------------------------------------------------------------
// A block makes BM x BN elements of C in slices of BK along k. A warp makes WM x WN tiles of them,
// of 16 x 16 each.

constexpr unsigned kTile = 16, kStep = 8;  // a fragment of A is 16 x 8, one of B 8 x 16

using fragment_a =
    wmma::fragment<wmma::matrix_a, kTile, kTile, kStep, wmma::precision::tf32, wmma::row_major>;
// B's tile is stored like A's, with its rows along k: seen as 8 x 16, that is column-major.
using fragment_b =
    wmma::fragment<wmma::matrix_b, kTile, kTile, kStep, wmma::precision::tf32, wmma::col_major>;
using fragment_c = wmma::fragment<wmma::accumulator, kTile, kTile, kStep, float>;

template <unsigned kBM, unsigned kBN, unsigned kBK, unsigned kWM, unsigned kWN>
struct tiling {
  static constexpr unsigned BM = kBM, BN = kBN, BK = kBK, WM = kWM, WN = kWN;
  static constexpr unsigned kWarpsAcross = BN / (WN * kTile);  // warps next to each other
  static constexpr unsigned kWarps = BM / (WM * kTile) * kWarpsAcross;
  static constexpr unsigned kThreads = kWarps * kWarp;
  static constexpr unsigned kPad = 4;  // floats after each row: as in 18.1
};
using tiling_wmma = tiling<64, 64, 32, 2, 2>;
using tiling_staged = tiling<128, 128, 16, 4, 2>;
constexpr unsigned kStages = 4;  // of staged

/// What a block has of A and B at a time, in shared memory. Rows are along k in both.
template <class T>
struct alignas(32) slice {
  float a[T::BM][T::BK + T::kPad];
  float b[T::BN][T::BK + T::kPad];
};

/// The sums of a warp, WM x WN tiles of them.
template <class T>
using block_of_sums = fragment_c[T::WM][T::WN];

/// Four neighbours that a thread brings into shared memory.
struct four {
  float* to;
  const float* from;  ///< null if the matrix has no such row or columns: zeros stand for them
};

/// The i-th four of a tile of `kRows` rows and kColumns columns, which is at `row` and `column` of
/// a matrix.
template <unsigned kColumns, unsigned kPitch>
__device__ four four_of(unsigned i, const matrix& from, std::size_t row, std::size_t column,
                        float (*tile)[kPitch]) {
  const unsigned y = i / (kColumns / 4), x = i % (kColumns / 4) * 4;
  const bool there = row + y < from.rows && column + x < from.pitch;
  return {&tile[y][x], there ? from.data + (row + y) * from.pitch + column + x : nullptr};
}

/// Calls bring_in(four) for each four of this thread in the slice that begins at `first`.
template <class T, class BringIn>
__device__ void for_fours(const factors& in, std::size_t first, slice<T>& to, BringIn bring_in) {
#pragma unroll
  for (unsigned i = threadIdx.x; i < T::BM * T::BK / 4; i += T::kThreads)
    bring_in(four_of<T::BK>(i, in.a, std::size_t{blockIdx.y} * T::BM, first, to.a));
#pragma unroll
  for (unsigned i = threadIdx.x; i < T::BN * T::BK / 4; i += T::kThreads)
    bring_in(four_of<T::BK>(i, in.b, std::size_t{blockIdx.x} * T::BN, first, to.b));
}

/// The first of this warp's tiles, within the block's.
template <class T>
__device__ unsigned row_of_warp() {
  return threadIdx.x / kWarp / T::kWarpsAcross * T::WM * kTile;
}
template <class T>
__device__ unsigned column_of_warp() {
  return threadIdx.x / kWarp % T::kWarpsAcross * T::WN * kTile;
}

template <class T>
__device__ void fill_with_zeros(block_of_sums<T>& sums) {
#pragma unroll
  for (unsigned i = 0; i < T::WM * T::WN; ++i)
    wmma::fill_fragment(sums[i / T::WN][i % T::WN], 0.0F);
}

/// The warps store their sums where C has such elements. `patches`, in shared memory, has a tile
/// for each warp; all threads of the block have done with it.
template <class T>
__device__ void store(const block_of_sums<T>& sums, float* c, shape size,
                      float (*patches)[kTile * kTile]) {
  float* const patch = patches[threadIdx.x / kWarp];
#pragma unroll
  for (unsigned t = 0; t < T::WM * T::WN; ++t) {
    const std::size_t row = std::size_t{blockIdx.y} * T::BM + row_of_warp<T>() + t / T::WN * kTile;
    const std::size_t column =
        std::size_t{blockIdx.x} * T::BN + column_of_warp<T>() + t % T::WN * kTile;
    if (row + kTile <= size.m && column + kTile <= size.n && size.n % 4 == 0) {
      wmma::store_matrix_sync(c + row * size.n + column, sums[t / T::WN][t % T::WN],
                              static_cast<unsigned>(size.n), wmma::mem_row_major);
      continue;
    }
    __syncwarp();
    wmma::store_matrix_sync(patch, sums[t / T::WN][t % T::WN], kTile, wmma::mem_row_major);
    __syncwarp();
    for (unsigned i = threadIdx.x % kWarp; i < kTile * kTile; i += kWarp)
      if (row + i / kTile < size.m && column + i % kTile < size.n)
        c[(row + i / kTile) * size.n + column + i % kTile] = patch[i];
  }
}

/// The grid of blocks that make BM x BN elements of C each. x goes along the columns.
template <class T>
dim3 grid_for(shape size) {
  const std::size_t down = (size.m + T::BM - 1) / T::BM, across = (size.n + T::BN - 1) / T::BN;
  require_at_most(cudaDevAttrMaxGridDimY, down, "rows of blocks in a grid");
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

// --- wgmma ---------------------------------------------------------------------------------------
// Warpgroup 0 of a block has tiles copied; the kConsumers others make 64 x BN elements of C each.

template <unsigned kTheConsumers, unsigned kBN>
struct group_tiling {
  static constexpr unsigned kConsumers = kTheConsumers, BM = 64 * kConsumers, BN = kBN;
  static constexpr unsigned BK = 32;  // 128 bytes: as many as the swizzle spans
  static constexpr unsigned kStages = 4;
  static constexpr unsigned kThreads = 128 * (1 + kConsumers);
  // At least so many blocks have room on a multiprocessor.
  static constexpr unsigned kResident = kConsumers == 1 ? 2 : 1;
};
using large_tiling = group_tiling<2, 256>;
using small_tiling = group_tiling<1, 128>;

/// Tiles, and two barriers for each pair of them: it is full, or empty again.
template <class T>
struct ring {
  alignas(1024) float a[T::kStages][T::BM * T::BK];
  alignas(1024) float b[T::kStages][T::BN * T::BK];
  std::uint64_t full[T::kStages], empty[T::kStages];
};
template <class T>
constexpr std::size_t kRingBytes = sizeof(ring<T>) + 1024;

/// The ring in dynamic shared memory. The pattern of the swizzle repeats every 1024 bytes, so tiles
/// begin at multiples of that.
template <class T>
__device__ ring<T>& ring_in(unsigned char* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return *reinterpret_cast<ring<T>*>((address + 1023) / 1024 * 1024);
}

/// A walk round the ring: which stage, and the parity of the round, which is that of the phases of
/// its barriers.
struct position {
  unsigned stage = 0, parity = 0;
  template <class T>
  __device__ void next() {
    if (++stage < T::kStages) return;
    stage = 0;
    parity ^= 1U;
  }
};

/// Waits until the phase with this parity has ended. (That before the first has parity 1, and
/// counts as ended.)
__device__ inline void wait_for(std::uint64_t& barrier, unsigned parity) {
#if LAB_WGMMA_CODE
  while (!ptx::mbarrier_try_wait_parity(&barrier, parity)) {
  }
#endif
}

/// The barriers of a ring, before their first phase. By all threads of the block. A stage is full
/// when one thread has arrived and all bytes have; empty when one lane of each consumer's warps has
/// arrived.
template <class T>
__device__ void start_barriers(ring<T>& stages) {
#if LAB_WGMMA_CODE
  if (threadIdx.x == 0) {
    for (unsigned s = 0; s < T::kStages; ++s) {
      ptx::mbarrier_init(&stages.full[s], 1);
      ptx::mbarrier_init(&stages.empty[s], 4 * T::kConsumers);
    }
    ptx::fence_proxy_async(ptx::space_shared);  // the copy engine sees them, too
  }
#endif
  __syncthreads();
}

/// Starts to copy the box at `row` and `column` of a matrix. Its bytes count for the barrier.
__device__ inline void start_copy(float* to, const CUtensorMap& map, unsigned row, unsigned column,
                                  std::uint64_t& barrier) {
#if LAB_WGMMA_CODE
  const std::int32_t at[2] = {static_cast<std::int32_t>(column), static_cast<std::int32_t>(row)};
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, to, &map, at, &barrier);
#endif
}

/// How C is divided into the tiles of blocks, in groups of eight rows of tiles: blocks that run at
/// the same time then need few different rows of A and of B, which stay in the L2 cache.
template <class T>
struct tiles_of_c {
  unsigned down, across;

  __host__ __device__ explicit tiles_of_c(shape size)
      : down(static_cast<unsigned>((size.m + T::BM - 1) / T::BM)),
        across(static_cast<unsigned>((size.n + T::BN - 1) / T::BN)) {}
  __host__ __device__ unsigned count() const { return down * across; }
  __device__ uint2 first_element(unsigned tile) const {  // x: column, y: row
    const unsigned of_group = 8 * across, first = tile / of_group * 8;
    const unsigned high = down - first < 8 ? down - first : 8;
    return make_uint2(tile % of_group / high * T::BN, (first + tile % of_group % high) * T::BM);
  }
};

/// A thread's part of the sums of a consumer is stored, where C has such elements.
template <unsigned kColumns>
__device__ void store(const wgmma::sums<kColumns>& sums, float* c, shape size, unsigned first_row,
                      unsigned first_column) {
#pragma unroll
  for (unsigned i = 0; i < wgmma::sums<kColumns>::kElements; i += 2) {
    const std::size_t row = first_row + sums.row(i), column = first_column + sums.column(i);
    float* const to = c + row * size.n + column;
    if (row >= size.m || column >= size.n) continue;
    if (size.n % 2 == 0) {
      *reinterpret_cast<float2*>(to) = make_float2(sums.x[i], sums.x[i + 1]);
    } else {
      to[0] = sums.x[i];
      if (column + 1 < size.n) to[1] = sums.x[i + 1];
    }
  }
}

/// A map of boxes of `box_rows` rows and 32 columns, which are rounded to TF32 and swizzled in
/// pieces of 16 bytes within 128 bytes. What is outside of the matrix is 0.
inline CUtensorMap map_of(const matrix& m, unsigned box_rows) {
  constexpr unsigned kVersion = 12000;
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kVersion,
                                              cudaEnableDefault, &found));
  refuse_if(found != cudaDriverEntryPointSuccess, "tf32_product: this driver has no tensor maps");
  const cuuint64_t lengths[] = {m.pitch, m.rows}, strides[] = {m.pitch * sizeof(float)};
  const cuuint32_t box[] = {32, box_rows}, steps[] = {1, 1};
  CUtensorMap map;
  const CUresult result = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 2, const_cast<float*>(m.data), lengths, strides, box,
      steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  refuse_if(result != CUDA_SUCCESS, "tf32_product: no tensor map for ", m.rows, " rows of ",
            m.pitch, " floats: error ", static_cast<int>(result));
  return map;
}

/// As many blocks as have room at the same time, or as there are tiles.
template <class T, class Kernel>
unsigned persistent_blocks(Kernel kernel, shape size) {
  CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(kRingBytes<T>)));
  int resident = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, kernel, static_cast<int>(T::kThreads), kRingBytes<T>));
  const unsigned room =
      static_cast<unsigned>(resident) * device_limit(cudaDevAttrMultiProcessorCount);
  return std::min(tiles_of_c<T>(size).count(), std::max(room, 1U));
}

/// Whether C has enough large tiles for more than half of the multiprocessors.
inline bool large_tiles_suit(shape size) {
  return 2 * tiles_of_c<large_tiling>(size).count() > device_limit(cudaDevAttrMultiProcessorCount);
}

// --- what comes before and after the kernels -----------------------------------------------------

/// A matrix in device memory, its rows padded with zeros to a multiple of four elements, and to
/// four where there are none: zeros add nothing to a product.
class device_matrix {
 public:
  device_matrix(std::span<const float> values, std::size_t rows, std::size_t columns)
      : pitch_(std::max<std::size_t>((columns + 3) / 4 * 4, 4)),
        data_(rows * pitch_),
        view_{data_.data(), rows, pitch_} {
    if (rows == 0) return;
    CUDA_CHECK(cudaMemset(data_.data(), 0, data_.size_bytes()));
    if (columns != 0)
      CUDA_CHECK(cudaMemcpy2D(data_.data(), pitch_ * sizeof(float), values.data(),
                              columns * sizeof(float), columns * sizeof(float), rows,
                              cudaMemcpyHostToDevice));
  }
  const matrix& view() const { return view_; }

 private:
  std::size_t pitch_;
  device_buffer<float> data_;
  matrix view_;
};

inline void require_device_for(step version) {
  const unsigned major = device_limit(cudaDevAttrComputeCapabilityMajor);
  refuse_if(major < 8, "tf32_product: TF32 needs compute capability 8.0, and this device has ",
            major, ".x");
  refuse_if(version == step::wgmma && !wgmma::is_available(),
            "tf32_product: wgmma needs a device of compute capability 9.0, and a build for it");
}

/// The product, with A and B brought to the device and C fetched. launch(in, c) launches the
/// kernel.
template <class Launch>
result multiply_by(step version, std::span<const float> a, std::span<const float> b, shape size,
                   const Launch& launch) {
  require_matrix("tf32_product: A", a.size(), size.m, size.k);
  require_matrix("tf32_product: B", b.size(), size.n, size.k);
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max() - 256;
  refuse_if(std::max({size.m, size.n, size.k}) > kMost, "tf32_product: at most ", kMost,
            " rows or columns");
  require_device_for(version);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error
  const device_matrix device_a(a, size.m, size.k), device_b(b, size.n, size.k);
  device_buffer<float> c(size.m * size.n);
  const factors in{device_a.view(), device_b.view()};
  const float kernel_ms = time_kernel([&] { launch(in, c.data()); });
  return {c.to_vector(), kernel_ms};
}

}  // namespace lab::tf32_product
