// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cub's device-wide algorithms against std's. Plain CUDA, except where it says so. What blocks and
// warps do together is in cub_block_test.cu.

#include <algorithm>
#include <cub/cub.cuh>
#include <map>
#include <numeric>

#include "conformance.hpp"

namespace {

using conformance::device_array;
using conformance::kNanF;

constexpr int kSizes[] = {0, 1, 31, 32, 33, 255, 256, 257, 1009, 70001};

/// Device memory of n values that may be none.
template <class T>
class buffer {
 public:
  explicit buffer(std::size_t n, T value = T{}) : n_(n), array_(n + 1, value) {}
  explicit buffer(const std::vector<T>& host) : n_(host.size()), array_(with_one_more(host)) {}
  T* data() const { return array_.data(); }
  std::vector<T> first(std::size_t n) const {
    std::vector<T> host = array_.to_host();
    host.resize(n);
    return host;
  }
  std::vector<T> all() const { return first(n_); }
  T one() const { return array_.to_host()[0]; }

 private:
  static std::vector<T> with_one_more(std::vector<T> host) {
    host.push_back(T{});
    return host;
  }
  std::size_t n_;
  device_array<T> array_;
};

/// Both phases of an algorithm: call(temp, bytes).
template <class Call>
void two_phases(Call call) {
  std::size_t bytes = 0;
  ASSERT_EQ(call(nullptr, bytes), cudaSuccess);
  const device_array<char> temp(std::max<std::size_t>(bytes, 1), 0);
  ASSERT_EQ(call(temp.data(), bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

std::vector<int> numbers(int n, unsigned range = 2001, unsigned seed = 7) {
  std::mt19937 random(seed);
  std::vector<int> v(static_cast<std::size_t>(n));
  for (int& x : v) x = static_cast<int>(random() % range) - static_cast<int>(range / 2);
  return v;
}
/// Many equal neighbours.
std::vector<int> runs(int n) {
  std::vector<int> v = numbers(n, 3);
  return v;
}

struct maximum {
  __host__ __device__ int operator()(int a, int b) const { return a < b ? b : a; }
};
/// Associative, but the order matters: 2x2 matrices of small numbers modulo 251.
struct matrix {
  int a, b, c, d;
  __host__ __device__ bool operator==(const matrix& o) const {
    return a == o.a && b == o.b && c == o.c && d == o.d;
  }
};
struct product {
  __host__ __device__ matrix operator()(const matrix& x, const matrix& y) const {
    return {(x.a * y.a + x.b * y.c) % 251, (x.a * y.b + x.b * y.d) % 251,
            (x.c * y.a + x.d * y.c) % 251, (x.c * y.b + x.d * y.d) % 251};
  }
};
struct larger {
  __host__ __device__ bool operator()(int a, int b) const { return a > b; }
};
struct is_even {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

TEST(CubDeviceReduce, Reduces) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = numbers(n);
    const buffer<int> in(input);
    const buffer<int> out(1);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::Sum(temp, bytes, in.data(), out.data(), n);
    });
    EXPECT_EQ(out.one(), std::accumulate(input.begin(), input.end(), 0));
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::Reduce(temp, bytes, in.data(), out.data(), n, maximum(), 5000);
    });
    EXPECT_EQ(out.one(), 5000);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::Reduce(temp, bytes, in.data(), out.data(), n, maximum(), -5000);
    });
    EXPECT_EQ(out.one(), std::accumulate(input.begin(), input.end(), -5000, maximum()));
    if (n == 0) continue;
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::Min(temp, bytes, in.data(), out.data(), n);
    });
    EXPECT_EQ(out.one(), *std::min_element(input.begin(), input.end()));
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::Max(temp, bytes, in.data(), out.data(), n);
    });
    EXPECT_EQ(out.one(), *std::max_element(input.begin(), input.end()));
  }
}

