// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "peer_copies.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>

#include "faults.hpp"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
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

using lab::peer_copies::expected_route;
using lab::peer_copies::kDefaultSize;
using lab::peer_copies::kMostCopies;
using lab::peer_copies::route;
using lab::peer_copies::send;
using lab::peer_copies::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::current_device;
using lab::testing::disable_access_between;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::on_device;
using lab::testing::work_of;
using ints = std::vector<int>;
#ifdef __CPU_DEVICE__
using cpu_device::stream_policy;
#endif

#ifdef __CPU_DEVICE__
const lab::testing::setting kFourDevices("CPU_DEVICE_COUNT", "4",
                                         lab::testing::setting::when::unless_given);
#endif

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::through_host, "through_host"},
                                 {step::in_pieces, "in_pieces"},
                                 {step::peer_copy, "peer_copy"},
                                 {step::peer_kernel, "peer_kernel"}};

ints words_of(std::size_t n, std::uint64_t seed) {
  return lab::random_ints(n, seed, -1'000'000'000, 1'000'000'000);
}

::testing::AssertionResult arrives(step version, int from, int to, const ints& words,
                                   int copies = 1, std::size_t piece = 100) {
  const auto sent = send(version, from, to, words, copies, piece);
  if (sent.path != expected_route(version, from, to))
    return ::testing::AssertionFailure() << "from " << from << " to " << to << ": another route";
  return matches(lab::compare_exact(sent.arrived, words)) << " from " << from << " to " << to;
}

/// A device that is another one than device 0, if there is one.
int last_device() { return lab::device_count() - 1; }

/// Calls visit(from, to) for every pair of devices.
template <class Visit>
void for_each_pair(const Visit& visit) {
  for (int from = 0; from < lab::device_count(); ++from)
    for (int to = 0; to < lab::device_count(); ++to) visit(from, to);
}

// --- who does the work ---------------------------------------------------------------------------

/// The calls by which a host waits, or may poll until something has finished, between the first and
/// the last asynchronous copy, or the first and the last launch.
[[maybe_unused]] std::string waits_between(const std::vector<std::string>& calls,
                                           const std::string& begin) {
  std::string since, waits;
  bool begun = false;
  for (const std::string& call : calls)
    if (call.starts_with(begin)) {
      if (!waits.ends_with(since)) waits += since;
      since.clear();
      begun = true;
    } else if (begun && (call.ends_with("Synchronize") || call.ends_with("Query") ||
                         call == "cudaMemcpy to the host")) {
      if (!since.ends_with(call + " ")) since += call + " ";
    }
  return waits;
}

/// Whether the copies from the source are all in one stream, and those to the target in another.
[[maybe_unused]] ::testing::AssertionResult has_a_stream_for_each_direction(
    const lab::testing::work& done) {
  std::map<int, std::set<const void*>> streams;  // of each direction
  for (const auto& copy : done.copies)
    if (copy.stream != nullptr) streams[copy.kind].insert(copy.stream);
  const auto& out = streams[cudaMemcpyDeviceToHost];
  const auto& in = streams[cudaMemcpyHostToDevice];
  if (out.size() == 1 && in.size() == 1 && out != in) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "there is no stream for each direction: copies to the host are in " << out.size()
         << " of them, copies from the host in " << in.size()
         << (out == in ? ", and they are the same" : "");
}

