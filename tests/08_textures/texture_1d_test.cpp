// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "texture_1d.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/texture.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::texture_1d::compare_samples;
using lab::texture_1d::fetch;
using lab::texture_1d::kDefaultSamples;
using lab::texture_1d::reference_fetch;
using lab::texture_1d::sample;
using lab::texture_1d::settings;
using vector = std::vector<float>;

constexpr float kBorder = -200.5F;  // no texel is like it

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(KernelsThatReadTexturesOnly) {
  const vector texels = lab::random_floats(3000, 1, -9, 20);
  const auto indices = lab::random_ints(2000, 2, -50, 3050);
  const auto are_texels = [&](const std::vector<int>& asked) {
    return matches(lab::compare_exact(fetch(texels, asked).values, reference_fetch(texels, asked)));
  };
  const auto are_samples = [&](const vector& asked) {
    return matches(compare_samples(texels, {}, asked, sample(texels, {}, asked).values));
  };
  EXPECT_TRUE(as_required(work_of([&] { return are_texels(indices); }),
                          {.threads = 2000 / 8,
                           .blocks = 2,
                           .sent = bytes_of(texels) + bytes_of(indices),
                           .fetched = bytes_of(indices),
                           .calls = {"cudaCreateTextureObject"},
                           .not_called = {"cudaMallocArray|cudaMalloc3DArray"},
                           .reads = bytes_of(indices),
                           .writes = bytes_of(indices),
                           .reads_at_most = bytes_of(indices) * 3 / 2,
                           .texels = 2000 / 8 * sizeof(float)}));
  vector coordinates = lab::random_floats(2000, 3, -10, 3010);
  for (float& coordinate : coordinates)
    coordinate = std::floor(coordinate) + 0.25F;  // (not at the edge of a texel)
  EXPECT_TRUE(
      as_required(work_of([&] { return are_samples(coordinates); }),
                  {.threads = 2000 / 8,
                   .blocks = 2,
                   .sent = bytes_of(texels) + bytes_of(coordinates),
                   .fetched = bytes_of(coordinates),
                   .calls = {"cudaCreateTextureObject", "cudaMallocArray|cudaMalloc3DArray"},
                   .reads = bytes_of(coordinates),
                   .writes = bytes_of(coordinates),
                   .reads_at_most = bytes_of(coordinates) * 3 / 2,
                   .texels = 2000 / 8 * sizeof(float)}));
  for (const std::size_t n : {1, 3, 31, 40, 257}) {
    const std::size_t bytes = n * sizeof(float);
    lab::testing::required expected{.threads = std::max<std::size_t>(n / 8, 1),
                                    .fetched = bytes,
                                    .calls = {"cudaCreateTextureObject"},
                                    .reads = bytes,
                                    .writes = bytes,
                                    .reads_at_most = bytes * 3 / 2,
                                    .texels = n / 8 * sizeof(float)};
    EXPECT_TRUE(
        as_required(work_of([&] { return are_texels(lab::random_ints(n, 2, 0, 2999)); }), expected))
        << n << " indices";
    expected.calls.emplace_back("cudaMallocArray|cudaMalloc3DArray");
    EXPECT_TRUE(as_required(work_of([&] { return are_samples(vector(n, 17.25F)); }), expected))
        << n << " coordinates";
  }
}

/// Every way to read that is valid.
struct named_settings {
  settings sampling;
  std::string name;
};
std::vector<named_settings> all_settings() {
  const std::pair<cudaTextureAddressMode, const char*> modes[] = {
      {cudaAddressModeClamp, "clamp"},
      {cudaAddressModeBorder, "border"},
      {cudaAddressModeWrap, "wrap"},
      {cudaAddressModeMirror, "mirror"}};
  std::vector<named_settings> all;
  for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
    for (const bool normalized : {false, true})
      for (const auto& [mode, name] : modes) {
        if (!normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) continue;
        all.push_back({{filter, mode, normalized, kBorder},
                       std::string(filter == cudaFilterModePoint ? "point_" : "linear_") + name +
                           (normalized ? "_normalized" : "")});
      }
  return all;
}

