// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "latency_hiding.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::random_words;
using namespace lab::latency_hiding;
using lab::testing::as_required;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using floats = std::vector<float>;
using words = std::vector<std::uint32_t>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::one, "one"}, {step::two, "two"}, {step::four, "four"}, {step::eight, "eight"}};

::testing::AssertionResult has_sum(step version, const words& values, const launch_shape& shape) {
  const std::uint32_t got = sum(version, values, shape).value, expected = reference_sum(values);
  if (got == expected) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "the sum of " << values.size() << " values by " << shape.blocks << " blocks of "
         << shape.threads << " threads: got " << got << ", expected " << expected;
}

::testing::AssertionResult is_advanced(step version, const floats& values, unsigned rounds,
                                       const launch_shape& shape) {
  return matches(lab::compare_exact(advance(version, values, rounds, shape).values,
                                    reference_advance(values, rounds)));
}

::testing::AssertionResult arrives(const words& next, unsigned hops) {
  const std::uint32_t got = chase(next, hops).end, expected = reference_chase(next, hops);
  if (got == expected) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "after " << hops << " hops at element " << got << ", expected " << expected;
}

floats numbers(std::size_t n, std::uint64_t seed) { return lab::random_floats(n, seed, -3, 2); }

// --- who does the work ---------------------------------------------------------------------------

/// Whether the only kernel was launched in this shape.
void expect_shape(const lab::testing::work& done, const launch_shape& shape, const char* name) {
  ASSERT_EQ(done.kernels.size(), 1U) << name << ": one kernel is enough";
  EXPECT_EQ(done.kernels[0].blocks, shape.blocks)
      << name << ": the number of blocks that was requested";
  EXPECT_EQ(done.kernels[0].threads_per_block, shape.threads)
      << name << ": the number of threads that was requested";
}

REQUIRED_WORK(OneKernelOfTheShapeThatReadsEachElementOnce) {
  const words values = random_words(5000, 1);
  const floats some = numbers(5000, 2);
  for (const auto& [version, name] : kSteps) {
    const launch_shape many{5003, 32};
    expect_shape(work_of([&, version = version] { return has_sum(version, values, many); }), many,
                 name);
    expect_shape(work_of([&, version = version] { return is_advanced(version, some, 3, many); }),
                 many, name);
    for (const launch_shape& shape : {launch_shape{2, 64}, launch_shape{5, 32}}) {
      const auto added =
          work_of([&, version = version] { return has_sum(version, values, shape); });
      EXPECT_TRUE(as_required(added, {.threads = 128,
                                      .blocks = 2,
                                      .sent = bytes_of(values),
                                      .reads = bytes_of(values),
                                      // Here an atomic addition reads its sum as well.
                                      .reads_at_most = bytes_of(values) + 4 * 5,
                                      .sectors = 1.1}))
          << name;
      expect_shape(added, shape, name);
      const auto chains =
          work_of([&, version = version] { return is_advanced(version, some, 3, shape); });
      EXPECT_TRUE(as_required(chains, {.threads = 128,
                                       .blocks = 2,
                                       .sent = bytes_of(some),
                                       .fetched = bytes_of(some),
                                       .reads = bytes_of(some),
                                       .writes = bytes_of(some),
                                       .reads_at_most = bytes_of(some),
                                       .sectors = 1.1}))
          << name;
      expect_shape(chains, shape, name);
      // Elements that go through the rounds together have been loaded before any of them is stored.
      // (For a sum this is not visible: loaded values are used in registers.)
      if (chains.watched && chains.kernels.size() == 1) {
        EXPECT_GE(chains.kernels[0].loads_ahead, in_flight(version))
            << name << ": no thread has so many elements at a time";
      }
      std::uint64_t written = 0;
      for (const auto& k : chains.kernels) written += k.writes;
      EXPECT_LE(written, bytes_of(some)) << name << ": each element is written once";
      // All threads have work, and about the same amount of it.
      for (const auto* done : {&added, &chains})
        if (done->watched && done->kernels.size() == 1) {
          const auto& k = done->kernels[0];
          const std::uint64_t mean = 2 * some.size() / k.all_threads();
          EXPECT_LE(k.busiest, mean + 2 * in_flight(version) + 2)
              << name << ": one thread does more than its share";
        }
    }
    const words ten = random_words(10, 3);
    expect_shape(work_of([&, version = version] {
                   return has_sum(version, ten, {5, 64});
                 }),
                 {5, 64},
                 name);  // also where most of the threads have nothing to do
    EXPECT_TRUE(at_other_sizes(
        [version = version](std::size_t n) {
          return has_sum(version, random_words(n, 1), {2, 32});
        },
        {.threads = 1, .writes = 1}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_advanced(version, numbers(n, 1), 3, {2, 32});
    })) << name;
  }
}