/// So many words, in pieces of so many.
[[maybe_unused]] void expect_copies_or_kernels(std::size_t count, std::size_t piece) {
  const ints words = words_of(count, 1);
  constexpr std::size_t kCopies = 3;
  const std::size_t all = kCopies * bytes_of(words), pieces = (count + piece - 1) / piece;
  for (const auto& [version, name] : kSteps)
    for (const auto& [from, to] : {std::pair{0, last_device()}, {last_device(), 0}, {0, 0}}) {
      const auto done = work_of([&, version = version, from = from, to = to] {
        return arrives(version, from, to, words, kCopies, piece);
      });
      const bool by_kernel = version == step::peer_kernel, in_pieces = version == step::in_pieces;
      lab::testing::required expected{
          .kernels = 0, .sent = bytes_of(words), .fetched = bytes_of(words)};
      if (by_kernel)
        expected = {.threads = count < 1000 ? (count + 3) / 4 : count / 32,
                    .blocks = count < 10'000 ? 1U : 2U,
                    .kernels = kCopies,
                    .sent = bytes_of(words),
                    .fetched = bytes_of(words),
                    .reads = all,
                    .writes = all};
      if (version == step::peer_copy) expected.calls = {"cudaMemcpyPeerAsync"};
      if (version == step::through_host || in_pieces) expected.calls = {"cudaMemcpyAsync"};
      EXPECT_TRUE(as_required(done, expected)) << name << ": " << count << " words";
      if (done.values && !*done.values) continue;  // said
      EXPECT_EQ(done.bytes_copied(cudaMemcpyDeviceToDevice), version == step::peer_copy ? all : 0)
          << name << ": bytes copied between devices";
      const bool over_host = version == step::through_host || in_pieces;
      for (const auto kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost}) {
        EXPECT_EQ(done.bytes_copied(kind), bytes_of(words) + (over_host ? all : 0))
            << name << ": bytes copied from or to the host";
        if (!over_host) continue;
        std::size_t copies = 0;
        for (const auto& copy : done.copies)
          if (copy.kind == kind && copy.stream != nullptr) ++copies;
        EXPECT_EQ(copies, kCopies * (in_pieces ? pieces : 1)) << name;
      }
      if (in_pieces) {
        EXPECT_TRUE(has_a_stream_for_each_direction(done)) << name;
      }
      if (version == step::peer_copy) {
        EXPECT_EQ(done.calls.at("cudaMemcpyPeerAsync"), kCopies) << name;
      }
      if (by_kernel) {
        EXPECT_EQ(done.kernels.size(), kCopies) << name;
        for (const auto& kernel : done.kernels) EXPECT_EQ(kernel.device, to) << name;
      } else {
        EXPECT_TRUE(done.kernels.empty())
            << name << ": this step makes copies, and launches no kernels";
      }
      EXPECT_EQ(waits_between(done.sequence, by_kernel                    ? "cudaLaunchKernel"
                                             : version == step::peer_copy ? "cudaMemcpyPeerAsync"
                                                                          : "cudaMemcpyAsync"),
                "")
          << name << ": the host need not wait between copies";
    }
}

