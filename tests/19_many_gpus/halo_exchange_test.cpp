// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "halo_exchange.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::halo_exchange::kDefaultHeight;
using lab::halo_exchange::kDefaultSteps;
using lab::halo_exchange::kDefaultWidth;
using lab::halo_exchange::kHottest;
using lab::halo_exchange::kLongestSide;
using lab::halo_exchange::kMostRows;
using lab::halo_exchange::reference;
using lab::halo_exchange::simulate;
using lab::halo_exchange::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::current_device;
using lab::testing::disable_access_between;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::timed;
using lab::testing::work_of;
using floats = std::vector<float>;
#ifdef __CPU_DEVICE__
using cpu_device::stream_policy;

const lab::testing::setting kEight("CPU_DEVICE_COUNT", "8",
                                   lab::testing::setting::when::unless_given);
#endif

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::exchange_first, "exchange_first"},
                                 {step::overlapped, "overlapped"},
                                 {step::wide_halo, "wide_halo"}};

/// What is simulated; the steps of the contract are what varies.
struct scene {
  int width, height;
  floats initial, heaters;
};
scene random_scene(int width, int height, std::uint64_t seed) {
  const auto count = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  scene s{width, height, lab::random_floats(count, seed, -3, 5), floats(count)};
  const floats temperatures = lab::random_floats(count, seed + 1, -9, 9);
  for (std::size_t i = seed % 7; i < count; i += 7) s.heaters[i] = temperatures[i];
  return s;
}

floats cells_after(step version, int devices, const scene& s, int steps, int depth) {
  return simulate(version, devices, s.width, s.height, s.initial, s.heaters, steps, depth).cells;
}

::testing::AssertionResult is_right(step version, int devices, const scene& s, int steps,
                                    int depth = 3) {
  return matches(lab::compare_exact(cells_after(version, devices, s, steps, depth),
                                    reference(s.width, s.height, s.initial, s.heaters, steps)))
         << " on " << devices << " devices, " << s.width << " x " << s.height << " cells, " << steps
         << " time steps, halo of " << depth << " rows";
}

// --- who does the work ---------------------------------------------------------------------------

/// The calls by which the host waits, may poll until something has finished, or allocates memory,
/// between the first launch and the last.
[[maybe_unused]] std::string waits_between_launches(const std::vector<std::string>& calls) {
  std::string since, waits;
  bool launched = false;
  for (const std::string& call : calls)
    if (call == "cudaLaunchKernel") {
      if (!waits.ends_with(since)) waits += since;
      since.clear();
      launched = true;
    } else if (launched &&
               (call.ends_with("Synchronize") || call.ends_with("Query") || call == "cudaMemcpy" ||
                call == "cudaMalloc" || call == "cudaMemcpy to the host")) {
      if (!since.ends_with(call + " ")) since += call + " ";
    }
  return waits;
}

