// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "dot_product.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::dot_product::dot;
using lab::dot_product::step;
using lab::testing::as_required;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::static_shared, "static_shared"},
                                 {step::dynamic_shared, "dynamic_shared"},
                                 {step::warp_shuffle, "warp_shuffle"},
                                 {step::vectorized, "vectorized"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b) {
  return matches(
      lab::compare(dot(version, a, b).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

::testing::AssertionResult is_within_the_bound(step version, const vector& a, const vector& b) {
  return matches(lab::compare(dot(version, a, b).value, lab::dot_in_double(a, b),
                              {.absolute = lab::dot_error_bound(a, b)}));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsShareTheSumInSharedMemory) {
  const vector a = whole_numbers(20'000, 1, -3, 4), b = whole_numbers(20'000, 2, -4, 2);
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected{.threads = 1024,
                                    .blocks = 4,
                                    .sent = 2 * bytes_of(a),
                                    .reads = 2 * bytes_of(a),
                                    .shared_memory = true,
                                    .sectors = lab::testing::kNeighbours};
    if (version >= step::warp_shuffle) {
      expected.shared_memory = false;  // hardly any: a number for each warp
      expected.barriers = 2;           // a tree in shared memory has one for each of its levels
      expected.warp_functions = 1024 / 32;
    }
    if (version == step::vectorized) expected.bytes_a_load = 16;
    const auto done = work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    if (version == step::static_shared) {
      for (const auto& kernel : done.kernels)
        EXPECT_LE(kernel.blocks, 32U) << name << ": the contract has at most 32 blocks";
    }
    if (version >= step::warp_shuffle) {
      for (const auto& kernel : done.kernels)
        EXPECT_LE(kernel.shared_bytes, 32 * sizeof(double))
            << name << ": the launch asks for more shared memory than the sums of the warps need";
    }
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4));
    })) << name;
    // Few elements and many are added no differently, nor are vectors whose last elements fill no
    // float4.
    for (const std::size_t n : {7, 31, 40, 255, 1000, 5003, 20'001, 20'002, 20'003, 70'000}) {
      lab::testing::required of_n = expected;
      of_n.threads = std::clamp<std::size_t>(n / 4, 2, expected.threads);
      of_n.loading_threads = std::min<std::size_t>(n / 4, expected.threads);  // float4 of both
      of_n.blocks = n < 5000 ? 1 : n < 20'000 ? 2 : expected.blocks;
      of_n.sent = of_n.reads = 2 * n * sizeof(float);
      if (expected.warp_functions != 0)
        of_n.warp_functions = std::max<std::size_t>(of_n.threads / 32, 1);
      EXPECT_TRUE(as_required(work_of([&, version = version] {
                                return is_exact(version, whole_numbers(n, 1, 1, 4),
                                                whole_numbers(n, 2, 1, 4));
                              }),
                              of_n))
          << name << " of " << n << " elements";
    }
  }
}

// --- every step, at every size ------------------------------------------------------------------

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp (32), blocks of 256 and 512, and 32 blocks of 256 (8192), where the threads of
// static_shared begin to stride; primes; the book's 33 * 1024.
INSTANTIATE_TEST_SUITE_P(
    Steps, Dot,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(0, 1, 2, 31, 32, 33, 63, 65, 127, 255, 256, 257, 511, 512,
                                         513, 1021, 10 * 256 + 1, 8191, 8192, 8193, 33 * 1024)),
    lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactForWholeNumbers) {
  const auto& [version, n] = GetParam();
  // At most 33 * 1024 products of at most 14 * 29: below 2^24 in every order.
  EXPECT_TRUE(
      is_exact(version.value, whole_numbers(n, n + 1, -9, 14), whole_numbers(n, n + 2, 1, 29)));
}

TEST_P(Dot, IsWithinTheBoundForRandomNumbers) {
  const auto& [version, n] = GetParam();
  EXPECT_TRUE(is_within_the_bound(version.value, lab::random_floats(n, n + 3, -1, 1),
                                  lab::random_floats(n, n + 4, -100, 300)));
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b).value; }
  double bound(const vector& a, const vector& b) const { return lab::dot_error_bound(a, b); }
  static std::size_t most() { return 1'000'007; }
  // More than a float can count one by one; the program's 33 * 1024 are among the sizes below.
  static std::size_t full_size() { return (std::size_t{1} << 24) + 1; }
  static lab::testing::required full_work() { return {.threads = 1024}; }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, GivesTheResultOfTheBook) {
  vector a(33 * 1024), b(33 * 1024);
  std::iota(a.begin(), a.end(), 0.0F);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = 2 * a[i];
  EXPECT_EQ(lab::dot_in_double(a, b), 25'723'564'731'392.0);
  EXPECT_TRUE(is_within_the_bound(version(), a, b));
}

TEST_P(EachStep, ReadsNothingBehindTheLastElement) {
  // Vectors of as many elements as the device runs threads at the same time, once to four times:
  // they end with a round, and on the CPU device where memory ends, so that a read past them is
  // reported.
  int device = 0, processors = 0, threads = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  CUDA_CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
  for (const std::size_t rounds : {1, 2, 3, 4}) {
    const std::size_t n =
        rounds * static_cast<std::size_t>(processors) * static_cast<std::size_t>(threads);
    EXPECT_TRUE(is_exact(version(), whole_numbers(n, 1, -3, 3), whole_numbers(n, 2, -3, 2)))
        << rounds << " rounds of threads";
  }
}

TEST_P(EachStep, LosesNoSmallTermsBesideLargeOnesThatCancel) {
  // Two large products, of which nothing remains, and small ones, of which everything must. A
  // tolerance in proportion to the large ones would hide the small ones; here none is needed, for
  // every sum is a multiple of 1/2 below 2^23.
  constexpr std::size_t kSize = 9001;
  vector a(kSize), b(kSize, 1.0F);
  a[5] = 1024, b[5] = 4096;
  a[8198] = -1024, b[8198] = 4096;
  a[7000] = 1, a[9000] = 0.5F;
  ASSERT_EQ(lab::dot_in_double(a, b), 1.5);
  EXPECT_GT(lab::dot_error_bound(a, b), 1.5)
      << "with the bound as tolerance this test would show nothing";
  EXPECT_EQ(dot(version(), a, b).value, 1.5F);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const vector ones(1000, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return dot(version(), ones, ones).kernel_ms; }));
}

}  // namespace
