// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// <mma.h>: products of matrices that are distributed over the threads of a warp. Runs on the CPU
// device and on a GPU.
//
// Needs compute capability 8.0

#include <mma.h>

#include <algorithm>

#include "conformance.hpp"
#include "small_floats.hpp"

namespace {

using namespace conformance;
namespace wmma = nvcuda::wmma;
using wmma::col_major;
using wmma::row_major;

constexpr unsigned kStride =
    48;  // elements from one row (or column) to the next, of 32 at the most

/// A matrix of T, and the values that it was made of.
template <class T>
struct matrix {
  unsigned rows, columns, stride;
  bool by_columns;
  std::vector<double> values;  // row by row
  std::vector<T> memory;

  std::size_t place(unsigned row, unsigned column) const {
    return by_columns ? std::size_t{column} * stride + row : std::size_t{row} * stride + column;
  }
  double at(unsigned row, unsigned column) const {
    return values[std::size_t{row} * columns + column];
  }
};

/// Whole numbers from `low` to `high`.
template <class T>
matrix<T> whole_numbers(unsigned rows, unsigned columns, bool by_columns, int low, int high,
                        unsigned seed) {
  matrix<T> m{rows, columns, kStride, by_columns, {}, {}};
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> draw(low, high);
  m.memory.resize(std::size_t{m.stride} * (by_columns ? columns : rows), converted<T>(99));
  for (unsigned i = 0; i < rows; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      m.values.push_back(draw(generator));
      m.memory[m.place(i, j)] = converted<T>(m.values.back());
    }
  return m;
}

/// The type of the elements in memory.
template <class T>
struct in_memory {
  using type = T;
};
template <>
struct in_memory<wmma::precision::tf32> {
  using type = float;
};

template <int M, int N, int K, class T, class C, class D, class LayoutA, class LayoutB>
__global__ void multiply(const typename in_memory<T>::type* a, unsigned stride_a,
                         const typename in_memory<T>::type* b, unsigned stride_b, const C* c,
                         unsigned stride_c, wmma::layout_t layout_c, D* d, unsigned stride_d,
                         wmma::layout_t layout_d) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> part_a;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> part_b;
  wmma::fragment<wmma::accumulator, M, N, K, C> part_c;
  wmma::fragment<wmma::accumulator, M, N, K, D> part_d;
  wmma::load_matrix_sync(part_a, a, stride_a);
  wmma::load_matrix_sync(part_b, b, stride_b);
  wmma::load_matrix_sync(part_c, c, stride_c, layout_c);
  wmma::mma_sync(part_d, part_a, part_b, part_c);
  wmma::store_matrix_sync(d, part_d, stride_d, layout_d);
}

/// One product in all layouts. The numbers are whole and small: nothing is rounded.
template <int M, int N, int K, class T, class C, class D>
struct product {
  template <class LayoutA, class LayoutB>
  static void check_layout(bool c_by_columns, int low) {
    using element = typename in_memory<T>::type;
    constexpr bool kColumnsA = std::is_same_v<LayoutA, col_major>;
    constexpr bool kColumnsB = std::is_same_v<LayoutB, col_major>;
    const auto a = whole_numbers<element>(M, K, kColumnsA, low, 7, 1);
    const auto b = whole_numbers<element>(K, N, kColumnsB, low, 9, 2);
    const auto c = whole_numbers<C>(M, N, c_by_columns, -50, 50, 3);
    const auto d = whole_numbers<D>(M, N, !c_by_columns, 77, 77, 4);
    const device_array<element> device_a(a.memory), device_b(b.memory);
    const device_array<C> device_c(c.memory);
    const device_array<D> device_d(d.memory);
    const auto layout = [](bool by_columns) {
      return by_columns ? wmma::mem_col_major : wmma::mem_row_major;
    };
    multiply<M, N, K, T, C, D, LayoutA, LayoutB>
        <<<1, 32>>>(device_a.data(), a.stride, device_b.data(), b.stride, device_c.data(), c.stride,
                    layout(c.by_columns), device_d.data(), d.stride, layout(d.by_columns));
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    std::vector<double> expected(d.memory.size(), 99), got;
    for (unsigned i = 0; i < M; ++i)
      for (unsigned j = 0; j < N; ++j) {
        double sum = c.at(i, j);
        for (unsigned k = 0; k < K; ++k) sum += a.at(i, k) * b.at(k, j);
        expected[d.place(i, j)] = sum;
      }
    for (const D x : device_d.to_host()) got.push_back(as_double(x));
    EXPECT_EQ(got, expected) << (kColumnsA ? "A by columns, " : "A by rows, ")
                             << (kColumnsB ? "B by columns, " : "B by rows, ")
                             << (c_by_columns ? "C by columns" : "C by rows");
  }
  static void check(int low = -8) {
    for (const bool c_by_columns : {false, true}) {
      check_layout<row_major, row_major>(c_by_columns, low);
      check_layout<row_major, col_major>(c_by_columns, low);
      check_layout<col_major, row_major>(c_by_columns, low);
      check_layout<col_major, col_major>(c_by_columns, low);
    }
  }
};