REQUIRED_WORK(RowsAtTheBordersTravelAndEachDeviceComputesItsOwn) {
  const scene s = random_scene(70, 41, 1);
  constexpr std::size_t kTimeSteps = 8, kDepth = 3, kRounds = 3;
  const auto devices = static_cast<std::size_t>(std::min(lab::device_count(), 4));
  const std::size_t row = 70 * sizeof(float), borders = 2 * (devices - 1);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of([&, version = version] {
      return is_right(version, static_cast<int>(devices), s, kTimeSteps, kDepth);
    });
    const std::size_t cells = bytes_of(s.initial);
    EXPECT_TRUE(as_required(done, {.threads = s.initial.size() / devices / 8,
                                   .kernels = devices * kTimeSteps,
                                   .sent = 2 * cells,
                                   .fetched = cells,
                                   .streams = devices,
                                   .devices = devices,
                                   .calls = {"cudaMemcpyPeerAsync"},
                                   .reads = kTimeSteps * cells,
                                   .writes = kTimeSteps * cells}))
        << name;
    if (done.values && !*done.values) continue;  // said
    EXPECT_EQ(waits_between_launches(done.sequence), "")
        << name << ": the host waits only at the end";
    EXPECT_LE(done.kernels.size(), 3 * devices * kTimeSteps)
        << name << ": launches; a kernel computes many rows";
    const std::size_t least = kTimeSteps * row;
    EXPECT_GE(done.bytes_copied(cudaMemcpyDeviceToDevice), borders * least) << name;
    EXPECT_LE(done.bytes_copied(cudaMemcpyDeviceToDevice), borders * (least + row))
        << name << ": more than the border rows is copied";
    const std::size_t exchanges = version == step::wide_halo ? kRounds : kTimeSteps;
    const std::size_t most = version == step::wide_halo ? kRounds : kTimeSteps + 1;
    EXPECT_GE(done.calls.at("cudaMemcpyPeerAsync"), borders * exchanges) << name;
    EXPECT_LE(done.calls.at("cudaMemcpyPeerAsync"), borders * most)
        << name << ": more exchanges than time steps, or than rounds of them";
    EXPECT_LE(done.bytes_copied(cudaMemcpyHostToDevice), 2 * cells + borders * kDepth * row)
        << name << ": a device got more than its part";
    if (done.watched) {
      // In rounds of 3, 3 and 2 time steps a part computes 2 + 1 rows of each of its halos, twice,
      // and then 1, or 2 + 1 if the last halo has 3 rows as well.
      const bool whole_halos = done.bytes_copied(cudaMemcpyDeviceToDevice) > borders * least;
      const std::size_t of_halos =
          version == step::wide_halo ? borders * (whole_halos ? 9 : 7) * row : 0;
      std::size_t writes = 0;
      for (const auto& kernel : done.kernels) writes += kernel.writes;
      EXPECT_LE(writes, kTimeSteps * cells + of_halos)
          << name << ": rows are computed that no device needs";
    }
    if (version != step::overlapped) continue;
    // Rows travel in one stream of each device, and most cells are computed in another.
    std::set<const void*> copying;
    for (const auto& copy : done.copies)
      if (copy.kind == cudaMemcpyDeviceToDevice) copying.insert(copy.stream);
    std::map<int, std::uint64_t> blocks, free_blocks;
    for (const auto& kernel : done.kernels) {
      blocks[kernel.device] += kernel.blocks;
      if (!copying.contains(kernel.stream)) free_blocks[kernel.device] += kernel.blocks;
    }
    for (const auto& [device, all] : blocks)
      EXPECT_GE(2 * free_blocks[device], all)
          << name << ": on device " << device << " most cells wait for the copies";
  }
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(lab::testing::at_other_sizes([version = version](int n) {
      return is_right(version, std::min(2, lab::device_count()), random_scene(n, n, 1), 2);
    })) << name;
}

REQUIRED_WORK(AsManyDevicesAsHaveRows) {
  // A row for each of them, and one more; then also one device too many.
  const int devices = std::min(lab::device_count(), 4);
  for (const auto& [version, name] : kSteps)
    for (const int rows : {devices - 1, devices, devices + 1}) {
      if (rows < 1) continue;
      const auto busy = static_cast<std::size_t>(std::min(devices, rows));
      const auto done = work_of([&, version = version] {
        return is_right(version, devices, random_scene(70, rows, 2), 2);
      });
      EXPECT_TRUE(as_required(done, {.threads = 70, .kernels = 2 * busy, .devices = busy}))
          << name << ": a plate of " << rows << " rows";
    }
}

REQUIRED_WORK(AStreamForTheInnerRowsOfEachDevice) {
  // Of a single device too, and of parts with few inner rows: 39, one, two, and six.
  for (const int devices : {1, std::min(lab::device_count(), 3)})
    for (const int rows : {41, 3, 4, 8}) {
      const auto all = static_cast<std::size_t>(devices);
      const scene s = random_scene(70, devices * rows, 1);
      EXPECT_TRUE(
          as_required(work_of([&] { return is_right(step::overlapped, devices, s, 3); }),
                      {.threads = 70, .kernels = 6 * all, .streams = 2 * all, .devices = all}))
          << "overlapped: " << rows << " rows for each device";
    }
}

