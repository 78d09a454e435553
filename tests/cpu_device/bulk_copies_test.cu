// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Bulk copies between global and shared memory (TMA), with and without tensor maps, and the
// barriers that count their bytes. Runs on the CPU device and on a GPU.
//
// Needs compute capability 9.0

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cmath>
#include <cstring>
#include <cuda/barrier>
#include <cuda/ptx>
#include <utility>

#include "conformance.hpp"

#ifdef __NVCC__  // a barrier in shared memory has a constructor, and does not need it
#pragma nv_diag_suppress static_var_with_dynamic_init
#endif

namespace {

using namespace conformance;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
namespace cde = cuda::device::experimental;
namespace ptx = cuda::ptx;

constexpr int kThreads = 64;

std::vector<int> count_from(int first, int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = first + i;
  return v;
}

// --- without tensor maps ------------------------------------------------------------------------

// Tile by tile, through two stages: thread 0 starts copies, all add one and reverse the tile.
constexpr int kTile = 128;

__global__ void turn_tiles(const int* in, int* out, int tiles) {
  __shared__ alignas(16) int stage[2][kTile];
  __shared__ alignas(16) int turned[kTile];
  __shared__ block_barrier full[2];
  if (threadIdx.x == 0) {
    for (auto& b : full) init(&b, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const auto start = [&](int tile) {
    cuda::device::memcpy_async_tx(stage[tile % 2], in + tile * kTile,
                                  cuda::aligned_size_t<16>(sizeof stage[0]), full[tile % 2]);
    return cuda::device::barrier_arrive_tx(full[tile % 2], 1, sizeof stage[0]);
  };
  block_barrier::arrival_token tokens[2];
  for (int tile = 0; tile <= tiles; ++tile) {
    if (tile < tiles) tokens[tile % 2] = threadIdx.x == 0 ? start(tile) : full[tile % 2].arrive();
    if (tile == 0) continue;
    const int now = (tile - 1) % 2;
    full[now].wait(std::move(tokens[now]));
    for (int i = static_cast<int>(threadIdx.x); i < kTile; i += static_cast<int>(blockDim.x))
      turned[kTile - 1 - i] = stage[now][i] + 1;
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (threadIdx.x == 0) {
      cde::cp_async_bulk_shared_to_global(out + (tile - 1) * kTile, turned, sizeof turned);
      cde::cp_async_bulk_commit_group();
      cde::cp_async_bulk_wait_group_read<0>();
    }
    __syncthreads();
  }
}

TEST(BulkCopies, BringTilesAndTakeThemBack) {
  in_every_order([] {
    constexpr int kTiles = 5;
    const device_array<int> in(count_from(0, kTiles * kTile)), out(kTiles * kTile, -1);
    turn_tiles<<<1, kThreads>>>(in.data(), out.data(), kTiles);
    std::vector<int> expected;
    for (int tile = 0; tile < kTiles; ++tile)
      for (int i = 0; i < kTile; ++i) expected.push_back(tile * kTile + kTile - i);
    EXPECT_EQ(out.to_host(), expected);
  });
}

// The bytes of several copies may be expected before and in parts, and by another thread than the
// one that starts them.
__global__ void expect_in_parts(const int* in, int* out) {
  __shared__ alignas(16) int stage[2 * kThreads];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  if (threadIdx.x == 33) {
    cuda::device::barrier_expect_tx(full, sizeof stage / 2);
    cde::cp_async_bulk_global_to_shared(stage, in, sizeof stage / 2, full);
  }
  if (threadIdx.x == 5) {
    cuda::device::barrier_expect_tx(full, sizeof stage / 2);
    cde::cp_async_bulk_global_to_shared(stage + kThreads, in + kThreads, sizeof stage / 2, full);
  }
  full.arrive_and_wait();
  out[threadIdx.x] = stage[threadIdx.x] + stage[threadIdx.x + kThreads];
}

TEST(BulkCopies, AreCountedTogether) {
  in_every_order([] {
    const device_array<int> in(count_from(0, 2 * kThreads)), out(kThreads, 0);
    expect_in_parts<<<1, kThreads>>>(in.data(), out.data());
    std::vector<int> expected;
    for (int i = 0; i < kThreads; ++i) expected.push_back(2 * i + kThreads);
    EXPECT_EQ(out.to_host(), expected);
  });
}

// The same with the instructions, on a word of shared memory.
__global__ void use_instructions(const int* in, int* out, int rounds) {
  __shared__ alignas(16) int stage[kThreads];
  __shared__ std::uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (threadIdx.x == 0) {
      ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                     sizeof stage);
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, stage, in + round * kThreads,
                         sizeof stage, &bar);
    }
    while (!ptx::mbarrier_try_wait_parity(&bar, static_cast<std::uint32_t>(round % 2))) {
    }
    sum += stage[(threadIdx.x + 1) % kThreads];
    __syncthreads();
  }
  stage[threadIdx.x] = sum;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, stage, sizeof stage);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
  }
}

