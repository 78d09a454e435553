// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "ptx_and_sass.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "own_code.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::is_true_by_the_device;
using lab::testing::work_of;
using namespace lab::ptx_and_sass;
using lab::testing::expect_failures_reported;

/// Says which answers are wrong, but not the right ones.
void expect_right(const std::vector<finding>& findings) {
  for (const finding& next : findings)
    EXPECT_TRUE(next.right) << next.question << ": read it again";
}

using vector = std::vector<float>;

::testing::AssertionResult is_added(const vector& a, const vector& b) {
  vector expected(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) expected[i] = a[i] + b[i];
  return lab::testing::matches(lab::compare_exact(add(a, b), expected));
}

bool same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// The same kernel computes all elements: it rounds all of them once, or all of them twice.
::testing::AssertionResult is_saxpy(float s, const vector& x, const vector& y) {
  const vector result = saxpy(s, x, y);
  if (result.size() != x.size())
    return ::testing::AssertionFailure() << result.size() << " elements, not " << x.size();
  bool once = true, twice = lab::on_cpu_device();  // what all elements so far allow
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float of_one = fused(s, x[i], y[i]), of_two = rounded_twice(s, x[i], y[i]);
    const bool still_once = once && same(result[i], of_one);
    const bool still_twice = twice && same(result[i], of_two);
    if (!still_once && !still_twice)
      return ::testing::AssertionFailure()
             << "s = " << s << ", element " << i << ": got " << result[i] << ", expected "
             << (once ? of_one : of_two)
             << (once && twice ? ""
                 : once        ? " (rounded once, like the others)"
                               : " (with a rounded product, like the others)");
    once = still_once, twice = still_twice;
  }
  return ::testing::AssertionSuccess();
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheKernelsOfTheListings) {
  const auto a = lab::random_floats(5000, 1, -9, 4), b = lab::random_floats(5000, 2, -1, 30);
  const lab::testing::required each_element{.threads = a.size(),
                                            .blocks = 2,
                                            .sent = 2 * bytes_of(a),
                                            .fetched = bytes_of(a),
                                            .reads = 2 * bytes_of(a),
                                            .writes = bytes_of(a),
                                            .sectors = 1.1};
  const lab::testing::work adding = work_of([&] { return is_added(a, b); });
  const lab::testing::work fusing = work_of([&] { return is_saxpy(2, a, b); });
  EXPECT_TRUE(as_required(adding, each_element));
  EXPECT_TRUE(as_required(fusing, each_element));
  for (const auto& kernel : adding.kernels)
    EXPECT_NE(kernel.name.find("ptx_add"), std::string::npos)
        << "add() runs the kernel ptx_add, and not " << kernel.name;
  for (const auto& kernel : fusing.kernels)
    EXPECT_NE(kernel.name.find("ptx_saxpy"), std::string::npos)
        << "saxpy() runs the kernel ptx_saxpy, and not " << kernel.name;
  const auto some = [](std::size_t n) { return lab::random_floats(n, 3, 1, 30); };
  EXPECT_TRUE(at_other_sizes([&](unsigned n) { return is_added(some(n), some(n)); }));
  EXPECT_TRUE(at_other_sizes([&](unsigned n) { return is_saxpy(-2, some(n), some(n)); }));
  expect_at_full_size([&] {  // more elements than 16 bits can count
    const vector x = some(100'003), y = some(100'003);
    const lab::testing::required a_thread_each{.threads = x.size(), .fetched = bytes_of(x)};
    EXPECT_TRUE(as_required(work_of([&] { return is_added(x, y); }), a_thread_each));
    EXPECT_TRUE(as_required(work_of([&] { return is_saxpy(3, x, y); }), a_thread_each));
  });
}

TEST(Answers, CountAddInPtx) {
  expect_right(compare_counts("ptx_add in PTX", add_in_ptx(), count_ptx(kAddPtx, "ptx_add")));
}
TEST(Answers, CountSaxpyInPtx) {
  expect_right(
      compare_counts("ptx_saxpy in PTX", saxpy_in_ptx(), count_ptx(kSaxpyPtx, "ptx_saxpy")));
}
TEST(Answers, KnowWhoIsWhoInAdd) {
  expect_right(compare_roles(roles_in_add(), find_roles(kAddPtx, "ptx_add")));
}
TEST(Answers, CountAddInSass) {
  expect_right(compare_counts("ptx_add in SASS", add_in_sass(), count_sass(kAddSass, "ptx_add")));
}
TEST(Answers, CountSaxpyInSass) {
  expect_right(
      compare_counts("ptx_saxpy in SASS", saxpy_in_sass(), count_sass(kSaxpySass, "ptx_saxpy")));
}