TEST(CubDeviceReduce, TakesA64BitCountAndAnotherStream) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const buffer<unsigned char> in(1009, 250);
  const buffer<long long> out(1);
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(temp, bytes, in.data(), out.data(), std::int64_t{1009}, stream);
  });
  EXPECT_EQ(out.one(), 1009 * 250);  // wider than the input: nothing wraps around
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CubDeviceReduce, TooLittleStorageIsAnInvalidValue) {
  constexpr int kSize = 1 << 20;  // a GPU sorts a few in one block, which needs no storage
  const buffer<int> in(kSize), out(kSize);
  std::size_t bytes = 0;
  ASSERT_EQ(cub::DeviceRadixSort::SortKeys(nullptr, bytes, in.data(), out.data(), kSize),
            cudaSuccess);
  ASSERT_GT(bytes, 1U);
  const device_array<char> temp(bytes, 0);
  std::size_t too_few = bytes / 2;
  EXPECT_EQ(cub::DeviceRadixSort::SortKeys(temp.data(), too_few, in.data(), out.data(), kSize),
            cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(CubDeviceReduce, ReducesByKey) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> keys = runs(n), values = numbers(n);
    const buffer<int> k(keys), v(values), unique(keys.size()), totals(keys.size()), count(1);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceReduce::ReduceByKey(temp, bytes, k.data(), unique.data(), v.data(),
                                            totals.data(), count.data(), maximum(), n);
    });
    std::vector<int> expected_keys, expected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i == 0 || keys[i] != keys[i - 1]) {
        expected_keys.push_back(keys[i]);
        expected.push_back(values[i]);
      }
      expected.back() = std::max(expected.back(), values[i]);
    }
    EXPECT_EQ(count.one(), static_cast<int>(expected.size()));
    EXPECT_EQ(unique.first(expected.size()), expected_keys);
    EXPECT_EQ(totals.first(expected.size()), expected);
  }
}

TEST(CubDeviceScan, Scans) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = numbers(n);
    std::vector<int> expected(input.size());
    const buffer<int> in(input), out(input.size());
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveSum(temp, bytes, in.data(), out.data(), n);
    });
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), 0);
    EXPECT_EQ(out.all(), expected);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveScan(temp, bytes, in.data(), out.data(), maximum(), n);
    });
    std::inclusive_scan(input.begin(), input.end(), expected.begin(), maximum());
    EXPECT_EQ(out.all(), expected);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceScan::ExclusiveScan(temp, bytes, in.data(), out.data(), maximum(), -400, n);
    });
    std::exclusive_scan(input.begin(), input.end(), expected.begin(), -400, maximum());
    EXPECT_EQ(out.all(), expected);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceScan::InclusiveSum(temp, bytes, in.data(), in.data(), n);  // in place
    });
    std::inclusive_scan(input.begin(), input.end(), expected.begin());
    EXPECT_EQ(in.all(), expected);
  }
}

TEST(CubDeviceScan, KeepsTheOrderOfOperands) {
  std::vector<matrix> input(1009);
  for (int i = 0; i < 1009; ++i) input[static_cast<std::size_t>(i)] = {i % 7, i % 5, 1, i % 3 + 1};
  const buffer<matrix> in(input), out(input.size());
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(temp, bytes, in.data(), out.data(), product(), 1009);
  });
  std::vector<matrix> expected(input.size());
  std::inclusive_scan(input.begin(), input.end(), expected.begin(), product());
  EXPECT_TRUE(out.all() == expected);
}

TEST(CubDeviceScan, ScansEachRunOfKeys) {
  const std::vector<int> keys = runs(1009), values = numbers(1009);
  const buffer<int> k(keys), v(values), out(keys.size());
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSumByKey(temp, bytes, k.data(), v.data(), out.data(), 1009);
  });
  std::vector<int> expected(keys.size());
  for (std::size_t i = 1; i < keys.size(); ++i)
    expected[i] = keys[i] == keys[i - 1] ? expected[i - 1] + values[i - 1] : 0;
  EXPECT_EQ(out.all(), expected);
}

TEST(CubDeviceHistogram, CountsEvenBins) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> samples = numbers(n);  // -1000 .. 1000
    const int bins = 7, lower = -500, upper = 493;
    const buffer<int> in(samples), histogram(bins, 99);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceHistogram::HistogramEven(temp, bytes, in.data(), histogram.data(), bins + 1,
                                                 lower, upper, n);
    });
    std::vector<int> expected(bins);
    for (const int s : samples)
      if (s >= lower && s < upper)
        ++expected[static_cast<std::size_t>(static_cast<long long>(s - lower) * bins /
                                            (upper - lower))];
    EXPECT_EQ(histogram.all(), expected);
  }
}

