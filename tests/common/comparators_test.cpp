// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Properties of every checker that tests rely on: for many random results it accepts the right one,
// refuses each of the ways in which kernels get it wrong, and counts and finds the wrong elements.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "lab/bitmap.hpp"
#include "lab/closeness.hpp"
#include "lab/new_memory.hpp"
#include "lab/random.hpp"
#include "lab/sorting.hpp"
#include "lab_testing.hpp"

namespace {

using lab::comparison;
using lab::direction;
using lab::testing::matches;

constexpr std::size_t kSizes[] = {1, 2, 3, 31, 32, 33, 255, 256, 257, 1021};
constexpr std::uint64_t kSeeds[] = {1, 2, 3};

/// Whole numbers from -1000 to 1000 without 0 (or, for unsigned types, from 1), so that each wrong
/// value below is a value away by at least 1.
template <class T>
std::vector<T> random_values(std::size_t n, std::uint64_t seed) {
  lab::random_source source(seed);
  std::vector<T> values(n);
  for (T& value : values) {
    int number = source.integer(1, std::is_same_v<T, std::uint8_t> ? 200 : 1000);
    if (std::is_signed_v<T> && source.integer(0, 1) == 1) number = -number;
    value = static_cast<T>(number);
  }
  return values;
}

template <class T>
T never_written() {
  T value;
  std::memset(&value, 0xFF, sizeof(value));
  return value;
}

/// A wrong result, and what is wrong with it in words.
template <class T>
struct wrong_result {
  std::string how;
  std::vector<T> values;
};

/// What kernels make of `right` when they are wrong. Only those that differ from it: of one
/// element, for instance, the reverse is no mistake.
template <class T>
std::vector<wrong_result<T>> wrong_results_of(const std::vector<T>& right, std::uint64_t seed) {
  lab::random_source source(seed + 100);
  const std::size_t n = right.size();
  const auto anywhere = [&] {
    return static_cast<std::size_t>(source.integer(0, static_cast<int>(n) - 1));
  };
  std::vector<wrong_result<T>> wrong;
  const auto add = [&](const std::string& how, const std::vector<T>& values) {
    if (values != right) wrong.push_back({how, values});
  };
  const auto add_edit = [&](const std::string& how, const std::function<void(std::vector<T>&)>& f) {
    std::vector<T> values = right;
    f(values);
    add(how, values);
  };

  add("zeros", std::vector<T>(n));
  add("never written", std::vector<T>(n, never_written<T>()));
  add("a stale result", random_values<T>(n, seed + 1));
  add_edit("reversed", [](auto& v) { std::ranges::reverse(v); });
  add_edit("shifted to the left", [](auto& v) { std::rotate(v.begin(), v.begin() + 1, v.end()); });
  add_edit("shifted to the right", [](auto& v) { std::rotate(v.begin(), v.end() - 1, v.end()); });
  add_edit("two swapped", [&](auto& v) { std::swap(v[anywhere()], v[anywhere()]); });
  add_edit("the last never written", [](auto& v) { v.back() = never_written<T>(); });
  add_edit("the first never written", [](auto& v) { v.front() = never_written<T>(); });
  add_edit("the last is 0", [](auto& v) { v.back() = T{}; });
  add_edit("the last as the one before",
           [](auto& v) { v.back() = v[v.size() > 1 ? v.size() - 2 : 0]; });
  add_edit("truncated", [](auto& v) { v.pop_back(); });
  add_edit("nothing", [](auto& v) { v.clear(); });
  add_edit("one too many", [](auto& v) { v.push_back(v.front()); });
  add_edit("one 0 too many", [](auto& v) { v.push_back(T{}); });
  add_edit("one too large by 1", [&](auto& v) { v[anywhere()] += T{1}; });
  add_edit("one too small by 1", [&](auto& v) { v[anywhere()] -= T{1}; });
  add_edit("all too large by 1", [](auto& v) {
    for (T& value : v) value += T{1};
  });
  add_edit("all signs flipped", [](auto& v) {
    for (T& value : v) value = static_cast<T>(T{} - value);
  });
  add_edit("one sign flipped", [&](auto& v) {
    T& value = v[anywhere()];
    value = static_cast<T>(T{} - value);
  });
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
    constexpr T kInf = std::numeric_limits<T>::infinity();
    for (const T bad : {kNan, kInf, -kInf}) {
      add("all " + std::to_string(bad), std::vector<T>(n, bad));
      add_edit("one " + std::to_string(bad), [&](auto& v) { v[anywhere()] = bad; });
      add_edit("the last " + std::to_string(bad), [&](auto& v) { v.back() = bad; });
    }
  }
  return wrong;
}