REQUIRED_WORK(NoWaitsInManyTimeSteps) {
  // A host that waits only now and then, so that launches do not pile up, waits, too.
  constexpr int kMany = 700;
  const auto devices = static_cast<std::size_t>(std::min(lab::device_count(), 2));
  const scene s = random_scene(5, 8, 4);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of(
        [&, version = version] { return is_right(version, static_cast<int>(devices), s, kMany); });
    EXPECT_TRUE(as_required(done, {.kernels = devices * kMany, .devices = devices})) << name;
    EXPECT_EQ(waits_between_launches(done.sequence), "")
        << name << ": the host waits only at the end of " << kMany << " time steps";
  }
}

REQUIRED_WORK(AnExchangeForEveryDepthTimeSteps) {
  const auto devices = static_cast<std::size_t>(std::min(lab::device_count(), 2));
  const scene s = random_scene(5, 2 * kMostRows, 3);
  struct rounds {
    int steps, depth;
    std::size_t exchanges;
  };
  for (const auto& [steps, depth, exchanges] :
       {rounds{5, 2, 3}, {20, 20, 1}, {5, 30, 1}, {kMostRows + 1, kMostRows, 2}}) {
    const auto done = work_of([&, steps = steps, depth = depth] {
      return is_right(step::wide_halo, static_cast<int>(devices), s, steps, depth);
    });
    EXPECT_TRUE(as_required(done, {.kernels = devices, .devices = devices})) << "wide_halo";
    if (devices < 2 || (done.values && !*done.values)) continue;
    EXPECT_EQ(done.calls.at("cudaMemcpyPeerAsync"), 2 * exchanges)
        << "wide_halo: " << steps << " time steps with a halo of " << depth << " rows";
  }
}

#ifdef __CPU_DEVICE__

/// Whether new rows of a device are sent before it has computed any inner rows, whichever stream
/// they are sent in. The stream with the most blocks is that of the inner rows.
bool sends_before_the_inner_rows(const lab::testing::work& done) {
  std::map<int, std::map<const void*, std::uint64_t>> blocks;  // of each device, by stream
  for (const auto& kernel : done.kernels) blocks[kernel.device][kernel.stream] += kernel.blocks;
  std::map<int, int> copies;  // from each device, so far
  for (const auto& copy : done.copies) {
    if (copy.kind != cudaMemcpyDeviceToDevice || ++copies[copy.from_device] != 2) continue;
    const auto inner = std::ranges::max_element(blocks[copy.from_device], {},
                                                [](const auto& stream) { return stream.second; });
    std::size_t inner_rows = 0, others = 0;
    for (std::size_t i = 0; i < copy.kernels; ++i)
      if (done.kernels[i].device == copy.from_device)
        ++(done.kernels[i].stream == inner->first ? inner_rows : others);
    if (others > 0 && inner_rows == 0) return true;
  }
  return false;
}

REQUIRED_WORK(RowsTravelBeforeTheInnerRowsAreComputed) {
  // Rows may travel in any stream. In one of these orders, that one comes before the inner rows.
  if (lab::device_count() < 2) return;
  const scene s = random_scene(70, 41, 1);
  bool overlaps = false;
  for (const auto order :
       {stream_policy::oldest_first, stream_policy::newest_first, stream_policy::deferred}) {
    cpu_device::set_stream_policy(order);
    const auto done = work_of([&] { return is_right(step::overlapped, 2, s, 3); });
    cpu_device::set_stream_policy(stream_policy::eager);
    EXPECT_TRUE(as_required(done, {.kernels = 6, .devices = 2})) << "overlapped";
    overlaps = overlaps || sends_before_the_inner_rows(done);
  }
  EXPECT_TRUE(overlaps) << "overlapped: rows are sent after all others were computed";
}

#endif

// --- the temperatures ----------------------------------------------------------------------------

using Heights = lab::testing::each_step_and<named_step, int>;