TEST(TensorCores, MultiplyHalvesWithSumsOfEitherType) {
  in_every_order([] {
    product<16, 16, 16, __half, float, float>::check();
    product<16, 16, 16, __half, __half, __half>::check();
    product<16, 16, 16, __half, float, __half>::check();
    product<16, 16, 16, __half, __half, float>::check();
  });
}
TEST(TensorCores, MultiplyTallAndWideHalves) {
  product<32, 8, 16, __half, float, float>::check();
  product<32, 8, 16, __half, __half, __half>::check();
  product<8, 32, 16, __half, float, float>::check();
  product<8, 32, 16, __half, __half, float>::check();
}
TEST(TensorCores, MultiplyBfloat16) {
  product<16, 16, 16, __nv_bfloat16, float, float>::check();
  product<32, 8, 16, __nv_bfloat16, float, float>::check();
  product<8, 32, 16, __nv_bfloat16, float, float>::check();
}
TEST(TensorCores, MultiplyTf32) {
  product<16, 16, 8, wmma::precision::tf32, float, float>::check();
}
TEST(TensorCores, MultiplyDoubles) { product<8, 8, 4, double, double, double>::check(); }
TEST(TensorCores, MultiplyBytes) {
  product<16, 16, 16, signed char, int, int>::check();
  product<32, 8, 16, signed char, int, int>::check();
  product<8, 32, 16, signed char, int, int>::check();
  product<16, 16, 16, unsigned char, int, int>::check(0);
  product<32, 8, 16, unsigned char, int, int>::check(0);
  product<8, 32, 16, unsigned char, int, int>::check(0);
}

