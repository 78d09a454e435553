// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cub's block-wide and warp-wide functions against std's, in every thread order. Plain CUDA.

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>

#include "conformance.hpp"

// cub.cuh brings <cuda/atomic> along, and programs rely on it.
using atomic_of_cub = cuda::atomic<int, cuda::thread_scope_block>;
static_assert(sizeof(atomic_of_cub) == sizeof(int));

namespace {

using conformance::device_array;
using conformance::in_every_order;

std::vector<int> numbers(std::size_t n, unsigned range = 2001, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::vector<int> v(n);
  for (int& x : v) x = static_cast<int>(random() % range) - static_cast<int>(range / 2);
  return v;
}

/// Not commutative: what is read from left to right. (a, b) then (c, d): x -> (x a + b) c + d.
struct affine {
  int a, b;
  __host__ __device__ bool operator==(const affine& o) const { return a == o.a && b == o.b; }
};
struct chain {
  __host__ __device__ affine operator()(const affine& f, const affine& g) const {
    return {f.a * g.a % 251, (f.b * g.a + g.b) % 251};
  }
};
struct maximum {
  __host__ __device__ int operator()(int a, int b) const { return a < b ? b : a; }
};
std::vector<affine> affines(std::size_t n) {
  std::vector<affine> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = {static_cast<int>(i % 5 + 1), static_cast<int>(i * 3 % 7)};
  return v;
}

// --- reductions ---------------------------------------------------------------------------------

template <int Threads, cub::BlockReduceAlgorithm Algorithm>
__global__ void reduce_blocks(const int* in, int* sums, int* maxima, int* partial, int valid) {
  using Reduce = cub::BlockReduce<int, Threads, Algorithm>;
  __shared__ typename Reduce::TempStorage storage;
  const int item = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int sum = Reduce(storage).Sum(item);
  __syncthreads();  // the storage is used again
  const int largest = Reduce(storage).Reduce(item, maximum());
  __syncthreads();
  const int first = Reduce(storage).Sum(item, valid);
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = sum;
    maxima[blockIdx.x] = largest;
    partial[blockIdx.x] = first;
  }
}

template <int Threads, cub::BlockReduceAlgorithm Algorithm>
void expect_block_reduce() {
  constexpr unsigned kBlocks = 5;
  const std::vector<int> input = numbers(Threads * kBlocks);
  const device_array<int> in(input), sums(kBlocks, 0), maxima(kBlocks, 0), partial(kBlocks, 0);
  const int valid = Threads / 2 + 1;
  reduce_blocks<Threads, Algorithm>
      <<<kBlocks, Threads>>>(in.data(), sums.data(), maxima.data(), partial.data(), valid);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::vector<int> s, m, p;
  for (unsigned b = 0; b < kBlocks; ++b) {
    const auto first = input.begin() + b * Threads;
    s.push_back(std::accumulate(first, first + Threads, 0));
    m.push_back(*std::max_element(first, first + Threads));
    p.push_back(std::accumulate(first, first + valid, 0));
  }
  EXPECT_EQ(sums.to_host(), s);
  EXPECT_EQ(maxima.to_host(), m);
  EXPECT_EQ(partial.to_host(), p);
}

TEST(CubBlockReduce, ReducesBlocksOfEverySize) {
  in_every_order([] {
    expect_block_reduce<1, cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
    expect_block_reduce<31, cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
    expect_block_reduce<33, cub::BLOCK_REDUCE_RAKING>();
    expect_block_reduce<128, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>();
    expect_block_reduce<257, cub::BLOCK_REDUCE_WARP_REDUCTIONS>();
    expect_block_reduce<1024, cub::BLOCK_REDUCE_RAKING>();
  });
}

__global__ void reduce_in_order(const affine* in, affine* out) {
  using Reduce = cub::BlockReduce<affine, 16, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 4, 2>;
  __shared__ typename Reduce::TempStorage storage;
  const unsigned t = threadIdx.x + 16 * (threadIdx.y + 4 * threadIdx.z);
  affine items[2] = {in[2 * t], in[2 * t + 1]};
  const affine all = Reduce(storage).Reduce(items, chain());
  if (t == 0) out[0] = all;
}

TEST(CubBlockReduce, KeepsTheOrderOfOperandsInThreeDimensions) {
  in_every_order([] {
    const std::vector<affine> input = affines(256);
    const device_array<affine> in(input), out(1, {0, 0});
    reduce_in_order<<<1, dim3(16, 4, 2)>>>(in.data(), out.data());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_TRUE(out.to_host()[0] ==
                std::accumulate(input.begin() + 1, input.end(), input[0], chain()));
  });
}