// --- this build's own code ----------------------------------------------------------------------

class OwnCode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!mine.missing.empty()) GTEST_SKIP() << mine.missing;
  }
  const own_code mine = read_own_code();
};

TEST_F(OwnCode, HasThePtxThatTheAnswersSay) {
  expect_right(
      compare_counts("this build's ptx_add in PTX", add_in_ptx(), count_ptx(mine.ptx, "ptx_add")));
  expect_right(compare_counts("this build's ptx_saxpy in PTX", saxpy_in_ptx(),
                              count_ptx(mine.ptx, "ptx_saxpy")));
}

TEST_F(OwnCode, HasTheSassThatTheAnswersSay) {
  expect_right(compare_counts("this build's ptx_add in SASS", add_in_sass(),
                              count_sass(mine.sass, "ptx_add")));
  expect_right(compare_counts("this build's ptx_saxpy in SASS", saxpy_in_sass(),
                              count_sass(mine.sass, "ptx_saxpy")));
}

// --- the kernels of the listings ----------------------------------------------------------------

class Size : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Kernels, Size,
                         ::testing::Values(0, 1, 31, 32, 33, 255, 256, 257, 1021, 10 * 256 + 1));

TEST_P(Size, IsAddedExactly) {
  const std::size_t n = GetParam();
  const auto a = lab::random_floats(n, n + 1, -9, 9), b = lab::random_floats(n, n + 2, -9, 30);
  EXPECT_TRUE(is_added(a, b));
}

TEST_P(Size, IsMultipliedAndAddedInFloat) {
  const std::size_t n = GetParam();
  const auto x = lab::random_floats(n, n + 3, -9, 9), y = lab::random_floats(n, n + 4, -9, 30);
  EXPECT_TRUE(is_saxpy(-1.7F, x, y));
}

TEST(Kernels, RoundWhatIsCloseToTheMiddleAsFloatsDo) {
  // The product is 1 - 2^-30. The sum is just below the middle between two floats, and a double
  // would be the middle itself, from where the way leads to the other float.
  vector x = lab::random_floats(40, 7, -9, 9), y = lab::random_floats(40, 8, -9, 30);
  x[20] = 1 - 0x1p-15F, y[20] = 0x1p24F + 2;
  EXPECT_TRUE(is_saxpy(1 + 0x1p-15F, x, y));
}

TEST(Kernels, MultiplyByEverySignAndSpecialNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  vector x = lab::random_floats(40, 5, -9, 9), y = lab::random_floats(40, 6, -9, 30);
  x[3] = y[4] = 0, x[5] = y[6] = kInfinity, x[7] = y[8] = kNan, x[9] = kInfinity, y[9] = -kInfinity;
  for (const float s : {0.0F, -0.0F, 1.0F, -1.0F, 0.3F, -2.0F, 1e30F, kInfinity, -kInfinity, kNan})
    EXPECT_TRUE(is_saxpy(s, x, y));
}

TEST(Kernels, AddEverySignAndSpecialNumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  for (const float x : {0.0F, -0.0F, -1.5F, kTiny, 3e38F, kInfinity, -kInfinity, kNan})
    for (const float y : {0.0F, -0.0F, 1.5F, -kTiny, 3e38F, kInfinity, -kInfinity, kNan}) {
      const vector sums = add(vector{x}, vector{y});
      ASSERT_EQ(sums.size(), 1U);
      const float sum = x + y;
      EXPECT_TRUE(std::isnan(sum) ? std::isnan(sums[0])
                                  : sums[0] == sum && std::signbit(sums[0]) == std::signbit(sum))
          << x << " + " << y << " is " << sum << ", not " << sums[0];
    }
}

