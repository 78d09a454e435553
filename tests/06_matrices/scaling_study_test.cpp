// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "scaling_study.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace lab::scaling_study {

void PrintTo(const shape& size, std::ostream* out) {
  *out << "m = " << size.m << ", n = " << size.n << ", k = " << size.k;
}

}  // namespace lab::scaling_study

namespace {

using lab::scaling_study::check;
using lab::scaling_study::kBlocks;
using lab::scaling_study::make_problem;
using lab::scaling_study::plan;
using lab::scaling_study::problem;
using lab::scaling_study::row;
using lab::scaling_study::shape;
using lab::scaling_study::study;
using lab::scaling_study::wrong_product;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::work_of;
using lab::testing::work_without_values;

constexpr plan kQuick{.samples = 3, .sample_ms = 0};  // no batches: one launch per sample
const std::vector<unsigned> kAll(std::begin(kBlocks), std::end(kBlocks));

// --- who does the work ---------------------------------------------------------------------------

/// Calls of which the name begins with one of these.
template <class... Names>
std::size_t calls_of(const lab::testing::work& done, Names... names) {
  return static_cast<std::size_t>(std::ranges::count_if(
      done.sequence, [=](const std::string& call) { return (call.starts_with(names) || ...); }));
}

REQUIRED_WORK(LaunchesOfEveryBlockSize) {
  const std::vector<problem> problems = {make_problem({64, 48, 32}, 1)};
  const lab::testing::work done = work_of(
      [&] { return matches(check(study(problems, kAll, kQuick), problems, kAll, kQuick)); });
  EXPECT_TRUE(as_required(done, {.threads = 64 * 48,
                                 .blocks = 4,
                                 .kernels = kAll.size() * (1 + kQuick.samples),
                                 .shared_memory = true}));
  for (const unsigned block : kAll)
    EXPECT_GE(
        std::ranges::count_if(done.kernels,
                              [&](const auto& k) { return k.threads_per_block == block * block; }),
        1 + kQuick.samples)
        << block << " x " << block << " threads";
  if (done.values && *done.values) {
    // Each block size writes where no other one has left its result: into memory that is new, or
    // filled anew (by a kernel that is no launch of the study, perhaps).
    const std::size_t of_study = kAll.size() * (1 + kQuick.samples);
    const auto allocated = std::ranges::count(done.device_memory, bytes_of(problems[0].c));
    EXPECT_GE(static_cast<std::size_t>(allocated) + calls_of(done, "cudaMemset") +
                  (done.kernels.size() - std::min(done.kernels.size(), of_study)),
              kAll.size())
        << "a product is verified where the right one of another block size may still be";
  }
  EXPECT_TRUE(at_other_sizes(
      [](std::size_t n) {
        const std::vector<problem> small = {make_problem({n, n + 1, n}, 1)};
        return matches(check(study(small, kAll, kQuick), small, kAll, kQuick));
      },
      {.threads = 1, .writes = 1}));
  EXPECT_TRUE(at_other_sizes(  // a column, or a single element
      [](std::size_t n) {
        const std::vector<problem> small = {make_problem({n, 1, n}, 1)};
        return matches(check(study(small, kAll, kQuick), small, kAll, kQuick));
      },
      {.threads = 1, .writes = 1}));
}

// --- every product is right, and therefore has rows ----------------------------------------------

class Problems : public ::testing::TestWithParam<shape> {};

TEST_P(Problems, HaveARowForEveryBlockSize) {
  const std::vector<problem> problems = {make_problem(GetParam(), 1)};
  EXPECT_TRUE(matches(check(study(problems, kAll, kQuick), problems, kAll, kQuick)));
}

// Blocks are 4, 8, 16 and 32 wide: one less, that, and one more, no two directions alike. The last
// A fills three pages of memory: the CPU device reports a read past its end, even if the value is
// only multiplied by 0.
INSTANTIATE_TEST_SUITE_P(Shapes, Problems,
                         ::testing::Values(shape{1, 1, 1}, shape{1, 5, 3}, shape{3, 4, 5},
                                           shape{8, 8, 8}, shape{33, 33, 33}, shape{64, 64, 64},
                                           shape{4, 3, 4}, shape{5, 8, 7}, shape{7, 9, 8},
                                           shape{8, 7, 9}, shape{15, 17, 16}, shape{16, 15, 17},
                                           shape{17, 16, 15}, shape{31, 33, 32}, shape{32, 31, 33},
                                           shape{33, 32, 31}, shape{1, 100, 50}, shape{100, 1, 50},
                                           shape{64, 128, 64}, shape{61, 53, 67},
                                           shape{1024, 1, 3}),
                         [](const auto& info) {
                           return "m" + std::to_string(info.param.m) + "_n" +
                                  std::to_string(info.param.n) + "_k" +
                                  std::to_string(info.param.k);
                         });

TEST(Study, GoesThroughAllProblemsAndBlockSizesInTheirOrder) {
  // The same problem twice, and block sizes in another order, one of them twice.
  const std::vector<problem> problems = {make_problem({20, 30, 40}, 2), make_problem({5, 6, 7}, 3),
                                         make_problem({20, 30, 40}, 4)};
  const std::vector<unsigned> blocks = {32, 4, 16, 4};
  const auto rows = study(problems, blocks, kQuick);
  EXPECT_TRUE(matches(check(rows, problems, blocks, kQuick)));
  EXPECT_EQ(rows.size(), 12U);
}

TEST(Study, CountsTheOperationsOfTheReport) {
  // A 160 × 160 and B 320 × 160, as width × height: 3.91 GFLOP/s in 4.19 ms.
  const auto rows = study(std::vector{make_problem({160, 320, 160}, 5)}, std::vector{32U},
                          {.samples = 1, .sample_ms = 0});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].operations, 16'384'000.0);
}