// Fewer rows than devices, as many, one more; two and three rows for each; uneven ones; a prime.
INSTANTIATE_TEST_SUITE_P(Steps, Heights,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17,
                                                              23, 24, 25, 31, 53)),
                         lab::testing::by_step_and{"_rows"});

TEST_P(Heights, GiveTheSameBitsOnAnyNumberOfDevices) {
  const auto& [version, height] = GetParam();
  const scene s = random_scene(5, height, static_cast<std::uint64_t>(height));
  for (int devices = 1; devices <= lab::device_count(); ++devices)
    for (const int steps : {1, 2, 5}) EXPECT_TRUE(is_right(version.value, devices, s, steps));
}

class EachStep : public lab::testing::each_step<named_step> {};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, GivesTheSameBitsForAnyWidth) {
  for (const int width : {1, 2, 31, 32, 33, 63, 64, 65, 127, 129, 257})
    EXPECT_TRUE(is_right(version(), lab::device_count(), random_scene(width, 19, 3), 4));
}

TEST_P(EachStep, GivesTheSameBitsForAnyHaloAndAnyNumberOfTimeSteps) {
  const scene s = random_scene(6, 43, 4);
  for (const int depth : {1, 2, 3, 4, 5, 6, 13, kMostRows})
    for (const int steps : {0, 1, 2, 3, 4, 5, 6, 7, 12, 13})
      for (const int devices : {1, 2, 3, 8})
        if (devices <= lab::device_count()) {
          EXPECT_TRUE(is_right(version(), devices, s, steps, depth));
        }
}

TEST_P(EachStep, CarriesHeatAcrossAllDevices) {
  // A single hot cell in a corner. What reaches the other end has crossed every border.
  scene s{3, 24, floats(72), floats(72)};
  s.heaters[0] = 1e6F;
  EXPECT_TRUE(is_right(version(), lab::device_count(), s, 40));
  EXPECT_GT(cells_after(version(), lab::device_count(), s, 40, 2).back(), 0.0F);
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  EXPECT_TRUE(is_right(version(), lab::device_count(), random_scene(9, 30, 1), 3));
  EXPECT_TRUE(is_right(version(), lab::device_count(), random_scene(9, 30, 2), 3));
}

TEST_P(EachStep, GivesTheSameBitsAtTheProgramsSize) {
  expect_at_full_size([&] {
    const scene s = random_scene(kDefaultWidth, kDefaultHeight, 1);
    return is_right(version(), lab::device_count(), s, kDefaultSteps);
  });
}

TEST_P(EachStep, ComputesMoreRowsThanAGridHasBlocks) {
  expect_at_full_size([&] {
    const scene s = random_scene(1, kLongestSide, 1);
    return is_right(version(), std::min(2, lab::device_count()), s, 2);
  });
}

TEST_P(EachStep, SaysHowLongItTook) {
  const scene s = random_scene(64, 64, 1);
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return simulate(version(), 1, 64, 64, s.initial, s.heaters, 10, 2).total_ms;
  }));
}