/// How a message on single elements must begin, found by hand: the count, then the first place.
template <class T>
std::string beginning(const std::vector<T>& actual, const std::vector<T>& expected) {
  if (actual.size() != expected.size())
    return "got " + std::to_string(actual.size()) +
           (actual.size() == 1 ? " element" : " elements") + ", expected " +
           std::to_string(expected.size());
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (!(actual[i] == expected[i])) places.push_back(i);
  return std::to_string(places.size()) + " of " + std::to_string(actual.size()) +
         (actual.size() == 1 ? " element" : " elements") +
         (places.size() == 1 ? " differs" : " differ") + "; first at [" +
         std::to_string(places.at(0)) + "]: got ";
}

template <class T>
class Checker : public ::testing::Test {
 protected:
  /// Calls `body(right, seed)` for results of every size and seed.
  template <class Body>
  void for_many(Body body) {
    for (const std::size_t n : kSizes)
      for (const std::uint64_t seed : kSeeds) {
        SCOPED_TRACE(std::to_string(n) + " elements, seed " + std::to_string(seed));
        body(random_values<T>(n, 1000 * seed + n), seed);
        if (this->HasFailure()) return;
      }
  }
};
using value_types = ::testing::Types<float, double, int, unsigned, std::uint8_t, std::uint64_t>;
TYPED_TEST_SUITE(Checker, value_types);

TYPED_TEST(Checker, ExactlyTakesWhatIsRightAndRefusesTheRest) {
  this->for_many([](const std::vector<TypeParam>& right, std::uint64_t seed) {
    EXPECT_TRUE(matches(lab::compare_exact(std::vector(right), right)));
    for (const auto& [how, values] : wrong_results_of(right, seed)) {
      const comparison result = lab::compare_exact(values, right);
      ASSERT_FALSE(result.ok) << how;
      ASSERT_TRUE(result.message.starts_with(beginning(values, right)))
          << how << ": " << result.message << "\nexpected: " << beginning(values, right);
    }
  });
}

TYPED_TEST(Checker, WithToleranceTakesWhatIsNearAndRefusesTheRest) {
  this->for_many([](const std::vector<TypeParam>& right, std::uint64_t seed) {
    const std::vector<double> expected(right.begin(), right.end());
    std::vector<double> near = expected;
    lab::random_source source(seed);
    for (double& value : near) value += source.real(-0.24F, 0.24F);
    EXPECT_TRUE(matches(lab::compare(near, expected, {.absolute = 0.25})));
    EXPECT_TRUE(matches(lab::compare(near, expected, {.relative = 0.25})));
    EXPECT_TRUE(matches(lab::compare(right, expected, {})));
    for (const auto& [how, values] : wrong_results_of(right, seed)) {
      const comparison result = lab::compare(values, expected, {.absolute = 0.5});
      ASSERT_FALSE(result.ok) << how;
      ASSERT_TRUE(result.message.starts_with(beginning(values, right)))
          << how << ": " << result.message << "\nexpected: " << beginning(values, right);
      // In proportion: 1 of 1000 at most, so no whole number passes for its neighbour.
      ASSERT_FALSE(lab::compare(values, expected, {.relative = 0.0009}).ok) << how;
    }
  });
}