// Bytes at their limits, and sums beyond those of an int.
template <bool Saturate>
__global__ void add_to_large(const signed char* a, const signed char* b, int start, int* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, row_major> part_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, col_major> part_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
  wmma::load_matrix_sync(part_a, a, 16);
  wmma::load_matrix_sync(part_b, b, 16);
  wmma::fill_fragment(sum, start);
  if (Saturate)
    wmma::mma_sync(sum, part_a, part_b, sum, true);
  else
    wmma::mma_sync(sum, part_a, part_b, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

TEST(TensorCores, WrapOrSaturateIntegers) {
  constexpr int kLargest = std::numeric_limits<int>::max();
  const device_array<signed char> low(256, -128), high(256, 127);
  const device_array<int> d(256, 0);
  add_to_large<false><<<1, 32>>>(low.data(), low.data(), kLargest, d.data());
  EXPECT_EQ(d.to_host(), std::vector<int>(256, std::numeric_limits<int>::min() + 262143));
  add_to_large<true><<<1, 32>>>(low.data(), low.data(), kLargest, d.data());
  EXPECT_EQ(d.to_host(), std::vector<int>(256, kLargest));
  add_to_large<true><<<1, 32>>>(low.data(), high.data(), -kLargest, d.data());
  EXPECT_EQ(d.to_host(), std::vector<int>(256, std::numeric_limits<int>::min()));
  add_to_large<true><<<1, 32>>>(low.data(), high.data(), 0, d.data());
  EXPECT_EQ(d.to_host(), std::vector<int>(256, -260096));
}

// An operation on all elements of a fragment, whichever ones a thread has.
__global__ void change_elements(const __half* a, float* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, row_major> part_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, row_major> ones;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2], doubled;
  wmma::load_matrix_sync(part_a, a, 16);
  for (int i = 0; i < part_a.num_elements; ++i)
    part_a.x[i] = __hadd(part_a.x[i], __float2half(1.0F));
  wmma::fill_fragment(ones, __float2half(1.0F));
  wmma::fill_fragment(sums[0], 0.0F);
  wmma::fill_fragment(sums[1], 1000.0F);
  wmma::mma_sync(sums[0], part_a, ones, sums[0]);
  for (int i = 0; i < doubled.num_elements; ++i) doubled.x[i] = 2.0F * sums[0].x[i] + sums[1].x[i];
  wmma::store_matrix_sync(d, doubled, 16, wmma::mem_row_major);
}

TEST(TensorCores, LetEachThreadChangeItsElements) {
  in_every_order([] {
    std::vector<__half> a;
    std::vector<float> expected;
    for (int i = 0; i < 16; ++i) {
      float sum = 0;
      for (int k = 0; k < 16; ++k) {
        a.push_back(__float2half(static_cast<float>(i * 3 + k)));
        sum += static_cast<float>(i * 3 + k) + 1.0F;
      }
      expected.insert(expected.end(), 16, 2 * sum + 1000);
    }
    const device_array<__half> device_a(a);
    const device_array<float> d(256, 0.0F);
    change_elements<<<1, 32>>>(device_a.data(), d.data());
    EXPECT_EQ(d.to_host(), expected);
  });
}

DEVICE_FUNCTION(to_tf32, float, float, wmma::__float_to_tf32(x));

TEST(TensorCores, RoundFloatsToTf32) {
  const float unit = std::ldexp(1.0F, -10);  // the last digit of a tf32 from 1 to 2
  EXPECT_EQ(one_on_device<to_tf32>(1.0F), 1.0F);
  EXPECT_EQ(one_on_device<to_tf32>(1 + 0.49F * unit), 1.0F);
  EXPECT_EQ(one_on_device<to_tf32>(1 + 0.5F * unit), 1 + unit);  // ties away from zero
  EXPECT_EQ(one_on_device<to_tf32>(-1 - 0.5F * unit), -1 - unit);
  EXPECT_EQ(one_on_device<to_tf32>(1 + 0.75F * unit), 1 + unit);
  EXPECT_EQ(one_on_device<to_tf32>(2 - 0.25F * unit), 2.0F);
  EXPECT_EQ(one_on_device<to_tf32>(kInfF), kInfF);
  EXPECT_TRUE(std::isnan(one_on_device<to_tf32>(kNanF)));
}

// A product of any size, whose block has four warps, with tiles in shared memory. Each warp has two
// tiles of the result.
constexpr unsigned kTile = 16, kWarps = 4;

__global__ void multiply_by_tiles(const __half* a, const __half* b, float* c, unsigned columns,
                                  unsigned inner) {
  __shared__ alignas(32) __half tile_a[kTile * kWarps][kTile];
  __shared__ alignas(32) __half tile_b[kTile][2 * kTile];
  const unsigned warp = threadIdx.x / 32;
  const std::size_t first_row = std::size_t{blockIdx.y} * kTile * kWarps;
  const std::size_t first_column = std::size_t{blockIdx.x} * 2 * kTile;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, row_major> part_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, row_major> part_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2];
  for (auto& sum : sums) wmma::fill_fragment(sum, 0.0F);
  for (unsigned k = 0; k < inner; k += kTile) {
    for (unsigned i = threadIdx.x; i < kTile * kWarps * kTile; i += blockDim.x)
      tile_a[i / kTile][i % kTile] = a[(first_row + i / kTile) * inner + k + i % kTile];
    for (unsigned i = threadIdx.x; i < kTile * 2 * kTile; i += blockDim.x)
      tile_b[i / (2 * kTile)][i % (2 * kTile)] =
          b[(k + i / (2 * kTile)) * std::size_t{columns} + first_column + i % (2 * kTile)];
    __syncthreads();
    wmma::load_matrix_sync(part_a, &tile_a[warp * kTile][0], kTile);
    for (unsigned j = 0; j < 2; ++j) {
      wmma::load_matrix_sync(part_b, &tile_b[0][j * kTile], 2 * kTile);
      wmma::mma_sync(sums[j], part_a, part_b, sums[j]);
    }
    __syncthreads();
  }
  for (unsigned j = 0; j < 2; ++j)
    wmma::store_matrix_sync(c + (first_row + warp * kTile) * columns + first_column + j * kTile,
                            sums[j], columns, wmma::mem_row_major);
}

