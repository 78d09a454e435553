// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "tf32_product.hpp"

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/known_product.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "product_tests.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace lab::tf32_product {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::tf32_product

namespace {

using lab::testing::all_elements_need;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_exact_product;
using lab::testing::expect_failures_reported;
using lab::testing::factors;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::source;
using lab::testing::timed;
using lab::testing::work_of;
using lab::tf32_product::check;
using lab::tf32_product::kDefaultSize;
using lab::tf32_product::multiply;
using lab::tf32_product::shape;
using lab::tf32_product::step;
using lab::tf32_product::transposed;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::wmma, "wmma"}, {step::staged, "staged"}, {step::wgmma, "wgmma"}};

#ifdef __CPU_DEVICE__
// In a case the current device is another one than device 0.
const lab::testing::setting kTwoDevices("CPU_DEVICE_COUNT", "2",
                                        lab::testing::setting::when::unless_given);
#endif

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string name_of(shape size) {
  return "m" + std::to_string(size.m) + "_n" + std::to_string(size.n) + "_k" +
         std::to_string(size.k);
}

/// Whether the current device can do a step: the others refuse it, which a test of its own asks
/// for.
bool has(step version) {
  int device = 0, major = 0, minor = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return version == step::wgmma ? major == 9 && minor == 0 : major >= 8;
}

/// A step as the shared tests take it, which have B with k rows.
auto by(step version) {
  return [=](const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
             std::size_t k) {
    // (Sizes that do not match must be refused, so they are passed on unchanged.)
    const bool right = n == 0 ? b.empty() : b.size() / n == k && b.size() % n == 0;
    return multiply(version, a, right ? transposed(b, k, n) : b, {m, n, k}).c;
  };
}

::testing::AssertionResult is_right(step version, shape size, std::uint64_t seed) {
  const factors given(size.m, size.n, size.k, seed);  // B's k * n elements, here with n rows
  return matches(check(multiply(version, given.a, given.b, size).c, given.a, given.b, size));
}

/// Whole numbers whose product is known, and of which every element counts.
::testing::AssertionResult is_exact(step version, shape size) {
  const auto known = lab::make_known_product(size.m, size.n, size.k, 1);
  return matches(
      lab::compare_exact(by(version)(known.a, known.b, size.m, size.n, size.k), known.c));
}

#define SKIP_WITHOUT(version) \
  if (!has(version)) GTEST_SKIP() << "this device has no such tensor cores"

// --- who does the work ---------------------------------------------------------------------------

#ifdef __CPU_DEVICE__

// The first product of the process needs one block, and the next one many.
REQUIRED_WORK(BlocksForEachProductAndNotOnlyForTheFirst) {
  const lab::testing::pretended_devices with_many_multiprocessors(
      [](cudaDeviceProp& said) { said.multiProcessorCount = 100; });
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(is_right(version, {1, 1, 1}, 1)) << name;
    EXPECT_TRUE(as_required(work_of([&, version = version] {
                              return is_right(version, {192, 320, 8}, 2);
                            }),
                            {.threads = 128, .blocks = 2}))
        << name << ", after a product of one element";
  }
}

#endif

REQUIRED_WORK(WarpsThatMultiplyOnTensorCores) {
  const shape size{192, 320, 32};
  for (const auto& [version, name] : kSteps) {
    const std::size_t elements = (size.m + size.n) * size.k;
    // A fragment's product is 16 x 16 x 8; four warps' is at least 64 x 128 x 8, or less at
    // borders.
    const std::size_t fragments = size.m / 16 * (size.n / 16) * (size.k / 8);
    const std::size_t groups = 4 * (size.m / 64) * ((size.n + 255) / 256) * (size.k / 8);
    lab::testing::required expected{.threads = 128,
                                    .blocks = 2,
                                    .sent = elements * sizeof(float),
                                    .fetched = size.m * size.n * sizeof(float),
                                    .warp_functions = version == step::wgmma ? groups : fragments,
                                    .writes = size.m * size.n * sizeof(float),
                                    .shared_memory = true};
    if (version == step::wgmma) {
      expected.reads_at_most = 64;  // bulk copies are no loads
      if (lab::device_limit(cudaDevAttrMultiProcessorCount) == 1) expected.blocks = 1;
    } else {
      expected.reads = elements * sizeof(float);
      expected.bytes_a_load = 16;
      expected.reads_at_most = 2 * size.m * size.n * size.k * sizeof(float) / 64 * 5 / 4;
    }
    EXPECT_TRUE(as_required(work_of([&, version = version] { return is_right(version, size, 1); }),
                            expected))
        << name;
    EXPECT_TRUE(at_other_sizes(
        [version = version](std::size_t n) {
          return is_right(version, {n, n + 1, n}, 3);
        },
        {.threads = 32, .fetched = 1, .warp_functions = 4, .writes = 1}))
        << name;
  }
}