TEST(Study, OfNothingHasNoRows) {
  const std::vector<problem> problems = {make_problem({5, 6, 7}, 6)};
  EXPECT_TRUE(study({}, kAll, kQuick).empty());
  EXPECT_TRUE(study(problems, {}, kQuick).empty());
}

TEST(Study, LeavesItsProblemsAlone) {
  const std::vector<problem> problems = {make_problem({33, 20, 40}, 7)};
  const problem before = problems[0];
  study(problems, kAll, kQuick);
  EXPECT_EQ(problems[0].a, before.a);
  EXPECT_EQ(problems[0].b, before.b);
  EXPECT_EQ(problems[0].c, before.c);
}

TEST(Study, MeasuresAsManyRowsAsAGridHasBlocksForAndRefusesOneMore) {
  const std::size_t most = std::size_t{lab::device_limit(cudaDevAttrMaxGridDimY)} * kBlocks[0];
  const std::vector<unsigned> smallest = {kBlocks[0]};
  const std::vector<problem> fits = {make_problem({most, 1, 1}, 22)};
  const plan once{.samples = 1, .sample_ms = 0};
  EXPECT_TRUE(matches(check(study(fits, smallest, once), fits, smallest, once)));
  EXPECT_THROW(study(std::vector{make_problem({most + 1, 1, 1}, 22)}, smallest, once),
               lab::invalid_input);
}

TEST(Study, MeasuresMoreColumnsThanAGridHasRowsOfBlocksFor) {
  // Only m is limited: the last block of columns would be number 65,535 along y.
  expect_at_full_size([] {
    const std::size_t n = std::size_t{lab::device_limit(cudaDevAttrMaxGridDimY)} * kBlocks[0] + 1;
    const std::vector<unsigned> smallest = {kBlocks[0]};
    const std::vector<problem> wide = {make_problem({1, n, 1}, 26)};
    const plan once{.samples = 1, .sample_ms = 0};
    return matches(check(study(wide, smallest, once), wide, smallest, once));
  });
}

// --- samples -------------------------------------------------------------------------------------

TEST(Study, MeasuresSamplesOfOneLaunchWhereAnyTimeWillDo) {
  for (const row& each : study(std::vector{make_problem({9, 9, 9}, 8)}, kAll, kQuick))
    EXPECT_EQ(each.launches, 1U);
}