TEST(BulkCopies, AreThereAsInstructions) {
  in_every_order([] {
    constexpr int kRounds = 3;
    const device_array<int> in(count_from(0, kRounds * kThreads)), out(kThreads, 0);
    use_instructions<<<1, kThreads>>>(in.data(), out.data(), kRounds);
    std::vector<int> expected;
    for (int i = 0; i < kThreads; ++i)
      expected.push_back(3 * ((i + 1) % kThreads) + (0 + 1 + 2) * kThreads);
    EXPECT_EQ(out.to_host(), expected);
  });
}

// --- tensor maps --------------------------------------------------------------------------------

PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                             cudaEnableDefault, &result),
            cudaSuccess);
  EXPECT_EQ(result, cudaDriverEntryPointSuccess);
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

struct array_shape {
  std::vector<cuuint64_t> lengths;
  std::vector<cuuint32_t> box;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
  cuuint64_t padding = 0;  // bytes behind each row
  cuuint32_t step = 1;     // of all dimensions; that of the first one changes nothing
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_INT32;

  CUresult encode(CUtensorMap& map, void* data) const {
    std::vector<cuuint64_t> strides;
    strides.reserve(4);  // so that data() is not null
    cuuint64_t stride = lengths[0] * sizeof(int) + padding;
    for (std::size_t d = 1; d < lengths.size(); ++d) {
      strides.push_back(stride);
      stride *= lengths[d];
    }
    const std::vector<cuuint32_t> steps(lengths.size(), step);
    return encoder()(&map, type, static_cast<cuuint32_t>(lengths.size()), data, lengths.data(),
                     strides.data(), box.data(), steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                     swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
  CUtensorMap of(const device_array<int>& data) const {
    CUtensorMap map;
    EXPECT_EQ(encode(map, data.data()), CUDA_SUCCESS);
    return map;
  }
};

// The elements of the box, as they lie in shared memory.
constexpr int kBoxBytes = 4096;

template <int Rank>
__global__ void show_box(const __grid_constant__ CUtensorMap map, int3 at, int n, int* out) {
  __shared__ alignas(1024) int box[kBoxBytes / sizeof(int)];
  __shared__ block_barrier full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  block_barrier::arrival_token token;
  if (threadIdx.x == 0) {
    if constexpr (Rank == 1) cde::cp_async_bulk_tensor_1d_global_to_shared(box, &map, at.x, full);
    if constexpr (Rank == 2)
      cde::cp_async_bulk_tensor_2d_global_to_shared(box, &map, at.x, at.y, full);
    if constexpr (Rank == 3)
      cde::cp_async_bulk_tensor_3d_global_to_shared(box, &map, at.x, at.y, at.z, full);
    token = cuda::device::barrier_arrive_tx(full, 1, n * static_cast<int>(sizeof(int)));
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    out[i] = box[i];
}

template <int Rank>
std::vector<int> box_of(const CUtensorMap& map, int3 at, int n) {
  const device_array<int> out(static_cast<std::size_t>(n), -7);
  show_box<Rank><<<1, kThreads>>>(map, at, n, out.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return out.to_host();
}

/// What a box of 8 columns and 4 rows of a 20 x 10 array is to hold: 100 * row + column, zeros
/// outside.
std::vector<int> expected_box(int column, int row, int columns, int rows, int step = 1) {
  std::vector<int> box;
  for (int r = row; r < row + rows; r += step)
    for (int c = column; c < column + columns; ++c)
      box.push_back(r < 0 || r >= 10 || c < 0 || c >= 20 ? 0 : 100 * r + c + 1);
  return box;
}
std::vector<int> numbered_array(int padding) {
  std::vector<int> all;
  for (int r = 0; r < 10; ++r) {
    for (int c = 0; c < 20; ++c) all.push_back(100 * r + c + 1);
    all.insert(all.end(), static_cast<std::size_t>(padding), -1);
  }
  return all;
}

TEST(TensorMaps, GiveABoxWithZerosOutsideOfTheArray) {
  in_every_order([] {
    const device_array<int> data(numbered_array(4));
    const array_shape shape{.lengths = {20, 10}, .box = {8, 4}, .padding = 16};
    const CUtensorMap map = shape.of(data);
    for (const auto& [column, row] :
         {std::pair{4, 3}, {0, 0}, {12, 6}, {16, 8}, {-4, -2}, {16, 9}, {-8, 0}, {40, 3}, {0, 10}})
      EXPECT_EQ(box_of<2>(map, {column, row, 0}, 32), expected_box(column, row, 8, 4))
          << "at " << column << ", " << row;
  });
}

TEST(TensorMaps, TakeEveryOtherRow) {
  const device_array<int> data(numbered_array(0));
  const array_shape shape{.lengths = {20, 10}, .box = {4, 4}, .step = 2};
  EXPECT_EQ(box_of<2>(shape.of(data), {4, 1, 0}, 8), expected_box(4, 1, 4, 4, 2));
  EXPECT_EQ(box_of<2>(shape.of(data), {16, 8, 0}, 8), expected_box(16, 8, 4, 4, 2));
}

TEST(TensorMaps, HaveOneOrThreeDimensions) {
  const device_array<int> data(count_from(1, 8 * 6 * 5));
  const array_shape line{.lengths = {240}, .box = {16}};
  std::vector<int> expected = count_from(229, 12);
  expected.resize(16, 0);
  EXPECT_EQ(box_of<1>(line.of(data), {228, 0, 0}, 16), expected);
  const array_shape solid{.lengths = {8, 6, 5}, .box = {4, 3, 2}};
  expected.clear();
  for (int z = 4; z < 6; ++z)
    for (int y = 2; y < 5; ++y)
      for (int x = 4; x < 8; ++x) expected.push_back(z < 5 ? (z * 6 + y) * 8 + x + 1 : 0);
  EXPECT_EQ(box_of<3>(solid.of(data), {4, 2, 4}, 24), expected);
}

// Pieces of 16 bytes (4 elements) change places: number p of row r goes to p ^ r, within the span.
TEST(TensorMaps, RoundFloatsToTf32) {
  const float unit = std::ldexp(1.0F, -10);  // the last digit of a TF32 number from 1 to 2
  const std::vector<float> given = {
      1 + 0.25F * unit, 1 + 0.5F * unit,  1 + 0.75F * unit, 1 + 1.5F * unit,
      -1 - 0.5F * unit, -1 - 1.5F * unit, 2 - 0.25F * unit, 3};
  const std::vector<float> even = {1, 1, 1 + unit, 1 + 2 * unit, -1, -1 - 2 * unit, 2, 3};
  const auto bits_of = [](const std::vector<float>& floats) {
    std::vector<int> bits(floats.size());
    std::memcpy(bits.data(), floats.data(), floats.size() * sizeof(float));
    return bits;
  };
  const device_array<int> data(bits_of(given));
  array_shape shape{.lengths = {8, 1}, .box = {8, 1}};
  shape.type = CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  EXPECT_EQ(box_of<2>(shape.of(data), {0, 0, 0}, 8), bits_of(even));
  shape.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  EXPECT_EQ(box_of<2>(shape.of(data), {0, 0, 0}, 8), bits_of(given));
}

// The thread that starts a copy need not live until it has arrived: the map is the grid's.
__global__ void start_and_leave(const __grid_constant__ CUtensorMap map, int* out) {
  __shared__ alignas(128) int box[32];
  __shared__ std::uint64_t bar;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&bar, 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    const std::int32_t at[2] = {0, 0};
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar,
                                   sizeof box);
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, box, &map, at, &bar);
    return;
  }
  while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {
  }
  if (threadIdx.x < 32) out[threadIdx.x] = box[threadIdx.x];
}

TEST(TensorMaps, OutliveTheThreadThatUsedThem) {
  in_every_order([] {
    const device_array<int> data(count_from(1, 32));
    const array_shape shape{.lengths = {8, 4}, .box = {8, 4}};
    for (int round = 0; round < 50; ++round) {
      const device_array<int> out(32, -1);
      start_and_leave<<<8, kThreads>>>(shape.of(data), out.data());
      std::vector<int> expected = count_from(1, 32);
      expected[0] = -1;  // that thread has left
      ASSERT_EQ(out.to_host(), expected);
    }
  });
}

TEST(TensorMaps, SwizzlePiecesOf16Bytes) {
  constexpr int kRows = 16;
  for (const int span : {2, 4, 8}) {
    const int columns = 4 * span;
    const device_array<int> data(count_from(0, columns * kRows));
    const array_shape shape{.lengths = {static_cast<cuuint64_t>(columns), kRows},
                            .box = {static_cast<cuuint32_t>(columns), kRows},
                            .swizzle = span == 2   ? CU_TENSOR_MAP_SWIZZLE_32B
                                       : span == 4 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                   : CU_TENSOR_MAP_SWIZZLE_128B};
    const std::vector<int> box = box_of<2>(shape.of(data), {0, 0, 0}, columns * kRows);
    for (int i = 0; i < columns * kRows; ++i) {
      const int piece = i / 4, line = piece / 8;  // of 128 bytes
      const int from = piece ^ (line % span);
      ASSERT_EQ(box[static_cast<std::size_t>(i)], from * 4 + i % 4)
          << "span " << span << " at " << i;
    }
  }
}

__global__ void store_box(const __grid_constant__ CUtensorMap map, int column, int row) {
  __shared__ alignas(128) int box[4][8];
  for (int i = static_cast<int>(threadIdx.x); i < 32; i += static_cast<int>(blockDim.x))
    box[i / 8][i % 8] = 1000 + i;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, column, row, box);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

TEST(TensorMaps, TakeABoxBackWithoutWhatIsOutside) {
  in_every_order([] {
    const device_array<int> data(std::vector<int>(20 * 10, -1));
    const array_shape shape{.lengths = {20, 10}, .box = {8, 4}};
    store_box<<<1, kThreads>>>(shape.of(data), 16, 8);
    std::vector<int> expected(20 * 10, -1);
    for (int i = 0; i < 32; ++i) {
      const int r = 8 + i / 8, c = 16 + i % 8;
      if (r < 10 && c < 20) expected[static_cast<std::size_t>(r * 20 + c)] = 1000 + i;
    }
    EXPECT_EQ(data.to_host(), expected);
  });
}

TEST(TensorMaps, AreRefusedWhereACopyCouldNotUseThem) {
  const device_array<int> data(1024, 0);
  CUtensorMap map;
  const auto encode = [&](const array_shape& shape, int offset = 0) {
    return shape.encode(map, data.data() + offset);
  };
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {8, 4}}), CUDA_SUCCESS);
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {8, 4}}, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {15, 8}, .box = {8, 4}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {6, 4}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {8, 0}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {8, 257}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {16, 0}, .box = {8, 4}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {16, 8}, .box = {16, 4}, .swizzle = CU_TENSOR_MAP_SWIZZLE_32B}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode({.lengths = {2, 2, 2, 2, 2, 2}, .box = {2, 2, 2, 2, 2, 2}}),
            CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