REQUIRED_WORK(NoHostThatReadsShortArrays) {
  // Nor one that filters, or knows what is outside.
  for (const auto& [sampling, name] : all_settings())
    for (const std::size_t texels : {1, 2, 40})
      EXPECT_TRUE(at_other_sizes(
          [&, sampling = sampling](std::size_t n) {
            const vector all = lab::random_floats(texels, 1, 1, 9);
            vector asked(n, -0.31F);  // (not at the edge of a texel)
            asked.back() = 0.41F;
            return matches(
                compare_samples(all, sampling, asked, sample(all, sampling, asked).values));
          },
          {.threads = 1,
           .fetched = 1,
           .calls = {"cudaCreateTextureObject", "cudaMallocArray|cudaMalloc3DArray"},
           .writes = 1,
           .texels = sizeof(float)}))
          << name << ", " << texels << " texels";
}

REQUIRED_WORK(NoHostThatFetchesFromShortOrLongArrays) {
  const auto is_fetched = [](std::size_t texels, std::size_t n) {
    const vector all = lab::random_floats(texels, 1, 1, 9);
    const auto indices = lab::random_ints(n, 2, 0, static_cast<int>(texels) - 1);
    return matches(lab::compare_exact(fetch(all, indices).values, reference_fetch(all, indices)));
  };
  for (const std::size_t texels : {1, 2, 40, 4096, 200'003})
    EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return is_fetched(texels, n); },
                               {.threads = 1,
                                .fetched = 1,
                                .calls = {"cudaCreateTextureObject"},
                                .not_called = {"cudaMallocArray|cudaMalloc3DArray"},
                                .writes = 1,
                                .texels = sizeof(float)}))
        << texels << " texels";
  expect_at_full_size([&] {
    return as_required(work_of([&] { return is_fetched(100, 100'003); }),
                       {.threads = 1024,
                        .blocks = 2,
                        .fetched = 100'003 * sizeof(float),
                        .calls = {"cudaCreateTextureObject"}});
  });
}

// --- linear memory -------------------------------------------------------------------------------

class Fetch : public ::testing::TestWithParam<std::size_t> {};
// Around a warp and a block of 256; the 5000 of the source; a prime.
INSTANTIATE_TEST_SUITE_P(Texels, Fetch,
                         ::testing::Values(1, 2, 31, 32, 33, 255, 256, 257, 1021, 5000),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Fetch, GivesEachTexel) {
  const vector texels = lab::random_floats(GetParam(), GetParam(), -9, 20);
  std::vector<int> indices(texels.size());
  std::iota(indices.begin(), indices.end(), 0);
  EXPECT_EQ(fetch(texels, indices).values, texels);
}

TEST_P(Fetch, GivesZeroOutside) {
  const int n = static_cast<int>(GetParam());
  const vector texels = lab::random_floats(GetParam(), GetParam() + 1, 1, 20);
  const std::vector<int> indices = {-1,    n,     0,
                                    n - 1, n + 1, -n,
                                    4 * n, -1000, std::numeric_limits<int>::max(),
                                    1 - n, 2 * n, std::numeric_limits<int>::min()};
  EXPECT_TRUE(
      matches(lab::compare_exact(fetch(texels, indices).values, reference_fetch(texels, indices))));
}

TEST_P(Fetch, TakesAnyOrder) {
  const int n = static_cast<int>(GetParam());
  const vector texels = lab::random_floats(GetParam(), GetParam() + 2, -9, 20);
  for (const std::size_t count : {0, 1, 255, 256, 257, 2049}) {
    const auto indices = lab::random_ints(count, count + 3, -2 * n, 3 * n);
    EXPECT_TRUE(matches(
        lab::compare_exact(fetch(texels, indices).values, reference_fetch(texels, indices))))
        << count << " indices";
  }
}

TEST(Fetch, GivesTheVeryBitsThatWereStored) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const vector texels = {-0.0F,      std::numeric_limits<float>::denorm_min(), kInfinity,
                         -kInfinity, std::numeric_limits<float>::quiet_NaN(),  -3e38F};
  const vector values = fetch(texels, std::vector<int>{0, 1, 2, 3, 4, 5}).values;
  ASSERT_EQ(values.size(), texels.size());
  for (std::size_t i = 0; i < texels.size(); ++i)
    EXPECT_TRUE(std::isnan(texels[i])
                    ? std::isnan(values[i])
                    : values[i] == texels[i] && std::signbit(values[i]) == std::signbit(texels[i]))
        << "texel " << i << " is " << texels[i] << ", not " << values[i];
}

TEST(Fetch, TakesMoreTexelsThanAnArrayMayHave) {
  const std::size_t n = 2 * lab::most_texels_in_an_array() + 3;
  ASSERT_LE(n, lab::most_texels_in_linear_memory());
  const vector texels = lab::random_floats(n, 1, 1, 9);
  const int last = static_cast<int>(n) - 1;
  EXPECT_EQ(fetch(texels, std::vector<int>{last, last / 2, last + 1, 0}).values,
            (vector{texels.back(), texels[(n - 1) / 2], 0, texels[0]}));
}

// --- arrays --------------------------------------------------------------------------------------

/// u, in texels, as a coordinate for tex1D.
float coordinate_of(float u, std::size_t n, const settings& sampling) {
  return sampling.normalized ? u / static_cast<float>(n) : u;
}

class Sample : public ::testing::TestWithParam<std::tuple<named_settings, std::size_t>> {
 protected:
  settings sampling() const { return std::get<0>(GetParam()).sampling; }
  std::size_t n() const { return std::get<1>(GetParam()); }
  vector texels() const { return lab::random_floats(n(), n() + 7, -100, 150); }
};
INSTANTIATE_TEST_SUITE_P(Settings, Sample,
                         ::testing::Combine(::testing::ValuesIn(all_settings()),
                                            ::testing::Values(1, 2, 5, 10, 33, 257)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_n" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(Sample, IsTheTexelInItsMiddle) {
  vector coordinates;
  for (std::size_t i = 0; i < n(); ++i)
    coordinates.push_back(coordinate_of(static_cast<float>(i) + 0.5F, n(), sampling()));
  const vector values = sample(texels(), sampling(), coordinates).values;
  EXPECT_TRUE(matches(compare_samples(texels(), sampling(), coordinates, values)));
  // Dividing by n and multiplying again may move a middle by a rounding; else it is exact.
  if (!sampling().normalized) {
    EXPECT_EQ(values, texels());
  }
}

TEST_P(Sample, FollowsTheFormulaBetweenTexelsAndOutside) {
  // Eighths and what is between them, up to two textures on either side; never a texel's edge.
  const int reach = static_cast<int>(2 * n()) + 2;
  vector coordinates;
  for (int i = -reach; i < static_cast<int>(n()) + reach; ++i)
    for (const float in : {0.0625F, 0.125F, 0.25F, 0.4375F, 0.53125F, 0.75F, 0.9375F})
      coordinates.push_back(coordinate_of(static_cast<float>(i) + in, n(), sampling()));
  EXPECT_TRUE(matches(compare_samples(texels(), sampling(), coordinates,
                                      sample(texels(), sampling(), coordinates).values)));
}

TEST_P(Sample, FollowsTheFormulaAtRandomPlaces) {
  // At least a hundredth of a texel away from its edges.
  lab::random_source random(n() + 11);
  const int reach = static_cast<int>(2 * n()) + 1;
  vector coordinates(1500);
  for (float& coordinate : coordinates)
    coordinate = coordinate_of(
        static_cast<float>(random.integer(-reach, static_cast<int>(n()) + reach - 1)) +
            random.real(0.01F, 0.99F),
        n(), sampling());
  EXPECT_TRUE(matches(compare_samples(texels(), sampling(), coordinates,
                                      sample(texels(), sampling(), coordinates).values)));
}

TEST(Linear, IsExactWhereEightBitsAreEnough) {
  const vector texels = {0, 1024, -512, 256};
  vector coordinates, expected;
  for (int k = 0; k <= 3 * 256; ++k) {
    const float w = static_cast<float>(k % 256) / 256;
    const auto i = static_cast<std::size_t>(k / 256);
    coordinates.push_back(0.5F + static_cast<float>(k) / 256);
    expected.push_back(k == 3 * 256 ? texels[3] : (1 - w) * texels[i] + w * texels[i + 1]);
  }
  // Multiples of 1/256 times powers of two: whole numbers, in any order of operations.
  EXPECT_EQ(sample(texels, {.filter = cudaFilterModeLinear}, coordinates).values, expected);
}

TEST(Linear, HasAFractionOfEightBits) {
  // Between 0 and 1 the value is the fraction itself: a staircase with 256 steps, not a slope.
  const vector fractions = lab::random_floats(3000, 21, 0, 1);
  vector coordinates;
  for (const float w : fractions) coordinates.push_back(0.5F + w);
  const vector values = sample(vector{0, 1}, {.filter = cudaFilterModeLinear}, coordinates).values;
  ASSERT_EQ(values.size(), coordinates.size());
  std::size_t off_the_steps = 0, too_far = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (values[k] * 256 != std::round(values[k] * 256)) ++off_the_steps;
    if (!(std::fabs(values[k] - fractions[k]) <= 1.0F / 256 + 1e-6F)) ++too_far;
  }
  EXPECT_EQ(off_the_steps, 0U) << "of " << values.size();
  EXPECT_EQ(too_far, 0U) << "of " << values.size();
}

TEST(Linear, MixesWithWhatIsOutside) {
  const vector texels = {16, 32};
  const vector ends = {0, 2};
  settings sampling{.filter = cudaFilterModeLinear, .border = 64};
  EXPECT_EQ(sample(texels, sampling, ends).values, (vector{16, 32}));
  sampling.address_mode = cudaAddressModeBorder;
  EXPECT_EQ(sample(texels, sampling, ends).values, (vector{40, 48}));
  sampling.normalized = true;
  const vector normalized_ends = {0, 1};
  EXPECT_EQ(sample(texels, sampling, normalized_ends).values, (vector{40, 48}));
  sampling.address_mode = cudaAddressModeWrap;
  EXPECT_EQ(sample(texels, sampling, normalized_ends).values, (vector{24, 24}));
  sampling.address_mode = cudaAddressModeMirror;
  EXPECT_EQ(sample(texels, sampling, normalized_ends).values, (vector{16, 32}));
}

TEST(Sample, GivesTheArrayOfTheSource) {
  vector texels, coordinates;
  for (int i = 0; i < 10; ++i) {
    texels.push_back(2 * static_cast<float>(i));
    coordinates.push_back(static_cast<float>(i) + 0.5F);
  }
  EXPECT_EQ(sample(texels, {}, coordinates).values, texels);  // 0, 2, 4, … 18
}

TEST(Sample, TakesAnyNumberOfPlaces) {
  const vector texels = lab::random_floats(50, 31, -1, 1);
  const settings sampling{.filter = cudaFilterModeLinear};
  for (const std::size_t count : {0, 1, 255, 256, 257, 1021, 40'001}) {
    const vector coordinates = lab::random_floats(count, count + 1, -10, 60);
    EXPECT_TRUE(matches(compare_samples(texels, sampling, coordinates,
                                        sample(texels, sampling, coordinates).values)));
  }
}

TEST(Sample, TakesTheLongestArray) {
  const std::size_t most = lab::most_texels_in_an_array();
  const vector texels = lab::random_floats(most, 41, -1, 1);
  const vector coordinates = {0.5F, static_cast<float>(most) - 0.5F,
                              static_cast<float>(most / 3) + 0.5F};
  EXPECT_EQ(sample(texels, {}, coordinates).values,
            (vector{texels.front(), texels.back(), texels[most / 3]}));
  EXPECT_THROW(sample(vector(most + 1), {}, coordinates), lab::invalid_input);
}

TEST(Sample, RefusesPlacesThatCudaWouldClampWithoutAWord) {
  for (const auto address_mode : {cudaAddressModeWrap, cudaAddressModeMirror}) {
    EXPECT_THROW(sample(vector{1, 2}, {.address_mode = address_mode}, vector{0.5F}),
                 lab::invalid_input);
    EXPECT_THROW(sample(vector{1, 2}, {.address_mode = address_mode}, {}), lab::invalid_input)
        << "without coordinates, too";
    EXPECT_EQ(
        sample(vector{1, 2}, {.address_mode = address_mode, .normalized = true}, vector{0.25F})
            .values,
        vector{1});
  }
}

TEST(Textures, OfNothingOrTooMuchAreRefused) {
  EXPECT_THROW(fetch({}, std::vector<int>{0}), lab::invalid_input);
  EXPECT_THROW(sample({}, {}, vector{0.5F}), lab::invalid_input);
  EXPECT_THROW(fetch({}, {}), lab::invalid_input) << "without indices, too";
  EXPECT_THROW(sample({}, {}, {}), lab::invalid_input) << "without coordinates, too";
  // This many floats need not exist, since they are refused before one is read.
  const vector one(1);
  const std::span<const float> claimed(one.data(), lab::most_texels_in_linear_memory() + 1);
  EXPECT_THROW(fetch(claimed, std::vector<int>{0}), lab::invalid_input);
}

TEST(Textures, SeeWhatIsThereNow) {
  const std::vector<int> indices = {0, 1, 2};
  const vector coordinates = {0.5F, 1.5F, 2.5F};
  for (const vector& texels : {vector{1, 2, 3}, vector{-7, 8, 9}, vector{0, 0, 5}}) {
    EXPECT_EQ(fetch(texels, indices).values, texels);
    EXPECT_EQ(sample(texels, {}, coordinates).values, texels);
  }
}

TEST(Textures, SayHowLongTheKernelTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return fetch(vector{1, 2}, std::vector<int>(1000, 1)).kernel_ms;
  }));
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return sample(vector{1, 2}, {}, vector(1000, 0.5F)).kernel_ms;
  }));
}