REQUIRED_WORK(SamplesOfLaunchesAndOfNothingElse) {
  // By events the launch that is verified takes 7 ms, the first sample 1.5, and each launch after
  // it 0.4: the second sample is too short, and two launches are, too.
  const std::vector<problem> problems = {make_problem({9, 10, 11}, 25)};
  const plan options{.samples = 3, .sample_ms = 1};
  std::vector<row> rows;
  const lab::testing::work done =
      work_without_values([&] { rows = study(problems, std::vector{8U}, options); }, {7, 1.5, 0.4});
  EXPECT_TRUE(as_required(done, {.threads = 90}));
  if (calls_of(done, "cudaEventElapsed") == 0) return;  // by the host's clock, perhaps
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].launches, 4U) << "the number of launches is doubled, twice";
  ASSERT_EQ(rows[0].sample_ms.size(), options.samples);
  for (const float ms : rows[0].sample_ms)
    EXPECT_NEAR(ms, 1.6F, 1e-4F) << "a sample of as many launches as the others, and nothing else";

  // What is between the two events of a sample.
  struct sample {
    std::size_t launches = 0;
    std::string others;
  };
  std::vector<sample> samples;
  std::size_t events = 0;
  for (const std::string& call : done.sequence) {
    if (call.starts_with("cudaEventRecord") && ++events % 2 == 1) samples.emplace_back();
    if (events % 2 == 0) continue;
    if (call.starts_with("cudaLaunchKernel")) ++samples.back().launches;
    for (const char* memory : {"cudaMalloc", "cudaFree", "cudaMemset", "cudaMemcpy"})
      if (call.starts_with(memory)) samples.back().others += call + " ";
  }
  if (events != 2 * calls_of(done, "cudaEventElapsed")) return;  // one may end two samples
  ASSERT_GE(samples.size(), options.samples);
  for (const sample& each : std::span(samples).last(options.samples)) {
    EXPECT_EQ(each.launches, rows[0].launches) << "launches of a sample that are timed together";
    EXPECT_EQ(each.others, "") << "is in the time of a sample";
  }
}

#ifdef __CPU_DEVICE__
TEST(Study, PutsAsManyLaunchesIntoASampleAsItSays) {
  // Each launch stores every element of C once.
  const std::vector<problem> problems = {make_problem({9, 10, 11}, 23)};
  cpu_device::reset_counters();
  cpu_device::count_accesses(true);
  study(problems, std::vector{8U}, kQuick);
  cpu_device::count_accesses(false);
  std::uint64_t stores = 0;
  for (const cpu_device::access_counters& each : cpu_device::read_counters())
    if (each.kind == cpu_device::access_kind::global_store) stores += each.lanes;
  if (stores == 0) GTEST_SKIP() << "only the check build counts what a kernel does";
  EXPECT_EQ(stores, (1 + kQuick.samples) * problems[0].c.size())
      << "one launch to verify, and one in each of the samples";
}
#endif

TEST(Study, PutsSoManyLaunchesIntoASampleThatItIsLongEnough) {
  // The invariant holds at any speed: no sample is shorter, however many launches that takes. A
  // single launch of these would be shorter, on every device, in at least one of the rows.
  const std::vector<problem> problems = {make_problem({1, 2, 3}, 9), make_problem({5, 9, 4}, 9)};
  const plan options{.samples = 3, .sample_ms = 1};
  const auto rows = study(problems, kAll, options);
  EXPECT_TRUE(matches(check(rows, problems, kAll, options)));
  unsigned most = 0;
  for (const row& each : rows) {
    EXPECT_EQ(each.launches & (each.launches - 1), 0U) << each.launches << " is not a power of two";
    most = std::max(most, each.launches);
  }
  EXPECT_GT(most, 1U);
}

TEST(Study, TakesAsManySamplesAsAskedFor) {
  const std::vector<problem> problems = {make_problem({10, 11, 12}, 10)};
  for (const unsigned samples : {1U, 2U, 7U}) {
    const plan options{.samples = samples, .sample_ms = 0.1F};
    EXPECT_TRUE(matches(check(study(problems, kAll, options), problems, kAll, options)));
  }
}