REQUIRED_WORK(SumsThatNobodyElseMakes) {
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(all_elements_need(source::tensor_cores, by(version))) << name;
}

REQUIRED_WORK(CopiesThatAreUnderWayWhileWarpsMultiply) {
  const shape size{128, 128, 128};
  EXPECT_TRUE(as_required(work_of([&] { return is_right(step::staged, size, 2); }),
                          {.threads = 128,
                           .async_bytes = (size.m + size.n) * size.k * sizeof(float),
                           .copies_under_way = 8}))  // 2 of A and 2 of B, of two slices
      << "staged";
  for (const shape other : {shape{7, 5, 161}, shape{31, 40, 160}, shape{70, 66, 150}})
    EXPECT_TRUE(as_required(work_of([&] { return is_right(step::staged, other, 2); }),
                            {.async_bytes = (other.m + other.n) * other.k * sizeof(float),
                             .copies_under_way = 2}))  // a copy of each of two slices
        << "staged: " << name_of(other);
}

REQUIRED_WORK(TilesInSharedMemoryWhateverTheShape) {
  for (const shape size :
       {shape{1, 1, 1}, shape{3, 5, 7}, shape{40, 41, 40}, shape{64, 64, 8}, shape{70, 130, 65}})
    for (const auto& [version, name] : kSteps) {
      const std::size_t bytes = (size.m + size.n) * size.k * sizeof(float);
      // A is read once for 64 columns, B once for 64 rows, each row up to a multiple of 16 bytes.
      const std::size_t of_tiles =
          ((size.n + 63) / 64 * size.m + (size.m + 63) / 64 * size.n) * ((size.k + 3) / 4) * 16;
      lab::testing::required expected{.threads = 32, .sent = bytes, .shared_memory = true};
      if (version == step::wgmma) {
        expected.tensor_bytes = bytes;
        expected.reads_at_most = 64;
      } else {
        expected.reads = bytes;
        expected.reads_at_most = of_tiles * 5 / 4;
        expected.bytes_a_load = 16;
        if (version == step::staged) expected.async_bytes = bytes;
      }
      EXPECT_TRUE(as_required(
          work_of([&, version = version] { return is_right(version, size, 4); }), expected))
          << name << ": " << name_of(size);
    }
}

// --- every step, every shape ---------------------------------------------------------------------

class Product : public ::testing::TestWithParam<std::tuple<named_step, shape>> {};

TEST_P(Product, IsRightToTheLastBit) {
  const auto& [version, size] = GetParam();
  SKIP_WITHOUT(version.value);
  expect_exact_product(by(version.value), size.m, size.n, size.k);
}

// Blocks make 64 x 64, 128 x 128, 64 x 128 or 128 x 256 elements, slices have 16 or 32 elements of
// k: one less, that, and one more. Rows of A, B and C that begin at 16-byte boundaries, and rows
// that do not. More slices than a ring has stages, fewer, and as many.
INSTANTIATE_TEST_SUITE_P(
    Shapes, Product,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(shape{1, 1, 1}, shape{16, 16, 8}, shape{7, 9, 3},
                                         shape{15, 17, 16}, shape{64, 64, 32}, shape{63, 65, 33},
                                         shape{65, 63, 31}, shape{64, 128, 64}, shape{65, 127, 68},
                                         shape{128, 256, 32}, shape{127, 257, 36},
                                         shape{129, 255, 28}, shape{130, 258, 40},
                                         shape{5, 200, 97}, shape{150, 3, 128}, shape{20, 36, 160},
                                         shape{4, 5, 515}, shape{40, 131, 96},
                                         shape{200, 300, 129})),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + name_of(std::get<1>(test.param));
    });

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  void SetUp() override { SKIP_WITHOUT(version()); }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, MultipliesRandomMatrices) {
  for (const std::uint64_t seed : {3, 5, 7}) {
    EXPECT_TRUE(is_right(version(), {70, 90, 150}, seed));
    EXPECT_TRUE(is_right(version(), {140, 72, 200}, seed));
  }
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] {
    return is_exact(version(), {kDefaultSize, kDefaultSize, kDefaultSize});
  });
}