FAULT_TEST(Textures, ReportEveryCallThatFails) {
  const vector texels = {1, 5, 2, 8, 3}, coordinates = {0.5F, 1.5F, -1, 7};
  const std::vector<int> indices = {0, 4, 2, 9};
  expect_failures_reported([&] { return fetch(texels, indices).values; }, texels, indices);
  expect_failures_reported([&] { return sample(texels, {}, coordinates).values; }, texels,
                           coordinates);
}

TEST(Sample, IsRightForMorePlacesThanTheProgramReads) {
  expect_at_full_size([] {
    const vector texels = lab::random_floats(4, 1, -9, 20),
                 coordinates = lab::random_floats(
                     std::max<std::size_t>(kDefaultSamples, 256 * 4099), 2, 0, 4);
    const settings linear{.filter = cudaFilterModeLinear};
    return matches(
        compare_samples(texels, linear, coordinates, sample(texels, linear, coordinates).values));
  });
}

TEST(Fetch, GivesEachTexelWithManyBlocks) {
  expect_at_full_size([] {
    const vector texels = lab::random_floats(5000, 3, -9, 20);
    const auto indices = lab::random_ints(256 * lab::testing::kManyBlocks, 4, 0, 4999);
    return matches(
        lab::compare_exact(fetch(texels, indices).values, reference_fetch(texels, indices)));
  });
}

}  // namespace
