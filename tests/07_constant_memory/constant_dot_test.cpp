// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "constant_dot.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "fenced_copy.hpp"
#include "lab/dot_reference.hpp"
#include "lab/random.hpp"
#include "lab/timer.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::constant_dot::dot;
using lab::constant_dot::error_bound;
using lab::constant_dot::kMostInAPass;
using lab::constant_dot::step;
using lab::testing::bytes_of;
using lab::testing::fenced_copy;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::global_memory, "global_memory"},
                                 {step::constant_memory, "constant_memory"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b) {
  return matches(
      lab::compare(dot(version, a, b).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(PassesThroughConstantMemory) {
  const vector a = whole_numbers(20'011, 1, -9, 14), b = whole_numbers(20'011, 2, -4, 5);
  for (const auto& [version, name] : kSteps) {
    const bool constant = version == step::constant_memory;
    lab::testing::required expected{.threads = 1024,
                                    .blocks = 4,
                                    .kernels = constant ? std::size_t{2} : 1,
                                    .sent = (constant ? 1 : 2) * bytes_of(a),
                                    .reads = (constant ? 1 : 2) * bytes_of(a),
                                    .constant_memory = constant};
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    if (!done.kernels.empty()) {
      EXPECT_EQ(done.kernels.size(), expected.kernels)
          << name << ": the number of launches, one for each pass";
    }
    const auto records = done.calls.find("cudaEventRecord");
    if (constant && records != done.calls.end()) {
      EXPECT_GE(records->second, 2 * expected.kernels)
          << name << ": events around each kernel, so that they time no copy";
    }
    // (The last pass is not full. b is nowhere but in constant memory.)
    const std::size_t memory =
        std::accumulate(done.device_memory.begin(), done.device_memory.end(), std::size_t{0});
    EXPECT_LT(memory, (constant ? 1 : 2) * bytes_of(a) + bytes_of(b) / 8) << name;
    // Few elements, too, and a last pass of few.
    for (const std::size_t n : {1, 3, 31, 40, 1000, 16'384, 16'384 + 40}) {
      const std::size_t bytes = n * sizeof(float);
      const lab::testing::work of_n = work_of([&, version = version] {
        return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4));
      });
      EXPECT_TRUE(as_required(of_n, {.threads = std::clamp<std::size_t>(n / 16, 1, 1024),
                                     .blocks = n < 16'384 ? 1U : 4U,
                                     .kernels = constant && n > 16'384 ? std::size_t{2} : 1,
                                     .fetched = 1,
                                     .reads = (constant ? 1 : 2) * bytes,
                                     .constant_memory = constant}))
          << name << " of " << n << " elements";
      if (!of_n.watched) continue;
      const std::size_t fewest = constant && n > 16'384 ? n - 16'384 : n;  // of a launch
      for (const auto& k : of_n.kernels)
        EXPECT_GE(k.threads, std::min<std::size_t>((fewest + 15) / 16, 32))
            << name << " of " << n << " elements: threads that share the sum of " << k.name;
    }
  }
}

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp, a block of 256, and one, two and three passes of 16384; primes.
INSTANTIATE_TEST_SUITE_P(Steps, Dot,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257,
                                                              1021, 16'128, 16'383, 16'384, 16'385,
                                                              20'011, 32'767, 32'768, 32'769,
                                                              3 * 16'384 + 777)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Dot, IsExactForWholeNumbers) {
  const auto& [version, n] = GetParam();
  const vector a = whole_numbers(n, n + 1, -9, 14), b = whole_numbers(n, n + 2, -20, 29);
  // Products up to 406 of either sign, on average some 11: their sums stay far below 2^24.
  ASSERT_LT(std::fabs(lab::dot_in_double(a, b)), 0x1p21);
  const auto result = dot(version.value, a, b);
  EXPECT_TRUE(matches(lab::compare(result.value, lab::dot_in_double(a, b), lab::tolerance{})));
  const std::size_t passes = n == 0                                 ? 0
                             : version.value == step::global_memory ? 1
                                                                    : (n - 1) / kMostInAPass + 1;
  EXPECT_EQ(result.passes, passes);
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b).value; }
  double bound(const vector& a, const vector& b) const { return error_bound(a, b); }
  static std::size_t most() { return 1'000'007; }
  static std::size_t full_size() { return lab::constant_dot::kDefaultSize; }
  static lab::testing::required full_work() { return {.threads = 1024}; }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, MultipliesWhatBelongsTogether) {
  // One element of a is 1 and the others are 0: the result is the one of b that belongs to it.
  const std::size_t n = 2 * kMostInAPass + 100;
  const vector b = lab::random_floats(n, 5, -1, 1);
  for (const std::size_t position :
       {std::size_t{0}, kMostInAPass - 1, kMostInAPass, 2 * kMostInAPass - 1, 2 * kMostInAPass,
        2 * kMostInAPass + 42, n - 1}) {
    vector a(n, 0.0F);
    a[position] = 1;
    EXPECT_EQ(dot(version(), a, b).value, b[position]) << "at " << position;
  }
}

