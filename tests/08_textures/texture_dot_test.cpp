// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "texture_dot.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "current_device.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/dot_reference.hpp"
#include "lab/errors.hpp"
#include "lab/pinned_buffer.hpp"
#include "lab/random.hpp"
#include "lab/texture.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::current_device;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::timed;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using lab::texture_dot::dot;
using lab::texture_dot::longest;
using lab::texture_dot::step;
using vector = std::vector<float>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::array_array, "array_array"},
                                 {step::array_linear, "array_linear"},
                                 {step::linear_linear, "linear_linear"}};

::testing::AssertionResult is_exact(step version, const vector& a, const vector& b) {
  return matches(
      lab::compare(dot(version, a, b).value, lab::dot_in_double(a, b), lab::tolerance{}));
}

#ifdef __CPU_DEVICE__
// The current device is another one than device 0 in some cases.
const lab::testing::setting kTwoDevices("CPU_DEVICE_COUNT", "2",
                                        lab::testing::setting::when::unless_given);
#endif

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatReadsTextures) {
  const vector a = whole_numbers(20'011, 1, -9, 14), b = whole_numbers(20'011, 2, -4, 5);
  const std::string array = "cudaMallocArray|cudaMalloc3DArray";
  for (const auto& [version, name] : kSteps) {
    lab::testing::required expected{.threads = 512,
                                    .blocks = 4,
                                    .sent = 2 * bytes_of(a),
                                    .calls = {"cudaCreateTextureObject"},
                                    .writes = sizeof(float),
                                    .reads_at_most = bytes_of(a) / 2,
                                    .texels = 2 * bytes_of(a)};
    (version == step::linear_linear ? expected.not_called : expected.calls).push_back(array);
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, expected)) << name;
    if (done.watched) {
      const auto has_a_vector = [&](std::size_t bytes) { return bytes >= bytes_of(a); };
      EXPECT_GE(done.not_accessed, std::ranges::count_if(done.device_memory, has_a_vector))
          << name << ": elements are read by a pointer";
    }
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return is_exact(version, whole_numbers(n, 1, 1, 4), whole_numbers(n, 2, 1, 4));
    })) << name;
  }
}

REQUIRED_WORK(AsManyArraysAsTheStepNames) {
  for (const std::size_t n : {std::size_t{1000}, lab::texture_dot::kDefaultSize}) {
    const vector a = whole_numbers(n, 1, 1, 4), b = whole_numbers(n, 2, 1, 4);
    for (const auto& [version, name] : kSteps) {
      const lab::testing::work done =
          work_of([&, version = version] { return is_exact(version, a, b); });
      EXPECT_TRUE(as_required(done, {.calls = {"cudaCreateTextureObject"}})) << name;
      unsigned arrays = 0, expected = 0;
      if (version == step::array_array) expected = 2;
      if (version == step::array_linear) expected = 1;
      for (const auto& [call, times] : done.calls)
        if (call.starts_with("cudaMalloc") && call.ends_with("Array")) arrays += times;
      EXPECT_EQ(arrays, expected) << name << ", " << n << " elements";
    }
  }
}

REQUIRED_WORK(OfOneArrayAndLinearMemoryTheArrayHasTheFirstVector) {
  const vector values = whole_numbers(1000, 1, -9, 14), b = whole_numbers(1000, 2, -4, 5);
  lab::pinned_buffer<float> a(values.size());  // so its copy can be told from that of b
  std::copy(values.begin(), values.end(), a.data());
  const std::string name = "array_linear";
  const lab::testing::work done = work_of([&] {
    const std::span<const float> pinned(a.data(), a.size());
    return dot(step::array_linear, pinned, b).value ==
           static_cast<float>(lab::dot_in_double(values, b));
  });
  EXPECT_TRUE(as_required(done, {.calls = {"cudaCreateTextureObject"}})) << name;
  std::vector<std::string> calls;
  std::vector<bool> is_of_a;
  for (const std::string& call : done.sequence)
    if (call.starts_with("cudaMemcpy") && !call.ends_with("to the host")) calls.push_back(call);
  for (const auto& copy : done.copies)
    if (copy.kind == cudaMemcpyHostToDevice) is_of_a.push_back(copy.pinned);
  if (calls.size() != 2 || is_of_a.size() != 2 || is_of_a[0] == is_of_a[1]) return;  // cannot tell
  const std::string& of_a = calls[is_of_a[0] ? 0 : 1];
  EXPECT_TRUE(of_a.find("Array") != std::string::npos || of_a.find("3D") != std::string::npos)
      << name << ": a is copied by " << of_a << ", and b by " << calls[is_of_a[0] ? 1 : 0];
}

REQUIRED_WORK(BothKindsWhereAVectorIsMultipliedByItself) {
  // One copy of it is enough, unless the step has two kinds of memory.
  const vector a = whole_numbers(20'011, 1, -9, 14);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, a); });
    EXPECT_TRUE(as_required(done, {.calls = {"cudaCreateTextureObject"}})) << name;
    std::ptrdiff_t arrays = 0;
    for (const auto& [call, times] : done.calls)
      if (call.starts_with("cudaMalloc") && call.ends_with("Array")) arrays += times;
    EXPECT_EQ(arrays != 0, version != step::linear_linear)
        << name << ": " << arrays << " arrays, where a is multiplied by itself";
    // The memory of an array is among the device's.
    const auto has_a_vector = [&](std::size_t bytes) { return bytes >= bytes_of(a); };
    const auto blocks = std::ranges::count_if(done.device_memory, has_a_vector) +
                        std::ranges::count_if(done.host_memory, has_a_vector);
    EXPECT_TRUE(blocks > arrays || version == step::array_array)
        << name << ": no linear memory for a, where a is multiplied by itself";
  }
}

