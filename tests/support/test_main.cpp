// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef __CPU_DEVICE__
#include "device_state.hpp"
#endif
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/new_memory.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "test_events.hpp"

namespace lab::testing {
namespace {

[[maybe_unused]] bool reports_are_expected = false;
[[maybe_unused]] bool may_change_the_device = false;
bool launches_must_be_single = false;

/// What `needs` objects have asked for. They may be made before anything of this file is.
std::vector<std::function<void()>>& requirements() {
  static std::vector<std::function<void()>> all;
  return all;
}

struct variable {
  const char* name;
  const char* value;
  bool overwrite;
};

/// What `setting` objects have asked for.
std::vector<variable>& settings() {
  static std::vector<variable> all;
  return all;
}

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

#ifdef __CPU_DEVICE__

constexpr int kOrders = 3;
int repetition = 0;  // the current one, counted from 0

/// Of the repetitions, one. Not in the check build, whose time is short.
bool launches_are_repeated() {
  static const bool is_check_build = cpu_device::is_check_build();
  return repetition % kOrders == 1 && !is_check_build;
}

/// The device that is current in a repetition. There are two unless somebody wants another number:
/// who keeps anything of the device of the last call, or takes device 0 for the current one, is
/// wrong in the second repetition. LAB_TEST_DEVICE=0 tries whether it is that (scripts/lab).
int device_of_repetition() {
  static const bool is_always_0 =
      std::getenv("LAB_TEST_DEVICE") != nullptr || lab::device_count() < 2;
  return repetition % kOrders == 1 && !is_always_0 ? 1 : 0;
}

/// Gives each repetition its thread order, its stream policy and its device; in the last one,
/// __activemask() never names another lane. With --gtest_fail_fast, the one that fails is the last.
class thread_orders : public ::testing::EmptyTestEventListener {
 public:
  void OnTestIterationStart(const ::testing::UnitTest&, int iteration) override {
    if (stop_) std::exit(EXIT_FAILURE);
    repetition = iteration;
    constexpr std::array<const char*, kOrders> kNames = {"forward", "reverse", "random, seed "};
    order_ = kNames[static_cast<std::size_t>(iteration % kOrders)];
    if (iteration % kOrders == 2) order_ += std::to_string(iteration);
    if (device_of_repetition() != 0) order_ += ", device 1 is current";
    test_events::begin_repetition(order_);
  }

  void OnTestStart(const ::testing::TestInfo&) override {
    // Before each test: some choose for themselves.
    using cpu_device::stream_policy, cpu_device::thread_order;
    constexpr std::array kThreads = {thread_order::forward, thread_order::reverse,
                                     thread_order::random};
    constexpr std::array kStreams = {stream_policy::eager, stream_policy::deferred,
                                     stream_policy::interleaved};
    const auto which = static_cast<std::size_t>(repetition % kOrders);
    cpu_device::set_thread_order(kThreads[which], static_cast<unsigned>(repetition));
    cpu_device::set_stream_policy(asked_for_.value_or(kStreams[which]));
    (void)cudaSetDevice(device_of_repetition());  // fails if a grader has lost its worker
    // Not in the check build, which counts what each place costs.
    static const bool is_check_build = cpu_device::is_check_build();
    cpu_device::set_lanes_apart(which == kOrders - 1 && !is_check_build);
  }

  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed() && !test_events::is_watched())
      std::printf("(thread order: %s)\n", order_.c_str());
  }

  void OnTestIterationEnd(const ::testing::UnitTest& tests, int) override {
    // GoogleTest itself leaves out the rest of this repetition only.
    stop_ = GTEST_FLAG_GET(fail_fast) && tests.Failed();
  }

 private:
  static std::optional<cpu_device::stream_policy> policy_of_the_environment() {
    using cpu_device::stream_policy;
    constexpr std::array<std::pair<std::string_view, stream_policy>, 5> kNames = {
        {{"eager", stream_policy::eager},
         {"deferred", stream_policy::deferred},
         {"interleaved", stream_policy::interleaved},
         {"newest_first", stream_policy::newest_first},
         {"oldest_first", stream_policy::oldest_first}}};
    const char* const asked = std::getenv("CPU_DEVICE_STREAMS");
    for (const auto& [name, policy] : kNames)
      if (asked != nullptr && name == asked) return policy;
    return std::nullopt;
  }

  const std::optional<cpu_device::stream_policy> asked_for_ = policy_of_the_environment();
  std::string order_;
  bool stop_ = false;
};

/// Fills new memory with other bytes in each repetition: what is right only where memory happens to
/// hold 0xFF bytes is wrong. (0x5A and 0xC3 make no small numbers of any type, of either sign.)
class new_memory : public ::testing::EmptyTestEventListener {
  void OnTestIterationStart(const ::testing::UnitTest&, int iteration) override {
    constexpr std::array<unsigned char, kOrders> kBytes = {0xFF, 0x5A, 0xC3};
    lab::detail::new_memory_byte = kBytes[static_cast<std::size_t>(iteration % kOrders)];
    cpu_device::fill_new_memory_with(lab::detail::new_memory_byte);
  }
};