// More tiles of C than a GPU has multiprocessors, so that blocks that stay make several, in groups
// that are complete and in one that is not.
TEST_P(EachStep, MakesManyTiles) {
  EXPECT_TRUE(is_exact(version(), {330, 390, 40}));
  EXPECT_TRUE(is_exact(version(), {1090, 30, 36}));
}

TEST_P(EachStep, IsExactWhereAGpuHasMoreTilesThanBlocks) {
  // 12 x 12 tiles of 128 x 256.
  expect_at_full_size([&] { return is_exact(version(), {1410, 3050, 68}); });
}

// --- the rounding --------------------------------------------------------------------------------

/// The two TF32 numbers next to x.
struct neighbours {
  float below, above;  // in size
};
neighbours of(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x) & ~std::uint32_t{0x1fff};
  return {std::bit_cast<float>(bits), std::bit_cast<float>(bits + 0x2000)};
}

TEST_P(EachStep, RoundsToTheNearestTf32) {
  auto values = lab::random_floats(300, 4, -5000, 5000);
  const std::vector<float> edges = {2049.9F, -2047.7F, 1 + 0x1.1p-11F, 1 + 0x1.fp-12F, 0.1F,
                                    1e30F,   -3e-30F,  2 - 0x1p-12F,   8191,           3e38F};
  values.insert(values.end(), edges.begin(), edges.end());
  const std::vector<float> one = {1};
  const auto c = multiply(version(), values, one, {values.size(), 1, 1}).c;
  const auto of_b = multiply(version(), one, values, {1, values.size(), 1}).c;
  ASSERT_EQ(c.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [below, above] = of(values[i]);
    const double down = std::fabs(values[i] - below), up = std::fabs(above - values[i]);
    if (down == up) continue;  // a tie
    EXPECT_EQ(c[i], down < up ? below : above) << "of " << values[i];
    EXPECT_EQ(of_b[i], c[i]) << "of " << values[i] << " in B";
  }
}

TEST_P(EachStep, RoundsTheElementsOfEveryPlaceInASlice) {
  // One element of k is not zero, of each row of A and of B: where it is, it is rounded.
  constexpr std::size_t kLength = 44;
  constexpr float kRaw = 1 + 0x1.1p-11F, kRounded = 1 + 0x1p-10F;
  std::vector<float> ones(kLength * kLength), raw(kLength * kLength);
  for (std::size_t i = 0; i < kLength; ++i) ones[i * kLength + i] = 1, raw[i * kLength + i] = kRaw;
  const shape size{kLength, kLength, kLength};
  const auto of_a = multiply(version(), raw, ones, size).c;
  const auto of_b = multiply(version(), ones, raw, size).c;
  ASSERT_EQ(of_a.size(), raw.size());
  for (std::size_t i = 0; i < kLength; ++i) {
    EXPECT_EQ(of_a[i * kLength + i], kRounded) << "element " << i << " of a row of A";
    EXPECT_EQ(of_b[i * kLength + i], kRounded) << "element " << i << " of a row of B";
  }
}

TEST_P(EachStep, GivesTiesToOneOfTheNeighbours) {
  const std::vector<float> values = {2049, 2051, -2049, -2051, 1 + 0x1p-11F}, one = {1};
  const auto c = multiply(version(), values, one, {values.size(), 1, 1}).c;
  const std::vector<float> away = {2050, 2052, -2050, -2052, 1 + 0x1p-10F};
  const std::vector<float> even = {2048, 2052, -2048, -2052, 1};
  EXPECT_EQ(c, version() == step::wgmma ? even : away);
}