// --- scans --------------------------------------------------------------------------------------

/// Carries the sum of the tiles before: what a scan with a prefix functor is for.
struct running_total {
  int total;
  __device__ int operator()(int aggregate) {
    const int before = total;
    total += aggregate;
    return before;
  }
};

template <int Threads, int Items>
__global__ void scan_tiles(const int* in, int* exclusive, int* inclusive, int* aggregates,
                           int tiles) {
  using Scan = cub::BlockScan<int, Threads>;
  __shared__ typename Scan::TempStorage storage;
  running_total prefix{100};
  for (int tile = 0; tile < tiles; ++tile) {
    const int first = (tile * Threads + static_cast<int>(threadIdx.x)) * Items;
    int items[Items], before[Items], upto[Items], aggregate = 0;
    for (int i = 0; i < Items; ++i) items[i] = in[first + i];
    Scan(storage).ExclusiveSum(items, before, prefix);
    __syncthreads();
    Scan(storage).InclusiveScan(items, upto, maximum(), aggregate);
    __syncthreads();
    for (int i = 0; i < Items; ++i) {
      exclusive[first + i] = before[i];
      inclusive[first + i] = upto[i];
    }
    if (threadIdx.x == Threads - 1) aggregates[tile] = aggregate;
  }
}

template <int Threads, int Items>
void expect_block_scan() {
  constexpr std::size_t kTiles = 3, kTile = Threads * Items;
  const std::vector<int> input = numbers(kTiles * kTile);
  const device_array<int> in(input), exclusive(input.size(), 0), inclusive(input.size(), 0),
      aggregates(kTiles, 0);
  scan_tiles<Threads, Items>
      <<<1, Threads>>>(in.data(), exclusive.data(), inclusive.data(), aggregates.data(), kTiles);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::vector<int> expected(input.size()), largest;
  std::exclusive_scan(input.begin(), input.end(), expected.begin(), 100);
  EXPECT_EQ(exclusive.to_host(), expected);
  for (std::size_t tile = 0; tile < kTiles; ++tile) {
    const auto first = static_cast<std::ptrdiff_t>(tile * kTile);
    std::inclusive_scan(input.begin() + first, input.begin() + first + kTile,
                        expected.begin() + first, maximum());
    largest.push_back(expected[(tile + 1) * kTile - 1]);
  }
  EXPECT_EQ(inclusive.to_host(), expected);
  EXPECT_EQ(aggregates.to_host(), largest);
}

TEST(CubBlockScan, ScansTilesWithAPrefix) {
  in_every_order([] {
    expect_block_scan<32, 1>();
    expect_block_scan<64, 3>();
    expect_block_scan<96, 2>();
    expect_block_scan<256, 4>();
  });
}

__global__ void scan_in_order(const affine* in, affine* inclusive, affine* exclusive) {
  using Scan = cub::BlockScan<affine, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage[2];
  affine a, b;
  Scan(storage[0]).InclusiveScan(in[threadIdx.x], a, chain());
  Scan(storage[1]).ExclusiveScan(in[threadIdx.x], b, affine{1, 0}, chain());
  inclusive[threadIdx.x] = a;
  exclusive[threadIdx.x] = b;
}

TEST(CubBlockScan, KeepsTheOrderOfOperands) {
  in_every_order([] {
    const std::vector<affine> input = affines(128);
    const device_array<affine> in(input), inclusive(input), exclusive(input);
    scan_in_order<<<1, 128>>>(in.data(), inclusive.data(), exclusive.data());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    std::vector<affine> expected(128);
    std::inclusive_scan(input.begin(), input.end(), expected.begin(), chain());
    EXPECT_TRUE(inclusive.to_host() == expected);
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), affine{1, 0}, chain());
    EXPECT_TRUE(exclusive.to_host() == expected);
  });
}

// --- tiles --------------------------------------------------------------------------------------