TYPED_TEST(Checker, OfOneNumberRefusesEveryWrongOne) {
  this->for_many([](const std::vector<TypeParam>& right, std::uint64_t seed) {
    const auto expected = static_cast<double>(right[0]);
    EXPECT_TRUE(matches(lab::compare(expected + 0.24, expected, {.absolute = 0.25})));
    for (const auto& [how, values] : wrong_results_of(std::vector{right[0]}, seed)) {
      if (values.size() != 1) continue;
      const comparison result =
          lab::compare(static_cast<double>(values[0]), expected, {.absolute = 0.5});
      ASSERT_FALSE(result.ok) << how;
      ASSERT_TRUE(result.message.starts_with("got ")) << result.message;
    }
  });
}

/// What is in `values` more often than in `others`, counted by crossing off.
template <class T>
std::vector<std::size_t> places_of_surplus(const std::vector<T>& values, std::vector<T> others) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto found = std::ranges::find_if(
        others, [&](const T& other) { return std::memcmp(&other, &values[i], sizeof(T)) == 0; });
    if (found == others.end())
      places.push_back(i);
    else
      others.erase(found);
  }
  return places;
}

template <class T>
std::vector<T> shuffled(std::vector<T> values, std::uint64_t seed) {
  lab::random_source source(seed);
  for (std::size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[source.bits() % i]);
  return values;
}

TYPED_TEST(Checker, OfMultisetsTakesEveryOrderAndRefusesOtherValues) {
  this->for_many([](const std::vector<TypeParam>& right, std::uint64_t seed) {
    EXPECT_TRUE(matches(lab::compare_multiset(right, right)));
    EXPECT_TRUE(matches(lab::compare_multiset(shuffled(right, seed), right)));
    for (const auto& [how, values] : wrong_results_of(right, seed)) {
      const comparison result = lab::compare_multiset(values, right);
      if (values.size() != right.size()) {
        ASSERT_FALSE(result.ok) << how;
        ASSERT_TRUE(result.message.starts_with(beginning(values, right))) << result.message;
        continue;
      }
      const auto places = places_of_surplus(values, right);
      ASSERT_EQ(result.ok, places.empty()) << how << ": " << result.message;
      if (places.empty()) continue;  // only the order is another
      const std::string begin =
          std::to_string(places.size()) + " of " + std::to_string(values.size()) +
          (values.size() == 1 ? " element" : " elements") + (places.size() == 1 ? " does" : " do") +
          " not belong there; first at [" + std::to_string(places[0]) + "]: got ";
      ASSERT_TRUE(result.message.starts_with(begin)) << how << ": " << result.message;
    }
  });
}

TYPED_TEST(Checker, OfSortsTakesTheSortedAndRefusesTheRest) {
  this->for_many([](const std::vector<TypeParam>& input, std::uint64_t seed) {
    std::vector<TypeParam> up = input;
    std::ranges::sort(up);
    std::vector<TypeParam> down(up.rbegin(), up.rend());
    EXPECT_TRUE(matches(lab::compare_sorted(up, input)));
    EXPECT_TRUE(matches(lab::compare_sorted(down, input, direction::descending)));
    if (up != down) {
      EXPECT_FALSE(lab::compare_sorted(down, input).ok);
      EXPECT_FALSE(lab::compare_sorted(up, input, direction::descending).ok);
    }
    for (const auto& [how, values] : wrong_results_of(up, seed)) {
      const comparison result = lab::compare_sorted(values, input);
      ASSERT_FALSE(result.ok) << how;
      if (values.size() != up.size()) {
        ASSERT_TRUE(result.message.starts_with(beginning(values, up))) << result.message;
        continue;
      }
      std::vector<std::size_t> places;
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != values[i] || (i > 0 && !(values[i - 1] <= values[i]))) places.push_back(i);
      if (places.empty()) {
        ASSERT_TRUE(result.message.starts_with("in order, but ")) << how << ": " << result.message;
        continue;
      }
      const std::string begin =
          std::to_string(places.size()) + " of " + std::to_string(values.size()) +
          (values.size() == 1 ? " element" : " elements") + (places.size() == 1 ? " is" : " are") +
          " out of order; first at [" + std::to_string(places[0]) + "]: ";
      ASSERT_TRUE(result.message.starts_with(begin)) << how << ": " << result.message;
    }
    for (const auto& [how, values] : wrong_results_of(down, seed))
      ASSERT_FALSE(lab::compare_sorted(values, input, direction::descending).ok) << how;
  });
}