#ifdef __CPU_DEVICE__  // whose fmaf() is that of the host's library
/// How many rounds began with what the thread's last round had brought, and so had to wait for it.
std::atomic<std::uint64_t> rounds_in_a_row = 0;
std::atomic<bool> counts_rounds = false;

/// While it lives, these are counted.
struct counting {
  counting() {
    rounds_in_a_row = 0;
    counts_rounds = true;
  }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;
  ~counting() { counts_rounds = false; }
};

}  // namespace

// The kernels of this program call this one, and not the library's own.
extern "C" float fmaf(float x, float y, float z) noexcept {
  static auto* const own =
      reinterpret_cast<float (*)(float, float, float)>(dlsym(RTLD_NEXT, "fmaf"));
  thread_local float last = NAN;
  if (counts_rounds && (x == last || y == last)) ++rounds_in_a_row;
  return last = own(x, y, z);
}

namespace {

TEST(Requires, ChainsThatAdvanceTogether) {
  constexpr unsigned kRounds = 64;
  const launch_shape shape{2, 64};
  const floats some = numbers(std::size_t{3} * 2 * 64 * 8, 6);  // no thread has one of its own left
  const auto in_a_row = [&](step version) {
    const floats values = [&] {
      const counting meanwhile;
      return advance(version, some, kRounds, shape).values;
    }();
    EXPECT_TRUE(matches(lab::compare_exact(values, reference_advance(some, kRounds))));
    return rounds_in_a_row.load();
  };
  const std::uint64_t all = some.size() * kRounds;
  // (With one chain each round waits for the last one. If they seem not to, it is an instruction of
  // the processor that computes them, or another process.)
  if (in_a_row(step::one) < all / 2) return;
  for (const auto& [version, name] : kSteps)
    if (version != step::one) {
      EXPECT_LE(in_a_row(version), all / 2)
          << name << ": the rounds of an element wait for each other, while no other element of "
          << "the thread goes through a round";
    }
}
#endif

REQUIRED_WORK(AChaseOfOneThreadThatReadsOneElementForEachHop) {
  const words tour = random_tour(640, 32, 3);
  for (const unsigned hops : {1U, 7U, 500U}) {
    const auto done = work_of([&] { return arrives(tour, hops); });
    EXPECT_TRUE(as_required(done, {.threads = 1,
                                   .sent = bytes_of(tour),
                                   .reads = std::size_t{4} * hops,
                                   .writes = 4,
                                   .reads_at_most = std::size_t{4} * hops}));
    ASSERT_EQ(done.kernels.size(), 1U);
    EXPECT_EQ(done.kernels[0].all_threads(), 1U) << "a single thread hops";
  }
}

REQUIRED_WORK(AQuestionToTheRuntime) {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  // Once will do: a kernel stays allowed, on that device.
  static std::set<std::pair<int, subject>> allowed;
  for (const int device : {0, count - 1})
    for (const subject kernel : {subject::sum_of_four, subject::many_registers}) {
      const lab::testing::on_device current(device);
      const auto done = lab::testing::work_without_values([&] { ask_runtime(kernel, 96, 50'000); });
      EXPECT_TRUE(as_required(done, {.kernels = 0,
                                     .calls = {"cudaFuncGetAttributes",
                                               "cudaOccupancyMaxActiveBlocksPerMultiprocessor"}}));
      if (done.calls.empty()) continue;
      if (done.calls.contains("cudaFuncSetAttribute")) allowed.emplace(device, kernel);
      EXPECT_TRUE(allowed.contains({device, kernel}))
          << "more than 48 KiB of dynamic shared memory, but on device " << device
          << " the kernel was not allowed to use that much";
    }
}

// --- sums and chains -----------------------------------------------------------------------------

struct case_of_shape {
  launch_shape shape;
  friend void PrintTo(const case_of_shape& c, std::ostream* out) {
    *out << c.shape.blocks << " blocks of " << c.shape.threads;
  }
};
constexpr case_of_shape kShapes[] = {{{1, 32}}, {{1, 64}},  {{3, 32}},
                                     {{2, 96}}, {{7, 160}}, {{1, 1024}}};

class EachShape : public ::testing::TestWithParam<std::tuple<named_step, case_of_shape>> {
 protected:
  step version() const { return std::get<0>(GetParam()).value; }
  launch_shape shape() const { return std::get<1>(GetParam()).shape; }
  /// Around nothing, a warp, the grid, and in_flight() times the grid; a prime.
  std::vector<std::size_t> sizes() const {
    const std::size_t grid = std::size_t{shape().blocks} * shape().threads;
    const std::size_t all = grid * in_flight(version());
    return {0,       1,   31,      32,      33,          grid - 1,           grid, grid + 1,
            all - 1, all, all + 1, 2 * all, 3 * all - 1, 3 * all + grid + 5, 1021};
  }
};
/// four_2x96
std::string name_of(const ::testing::TestParamInfo<std::tuple<named_step, case_of_shape>>& test) {
  const auto& [version, c] = test.param;
  return std::string(version.name) + "_" + std::to_string(c.shape.blocks) + "x" +
         std::to_string(c.shape.threads);
}
INSTANTIATE_TEST_SUITE_P(Steps, EachShape,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::ValuesIn(kShapes)),
                         name_of);

TEST_P(EachShape, AddsUpAllValues) {
  for (const std::size_t n : sizes())
    EXPECT_TRUE(has_sum(version(), random_words(n, n + 1), shape()));
}

TEST_P(EachShape, TakesAllElementsThroughAllRounds) {
  for (const std::size_t n : sizes())
    EXPECT_TRUE(is_advanced(version(), numbers(n, n + 1), 3, shape())) << n << " elements";
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, CountsEachValueOnce) {
  // Value i is 2^(i mod 32): a sum shows what was left out, and what was added twice.
  words values(777);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1U << (i % 32);
  EXPECT_TRUE(has_sum(version(), values, {2, 32}));
}

TEST_P(EachStep, TakesAnyNumberOfRounds) {
  // Around the 16 that the compiler may unroll. One element shows what is rounded to double first.
  floats values = numbers(300, 4);
  values[130] = 0x1.8p+45F;
  for (const unsigned rounds : {0U, 1U, 2U, 15U, 16U, 17U, 31U, 33U, 101U})
    EXPECT_TRUE(is_advanced(version(), values, rounds, {1, 32})) << rounds << " rounds";
  EXPECT_TRUE(is_advanced(version(), {-1.5F, 2, 1e-7F}, 65'537, {1, 32})) << "65,537 rounds";
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::size_t n : {777, 30, 778}) {
    EXPECT_TRUE(has_sum(version(), random_words(n, n), {3, 64}));
    EXPECT_TRUE(is_advanced(version(), numbers(n, n), 5, {3, 64}));
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return sum(version(), random_words(5000, 5), {2, 64}).kernel_ms;
  }));
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return advance(version(), numbers(5000, 5), 2, {2, 64}).kernel_ms;
  }));
}