template <cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
__global__ void double_tiles(const int* in, int* out, int n) {
  constexpr int kThreads = 64, kItems = 3, kTile = kThreads * kItems;
  using BlockLoad = cub::BlockLoad<int, kThreads, kItems, Load>;
  using BlockStore = cub::BlockStore<int, kThreads, kItems, Store>;
  __shared__ union {
    typename BlockLoad::TempStorage load;
    typename BlockStore::TempStorage store;
  } storage;
  const int first = static_cast<int>(blockIdx.x) * kTile;
  int items[kItems];
  if (n - first >= kTile)
    BlockLoad(storage.load).Load(in + first, items);
  else
    BlockLoad(storage.load).Load(in + first, items, n - first, -1);
  for (int& item : items) item *= 2;
  __syncthreads();
  if (n - first >= kTile)
    BlockStore(storage.store).Store(out + first, items);
  else
    BlockStore(storage.store).Store(out + first, items, n - first);
}

template <cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
void expect_tiles() {
  for (const int n : {1, 31, 191, 192, 193, 1009}) {
    SCOPED_TRACE(n);
    std::vector<int> input = numbers(static_cast<std::size_t>(n));
    const device_array<int> in(input), out(input.size() + 1, 77);
    double_tiles<Load, Store><<<(n + 191) / 192, 64>>>(in.data(), out.data(), n);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    for (int& x : input) x *= 2;
    input.push_back(77);  // nothing is stored behind the end
    EXPECT_EQ(out.to_host(), input);
  }
}

TEST(CubBlockLoad, LoadsAndStoresTilesWhole_AndInPart) {
  in_every_order([] {
    expect_tiles<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>();
    expect_tiles<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>();
    expect_tiles<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_DIRECT>();
    expect_tiles<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_TRANSPOSE>();
    expect_tiles<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>();
  });
}

__global__ void exchange(int* striped, int* blocked, int* scattered) {
  constexpr int kThreads = 48, kItems = 2;
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  __shared__ typename Exchange::TempStorage storage;
  const int t = static_cast<int>(threadIdx.x);
  int items[kItems] = {2 * t, 2 * t + 1}, out[kItems];
  Exchange(storage).BlockedToStriped(items, out);
  for (int i = 0; i < kItems; ++i) striped[kItems * t + i] = out[i];
  __syncthreads();
  Exchange(storage).StripedToBlocked(out, out);
  for (int i = 0; i < kItems; ++i) blocked[kItems * t + i] = out[i];
  __syncthreads();
  int ranks[kItems] = {95 - 2 * t, 94 - 2 * t};
  Exchange(storage).ScatterToBlocked(items, out, ranks);
  for (int i = 0; i < kItems; ++i) scattered[kItems * t + i] = out[i];
}

TEST(CubBlockExchange, Rearranges) {
  in_every_order([] {
    const device_array<int> striped(96, 0), blocked(96, 0), scattered(96, 0);
    exchange<<<1, 48>>>(striped.data(), blocked.data(), scattered.data());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    for (int t = 0; t < 48; ++t)
      for (int i = 0; i < 2; ++i) {
        const auto at = static_cast<std::size_t>(2 * t + i);
        EXPECT_EQ(striped.to_host()[at], i * 48 + t);
        EXPECT_EQ(blocked.to_host()[at], 2 * t + i);
        EXPECT_EQ(scattered.to_host()[at], 95 - (2 * t + i));
      }
  });
}

template <cub::BlockHistogramAlgorithm Algorithm>
__global__ void count_items(const unsigned char* in, unsigned* out) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 3, 16, Algorithm>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned counters[16];
  unsigned char items[3];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) items[i] = in[round * 192 + static_cast<int>(threadIdx.x) * 3 + i];
    if (round == 0)
      Histogram(storage).Histogram(items, counters);
    else
      Histogram(storage).Composite(items, counters);
    __syncthreads();
  }
  if (threadIdx.x < 16) out[threadIdx.x] = counters[threadIdx.x];
}

TEST(CubBlockHistogram, Counts) {
  in_every_order([] {
    std::vector<unsigned char> input(384);
    std::vector<unsigned> expected(16);
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = static_cast<unsigned char>(i * i % 13);
      ++expected[input[i]];
    }
    const device_array<unsigned char> in(input);
    const device_array<unsigned> out(16, 0);
    count_items<cub::BLOCK_HISTO_ATOMIC><<<1, 64>>>(in.data(), out.data());
    EXPECT_EQ(out.to_host(), expected);
    count_items<cub::BLOCK_HISTO_SORT><<<1, 64>>>(in.data(), out.data());
    EXPECT_EQ(out.to_host(), expected);
  });
}