// --- pictures ------------------------------------------------------------------------------------

lab::bitmap random_picture(int width, int height, std::uint64_t seed) {
  lab::bitmap picture(width, height);
  const auto bytes = lab::random_bytes(picture.pixels().size() * sizeof(lab::rgba), seed);
  std::memcpy(picture.pixels().data(), bytes.data(), bytes.size());
  return picture;
}

TEST(PictureChecker, TakesWhatIsRightAndRefusesTheRest) {
  struct extent {
    int width, height;
  };
  for (const extent size : {extent{2, 1}, {1, 2}, {3, 5}, {5, 3}, {16, 16}, {17, 33}, {31, 2}}) {
    for (const std::uint64_t seed : kSeeds) {
      SCOPED_TRACE(std::to_string(size.width) + " x " + std::to_string(size.height) + ", seed " +
                   std::to_string(seed));
      const lab::bitmap right = random_picture(size.width, size.height, seed);
      EXPECT_TRUE(matches(lab::compare_exact(lab::bitmap(right), right)));

      lab::random_source source(seed);
      const auto refuses = [&](const std::string& how, const lab::bitmap& picture) {
        std::size_t count = 0;
        std::string first;
        for (int y = 0; y < size.height; ++y)
          for (int x = 0; x < size.width; ++x)
            if (!(picture.at(x, y) == right.at(x, y)) && count++ == 0)
              first = "first at x = " + std::to_string(x) + ", y = " + std::to_string(y) + ": ";
        if (count == 0) return;  // symmetric by chance
        const comparison result = lab::compare_exact(picture, right);
        EXPECT_FALSE(result.ok) << how;
        EXPECT_TRUE(result.message.starts_with(std::to_string(count) + " of ")) << result.message;
        EXPECT_NE(result.message.find(first), std::string::npos) << result.message;
      };
      const auto refuses_edit = [&](const std::string& how, auto edit) {
        lab::bitmap picture = right;
        edit(picture);
        refuses(how, picture);
      };
      refuses("black", lab::bitmap(size.width, size.height));
      refuses("stale", random_picture(size.width, size.height, seed + 50));
      refuses_edit("never written", [](lab::bitmap& picture) {
        std::ranges::fill(picture.pixels(), lab::rgba{255, 255, 255, 255});
      });
      refuses_edit("upside down", [](lab::bitmap& picture) {
        for (int y = 0; y < picture.height() / 2; ++y)
          for (int x = 0; x < picture.width(); ++x)
            std::swap(picture.at(x, y), picture.at(x, picture.height() - 1 - y));
      });
      refuses_edit("mirrored", [](lab::bitmap& picture) {
        for (int y = 0; y < picture.height(); ++y)
          for (int x = 0; x < picture.width() / 2; ++x)
            std::swap(picture.at(x, y), picture.at(picture.width() - 1 - x, y));
      });
      refuses_edit("shifted", [](lab::bitmap& picture) {
        std::rotate(picture.pixels().begin(), picture.pixels().begin() + 1, picture.pixels().end());
      });
      refuses_edit("red and blue swapped", [](lab::bitmap& picture) {
        for (lab::rgba& pixel : picture.pixels()) std::swap(pixel.r, pixel.b);
      });
      for (std::uint8_t lab::rgba::*channel :
           {&lab::rgba::r, &lab::rgba::g, &lab::rgba::b, &lab::rgba::a})
        refuses_edit("one channel off by one", [&](lab::bitmap& picture) {
          lab::rgba& pixel =
              picture.at(source.integer(0, size.width - 1), source.integer(0, size.height - 1));
          pixel.*channel ^= 1;
        });

      EXPECT_FALSE(lab::compare_exact(random_picture(size.width, size.height + 1, seed), right).ok);
      EXPECT_FALSE(lab::compare_exact(random_picture(size.width + 1, size.height, seed), right).ok);
      if (size.width != size.height) {  // as many pixels, in other rows
        EXPECT_FALSE(lab::compare_exact(random_picture(size.height, size.width, seed), right).ok);
      }
    }
  }
}