/// Fails tests that leak device memory, or streams, graphs, handles and whatever else they make, or
/// that the CPU device had something to say about.
class device_watch : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override {
    reports_are_expected = false;
    cpu_device::report_again();
    before_ = detail::state_of_devices();
  }

  void OnTestEnd(const ::testing::TestInfo&) override {
    int device = -1;
    (void)cudaGetDevice(&device);
    const detail::repair repair = detail::repair_devices();
    // The next tests could take as long.
    if (repair == detail::repair::never_ended) test_events::leave_out_the_rest();
    const detail::device_state now = detail::state_of_devices();
    // After a kernel has failed, cudaFree fails as well: what is left is no fault of its own.
    if (repair == detail::repair::none) report_leaks(now);
    if (device >= 0 && device != device_of_repetition() && !may_change_the_device)
      ADD_FAILURE() << "device " << device << " is current after this test; it was device "
                    << device_of_repetition();
    const std::size_t reports = now.reports - before_.reports;
    if (reports != 0 && !reports_are_expected)
      ADD_FAILURE() << "the CPU device reported "
                    << (reports == 1 ? "a mistake" : std::to_string(reports) + " mistakes")
                    << " in this test, the last one:\n"
                    << cpu_device::last_report();
    if (reports == 0 && reports_are_expected)
      ADD_FAILURE() << "this test expects a report by the CPU device, but there was none";
  }

 private:
  void report_leaks(const detail::device_state& now) const {
    if (now.allocations > before_.allocations)
      ADD_FAILURE() << "this test leaves memory allocated: "
                    << now.allocations - before_.allocations
                    << (now.allocations - before_.allocations == 1 ? " allocation" : " allocations")
                    << ", " << now.bytes - before_.bytes << " bytes; the newest is "
                    << cpu_device::newest_allocation();
    else if (now.allocations < before_.allocations)
      ADD_FAILURE() << "this test freed device memory that was allocated before it began";
    for (std::size_t kind = 0; kind < before_.objects.size(); ++kind)
      if (now.objects[kind] > before_.objects[kind])
        ADD_FAILURE() << "this test leaves "
                      << cpu_device::name_of(static_cast<cpu_device::object_kind>(kind))
                      << " that nobody destroys: " << now.objects[kind] - before_.objects[kind];
  }

  detail::device_state before_;
};

#else

/// After it has passed on a GPU, the check build of the CPU device makes each launch once.
bool launches_are_repeated() { return true; }

#endif

/// Has time_kernel() repeat its launches, as programs do to measure a time: who adds to what the
/// launch before has left, or takes its own results for input, is wrong the second time. With
/// LAB_TEST_LAUNCHES=1 it does not: scripts/lab tries whether it is that.
class timed_launches : public ::testing::EmptyTestEventListener {
 public:
  void OnTestStart(const ::testing::TestInfo&) override {
    static const bool is_once =
        launches_must_be_single || std::getenv("LAB_TEST_LAUNCHES") != nullptr;
    if (!is_once && launches_are_repeated()) repeated_.emplace(1);
  }
  void OnTestEnd(const ::testing::TestInfo&) override { repeated_.reset(); }

 private:
  std::optional<repeated_timing> repeated_;
};

int prepare([[maybe_unused]] bool repetition_is_given) {
  for (const variable& one : settings()) ::setenv(one.name, one.value, one.overwrite ? 1 : 0);
#ifdef __CPU_DEVICE__
  ::setenv("CPU_DEVICE_COUNT", "2", 0);
#endif
  try {
    lab::device_count();
  } catch (const lab::not_possible& error) {
    if (is_set("LAB_REQUIRE_GPU")) {
      std::fprintf(stderr, "FAILED: %s, and LAB_REQUIRE_GPU is set\n", error.what());
      return 1;
    }
    std::fprintf(stderr, "SKIPPED: %s\n", error.what());
    return 77;
  }
  try {
    for (const auto& make : requirements()) make();
  } catch (const lab::not_possible& error) {
    std::fprintf(stderr, "SKIPPED: %s\n", error.what());
    return 77;
  }
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  listeners.Append(new timed_launches);  // GoogleTest owns them
#ifdef __CPU_DEVICE__
  listeners.Append(new device_watch);
  listeners.Append(new new_memory);
  if (!is_set("CPU_DEVICE_ORDER")) {
    listeners.Append(new thread_orders);
    if (!repetition_is_given) GTEST_FLAG_SET(repeat, kOrders);
  }
#endif
  return 0;
}

}  // namespace

::testing::AssertionResult matches(const comparison& result) {
  return result.ok ? ::testing::AssertionSuccess()
                   : ::testing::AssertionFailure() << result.message;
}

bool detail::is_time_for_full_size() {
#ifdef __CPU_DEVICE__
  // Whoever asks for fewer repetitions has the last of those. (A negative number is for ever.)
  const int asked = GTEST_FLAG_GET(repeat), last = asked < 0 ? kOrders : std::min(asked, kOrders);
  return repetition % kOrders == last - 1 && !cpu_device::is_check_build();
#else
  return true;
#endif
}

needs::needs(std::function<void()> make) { requirements().push_back(std::move(make)); }

setting::setting(const char* name, const char* value, when set) {
  settings().push_back({name, value, set == when::always});
}

device_may_change::device_may_change() { may_change_the_device = true; }

timed_once::timed_once() { launches_must_be_single = true; }

void expect_reports() { reports_are_expected = true; }

}  // namespace lab::testing

int main(int argc, char** argv) {
  test_events::restore_environment();
  return test_events::run(argc, argv, lab::testing::prepare);
}