template <class Key, int Threads, int Items>
__global__ void sort_block(const Key* in, Key* up, int* from, Key* down) {
  using Pairs = cub::BlockRadixSort<Key, Threads, Items, int>;
  using Keys = cub::BlockRadixSort<Key, Threads, Items>;
  __shared__ typename Pairs::TempStorage pairs;
  __shared__ typename Keys::TempStorage keys_only;
  const int first = static_cast<int>(threadIdx.x) * Items;
  Key keys[Items], same[Items];
  int values[Items];
  for (int i = 0; i < Items; ++i) {
    keys[i] = same[i] = in[first + i];
    values[i] = first + i;
  }
  Pairs(pairs).Sort(keys, values);
  Keys(keys_only).SortDescendingBlockedToStriped(same);
  for (int i = 0; i < Items; ++i) {
    up[first + i] = keys[i];
    from[first + i] = values[i];
    down[i * Threads + static_cast<int>(threadIdx.x)] = same[i];
  }
}

template <class Key, int Threads, int Items>
void expect_block_sort(unsigned range) {
  const std::vector<int> ints = numbers(Threads * Items, range);
  const std::vector<Key> input(ints.begin(), ints.end());
  const device_array<Key> in(input), up(input.size(), Key{}), down(input.size(), Key{});
  const device_array<int> from(input.size(), 0);
  sort_block<Key, Threads, Items><<<1, Threads>>>(in.data(), up.data(), from.data(), down.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::vector<int> order(input.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return input[static_cast<std::size_t>(a)] < input[static_cast<std::size_t>(b)];
  });
  std::vector<Key> sorted = input;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(from.to_host(), order);
  EXPECT_EQ(up.to_host(), sorted);
  std::reverse(sorted.begin(), sorted.end());
  EXPECT_EQ(down.to_host(), sorted);
}

TEST(CubBlockRadixSort, SortsStably) {
  in_every_order([] {
    expect_block_sort<int, 32, 1>(2001);
    expect_block_sort<int, 128, 4>(41);
    expect_block_sort<float, 64, 3>(2001);
    expect_block_sort<unsigned char, 96, 2>(101);
  });
}

// --- warps --------------------------------------------------------------------------------------

template <int Lanes>
__global__ void warp_functions(const int* in, int* sums, int* inclusive, int* exclusive,
                               int* segments) {
  using Reduce = cub::WarpReduce<int, Lanes>;
  using Scan = cub::WarpScan<int, Lanes>;
  constexpr int kWarps = 128 / Lanes;
  __shared__ typename Reduce::TempStorage reduce[kWarps], segmented[kWarps];
  __shared__ typename Scan::TempStorage scan[kWarps];
  const int t = static_cast<int>(threadIdx.x), warp = t / Lanes;
  const int sum = Reduce(reduce[warp]).Sum(in[t]);
  if (t % Lanes == 0) sums[warp] = sum;
  int up_to = 0, before = 0;
  Scan(scan[warp]).InclusiveSum(in[t], up_to);
  __syncwarp();
  Scan(scan[warp]).ExclusiveScan(in[t], before, -5000, maximum());
  inclusive[t] = up_to;
  exclusive[t] = before;
  const int head = t % Lanes % 3 == 0;
  const int part = Reduce(segmented[warp]).HeadSegmentedSum(in[t], head);
  if (head) segments[t] = part;
}

template <int Lanes>
void expect_warp_functions() {
  const std::vector<int> input = numbers(128);
  const device_array<int> in(input), sums(128 / Lanes, 0), inclusive(128, 0), exclusive(128, 0),
      segments(128, 0);
  warp_functions<Lanes>
      <<<1, 128>>>(in.data(), sums.data(), inclusive.data(), exclusive.data(), segments.data());
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  std::vector<int> s, up(128), before(128), parts(128);
  for (int w = 0; w < 128; w += Lanes) {
    const auto first = input.begin() + w;
    s.push_back(std::accumulate(first, first + Lanes, 0));
    std::inclusive_scan(first, first + Lanes, up.begin() + w);
    std::exclusive_scan(first, first + Lanes, before.begin() + w, -5000, maximum());
    for (int i = 0; i < Lanes; ++i)
      parts[static_cast<std::size_t>(w + i / 3 * 3)] += input[static_cast<std::size_t>(w + i)];
  }
  EXPECT_EQ(sums.to_host(), s);
  EXPECT_EQ(inclusive.to_host(), up);
  EXPECT_EQ(exclusive.to_host(), before);
  EXPECT_EQ(segments.to_host(), parts);
}

TEST(CubWarp, ReducesAndScansLogicalWarps) {
  in_every_order([] {
    expect_warp_functions<32>();
    expect_warp_functions<16>();
    expect_warp_functions<8>();
  });
}