// --- the sentences of lab/sorting.hpp -----------------------------------------------------------

TEST(CompareMultiset, SaysWhatIsTooManyAndWhatIsMissing) {
  lab::detail::new_memory_byte = 0xFF;  // -1 then looks as if nobody had written it
  using ints = std::vector<int>;
  EXPECT_EQ(lab::compare_multiset(ints{3, 1, 2}, ints{1, 2, 3}).message, "all 3 elements match");
  EXPECT_EQ(lab::compare_multiset(ints{3, 1, 1}, ints{1, 2, 3}).message,
            "1 of 3 elements does not belong there; first at [2]: got 1; missing: 2");
  EXPECT_EQ(lab::compare_multiset(ints{-1, 9, 2}, ints{1, 2, 3}).message,
            "2 of 3 elements do not belong there; first at [0]: got -1 (never written?); missing: "
            "1");
  EXPECT_EQ(lab::compare_multiset(ints{1}, ints{1, 1}).message, "got 1 element, expected 2");
  EXPECT_TRUE(lab::compare_multiset(ints{}, ints{}).ok);
}

TEST(CompareMultiset, TellsValuesApartByTheirBytes) {
  using floats = std::vector<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(lab::compare_multiset(floats{nan, 1}, floats{1, nan}).ok);
  EXPECT_FALSE(lab::compare_multiset(floats{-0.0F}, floats{0.0F}).ok);
}

TEST(CompareMultiset, TakesTheCallersWords) {
  const std::vector<int> actual{7}, expected{8};
  const auto words = [](int number) { return "number " + std::to_string(number); };
  EXPECT_EQ(lab::compare_multiset(actual, expected, words).message,
            "1 of 1 element does not belong there; first at [0]: got number 7; missing: number 8");
}

TEST(CompareSorted, SaysWhereTheOrderBreaks) {
  using ints = std::vector<int>;
  const ints input{4, 1, 3, 1};
  EXPECT_EQ(lab::compare_sorted(ints{1, 1, 3, 4}, input).message, "all 4 elements match");
  EXPECT_EQ(lab::compare_sorted(input, input).message,
            "2 of 4 elements are out of order; first at [1]: 1 behind 4");
  EXPECT_EQ(lab::compare_sorted(ints{0, 0, 0, 0}, input).message,
            "in order, but 4 of 4 elements do not belong there; first at [0]: got 0; missing: 4");
  EXPECT_EQ(lab::compare_sorted(ints{1, 1, 3, 3}, input).message,
            "in order, but 1 of 4 elements does not belong there; first at [3]: got 3; missing: 4");
  EXPECT_TRUE(lab::compare_sorted(ints{}, ints{}).ok);
}

TEST(CompareSorted, FindsNoPlaceForNan) {
  using floats = std::vector<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(lab::compare_sorted(floats{nan}, floats{nan}).message,
            "1 of 1 element is out of order; first at [0]: nan");
  EXPECT_FALSE(lab::compare_sorted(floats{1, 2, nan}, floats{nan, 1, 2}).ok);
}

TEST(CompareSorted, TakesInfinitiesAndBothZeros) {
  using floats = std::vector<float>;
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(
      lab::compare_sorted(floats{-inf, 0.0F, -0.0F, inf}, floats{0.0F, inf, -inf, -0.0F}).ok);
  EXPECT_FALSE(lab::compare_sorted(floats{0.0F, 0.0F}, floats{0.0F, -0.0F}).ok);
}

}  // namespace