REQUIRED_WORK(TheCurrentDeviceIsAskedForItsLimitsAndDoesTheWork) {
  const int device = lab::device_count() - 1;
  const on_device here(device);
  // Code that keeps the limits of each device queries them once. So no other case queries this
  // device before.
  static std::set<std::string> asked;
  for (const auto& [version, name] : kSteps) {
    const auto question =
        lab::testing::work_without_values([version = version] { longest(version); });
    for (const auto& [call, times] : question.calls) asked.insert(call);
  }
  const bool has_asked = asked.contains("cudaGetDeviceProperties");
  for (const std::string call : {"cudaDeviceGetAttribute", "cudaDeviceGetTexture1DLinearMaxWidth"})
    EXPECT_TRUE(device == 0 || has_asked || asked.contains(call))
        << "device " << device << " was not asked how long its textures may be: " << call;
  const vector a = whole_numbers(1000, 1, -9, 14), b = whole_numbers(1000, 2, -4, 5);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done =
        work_of([&, version = version] { return is_exact(version, a, b); });
    EXPECT_TRUE(as_required(done, {.calls = {"cudaCreateTextureObject"}})) << name;
    for (const auto& kernel : done.kernels) EXPECT_EQ(kernel.device, device) << name;
    EXPECT_EQ(current_device(), device) << name;
  }
}

using Dot = lab::testing::each_step_and<named_step, std::size_t>;

// Around a warp and a block of 256; primes; many blocks and one.
INSTANTIATE_TEST_SUITE_P(Steps, Dot,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 31, 32, 33, 255, 256, 257,
                                                              511, 512, 513, 1021, 10 * 256 + 1,
                                                              30'011, 131'071)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Dot, HasTheSameBitsWhereverTheVectorsAre) {
  const auto& [version, n] = GetParam();
  const vector a = lab::random_floats(n, n + 5, -1, 1), b = lab::random_floats(n, n + 6, -1, 1);
  EXPECT_EQ(dot(version.value, a, b).value, dot(step::linear_linear, a, b).value);
}

class EachStep : public lab::testing::each_step<named_step> {
 protected:
  float sum(const vector& a, const vector& b) const { return dot(version(), a, b).value; }
  double bound(const vector& a, const vector& b) const { return lab::dot_error_bound(a, b); }
  std::size_t most() const { return longest(version()); }
  std::size_t full_size() const { return std::min(most(), lab::texture_dot::kDefaultSize); }
  static lab::testing::required full_work() { return {.threads = 1024}; }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

}  // namespace

#include "sum_tests.hpp"  // needs EachStep

namespace {

TEST_P(EachStep, MultipliesWhatBelongsTogether) {
  // One element of a is 1 and the others are 0: the result is the one of b that belongs to it. And
  // the other way round.
  const std::size_t n = 1000;
  const vector values = lab::random_floats(n, 5, -1, 1);
  for (const std::size_t position : {0, 1, 31, 32, 255, 256, 500, 998, 999}) {
    vector unit(n, 0.0F);
    unit[position] = 1;
    EXPECT_EQ(dot(version(), unit, values).value, values[position]) << "b at " << position;
    EXPECT_EQ(dot(version(), values, unit).value, values[position]) << "a at " << position;
  }
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return dot(version(), vector(1000, 1.0F), vector(1000, 1.0F)).kernel_ms;
  }));
}

TEST_P(EachStep, RefusesWhatIsTooLongWithASentence) {
  // This many floats need not exist, since they are refused before one is read.
  const vector one(1);
  for (const std::size_t n :
       {longest(version()) + 1, (std::size_t{1} << 31) + 1, (std::size_t{1} << 32) + 1}) {
    const std::span<const float> claimed(one.data(), n);
    try {
      dot(version(), claimed, claimed);
      ADD_FAILURE() << n << " elements were not refused";
    } catch (const lab::invalid_input& refusal) {
      const std::string text = refusal.what();
      EXPECT_NE(text.find(std::to_string(longest(version()))), std::string::npos) << text;
      EXPECT_NE(text.find(std::to_string(n)), std::string::npos) << text;
    }
  }
}

TEST(Longest, IsWhatTheDeviceSays) {
  EXPECT_EQ(longest(step::array_array), lab::most_texels_in_an_array());
  EXPECT_EQ(longest(step::array_linear), lab::most_texels_in_an_array());
  EXPECT_EQ(longest(step::linear_linear), lab::most_texels_in_linear_memory());
}

TEST(Longest, IsNotTooLongForAnArray) {
  const std::size_t n = lab::most_texels_in_an_array();
  const vector a = whole_numbers(n, 8, -9, 14), b = whole_numbers(n, 9, -20, 29);
  EXPECT_TRUE(is_exact(step::array_array, a, b));
  EXPECT_TRUE(is_exact(step::array_linear, a, b));
}

TEST(LinearMemory, HasMoreElementsThanAFloatCanCount) {
  // Above 2^24 only every second integer is a float: two indices would become the same.
  lab::testing::expect_at_full_size([] {
    constexpr std::size_t kSize = (std::size_t{1} << 24) + 5;
    vector a(kSize);
    const vector ones(kSize, 1.0F);
    for (std::size_t i = 1; i <= 5; ++i) a[kSize - i] = static_cast<float>(i * i);
    return is_exact(step::linear_linear, a, ones);
  });
}

TEST(Longest, OfAnArrayIsNoLimitForLinearMemory) {
  // Beyond 1024 blocks of 256, too, where threads stride.
  for (const std::size_t n : {lab::most_texels_in_an_array() + 1, std::size_t{270'001}})
    EXPECT_TRUE(
        is_exact(step::linear_linear, whole_numbers(n, 10, -9, 14), whole_numbers(n, 11, -20, 29)));
}

}  // namespace