REQUIRED_WORK(CopiesOrKernelsAsTheContractHasThem) {
  expect_copies_or_kernels(1, 100);
  expect_copies_or_kernels(40, 7);
  expect_copies_or_kernels(5003, 1000);
  expect_copies_or_kernels(20'011, 1000);
}

REQUIRED_WORK(AccessIsEnabledWhereTheWordsGoDirectly) {
  const ints words = words_of(1000, 6);
  for (const auto& [version, name] : kSteps) {
    const bool over_host = version == step::through_host || version == step::in_pieces;
    for (const auto& [from, to] : {std::pair{0, last_device()}, {last_device(), 0}}) {
      if (over_host || expected_route(version, from, to) != route::direct) continue;
      // Without access CUDA copies the words through the host, without an error.
      lab::testing::required expected{.kernels = version == step::peer_kernel ? 1U : 0U,
                                      .calls = {"cudaDeviceEnablePeerAccess"}};
      EXPECT_TRUE(as_required(work_of([&, version = version, from = from, to = to] {
                                return arrives(version, from, to, words);
                              }),
                              expected))
          << name;
    }
  }
}

REQUIRED_WORK(EachPieceIsCopiedOnceInEachDirection) {
  const ints words = words_of(1000, 4);
  for (const auto& [piece, pieces] : {std::pair<std::size_t, std::ptrdiff_t>{1, 1000},
                                      {333, 4},
                                      {500, 2},
                                      {999, 2},
                                      {1000, 1},
                                      {~std::size_t{0}, 1}}) {
    const auto done = work_of(
        [&, piece = piece] { return arrives(step::in_pieces, 0, last_device(), words, 1, piece); });
    EXPECT_TRUE(as_required(done, {.kernels = 0, .calls = {"cudaMemcpyAsync"}})) << "in_pieces";
    if (done.values && !*done.values) continue;  // said
    EXPECT_EQ(done.calls.at("cudaMemcpyAsync"), 2 * static_cast<std::uint64_t>(pieces))
        << "in_pieces: copies, those of nothing among them, of 1000 words in pieces of " << piece;
    for (const auto kind : {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost})
      EXPECT_EQ(std::ranges::count_if(
                    done.copies,
                    [&](const auto& copy) { return copy.kind == kind && copy.stream != nullptr; }),
                pieces)
          << "in_pieces: copies in one direction, of 1000 words in pieces of " << piece;
    EXPECT_TRUE(has_a_stream_for_each_direction(done))
        << "in_pieces: 1000 words in pieces of " << piece;
  }
}

#ifdef __CPU_DEVICE__

REQUIRED_WORK(WithoutAccessCUDAFindsTheWayOfACopyAndPiecesAreThatOfAKernel) {
  const ints words = words_of(1000, 5);
  constexpr unsigned kCopies = 3, kPiece = 300, kPieces = 4;
  const struct alone {
    alone() { cpu_device::set_peer_group(1); }
    ~alone() { cpu_device::set_peer_group(0); }
  } each_device;
  for (const auto& [version, name] : kSteps) {
    if (version != step::peer_copy && version != step::peer_kernel) continue;
    const auto done = work_of([&, version = version] {
      return arrives(version, 0, last_device(), words, kCopies, kPiece);
    });
    const bool in_pieces = version == step::peer_kernel;
    const std::string call = in_pieces ? "cudaMemcpyAsync" : "cudaMemcpyPeerAsync";
    EXPECT_TRUE(as_required(done, {.kernels = 0, .calls = {call}})) << name;
    if (done.values && !*done.values) continue;  // said
    EXPECT_TRUE(done.kernels.empty()) << name << ": a kernel cannot read the source";
    EXPECT_EQ(done.calls.contains(call) ? done.calls.at(call) : 0,
              in_pieces ? 2U * kCopies * kPieces : kCopies)
        << name;
    if (in_pieces) {
      EXPECT_TRUE(has_a_stream_for_each_direction(done)) << name;
    }
  }
}

REQUIRED_WORK(TheClockWaitsForTheKernels) {
  // copy_ms comes from events; they do not cover a stream that has none and that no other stream
  // waits for, such as the default stream.
  const ints words = words_of(1000, 7);
  const struct late {
    late() { cpu_device::set_stream_policy(stream_policy::deferred); }
    ~late() { cpu_device::set_stream_policy(stream_policy::eager); }
  } each_stream;
  const auto done = work_of([&] { return arrives(step::peer_kernel, 0, last_device(), words, 2); });
  EXPECT_TRUE(as_required(done, {.kernels = 2})) << "peer_kernel";
  std::set<const void*> streams;
  for (const auto& [call, stream] : done.in_streams)
    if (call.starts_with("cudaEventRecord")) streams.insert(stream);
  for (const auto& kernel : done.kernels)
    EXPECT_TRUE(streams.contains(kernel.stream)) << "peer_kernel: no event follows the kernel";
}

/// How many pieces have left the source and not arrived at the target, at most and at least, while
/// one stream runs as far ahead of the other as it may. At the end of a copy there are none.
struct pieces_on_their_way {
  int most = 0, least = 0;

  void count(const std::vector<lab::testing::recorded_work::copy>& copies) {
    int now = 0;
    for (const auto& copy : copies) {
      if (copy.stream == nullptr) continue;  // not between the devices
      now += copy.kind == cudaMemcpyDeviceToHost ? 1 : -1;
      most = std::max(most, now);
      least = std::min(least, now);
    }
  }
};

REQUIRED_WORK(NoPieceIsReadTooEarlyOrOverwrittenAndTwoAreOnTheirWay) {
  const ints words = words_of(1000, 1);
  for (const auto& [version, name] : kSteps) {
    if (version != step::through_host && version != step::in_pieces) continue;
    pieces_on_their_way pieces;
    for (const auto policy :
         {stream_policy::deferred, stream_policy::newest_first, stream_policy::oldest_first}) {
      cpu_device::set_stream_policy(policy);
      const auto done = work_of(
          [&, version = version] { return arrives(version, 0, last_device(), words, 3, 100); });
      EXPECT_TRUE(as_required(done, {.kernels = 0, .calls = {"cudaMemcpyAsync"}})) << name;
      pieces.count(done.copies);
    }
    cpu_device::set_stream_policy(stream_policy::eager);
    EXPECT_EQ(pieces.least, 0) << name << ": a piece is read before it has arrived";
    EXPECT_EQ(pieces.most, version == step::in_pieces ? 2 : 1)
        << name << ": pieces in the host's memory at the same time";
  }
}

#endif

// --- what arrives --------------------------------------------------------------------------------

using Sizes = lab::testing::each_step_and<named_step, std::size_t>;

// None, one; around a warp and a block; around one, two and three pieces of 100 words; a prime.
INSTANTIATE_TEST_SUITE_P(Steps, Sizes,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 31, 32, 33, 99, 100, 101, 199,
                                                              200, 201, 255, 256, 257, 300, 301,
                                                              399, 1021)),
                         lab::testing::by_step_and{"_n"});