#ifndef __CPU_DEVICE__  // CUB 3 has another form beside MultiHistogramEven's and deprecates the
                        // common
                        // one
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
TEST(CubDeviceHistogram, CountsRangesAndChannels) {
  const int n = 1009;
  const std::vector<int> samples = numbers(n);
  const std::vector<int> levels = {-900, -10, 0, 1, 700};
  const buffer<int> in(samples), l(levels), histogram(4, 99);
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramRange(temp, bytes, in.data(), histogram.data(), 5,
                                                l.data(), n);
  });
  std::vector<int> expected(4);
  for (const int s : samples)
    for (std::size_t bin = 0; bin < 4; ++bin)
      if (s >= levels[bin] && s < levels[bin + 1]) ++expected[bin];
  EXPECT_EQ(histogram.all(), expected);

  std::vector<unsigned char> pixels(4 * 257);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<unsigned char>(i * 37);
  const buffer<unsigned char> image(pixels);
  const buffer<unsigned> red(256), green(256), blue(256);
  unsigned* histograms[3] = {red.data(), green.data(), blue.data()};
  int num_levels[3] = {257, 257, 257}, lower[3] = {0, 0, 0}, upper[3] = {256, 256, 256};
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceHistogram::MultiHistogramEven<4, 3>(temp, bytes, image.data(), histograms,
                                                          num_levels, lower, upper, 257);
  });
  std::vector<unsigned> expected_green(256);
  for (std::size_t i = 1; i < pixels.size(); i += 4) ++expected_green[pixels[i]];
  EXPECT_EQ(green.all(), expected_green);
}
#ifndef __CPU_DEVICE__
#pragma GCC diagnostic pop
#endif

/// The order of a radix sort, from CUB's documentation.
template <class Key>
auto radix_order(Key key) {
  if constexpr (std::is_floating_point_v<Key>) {
    auto b = static_cast<long long>(conformance::bits(key == 0 ? Key{0} : key));
    const long long sign = 1LL << (8 * sizeof(Key) - 1);
    if constexpr (sizeof(Key) == 4)
      return (b & sign) != 0 ? -(b - sign) - 1 : b;
    else
      return b < 0 ? -(b - sign) - 1 : b;
  } else {
    return key;
  }
}

template <class Key>
std::vector<Key> keys_of(int n) {
  std::mt19937_64 random(11);
  std::vector<Key> v(static_cast<std::size_t>(n));
  for (Key& key : v) {
    if constexpr (std::is_floating_point_v<Key>)
      key = static_cast<Key>(static_cast<double>(random() % 2001) - 1000) / 8;
    else
      key = static_cast<Key>(random());
  }
  if constexpr (std::is_floating_point_v<Key>)
    for (std::size_t i = 0; i + 6 < v.size(); i += 50) {
      v[i] = Key{0};
      v[i + 1] = -Key{0};
      v[i + 2] = std::numeric_limits<Key>::infinity();
      v[i + 3] = -std::numeric_limits<Key>::infinity();
      v[i + 4] = std::numeric_limits<Key>::quiet_NaN();
      v[i + 5] = std::numeric_limits<Key>::denorm_min();
    }
  return v;
}

template <class Key>
class CubDeviceRadixSort : public ::testing::Test {};
using KeyTypes = ::testing::Types<unsigned char, signed char, unsigned short, short, unsigned, int,
                                  unsigned long long, long long, float, double>;
TYPED_TEST_SUITE(CubDeviceRadixSort, KeyTypes);

TYPED_TEST(CubDeviceRadixSort, SortsPairsStably) {
  using Key = TypeParam;
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<Key> keys = keys_of<Key>(n);
    std::vector<int> order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    const buffer<Key> in(keys), out(keys.size());
    const buffer<int> values(order), values_out(keys.size());
    const auto key = [&](int i) { return radix_order(keys[static_cast<std::size_t>(i)]); };
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairs(temp, bytes, in.data(), out.data(), values.data(),
                                             values_out.data(), n);
    });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
    EXPECT_EQ(values_out.all(), order);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortPairsDescending(temp, bytes, in.data(), out.data(),
                                                       values.data(), values_out.data(), n);
    });
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) > key(b); });
    EXPECT_EQ(values_out.all(), order);
    const std::vector<Key> untouched = in.all();
    EXPECT_EQ(std::memcmp(untouched.data(), keys.data(), keys.size() * sizeof(Key)), 0);
  }
}

TEST(CubDeviceRadixSortBits, LooksAtTheAskedBitsOnly) {
  const int n = 1009;
  const std::vector<unsigned> keys = keys_of<unsigned>(n);
  const buffer<unsigned> in(keys), out(keys.size());
  for (const auto& [begin, end] : {std::pair{0, 8}, {4, 15}, {20, 32}, {31, 32}, {0, 1}}) {
    SCOPED_TRACE(end);
    two_phases([&, first = begin, last = end](void* temp, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortKeys(temp, bytes, in.data(), out.data(), n, first, last);
    });
    std::vector<unsigned> expected = keys;
    const auto digits = [first = begin, last = end](unsigned k) {
      return (k >> first) & static_cast<unsigned>((1ULL << (last - first)) - 1);
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](unsigned a, unsigned b) { return digits(a) < digits(b); });
    EXPECT_EQ(out.all(), expected);
  }
}