TEST(TensorCores, MultiplyByTiles) {
  in_every_order([] {
    constexpr unsigned kRows = 128, kColumns = 96, kInner = 80;
    std::mt19937 generator(6);
    std::uniform_real_distribution<float> draw(-1, 1);
    std::vector<__half> a(kRows * kInner), b(kInner * kColumns);
    for (__half& x : a) x = __float2half(draw(generator));
    for (__half& x : b) x = __float2half(draw(generator));
    const device_array<__half> device_a(a), device_b(b);
    const device_array<float> c(kRows * kColumns, 0.0F);
    multiply_by_tiles<<<dim3(kColumns / (2 * kTile), kRows / (kWarps * kTile)), kWarps * 32>>>(
        device_a.data(), device_b.data(), c.data(), kColumns, kInner);
    const std::vector<float> result = c.to_host();
    int wrong = 0;
    for (unsigned i = 0; i < kRows; ++i)
      for (unsigned j = 0; j < kColumns; ++j) {
        double sum = 0, size = 0;
        for (unsigned k = 0; k < kInner; ++k) {
          const double term =
              as_double(a[std::size_t{i} * kInner + k]) * as_double(b[k * kColumns + j]);
          sum += term;
          size += std::fabs(term);
        }
        // The products are exact, and each addition loses less than a digit of a float (tensor
        // cores cut off where others round).
        const double error = std::fabs(static_cast<double>(result[i * kColumns + j]) - sum);
        if (!(error <= kInner * std::ldexp(size, -23))) ++wrong;
      }
    EXPECT_EQ(wrong, 0);
  });
}

#ifdef __CPU_DEVICE__
// An element that was never set is not a number that looks right.
__global__ void add_to_nothing(float* d) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(a, __float2half(0.0F));
  wmma::fill_fragment(b, __float2half(0.0F));
  wmma::mma_sync(sum, a, b, sum);
  wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

TEST(TensorCores, StartFromNoNumberWhereNobodySetOne) {
  const device_array<float> d(256, 0.0F);
  add_to_nothing<<<1, 32>>>(d.data());
  for (const float x : d.to_host()) ASSERT_TRUE(std::isnan(x));
}

// Tensor cores do not look at the last 13 digits of a float.
TEST(TensorCores, CutOffWhatTf32DoesNotHave) {
  const float one_and_a_bit = 1 + std::ldexp(0.75F, -10);
  const device_array<float> a(16 * 8, one_and_a_bit), b(16 * 8, 1.0F), c(256, 0.0F), d(256, 0.0F);
  multiply<16, 16, 8, wmma::precision::tf32, float, float, row_major, col_major>
      <<<1, 32>>>(a.data(), 8, b.data(), 8, c.data(), 16, wmma::mem_row_major, d.data(), 16,
                  wmma::mem_row_major);
  EXPECT_EQ(d.to_host(), std::vector<float>(256, 8.0F));
}

// A thread's elements are from no row, no column and no piece of memory alone.
__global__ void show_places(const float* numbered, float* places) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::load_matrix_sync(f, numbered, 16, wmma::mem_row_major);
  for (int i = 0; i < f.num_elements; ++i)
    places[threadIdx.x * 8 + static_cast<unsigned>(i)] = f.x[i];
}

TEST(TensorCores, SpreadTheElementsOverAllLanes) {
  std::vector<float> numbered;
  for (int i = 0; i < 256; ++i) numbered.push_back(static_cast<float>(i));
  const device_array<float> in(numbered), places(256, -1.0F);
  show_places<<<1, 32>>>(in.data(), places.data());
  std::vector<float> seen = places.to_host();
  int as_in_memory = 0, by_lanes = 0;
  for (int n = 0; n < 256; ++n) {
    const int place = static_cast<int>(seen[static_cast<std::size_t>(n)]);
    if (place == n) ++as_in_memory;
    if (place == n % 8 * 32 + n / 8) ++by_lanes;
  }
  EXPECT_LE(as_in_memory, 8);
  EXPECT_LE(by_lanes, 8);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, numbered);
}

constexpr int kLoadLine = __LINE__ + 4;
__global__ void load_too_far(const float* from, float* to) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  if (blockIdx.x == 1)
    wmma::load_matrix_sync(f, from + 1024, 64, wmma::mem_row_major);
  else
    wmma::fill_fragment(f, 1.0F);
  wmma::store_matrix_sync(to, f, 16, wmma::mem_row_major);
}

TEST(TensorCores, AreNamedWhereTheyLoadFromNoMemory) {
  const device_array<float> from(1024, 0.0F), to(256, 0.0F);
  load_too_far<<<2, 32>>>(from.data(), to.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_NE(cpu_device::last_report().find("tensor_cores_test.cu:" + std::to_string(kLoadLine)),
            std::string::npos)
      << cpu_device::last_report();
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}
#endif

}  // namespace