// --- no row without verification -----------------------------------------------------------------

TEST(Study, RefusesATimeForAProductThatIsNotTheExpectedOne) {
  // Here the expected result is wrong, in one element: the first, the last, one in between.
  const problem right = make_problem({33, 20, 40}, 11);
  for (const std::size_t element : {std::size_t{0}, std::size_t{307}, right.c.size() - 1}) {
    for (const unsigned block : kAll) {
      problem wrong = right;
      wrong.c[element] += 1;
      EXPECT_THROW(study(std::vector{wrong}, std::vector{block}, kQuick), wrong_product)
          << "element " << element << ", block " << block;
    }
  }
}

TEST(Study, RefusesTheNextFloatToo) {
  // 4097 * 4095 is the largest odd number that is a float.
  problem large{{1, 2, 1}, {4097}, {4095, 4096}, {4097 * 4095, 4097 * 4096}};
  EXPECT_NO_THROW(study(std::vector{large}, kAll, kQuick));
  large.c[0] -= 1;
  EXPECT_THROW(study(std::vector{large}, kAll, kQuick), wrong_product);
}

TEST(Study, NeverTakesANanForRight) {
  problem wrong = make_problem({5, 6, 7}, 12);
  wrong.c[13] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(study(std::vector{wrong}, kAll, kQuick), wrong_product);
  wrong.a[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(study(std::vector{wrong}, kAll, kQuick), wrong_product);
}

TEST(Study, VerifiesEveryProblem) {
  // The matrices of one shape, the product of another problem of that shape: what was left in
  // memory by the first would be right for the second.
  const problem first = make_problem({17, 18, 19}, 13);
  problem second = make_problem({17, 18, 19}, 14);
  ASSERT_NE(first.c, second.c);
  second.c = first.c;
  EXPECT_NO_THROW(study(std::vector{first}, kAll, kQuick));
  EXPECT_THROW(study(std::vector{first, second}, kAll, kQuick), wrong_product);
}

TEST(Study, SaysWhichProductIsWrong) {
  problem wrong = make_problem({33, 20, 40}, 15);
  wrong.c[307] += 1;
  try {
    study(std::vector{wrong}, std::vector{8U}, kQuick);
    FAIL() << "was not refused";
  } catch (const wrong_product& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("33"), std::string::npos) << text;
    EXPECT_NE(text.find("8"), std::string::npos) << text;
    const auto has = [&](const char* number) { return text.find(number) != std::string::npos; };
    EXPECT_TRUE(has("307") || (has("15") && has("7")))
        << "the element, or its row and column: " << text;
  }
}

// --- refusals ------------------------------------------------------------------------------------

TEST(Study, RefusesSizesOfZero) {
  for (const shape size : {shape{0, 5, 5}, shape{5, 0, 5}, shape{5, 5, 0}, shape{0, 0, 0}}) {
    const std::vector<problem> problems = {make_problem({5, 5, 5}, 16), make_problem(size, 16)};
    EXPECT_THROW(study(problems, kAll, kQuick), lab::invalid_input);
  }
}

TEST(Study, RefusesMatricesOfOtherSizes) {
  const problem right = make_problem({5, 6, 7}, 17);
  problem wrong = right;
  wrong.a.pop_back();
  EXPECT_THROW(study(std::vector{wrong}, kAll, kQuick), lab::invalid_input);
  wrong = right;
  wrong.b.push_back(0);
  EXPECT_THROW(study(std::vector{wrong}, kAll, kQuick), lab::invalid_input);
  wrong = right;
  wrong.c.pop_back();
  EXPECT_THROW(study(std::vector{wrong}, kAll, kQuick), lab::invalid_input);
  constexpr std::size_t kHuge = std::size_t{1} << 32;  // its square is 2^64, which is 0 again
  EXPECT_THROW(study(std::vector{problem{{kHuge, kHuge, kHuge}, {}, {}, {}}}, kAll, kQuick),
               lab::invalid_input);
}