TEST(CubDeviceRadixSortBits, SaysWhichOfTwoBuffersHasTheResult) {
  const int n = 1009;
  const std::vector<int> input = numbers(n);
  for (const int end_bit : {8, 16, 32}) {
    SCOPED_TRACE(end_bit);
    const buffer<int> a(input), b(input.size());
    cub::DoubleBuffer<int> keys(a.data(), b.data());
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceRadixSort::SortKeys(temp, bytes, keys, n, 0, end_bit);
    });
    std::vector<int> expected = input;
    const auto low = [end_bit](int k) {
      return end_bit == 32
                 ? static_cast<long long>(k)
                 : static_cast<long long>(static_cast<unsigned>(k) & ((1U << end_bit) - 1U));
    };
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int x, int y) { return low(x) < low(y); });
    ASSERT_TRUE(keys.Current() == a.data() || keys.Current() == b.data());
    EXPECT_EQ((keys.Current() == a.data() ? a : b).all(), expected);
  }
}

TEST(CubDeviceMergeSort, SortsByComparing) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    std::vector<int> keys = numbers(n, 41), order(keys.size());
    std::iota(order.begin(), order.end(), 0);
    const buffer<int> k(keys), v(order);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceMergeSort::StableSortPairs(temp, bytes, k.data(), v.data(), n, larger());
    });
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return larger()(keys[static_cast<std::size_t>(a)], keys[static_cast<std::size_t>(b)]);
    });
    EXPECT_EQ(v.all(), order);
  }
}

TEST(CubDeviceSelect, SelectsAndPartitions) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = numbers(n);
    std::vector<int> expected, rest;
    std::vector<char> flags;
    for (const int x : input) {
      (x % 2 == 0 ? expected : rest).push_back(x);
      flags.push_back(x % 2 == 0 ? 1 : 0);
    }
    const buffer<int> in(input), out(input.size()), count(1);
    const buffer<char> f(flags);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceSelect::If(temp, bytes, in.data(), out.data(), count.data(), n, is_even());
    });
    EXPECT_EQ(count.one(), static_cast<int>(expected.size()));
    EXPECT_EQ(out.first(expected.size()), expected);
    const buffer<int> flagged(input.size());
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceSelect::Flagged(temp, bytes, in.data(), f.data(), flagged.data(),
                                        count.data(), n);
    });
    EXPECT_EQ(flagged.first(expected.size()), expected);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DevicePartition::If(temp, bytes, in.data(), out.data(), count.data(), n,
                                      is_even());
    });
    std::vector<int> parts = expected;
    parts.insert(parts.end(), rest.rbegin(), rest.rend());
    EXPECT_EQ(out.all(), parts);
  }
}

TEST(CubDeviceSelect, FindsRuns) {
  for (const int n : kSizes) {
    SCOPED_TRACE(n);
    const std::vector<int> input = runs(n);
    std::vector<int> unique, lengths, offsets, long_lengths;
    for (std::size_t i = 0; i < input.size(); ++i) {
      if (i == 0 || input[i] != input[i - 1]) {
        unique.push_back(input[i]);
        lengths.push_back(0);
      }
      ++lengths.back();
    }
    int at = 0;
    for (const int length : lengths) {
      if (length > 1) {
        offsets.push_back(at);
        long_lengths.push_back(length);
      }
      at += length;
    }
    const buffer<int> in(input), out(input.size()), other(input.size()), count(1);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceSelect::Unique(temp, bytes, in.data(), out.data(), count.data(), n);
    });
    EXPECT_EQ(count.one(), static_cast<int>(unique.size()));
    EXPECT_EQ(out.first(unique.size()), unique);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceRunLengthEncode::Encode(temp, bytes, in.data(), out.data(), other.data(),
                                                count.data(), n);
    });
    EXPECT_EQ(count.one(), static_cast<int>(unique.size()));
    EXPECT_EQ(out.first(unique.size()), unique);
    EXPECT_EQ(other.first(unique.size()), lengths);
    two_phases([&](void* temp, std::size_t& bytes) {
      return cub::DeviceRunLengthEncode::NonTrivialRuns(temp, bytes, in.data(), out.data(),
                                                        other.data(), count.data(), n);
    });
    EXPECT_EQ(count.one(), static_cast<int>(offsets.size()));
    EXPECT_EQ(out.first(offsets.size()), offsets);
    EXPECT_EQ(other.first(offsets.size()), long_lengths);
  }
}