TEST(Kernels, HaveAThreadForEachElementOfLongVectors) {
  expect_at_full_size([] {
    const std::size_t n = lab::testing::kManyBlocks * 256 + 1;
    const vector a = lab::testing::repeated(lab::random_floats(10'007, 9, -9, 9), n);
    const vector b = lab::testing::repeated(lab::random_floats(10'009, 10, -9, 30), n);
    const lab::testing::required a_thread_each{.threads = n, .fetched = bytes_of(a)};
    EXPECT_TRUE(is_true_by_the_device([&] { return is_added(a, b); }, a_thread_each));
    EXPECT_TRUE(is_true_by_the_device([&] { return is_saxpy(3.3F, a, b); }, a_thread_each));
  });
}

TEST(Kernels, RefuseVectorsOfDifferentLengths) {
  const std::vector<float> three(3), four(4);
  EXPECT_THROW(add(three, four), lab::invalid_input);
  EXPECT_THROW(saxpy(1, four, three), lab::invalid_input);
}

TEST(Kernels, RefuseMoreElementsThanAnIntCanCount) {
  // Only the length may be looked at: there are not so many elements. 2^32 + 3, as an int, is 3.
  const std::vector<float> three(3);
  for (const std::size_t n : {std::size_t{1} << 31, (std::size_t{1} << 32) + 3}) {
    const std::span<const float> huge(three.data(), n);
    EXPECT_THROW(add(huge, huge), lab::invalid_input) << n;
    EXPECT_THROW(saxpy(1, huge, huge), lab::invalid_input) << n;
  }
}

// --- the reader: what it must not miss, and what it must not take for something else
// ----------------

TEST(Reader, TakesLinesApart) {
  const instruction load = parse_line("\t@!%p3 ld.global.f32 \t%f1, [%rd8+4];  // a comment; two");
  EXPECT_EQ(load.predicate, "@!%p3");
  EXPECT_EQ(load.opcode, "ld.global.f32");
  EXPECT_EQ(load.operands, (std::vector<std::string>{"%f1", "[%rd8+4]"}));
  const instruction leave = parse_line("        /*0070*/  @P0 EXIT ;   /* 0x000000000000094d */");
  EXPECT_EQ(leave.predicate, "@P0");
  EXPECT_EQ(leave.opcode, "EXIT");
  EXPECT_TRUE(leave.operands.empty());
}

TEST(Reader, SeesNoInstructionWhereThereIsNone) {
  for (const char* line :
       {"", "   ", "{", "$L__BB0_2:", "  .reg .f32 %f<4>;", "// ld.global.f32 a;",
        "/* 0x000fe20000000800 */", ".param .u64 ptx_add_param_0,"})
    EXPECT_EQ(parse_line(line).opcode, "") << line;
}

TEST(Reader, KnowsAnInstructionInAllItsForms) {
  EXPECT_TRUE(is(parse_line("ld.global.nc.f32 %f1, [%rd1];"), "ld.global"));
  EXPECT_TRUE(is(parse_line("LDG.E.SYS R2, [R2] ;"), "LDG"));
  EXPECT_FALSE(is(parse_line("ld.param.u64 %rd1, [p];"), "ld.global"));
  EXPECT_FALSE(is(parse_line("LDGSTS.E [R1], [R2] ;"), "LDG"));
  EXPECT_FALSE(is(parse_line("add.s64 %rd1, %rd2, %rd3;"), "add.f32"));
}

TEST(Reader, StaysInsideOfTheKernel) {
  const std::string listing =
      ".visible .entry first(\n.param .u32 p\n)\n{\nadd.f32 %f1, %f1, %f2;\nret;\n}\n"
      ".visible .entry first_too(\n)\n{\nadd.f32 %f1, %f1, %f2;\nadd.f32 %f1, %f1, %f2;\nret;\n}\n";
  EXPECT_EQ(count(instructions_of(listing, "first"), "add.f32"), 1);
  EXPECT_EQ(count(instructions_of(listing, "first_too"), "add.f32"), 2);
  EXPECT_TRUE(instructions_of(listing, "fir").empty());
  const std::string machine =
      "\t\tFunction : one\n FADD R1, R1, R2 ;\n\t\tFunction : two\n FFMA R1, R1, R2, R3 ;\n"
      "\t\tFunction : one\n FADD R1, R1, R2 ;\n";  // the last for another architecture
  EXPECT_EQ(count(instructions_of(machine, "one"), "FADD"), 1);
  EXPECT_EQ(count(instructions_of(machine, "two"), "FFMA"), 1);
}

TEST(Reader, FindsEveryInstructionOfTheListings) {
  // From ld.param to ret, and from the first address (0000) to the last (0140, 0130).
  EXPECT_EQ(instructions_of(kAddPtx, "ptx_add").size(), 22U);
  EXPECT_EQ(instructions_of(kSaxpyPtx, "ptx_saxpy").size(), 20U);
  EXPECT_EQ(instructions_of(kAddSass, "ptx_add").size(), 0x140U / 16 + 1);
  EXPECT_EQ(instructions_of(kSaxpySass, "ptx_saxpy").size(), 0x130U / 16 + 1);
}

FAULT_TEST(Kernels, ReportEveryCallThatFails) {
  const std::vector<float> a = {1, 2, 3}, b = {5, 7, 11};
  expect_failures_reported([&] { return add(a, b); }, a, b);
  expect_failures_reported([&] { return saxpy(2, a, b); }, a, b);
}

}  // namespace