TEST_P(Sizes, ArriveFromEveryDeviceAtEveryDevice) {
  const auto& [version, n] = GetParam();
  for_each_pair([&, version = version.value, n = n](int from, int to) {
    const int copies = 1 + 2 * ((from + 2 * to) % 3);  // 1, 3 or 5
    EXPECT_TRUE(arrives(version, from, to, words_of(n, n + 7), copies)) << copies << " copies";
  });
}

class EachStep : public lab::testing::each_step<named_step> {};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, CopiesPiecesOfAnySize) {
  const ints words = words_of(1000, 3);
  for (const std::size_t piece : {1, 2, 3, 333, 334, 500, 999, 1000, 1001})
    EXPECT_TRUE(arrives(version(), 0, last_device(), words, 2, piece)) << piece;
  for (const std::size_t piece : {std::size_t{1} << 32, ~std::size_t{0}})
    EXPECT_TRUE(arrives(version(), 0, last_device(), words, 2, piece)) << piece;
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  EXPECT_TRUE(arrives(version(), 0, last_device(), words_of(777, 1)));
  EXPECT_TRUE(arrives(version(), 0, last_device(), words_of(777, 2)));
}

TEST_P(EachStep, ArrivesWithManyMoreWordsThanAGridHasThreads) {
  const ints words = words_of(1'000'003, 5);
  EXPECT_TRUE(arrives(version(), last_device(), 0, words, 1, 300'000));
}

TEST_P(EachStep, ArrivesAtTheProgramsSize) {
  expect_at_full_size([&] {
    const std::size_t n = lab::on_cpu_device() ? kDefaultSize : 64 * kDefaultSize;
    const ints words = words_of(n, 1);
    for_each_pair(
        [&](int from, int to) { EXPECT_TRUE(arrives(version(), from, to, words, 2, n / 16)); });
  });
}

TEST_P(EachStep, SaysHowLongACopyTook) {
  const ints words = words_of(100'000, 1);
  for (const int copies : {1, 10}) {
    const auto sent = send(version(), 0, last_device(), words, copies, 1000);
    EXPECT_GT(sent.copy_ms, 0.0F);
    EXPECT_LT(sent.copy_ms, 10'000.0F);
  }
  EXPECT_EQ(send(version(), 0, 0, {}, 1, 1).copy_ms, 0.0F);
}

TEST_P(EachStep, RefusesDevicesThatAreNotThereAndNoCopiesAndNoPieces) {
  const ints words(10);
  const int devices = lab::device_count();
  for (const auto& [from, to] :
       {std::pair{-1, 0}, {0, -1}, {devices, 0}, {0, devices}, {devices, devices}}) {
    try {
      send(version(), from, to, words, 1, 1);
      ADD_FAILURE() << "from " << from << " to " << to << " was accepted";
    } catch (const lab::invalid_input& refusal) {
      EXPECT_NE(std::string(refusal.what()).find("is device " + std::to_string(devices - 1)),
                std::string::npos)
          << refusal.what();
    }
  }
  for (const int copies : {-1, 0, kMostCopies + 1})
    EXPECT_THROW(send(version(), 0, 0, words, copies, 1), lab::invalid_input) << copies;
  EXPECT_THROW(send(version(), 0, 0, words, 1, 0), lab::invalid_input);
  EXPECT_THROW(send(version(), 0, 0, {}, 1, 0), lab::invalid_input);
  EXPECT_TRUE(arrives(version(), 0, 0, words, kMostCopies));
}

// --- what a call leaves as it was ----------------------------------------------------------------

TEST_P(EachStep, KeepsTheCurrentDevice) {
  const ints words = words_of(500, 1);
  for (int device = 0; device < lab::device_count(); ++device) {
    const on_device here(device);
    for_each_pair([&](int from, int to) {
      EXPECT_TRUE(arrives(version(), from, to, words));
      EXPECT_EQ(current_device(), device);
    });
  }
}

/// Takes the access away again, and returns whether there was any.
bool could_access(int device, int other) {
  const on_device here(device);
  const bool could = cudaDeviceDisablePeerAccess(other) == cudaSuccess;
  (void)cudaGetLastError();
  return could;
}

TEST_P(EachStep, EnablesNoAccessThatStays) {
  for_each_pair([&](int from, int to) {
    if (from == to) return;
    EXPECT_TRUE(arrives(version(), from, to, words_of(300, 1)));
    EXPECT_FALSE(could_access(to, from)) << "device " << to << " can still access " << from;
    EXPECT_FALSE(could_access(from, to)) << "device " << from << " can still access " << to;
  });
}

TEST_P(EachStep, KeepsTheAccessThatTheCallerHasEnabled) {
  for_each_pair([&](int from, int to) {
    if (expected_route(step::peer_copy, from, to) != route::direct) return;
    for (const auto& [device, other] : {std::pair{to, from}, {from, to}}) {
      {
        const on_device here(device);
        ASSERT_EQ(cudaDeviceEnablePeerAccess(other, 0), cudaSuccess);
      }
      EXPECT_TRUE(arrives(version(), from, to, words_of(300, 1)));
      EXPECT_EQ(cudaGetLastError(), cudaSuccess)
          << "an error that is no failure here was left, such as cudaErrorPeerAccessAlreadyEnabled";
      EXPECT_TRUE(could_access(device, other)) << "the caller's access was disabled";
      EXPECT_FALSE(could_access(other, device)) << "the other direction was never enabled";
    }
  });
}

/// send() from device 0 to the last one, for faults.
[[maybe_unused]] ints sent_without_access(step version, const ints& words) {
  static const int other = last_device();
  disable_access_between(other, 0);
  return send(version, 0, other, words, 2, 100).arrived;
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const on_device the_same(current_device());
  const ints words = words_of(250, 1);
  expect_failures_reported([&] { return sent_without_access(version(), words); }, words);
  (void)sent_without_access(version(), words);  // the last fault, too, may have left access behind
}

#ifdef __CPU_DEVICE__

FAULT_TEST_P(EachStep, LeavesNoAccessWhenItThrows) {
  using lab::testing::detail::fault;
  const on_device the_same(current_device());
  const ints words = words_of(250, 1);
  const int other = last_device();
  const auto call = [&] { (void)send(version(), 0, other, words, 2, 100); };
  const auto calls = [&] {
    const fault none;
    call();
    return none.report().calls;
  }();
  for (std::size_t n = 0; n < calls.size(); ++n) {
    if (calls[n].releases) continue;
    bool throws = false;
    try {
      const fault injected(n);
      call();
    } catch (const std::exception&) {
      throws = true;
    }
    const bool there = could_access(0, other), back = could_access(other, 0);
    EXPECT_FALSE(throws && (there || back)) << calls[n].name << " has failed, call " << n;
  }
}

TEST(Devices, AreAsManyAsThisTestAskedFor) {
  EXPECT_EQ(lab::device_count(), std::atoi(std::getenv("CPU_DEVICE_COUNT")));
}

/// The GPUs of a machine may be able to access each other only in pairs, or not at all.
class Groups : public ::testing::TestWithParam<named_step> {
 protected:
  ~Groups() override { cpu_device::set_peer_group(0); }
};
INSTANTIATE_TEST_SUITE_P(Steps, Groups, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(Groups, AreLeftByWayOfTheHost) {
  for (const unsigned group : {1U, 2U}) {
    cpu_device::set_peer_group(group);
    for_each_pair([&](int from, int to) {
      EXPECT_TRUE(arrives(GetParam().value, from, to, words_of(350, 1), 3)) << group;
    });
  }
}

FAULT_TEST_P(Groups, ReportEveryCallThatFails) {
  cpu_device::set_peer_group(1);
  const ints words = words_of(250, 1);
  expect_failures_reported([&] { return sent_without_access(GetParam().value, words); }, words);
}

/// Copies and kernels run as late as CUDA allows, alone and in turns with those of other streams.
class Late : public ::testing::TestWithParam<named_step> {
 protected:
  ~Late() override {
    cpu_device::set_stream_policy(stream_policy::eager);
    cpu_device::set_peer_group(0);
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, Late, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(Late, WordsAreReadWhenTheyAreThere) {
  for (const auto policy : {stream_policy::deferred, stream_policy::interleaved,
                            stream_policy::newest_first, stream_policy::oldest_first})
    for (const unsigned group : {0U, 1U}) {
      cpu_device::set_stream_policy(policy);
      cpu_device::set_peer_group(group);
      for_each_pair([&](int from, int to) {
        EXPECT_TRUE(arrives(GetParam().value, from, to, words_of(1021, 1), 3));
      });
    }
}

#endif

}  // namespace