TEST_P(EachStep, RefusesWhatCannotBeSimulated) {
  const floats six(6, 1.0F), five(5, 1.0F);
  const auto run = [&](int devices, int width, int height, const floats& initial,
                       const floats& heaters, int steps, int depth) {
    simulate(version(), devices, width, height, initial, heaters, steps, depth);
  };
  using lab::invalid_input;
  EXPECT_THROW(run(0, 2, 3, six, six, 0, 1), invalid_input) << "no time steps, no devices either";
  EXPECT_THROW(run(1, 2, 3, five, six, 0, 1), invalid_input) << "no time steps";
  EXPECT_THROW(run(0, 2, 3, six, six, 1, 1), invalid_input);
  EXPECT_THROW(run(-1, 2, 3, six, six, 1, 1), invalid_input);
  EXPECT_THROW(run(lab::device_count() + 1, 2, 3, six, six, 1, 1), invalid_input);
  EXPECT_THROW(run(1, 0, 3, {}, {}, 1, 1), invalid_input);
  EXPECT_THROW(run(1, 2, 0, {}, {}, 1, 1), invalid_input);
  EXPECT_THROW(run(1, -2, -3, six, six, 1, 1), invalid_input);
  EXPECT_THROW(
      run(1, kLongestSide + 1, 1, floats(kLongestSide + 1), floats(kLongestSide + 1), 1, 1),
      invalid_input);
  EXPECT_THROW(
      run(1, 1, kLongestSide + 1, floats(kLongestSide + 1), floats(kLongestSide + 1), 1, 1),
      invalid_input);
  EXPECT_THROW(run(1, 2, 3, five, six, 1, 1), invalid_input);
  EXPECT_THROW(run(1, 2, 3, six, five, 1, 1), invalid_input);
  EXPECT_THROW(run(1, 2, 3, six, six, -1, 1), invalid_input);
  EXPECT_THROW(run(1, 2, 3, six, six, 1, 0), invalid_input);
  EXPECT_THROW(run(1, 2, 3, six, six, 1, kMostRows + 1), invalid_input);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        std::nextafter(kHottest, 2 * kHottest), -2 * kHottest}) {
    floats cells = six;
    cells[5] = bad;
    EXPECT_THROW(run(1, 2, 3, cells, six, 1, 1), invalid_input) << bad;
    EXPECT_THROW(run(1, 2, 3, six, cells, 1, 1), invalid_input) << bad;
    cells[5] = kHottest;
    EXPECT_NO_THROW(run(1, 2, 3, cells, cells, 1, 1));
  }
  try {
    run(lab::device_count() + 1, 2, 3, six, six, 1, 1);
  } catch (const invalid_input& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("there are " + std::to_string(lab::device_count())),
              std::string::npos)
        << refusal.what();
  }
}

// --- what a call leaves as it was ----------------------------------------------------------------

TEST_P(EachStep, KeepsTheCurrentDeviceAndTheAccessBetweenDevices) {
  const scene s = random_scene(8, 20, 1);
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    EXPECT_TRUE(is_right(version(), lab::device_count(), s, 2));
    EXPECT_EQ(current_device(), device);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    if (device > 0) {
      EXPECT_NE(cudaDeviceDisablePeerAccess(device - 1), cudaSuccess) << "access was left enabled";
      (void)cudaGetLastError();
    }
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const on_device the_same(current_device());
  const scene s = random_scene(5, 7, 1);
  static const int devices = std::min(2, lab::device_count());
  expect_failures_reported(
      [&] {
        disable_access_between(devices - 1, 0);
        return cells_after(version(), devices, s, 3, 2);
      },
      s.initial, s.heaters);
  disable_access_between(devices - 1, 0);  // the last fault may have left access behind
}

#ifdef __CPU_DEVICE__

TEST(Devices, AreAsManyAsThisTestAskedFor) {
  EXPECT_EQ(lab::device_count(), std::atoi(std::getenv("CPU_DEVICE_COUNT")));
}

/// Streams of one device run as far ahead of those of another as CUDA allows.
class Late : public ::testing::TestWithParam<named_step> {
 protected:
  ~Late() override {
    cpu_device::set_stream_policy(stream_policy::eager);
    cpu_device::set_peer_group(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, Late, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(Late, RowsAreReadWhenTheyAreThereAndOverwrittenWhenTheyAreRead) {
  for (const auto policy : {stream_policy::deferred, stream_policy::interleaved,
                            stream_policy::newest_first, stream_policy::oldest_first})
    for (const int height : {8, 16, 24, 43})
      for (const int devices : {2, 3, 8}) {
        if (devices > lab::device_count()) continue;
        cpu_device::set_stream_policy(policy);
        for (const int depth : {1, 2, 3, 5})
          EXPECT_TRUE(is_right(GetParam().value, devices, random_scene(4, height, 5), 11, depth));
      }
}

TEST_P(Late, DevicesNeedNoAccessToEachOther) {
  for (const unsigned group : {1U, 2U}) {
    cpu_device::set_peer_group(group);
    EXPECT_TRUE(is_right(GetParam().value, lab::device_count(), random_scene(9, 40, 6), 5));
  }
}

#endif

}  // namespace