TEST(CubDeviceSegmentedReduce, ReducesEachSegment) {
  const std::vector<int> input = numbers(1009), offsets = {0, 0, 1, 33, 300, 300, 1009};
  const int segments = static_cast<int>(offsets.size()) - 1;
  const buffer<int> in(input), o(offsets), out(offsets.size() - 1);
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(temp, bytes, in.data(), out.data(), segments, o.data(),
                                           o.data() + 1);
  });
  std::vector<int> expected;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s)
    expected.push_back(
        std::accumulate(input.begin() + offsets[s], input.begin() + offsets[s + 1], 0));
  EXPECT_EQ(out.all(), expected);
}

__global__ void write_squares(int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = i * i;
}

void kernel_then_sum() {
  const int n = 1009;
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const buffer<int> data(n), sum(1);
  std::size_t bytes = 0;
  ASSERT_EQ(cub::DeviceReduce::Sum(nullptr, bytes, data.data(), sum.data(), n), cudaSuccess);
  const device_array<char> temp(bytes, 0);
  write_squares<<<(n + 127) / 128, 128, 0, stream>>>(data.data(), n);
  ASSERT_EQ(cub::DeviceReduce::Sum(temp.data(), bytes, data.data(), sum.data(), n, stream),
            cudaSuccess);
  int result = 0;
  ASSERT_EQ(cudaMemcpyAsync(&result, sum.data(), sizeof result, cudaMemcpyDeviceToHost, stream),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(result, (n - 1) * n * (2 * n - 1) / 6);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CubStreams, WorkIsDoneInTheStreamsOrder) { kernel_then_sum(); }

#ifdef __CPU_DEVICE__

TEST(CubStreams, WorkWaitsWhereStreamsAreDeferred) {
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
  kernel_then_sum();
  const device_array<int> data(100, 1), sum(1, -7);
  const device_array<char> temp(1000, 0);
  std::size_t bytes = 1000;
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cub::DeviceReduce::Sum(temp.data(), bytes, data.data(), sum.data(), 100, stream),
            cudaSuccess);
  int early = 0;  // a copy in the default stream does not wait for that one
  ASSERT_EQ(cudaMemcpy(&early, sum.data(), sizeof early, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(early, -7);
  ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(sum.to_host()[0], 100);
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
}

TEST(CubReports, AHostPointerIsReportedWithTheLineOfTheCall) {
  std::vector<int> on_host(100, 1);
  {
    const device_array<int> sum(1, 0);
    const device_array<char> temp(1000, 0);
    std::size_t bytes = 1000;
    const std::size_t before = cpu_device::report_count();
    const int line = __LINE__ + 1;
    cub::DeviceReduce::Sum(temp.data(), bytes, on_host.data(), sum.data(), 100);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    ASSERT_EQ(cpu_device::report_count(), before + 1);
    const std::string text = cpu_device::last_report();
    EXPECT_NE(text.find("cub::DeviceReduce"), std::string::npos) << text;
    EXPECT_NE(text.find("cub_test.cu:" + std::to_string(line)), std::string::npos) << text;
    EXPECT_NE(text.find("argument 3 is a host pointer"), std::string::npos) << text;
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  }
  cudaGetLastError();
}

TEST(CubReports, AnAccessBehindTheInputIsFound) {
  {
    const device_array<int> data(1024, 1), sum(1, 0);
    const device_array<char> temp(1000, 0);
    std::size_t bytes = 1000;
    const std::size_t before = cpu_device::report_count();
    cub::DeviceReduce::Sum(temp.data(), bytes, data.data(), sum.data(), 4096);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cpu_device::report_count(), before + 1);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  }
  cudaGetLastError();
}

// What CUB had before its version 3, and older code uses.
TEST(CubOlderNames, AreThere) {
  const device_array<int> sum(1, 0);
  const cub::CountingInputIterator<int> from(1);
  const auto square = [](int x) { return x * x; };
  const cub::TransformInputIterator<int, decltype(square), cub::CountingInputIterator<int>> squares(
      from, square);
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceReduce::Reduce(temp, bytes, squares, sum.data(), 100, cub::Sum(), 0);
  });
  EXPECT_EQ(sum.to_host()[0], 338350);
  const device_array<int> data(std::vector<int>{4, -3, 9, -3});
  const device_array<cub::KeyValuePair<int, int>> best(1, {0, 0});
  two_phases([&](void* temp, std::size_t& bytes) {
    return cub::DeviceReduce::ArgMin(temp, bytes, data.data(), best.data(), 4);
  });
  EXPECT_EQ(best.to_host()[0].key, 1);
  EXPECT_EQ(best.to_host()[0].value, -3);
}

#endif

}  // namespace