TEST(Study, RefusesOtherBlockSizes) {
  const std::vector<problem> problems = {make_problem({5, 6, 7}, 18)};
  for (const unsigned block : {0U, 1U, 5U, 33U, 64U})
    EXPECT_THROW(study(problems, std::vector{16U, block}, kQuick), lab::invalid_input);
}

TEST(Study, RefusesBeforeItMeasures) {
  // Whoever measured first would meet the wrong product.
  problem wrong = make_problem({5, 6, 7}, 24);
  wrong.c[0] += 1;
  EXPECT_THROW(study(std::vector{wrong}, std::vector{16U}, kQuick), wrong_product);
  EXPECT_THROW(study(std::vector{wrong}, std::vector{16U, 5U}, kQuick), lab::invalid_input);
  EXPECT_THROW(study(std::vector{wrong}, kAll, {.samples = 0, .sample_ms = 0}), lab::invalid_input);
  EXPECT_THROW(study(std::vector{wrong}, kAll, {.samples = 1, .sample_ms = -1}),
               lab::invalid_input);
}

TEST(Study, RefusesPlansThatMeasureNothing) {
  const std::vector<problem> problems = {make_problem({5, 6, 7}, 19)};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(study(problems, kAll, {.samples = 0, .sample_ms = 0}), lab::invalid_input);
  EXPECT_THROW(study(problems, kAll, {.samples = 1, .sample_ms = -1}), lab::invalid_input);
  EXPECT_THROW(study(problems, kAll, {.samples = 1, .sample_ms = 1001}), lab::invalid_input);
  EXPECT_THROW(study(problems, kAll, {.samples = 1, .sample_ms = nan}), lab::invalid_input);
  EXPECT_NO_THROW(study({}, kAll, {.samples = 1, .sample_ms = 1000})) << "the longest there is";
}

// --- the problems and the check themselves -------------------------------------------------------

TEST(MakeProblem, KnowsTheProduct) {
  const shape size{13, 17, 19};
  const problem made = make_problem(size, 20);
  std::vector<double> expected(size.m * size.n);
  for (std::size_t r = 0; r < size.m; ++r)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t s = 0; s < size.n; ++s)
        expected[r * size.n + s] += static_cast<double>(made.a[r * size.k + i]) *
                                    static_cast<double>(made.b[i * size.n + s]);
  EXPECT_TRUE(matches(lab::compare_exact(made.c, expected)));
}

TEST(Check, SeesRowsThatAreNotWhatWasAskedFor) {
  const std::vector<problem> problems = {make_problem({2, 3, 5}, 21)};
  const std::vector<unsigned> blocks = {8};
  const plan options{.samples = 3, .sample_ms = 1};
  // 60 operations; 4 launches in 2 ms (the median): 0.5 ms each, 120 000 a second.
  const row right{{2, 3, 5}, 8, 60, 4, {3, 1, 2}, 0.5, 60 / 0.5e6};
  const auto is_right = [&](const row& each) {
    return check(std::vector{each}, problems, blocks, options).ok;
  };
  EXPECT_TRUE(is_right(right));
  EXPECT_FALSE(check({}, problems, blocks, options));
  const auto with = [&](auto change) {
    row changed = right;
    change(changed);
    return changed;
  };
  EXPECT_FALSE(is_right(with([](row& r) { r.size = {3, 2, 5}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.block = 16; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.operations = 30; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.launches = 1; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.launches = 0; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {3, 2}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {3, 0.5F, 2}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.sample_ms = {4, 3, 2}; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.ms = 2; })));
  EXPECT_FALSE(is_right(with([](row& r) { r.ms = std::numeric_limits<double>::quiet_NaN(); })));
  EXPECT_FALSE(is_right(with([](row& r) { r.gflops *= 1.001; })));
}

FAULT_TEST(Study, ReportsEveryCallThatFails) {
  const std::vector<problem> problems = {make_problem({5, 3, 7}, 1)};
  expect_failures_reported(
      [&] { return matches(check(study(problems, kAll, kQuick), problems, kAll, kQuick)); });
}

}  // namespace