TEST_P(EachStep, KeepsNans) {
  // Half a unit more, and the NaN whose bits are all set would be 0. (In wgmma, the copy rounds.)
  for (const std::uint32_t bits : {0x7FC0'0000U, 0x7FFF'FFFFU, 0xFFFF'FFFFU}) {
    if (version() == step::wgmma && (bits & 0x1FFF) != 0) continue;
    const std::vector<float> nan = {std::bit_cast<float>(bits)}, one = {1};
    for (const auto& c :
         {multiply(version(), nan, one, {1, 1, 1}).c, multiply(version(), one, nan, {1, 1, 1}).c}) {
      ASSERT_EQ(c.size(), 1U);
      EXPECT_TRUE(std::isnan(c[0])) << "got " << c[0] << " for the bits " << std::hex << bits;
    }
  }
}

TEST_P(EachStep, AddsInFloat) {
  std::vector<float> a(3 * 601, 1), b(5 * 601, 1);
  for (std::size_t row = 0; row < 3; ++row) a[row * 601] = 2048;
  EXPECT_TRUE(matches(
      lab::compare_exact(multiply(version(), a, b, {3, 5, 601}).c, std::vector<float>(15, 2648))));
}

// --- the edges of C, of A and of B ---------------------------------------------------------------

TEST_P(EachStep, ReadsNoInfinityPastTheEndOfK) {
  lab::testing::expect_infinities_to_end_with_k(by(version()));
}

TEST_P(EachStep, MultipliesZerosByInfinitiesAndByNaN) {
  lab::testing::expect_zeros_to_be_multiplied(by(version()));
}

TEST_P(EachStep, LeavesTheOtherRowsAloneWhenOneHoldsInfinities) {
  constexpr std::size_t m = 20, n = 21;
  for (const std::size_t k : {15, 16, 17, 18, 32}) {
    SCOPED_TRACE("k = " + std::to_string(k));
    auto a = lab::random_floats(m * k, 5, 1, 2);
    const auto b = lab::random_floats(n * k, 6, 1, 2);
    for (std::size_t i = 0; i < 7; ++i) a[11 * k + i] = kInfinity;
    const auto c = multiply(version(), a, b, {m, n, k}).c;
    EXPECT_TRUE(matches(check(c, a, b, {m, n, k})));
    EXPECT_EQ(c[11 * n], kInfinity);
    EXPECT_TRUE(std::isfinite(c[10 * n])) << "the infinities of row 11 have spread to row 10";
  }
}

TEST_P(EachStep, MakesAnEmptyProduct) { lab::testing::expect_empty_products(by(version())); }

TEST_P(EachStep, AddsNothingWhereKIsZero) {
  lab::testing::expect_zeros_where_k_is_zero(by(version()));
  EXPECT_TRUE(matches(lab::compare_exact(multiply(version(), {}, {}, {300, 270, 0}).c,
                                         std::vector<float>(300 * 270))));
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputsAlone) { lab::testing::expect_inputs_left_alone(by(version())); }

TEST_P(EachStep, MultipliesWhatIsThereNow) {
  // The same shape twice: a result left in memory that is allocated again would be wrong.
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 1));
  EXPECT_TRUE(is_right(version(), {50, 60, 70}, 2));
}

TEST_P(EachStep, MultipliesOnEachDevice) {
  // Whoever wants more than 48 KiB of shared memory asks for it on each device that is current.
  for (const int device : {0, lab::device_count() - 1}) {
    const lab::testing::on_device current(device);
    for (const shape size : {shape{64, 64, 40}, shape{330, 390, 40}})
      EXPECT_TRUE(is_exact(version(), size)) << "on device " << device;
  }
}

TEST_P(EachStep, IsRightWhenItsKernelIsRepeated) {
  const lab::repeated_timing samples(3);
  EXPECT_TRUE(is_right(version(), {140, 270, 50}, 4));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesMatricesOfOtherSizes) {
  lab::testing::expect_other_sizes_refused(by(version()));
}

TEST_P(EachStep, RefusesSizesWhoseProductOverflows) {
  lab::testing::expect_overflow_refused(by(version()));
}

TEST_P(EachStep, RefusesMoreRowsThanItCanCount) {
  constexpr std::size_t kRows = std::size_t{1} << 31;
  EXPECT_THROW(multiply(version(), {}, {}, {kRows, 1, 0}), lab::invalid_input);
  EXPECT_THROW(multiply(version(), {}, {}, {1, kRows, 0}), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreRowsThanAGridHasBlocksAndNamesTheLimit) {
  if (version() == step::wgmma) return;  // its blocks are as many as there is room for
  lab::testing::expect_too_many_rows_refused(by(version()), version() == step::wmma ? 64 : 128);
}

TEST(OtherDevices, AreRefusedWithASentence) {
  for (const auto& [version, name] : kSteps) {
    if (has(version)) continue;
    EXPECT_THROW(multiply(version, std::vector<float>{1}, std::vector<float>{1}, {1, 1, 1}),
                 lab::invalid_input)
        << name;
  }
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(40 * 40, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return multiply(version(), a, a, {40, 40, 40}).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const auto a = lab::random_floats(5 * 7, 1, -1, 3), b = lab::random_floats(3 * 7, 2, -9, 5);
  expect_failures_reported([&] { return multiply(version(), a, b, {5, 3, 7}).c; }, a, b);
}

}  // namespace