__global__ void warp_valid_items(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage storage[2];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int sum = Reduce(storage[warp]).Sum(in[threadIdx.x], 10 + warp);
  if (threadIdx.x % 32 == 0) out[warp] = sum;
}

TEST(CubWarp, ReducesItsFirstItems) {
  in_every_order([] {
    const std::vector<int> input = numbers(64);
    const device_array<int> in(input), out(2, 0);
    warp_valid_items<<<1, 64>>>(in.data(), out.data());
    EXPECT_EQ(out.to_host()[0], std::accumulate(input.begin(), input.begin() + 10, 0));
    EXPECT_EQ(out.to_host()[1], std::accumulate(input.begin() + 32, input.begin() + 43, 0));
  });
}

// --- adjacent differences -----------------------------------------------------------------------

struct minus_twice {  // not symmetric
  __host__ __device__ int operator()(int item, int neighbour) const { return item - 2 * neighbour; }
};

enum class side {
  left,
  left_of_next,
  left_partial,
  left_partial_of_next,
  right,
  right_of_last,
  right_partial
};

template <int Threads, int Items, side Side>
__global__ void differences(const int* in, int* out, int beside, int valid) {
  using Difference = cub::BlockAdjacentDifference<int, Threads>;
  __shared__ typename Difference::TempStorage storage;
  int item[Items], result[Items];
  for (int i = 0; i < Items; ++i) item[i] = in[threadIdx.x * Items + i];
  Difference difference(storage);
  const minus_twice op;
  if (Side == side::left) difference.SubtractLeft(item, item, op);  // in place
  if (Side == side::right) difference.SubtractRight(item, item, op);
  if (Side == side::left_of_next) difference.SubtractLeft(item, result, op, beside);
  if (Side == side::right_of_last) difference.SubtractRight(item, result, op, beside);
  if (Side == side::left_partial) difference.SubtractLeftPartialTile(item, result, op, valid);
  if (Side == side::left_partial_of_next)
    difference.SubtractLeftPartialTile(item, result, op, valid, beside);
  if (Side == side::right_partial) difference.SubtractRightPartialTile(item, result, op, valid);
  const bool in_place = Side == side::left || Side == side::right;
  for (int i = 0; i < Items; ++i) out[threadIdx.x * Items + i] = in_place ? item[i] : result[i];
}

template <int Threads, int Items, side Side>
void expect_differences(int valid) {
  constexpr int kBeside = -77;
  constexpr bool kToTheRight =
      Side == side::right || Side == side::right_of_last || Side == side::right_partial;
  const std::vector<int> values = numbers(static_cast<std::size_t>(Threads) * Items);
  std::vector<int> expected = values;
  for (int i = 0; i < valid; ++i) {
    const int other = kToTheRight ? i + 1 : i - 1;
    const auto at = static_cast<std::size_t>(i);
    if (other >= 0 && other < valid)
      expected[at] = minus_twice()(values[at], values[static_cast<std::size_t>(other)]);
    else if (Side == side::left_of_next || Side == side::left_partial_of_next ||
             Side == side::right_of_last)
      expected[at] = minus_twice()(values[at], kBeside);
  }
  in_every_order([&] {
    const device_array<int> in(values), out(std::vector<int>(values.size(), -1));
    differences<Threads, Items, Side><<<1, Threads>>>(in.data(), out.data(), kBeside, valid);
    EXPECT_EQ(out.to_host(), expected) << Threads << " threads, " << Items << " items, " << valid;
  });
}

template <int Threads, int Items>
void expect_all_differences() {
  constexpr int kAll = Threads * Items;
  expect_differences<Threads, Items, side::left>(kAll);
  expect_differences<Threads, Items, side::left_of_next>(kAll);
  expect_differences<Threads, Items, side::right>(kAll);
  expect_differences<Threads, Items, side::right_of_last>(kAll);
  for (const int valid : {1, Items, Items + 1, kAll - Items - 1, kAll - 1, kAll}) {
    expect_differences<Threads, Items, side::left_partial>(valid);
    expect_differences<Threads, Items, side::left_partial_of_next>(valid);
    expect_differences<Threads, Items, side::right_partial>(valid);
  }
}

TEST(BlockAdjacentDifference, IsOfNeighboursInTheTileAndBesideIt) {
  expect_all_differences<64, 1>();
  expect_all_differences<96, 4>();
}

}  // namespace