TEST_P(EachStep, ForgetsWhatIsInConstantMemory) {
  // Whatever a call leaves in constant memory, the next one with fewer elements must not see it.
  const vector ones(kMostInAPass + 300, 1.0F);
  const vector nothing(kMostInAPass + 300, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(dot(version(), ones, nothing).value));
  for (const std::size_t n : {1, 100, 301, 5000})
    EXPECT_TRUE(is_exact(version(), whole_numbers(n, n, -9, 14), whole_numbers(n, n + 1, -20, 29)));
}

TEST_P(EachStep, AddsProductsWithZerosToo) {
  // A pass whose part of b is all zeros is a pass all the same.
  vector a(2 * kMostInAPass, 1.0F), b(2 * kMostInAPass, 0.0F);
  EXPECT_EQ(dot(version(), a, b).value, 0.0F);
  a[kMostInAPass + 5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(dot(version(), a, b).value)) << "NaN times 0 is NaN";
}

TEST_P(EachStep, LosesNoMoreThanThreadsWith16ProductsWould) {
  // A thread that adds 31/32 to 2^24 loses it. After 63 of them that is more than the bound.
  vector a(kMostInAPass, 0.96875F);
  const vector b(kMostInAPass, 1.0F);
  a[0] = 0x1p24F;
  ASSERT_LT(error_bound(a, b), 34.0);
  EXPECT_TRUE(matches(lab::compare(dot(version(), a, b).value, lab::dot_in_double(a, b),
                                   {.absolute = error_bound(a, b)})));
}

TEST_P(EachStep, LosesNoMoreInLongerVectors) {
  // The bound does not grow with the length: a grid of a few blocks, with a long loop in each
  // thread, is within it for one pass, but not for 64 of them.
  lab::testing::expect_at_full_size([&] {
    vector a(64 * kMostInAPass, 0.96875F);
    const vector b(a.size(), 1.0F);
    a[0] = 0x1p24F;
    const double bound = error_bound(a, b);
    EXPECT_LT(bound, 36.0);
    return matches(
        lab::compare(dot(version(), a, b).value, lab::dot_in_double(a, b), {.absolute = bound}));
  });
}

TEST_P(EachStep, LosesNoMoreInMorePasses) {
  // Nor does it grow with the passes: one element of each is not 0. If the passes add to the same
  // floats, those that come after 2^24 are lost.
  lab::testing::expect_at_full_size([&] {
    vector a(64 * kMostInAPass, 0.0F);
    const vector b(a.size(), 1.0F);
    for (std::size_t i = 0; i < a.size(); i += kMostInAPass) a[i] = i == 0 ? 0x1p24F : 0.96875F;
    const double bound = error_bound(a, b);
    EXPECT_LT(bound, 36.0);
    return matches(
        lab::compare(dot(version(), a, b).value, lab::dot_in_double(a, b), {.absolute = bound}));
  });
}

TEST_P(EachStep, ReadsNothingBeyondTheEndsOfItsVectors) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{300}, kMostInAPass + 3}) {
    const vector ones(n, 1.0F);
    const fenced_copy<float> a(ones), b(ones);
    EXPECT_EQ(dot(version(), a.span(), b.span()).value, static_cast<float>(n));
  }
}

TEST(GlobalMemory, TakesMoreThan65535Blocks) {
  lab::testing::expect_at_full_size([] {
    const std::size_t n = 256 * lab::testing::kManyBlocks;
    return matches(lab::check_exact_dot(n, 1, [](const vector& a, const vector& b) {
      return dot(step::global_memory, a, b).value;
    }));
  });
}

TEST_P(EachStep, IsTheSameTwice) {  // but for the order in which blocks may add
  const vector a = whole_numbers(40'000, 6, -9, 9), b = whole_numbers(40'000, 7, -4, 5);
  for (int call = 0; call < 2; ++call) {
    EXPECT_TRUE(is_exact(version(), a, b)) << "call " << call;
    EXPECT_TRUE(is_exact(version(), b, b)) << "call " << call;
  }
}

TEST_P(EachStep, SaysHowLongTheKernelsTook) {
  const vector some(kMostInAPass + 1, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] { return dot(version(), some, some).kernel_ms; }));
}

TEST_P(EachStep, TakesNoLongerForTheKernelsThanForTheWholeCall) {
  const vector one(1, 1.0F);
  for (int run = 0; run < 20; ++run) {  // most of these calls are short
    const lab::host_timer timer;
    const float kernel_ms = dot(version(), one, one).kernel_ms;
    EXPECT_LE(kernel_ms, timer.milliseconds());
  }
}

}  // namespace