TEST_P(EachStep, RefusesShapesThatCannotBe) {
  const words values = {1, 2, 3};
  const floats some = {1, 2, 3};
  const unsigned most = lab::device_limit(cudaDevAttrMaxThreadsPerBlock);
  for (const launch_shape& bad :
       {launch_shape{0, 32}, launch_shape{1, 0}, launch_shape{1, 31}, launch_shape{1, 33},
        launch_shape{1, most + 32}, launch_shape{0x8000'0000U, 32}}) {
    EXPECT_THROW(sum(version(), values, bad), lab::invalid_input);
    EXPECT_THROW(sum(version(), {}, bad), lab::invalid_input);
    EXPECT_THROW(advance(version(), some, 1, bad), lab::invalid_input);
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const words values = random_words(333, 6);
  expect_failures_reported([&] { return has_sum(version(), values, {2, 32}); }, values);
  const floats some = numbers(333, 7);
  expect_failures_reported([&] { return is_advanced(version(), some, 3, {2, 32}); }, some);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    return has_sum(version(), random_words(kDefaultSize, 8), {64, 1024});
  });
}

// --- the chase -----------------------------------------------------------------------------------

TEST(Chase, ArrivesWhereTheHostArrives) {
  for (const std::size_t n : {1, 2, 31, 33, 1000})
    for (const unsigned hops : {0U, 1U, 2U, 31U, 500U})
      EXPECT_TRUE(arrives(random_tour(n, 1, n), hops));
  EXPECT_TRUE(arrives(random_tour(1000, 1, 6), 70'001));
}

TEST(Chase, FollowsPathsThatEndInACircle) {
  const words next = {3, 1, 0, 4, 2, 1};  // 0 3 4 2 0 …
  for (unsigned hops = 0; hops < 10; ++hops) EXPECT_TRUE(arrives(next, hops));
  EXPECT_EQ(chase(words{2, 0, 1}, 4).end, 2U);
  EXPECT_EQ(chase(words{0, 0}, 3).end, 0U);
}

TEST(Chase, RefusesElementsThatAreNoIndex) {
  EXPECT_THROW(chase({}, 1), lab::invalid_input);
  EXPECT_THROW(chase(words{1}, 1), lab::invalid_input);
  EXPECT_THROW(chase(words{1, 0, 3}, 1), lab::invalid_input);
}

FAULT_TEST(Chase, ReportsEveryCallThatFails) {
  const words next = random_tour(100, 1, 9);
  expect_failures_reported([&] { return arrives(next, 50); }, next);
}

TEST(Reference, ToursVisitAllElementsThatTheySayOnce) {
  for (const std::size_t spacing : {1, 7, 32}) {
    const std::size_t n = 20 * spacing - 3 * (spacing > 3), stops = (n + spacing - 1) / spacing;
    const words next = random_tour(n, spacing, 10);
    words seen;
    std::uint32_t here = 0;
    for (std::size_t i = 0; i < stops; ++i) seen.push_back(here = next[here]);
    std::sort(seen.begin(), seen.end());
    for (std::size_t i = 0; i < stops; ++i) EXPECT_EQ(seen[i], i * spacing);
  }
}

// --- occupancy -----------------------------------------------------------------------------------

constexpr multiprocessor kHopper{};  // compute capability 9.0

TEST(Occupancy, IsThatOfNvidiasCalculatorForKnownKernels) {
  struct known {
    block_needs needs;
    unsigned by_warps, by_registers, by_shared, blocks;
  };
  constexpr known kKnown[] = {
      {{256, 32, 0}, 8, 8, 228, 8},          // all 64 warps
      {{256, 33, 0}, 8, 6, 228, 6},          // 1280 registers a warp: 12 in each part
      {{256, 40, 0}, 8, 6, 228, 6},          // the same: 33 to 40 are rounded up to 40
      {{256, 41, 0}, 8, 5, 228, 5},          // 1536: 10 in each part, 5 blocks of 8 warps
      {{64, 41, 0}, 32, 20, 228, 20},        // of 2 warps: the rest of two parts is no warp
      {{32, 32, 0}, 64, 64, 228, 32},        // the limit is that of blocks
      {{33, 32, 0}, 32, 32, 228, 32},        // two warps
      {{65, 32, 0}, 21, 21, 228, 21},        // three warps
      {{1024, 64, 0}, 2, 1, 228, 1},         //
      {{1024, 65, 0}, 2, 0, 228, 0},         // too many registers for one block
      {{96, 168, 0}, 21, 4, 228, 4},         // 3 warps in each part: 12, of 3 warps each
      {{160, 168, 0}, 12, 2, 228, 2},        // 12 warps, 5 a block
      {{256, 255, 0}, 8, 1, 228, 1},         //
      {{128, 32, 48 * 1024}, 16, 16, 4, 4},  // 49 KiB each
      {{128, 32, 10'001}, 16, 16, 20, 16},   //
      {{64, 32, 10'001}, 32, 32, 20, 20},    // 11,025 bytes are 11,136: 20, and not 21
      {{64, 32, 113 * 1024}, 32, 32, 2, 2},  // with what CUDA adds: exactly half
      {{64, 32, 113 * 1024 + 1}, 32, 32, 1, 1},
      {{64, 32, 227 * 1024}, 32, 32, 1, 1},  // the most
      {{64, 32, 227 * 1024 + 1}, 32, 32, 0, 0}};
  for (const known& k : kKnown) {
    const occupancy o = resident_blocks(k.needs, kHopper);
    const auto description = [&] {
      return std::to_string(k.needs.threads) + " threads, " + std::to_string(k.needs.registers) +
             " registers, " + std::to_string(k.needs.shared) + " bytes";
    };
    EXPECT_EQ(o.by_blocks, 32U);
    EXPECT_EQ(o.by_warps, k.by_warps) << description();
    EXPECT_EQ(o.by_registers, k.by_registers) << description();
    EXPECT_EQ(o.by_shared, k.by_shared) << description();
    EXPECT_EQ(o.blocks, k.blocks) << description();
    const unsigned warps = (k.needs.threads + 31) / 32;
    EXPECT_DOUBLE_EQ(o.share, k.blocks * warps / 64.0) << description();
  }
}

TEST(Occupancy, TakesTheLimitsThatItIsGiven) {
  // Compute capability 7.5: 32 warps, 16 blocks, 64 KiB in units of 256 bytes, nothing reserved.
  const multiprocessor turing{32, 16, 65536, 256, 4, 64 * 1024, 64 * 1024, 0, 256};
  EXPECT_EQ(resident_blocks({32, 32, 0}, turing).blocks, 16U);
  EXPECT_EQ(resident_blocks({32, 32, 0}, turing).by_shared, 16U);  // none at all: no limit
  EXPECT_EQ(resident_blocks({256, 32, 0}, turing).blocks, 4U);
  EXPECT_EQ(resident_blocks({64, 32, 5000}, turing).by_shared, 12U);  // 5120 each
  EXPECT_DOUBLE_EQ(resident_blocks({256, 128, 0}, turing).share, 0.5);
  // Two parts, few registers in units of 64.
  const multiprocessor small{16, 8, 4096, 64, 2, 1000, 900, 10, 10};
  EXPECT_EQ(resident_blocks({32, 3, 0}, small).by_registers, 32U);  // 96 are 128: 16 a part
  EXPECT_EQ(resident_blocks({96, 30, 0}, small).by_registers, 1U);  // 960: 2 a part
  EXPECT_EQ(resident_blocks({32, 3, 81}, small).by_shared, 10U);    // 91 are 100
  EXPECT_EQ(resident_blocks({32, 3, 901}, small).by_shared, 0U);
  // What is reserved is no multiple of the unit: 10 + 22 are 32, while 22 alone would be 32 as
  // well.
  const multiprocessor odd{16, 8, 4096, 64, 2, 320, 300, 10, 16};
  EXPECT_EQ(resident_blocks({32, 3, 22}, odd).by_shared, 10U);
}

TEST(Occupancy, IsAShareInDouble) {
  // Compute capability 8.6: 48 warps, 16 blocks, 100 KiB.
  const multiprocessor ampere{48, 16, 65536, 256, 4, 100 * 1024, 99 * 1024, 1024, 128};
  EXPECT_DOUBLE_EQ(resident_blocks({32, 32, 0}, ampere).share, 16 / 48.0);
  EXPECT_DOUBLE_EQ(resident_blocks({192, 64, 0}, ampere).share, 30 / 48.0);
}

TEST(Occupancy, IsZeroForBlocksThatNoMultiprocessorHolds) {
  // Numbers whose multiples, or what they are rounded up to, do not fit into 32 bits.
  EXPECT_EQ(resident_blocks({0xFFFF'FFFFU, 32, 0}, kHopper).by_warps, 0U);
  EXPECT_EQ(resident_blocks({0xFFFF'FFFFU, 32, 0}, kHopper).blocks, 0U);
  EXPECT_EQ(resident_blocks({32, 1U << 27, 0}, kHopper).by_registers, 0U);
  EXPECT_EQ(resident_blocks({32, (1U << 27) + 1, 0}, kHopper).blocks, 0U);
}

TEST(Occupancy, IsNotLimitedByRegistersWithoutAny) {
  EXPECT_EQ(resident_blocks({256, 0, 0}, kHopper).by_registers, 32U);
  EXPECT_EQ(resident_blocks({256, 0, 0}, kHopper).blocks, 8U);
}

TEST(Occupancy, RefusesABlockWithoutThreads) {
  EXPECT_THROW(resident_blocks({0, 32, 0}, kHopper), lab::invalid_input);
}

class EachSubject : public ::testing::TestWithParam<lab::testing::named<subject>> {};
INSTANTIATE_TEST_SUITE_P(
    Kernels, EachSubject,
    ::testing::Values(lab::testing::named<subject>{subject::sum_of_four, "sum_of_four"},
                      lab::testing::named<subject>{subject::many_registers, "many_registers"}),
    [](const auto& test) { return test.param.name; });

TEST_P(EachSubject, HasTheOccupancyThatTheRuntimeGives) {
  for (const unsigned threads : {1U, 32U, 33U, 64U, 96U, 128U, 160U, 256U, 511U, 513U, 768U, 1024U})
    for (const std::size_t shared : {0U, 1U, 1000U, 4096U, 10'001U, 16'384U, 49'152U, 49'153U,
                                     100'000U, 115'712U, 115'713U, 232'448U}) {
      if (shared > lab::device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin)) continue;
      const answer a = ask_runtime(GetParam().value, threads, shared);
      EXPECT_EQ(a.needs.threads, threads);
      EXPECT_GE(a.needs.shared, shared);
      EXPECT_GT(a.needs.registers, 0U);
      EXPECT_EQ(resident_blocks(a.needs, a.limits).blocks, a.blocks)
          << threads << " threads, " << shared << " bytes, " << a.needs.registers << " registers";
    }
}

TEST_P(EachSubject, RefusesQuestionsThatHaveNoAnswer) {
  const unsigned most = lab::device_limit(cudaDevAttrMaxThreadsPerBlock);
  const unsigned most_shared = lab::device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  EXPECT_THROW(ask_runtime(GetParam().value, 0, 0), lab::invalid_input);
  EXPECT_THROW(ask_runtime(GetParam().value, most + 1, 0), lab::invalid_input);
  EXPECT_THROW(ask_runtime(GetParam().value, 32, most_shared + 1), lab::invalid_input);
  EXPECT_NO_THROW(ask_runtime(GetParam().value, most, 0));
}

FAULT_TEST_P(EachSubject, ReportsEveryCallThatFails) {
  expect_failures_reported([&] {
    const answer a = ask_runtime(GetParam().value, 96, 50'000);
    return std::tuple(a.blocks, a.needs.registers, a.needs.shared, a.limits.warps);
  });
}

TEST(Occupancy, OfTheDeviceIsAskedForNotAssumed) {
  const answer a = ask_runtime(subject::sum_of_four, 64, 0);
  EXPECT_EQ(a.limits.warps, lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 32);
  EXPECT_EQ(a.limits.blocks, lab::device_limit(cudaDevAttrMaxBlocksPerMultiprocessor));
}

// --- Little's law --------------------------------------------------------------------------------

TEST(InFlight, CountsTheLoadsOfAllLanes) {
  EXPECT_EQ(bytes_in_flight(1, 1, 4), 128.0);
  EXPECT_EQ(bytes_in_flight(10, 3, 16), 15'360.0);
  EXPECT_EQ(bytes_in_flight(2.5, 2, 4), 640.0);
  EXPECT_EQ(bytes_in_flight(1e8, 8, 16), 4.096e11);  // does not fit into 32 bits
  EXPECT_EQ(bytes_in_flight(1, 1U << 30, 16), 0x1p39);
  EXPECT_EQ(bytes_in_flight(0, 8, 4), 0.0);
}

TEST(PredictedRate, IsAllThatIsInFlightOnceInEveryLatency) {
  EXPECT_DOUBLE_EQ(predicted_rate(1000, 500, 1e12), 2e9);
  EXPECT_DOUBLE_EQ(predicted_rate(2000, 500, 1e12), 4e9);
  EXPECT_DOUBLE_EQ(predicted_rate(1000, 1000, 1e12), 1e9);
}

TEST(PredictedRate, IsNoMoreThanTheBandwidth) {
  EXPECT_DOUBLE_EQ(predicted_rate(1e6, 500, 1e12), 1e12);
  EXPECT_DOUBLE_EQ(predicted_rate(1e6, 500, 3e12), 2e12);
}

TEST(PredictedRate, RefusesWhatIsNotPositive) {
  for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
    EXPECT_THROW(predicted_rate(bad, 1, 1), lab::invalid_input);
    EXPECT_THROW(predicted_rate(1, bad, 1), lab::invalid_input);
    EXPECT_THROW(predicted_rate(1, 1, bad), lab::invalid_input);
  }
}

TEST(WarpsNeeded, AreTheFewestThatReachTheBandwidth) {
  // 1000 GB/s for 512 ns are 512,000 bytes: 4000 warps of one float.
  EXPECT_EQ(warps_needed(1000e9, 511.99, 1, 4), 4000.0);
  EXPECT_EQ(warps_needed(1000e9, 512.01, 1, 4), 4001.0);
  EXPECT_EQ(warps_needed(1000e9, 511.99, 4, 4), 1000.0);
  EXPECT_EQ(warps_needed(1000e9, 511.99, 1, 16), 1000.0);
  EXPECT_EQ(warps_needed(1, 1, 8, 16), 1.0);
  EXPECT_EQ(warps_needed(128, 1e9, 1, 4), 1.0);  // exactly enough
  for (const double bandwidth : {900e9, 3350e9, 4800e9})
    for (const double latency : {437.0, 601.5, 923.0})
      for (const unsigned loads : {1U, 2U, 4U, 8U}) {
        const double warps = warps_needed(bandwidth, latency, loads, 4);
        EXPECT_EQ(warps, std::floor(warps));
        EXPECT_EQ(predicted_rate(bytes_in_flight(warps + 1e-6, loads, 4), latency, bandwidth),
                  bandwidth);
        EXPECT_LT(predicted_rate(bytes_in_flight(warps - 1 - 1e-6, loads, 4), latency, bandwidth),
                  bandwidth);
      }
}

TEST(WarpsNeeded, RefusesWhatIsNotPositive) {
  for (const double bad : {0.0, -1.0, kNaN, kInfinity}) {
    EXPECT_THROW(warps_needed(bad, 1, 1, 4), lab::invalid_input);
    EXPECT_THROW(warps_needed(1, bad, 1, 4), lab::invalid_input);
  }
  EXPECT_THROW(warps_needed(1, 1, 0, 4), lab::invalid_input);
  EXPECT_THROW(warps_needed(1, 1, 1, 0), lab::invalid_input);
}

}  // namespace
