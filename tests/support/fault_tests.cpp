// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "fault_tests.hpp"

#include "faults.hpp"

#ifdef __CPU_DEVICE__

#include <cpu_device.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <nccl.h>

#include <algorithm>
#include <exception>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "current_device.hpp"
#include "device_state.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/nccl_check.hpp"
#include "recording.hpp"

namespace lab::testing::detail {
namespace {

using call = fault_call;

constexpr std::size_t kAll = 40;     // of more calls than this, the first 40 fail in turn; of the
constexpr std::size_t kSample = 20;  // others the last one of each function, and this many

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// --- which failures may pass unreported ----------------------------------------------------------
//
// cudaGetLastError and cudaPeekAtLastError report the failures of others: they are never made to
// fail. Everything else is, and has to be reported, with one exception. What cleans up mostly does
// so in a destructor, which cannot throw, after the result is complete:
//
// - cudaFree, cudaStreamDestroy and their like give something back (and do, even when they fail);
// - at the end of a run, where nothing else follows, a wait lets work come to its end before its
//   memory goes, cudaSetDevice goes back to the device that was current, and cudaDeviceSetMemPool
//   to its pool;
// - so does the wait for a stream that is destroyed next (lab::stream's), wherever that is, and the
//   way back to a device that is left again before anything is done there;
// - what an error interrupts has to end: a capture (cudaStreamEndCapture, cudaStreamIsCapturing), a
//   group of NCCL (ncclGroupEnd).
//
// And where not even devices can be counted, lab::device_count() says that this machine has none:
// lab::not_possible is right, too.
//
// Whoever survives a failure must still have the right result and leave nothing behind. A wait
// that the result depends on cannot slip through: when it fails, the work is not done.
//
// The error of a call that gives something back may also stay in the runtime: a destructor that
// ignores it (`~owner() { cudaFree(data_); }`) loses nothing, since whoever asks next hears of it.
// Memory that is freed twice, or never, is found without this.

bool tidies_up(const call& c) {
  return c.releases || is_one_of(c.name, {"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                          "cudaEventSynchronize", "cudaGetDevice", "cudaSetDevice",
                                          "cudaDeviceSetMemPool", "cudaStreamEndCapture",
                                          "cudaStreamIsCapturing", "ncclGroupEnd"});
}

bool is_launch(const call& c) {
  return is_one_of(c.name, {"cudaLaunchKernel", "cudaLaunchCooperativeKernel"});
}
std::string name_of(const call& c) { return is_launch(c) ? "the launch of a kernel" : c.name; }

/// Of the calls that a run has made: whether number n was there to clean up.
bool may_be_survived(const std::vector<call>& calls, std::size_t n) {
  const auto first = calls.begin() + static_cast<std::ptrdiff_t>(n);
  const auto is_of_thread = [&](const call& c) { return c.thread == first->thread; };
  const auto next = std::find_if(first + 1, calls.end(), is_of_thread);
  const bool is_destructors_wait = first->name == "cudaStreamSynchronize" && next != calls.end() &&
                                   next->name == "cudaStreamDestroy";
  const auto after_questions = std::find_if(first + 1, calls.end(), [&](const call& c) {
    return is_of_thread(c) && !is_one_of(c.name, {"cudaGetDevice", "cudaGetDeviceCount"});
  });
  const bool is_way_back = first->name == "cudaSetDevice" && after_questions != calls.end() &&
                           after_questions->name == "cudaSetDevice";
  return first->releases || is_destructors_wait || is_way_back ||
         std::all_of(first, calls.end(),
                     [&](const call& c) { return !is_of_thread(c) || tidies_up(c); });
}

// --- the faults ----------------------------------------------------------------------------------

/// One failure: what was called until now, and what became of it.
class failure_in_turn {
 public:
  explicit failure_in_turn(std::size_t fails) : fails_(fails), injected_(fails) {}

  /// Asks for what was called. To be called when the contract has ended, before the rest.
  void look() { seen_ = injected_.report(); }

  /// Whether a device was reset after the failure.
  bool reset_a_device() const {
    return fired() &&
           std::any_of(seen_.calls.begin() + static_cast<std::ptrdiff_t>(fails_), seen_.calls.end(),
                       [](const call& c) { return c.name == "cudaDeviceReset"; });
  }
  /// Ranges of NVTX that were begun and not ended; negative: more were ended than begun.
  int open_ranges() const { return seen_.open_ranges; }
  bool fired() const { return fails_ < seen_.calls.size(); }
  const call& failed() const { return seen_.calls[fails_]; }
  int status() const { return status_of_fault(failed().name); }
  bool may_be_survived() const { return detail::may_be_survived(seen_.calls, fails_); }
  /// What the same thread did next that was no cleaning up; empty where it did nothing.
  std::string next() const {
    for (std::size_t i = fails_ + 1; i < seen_.calls.size(); ++i)
      if (seen_.calls[i].thread == failed().thread && !tidies_up(seen_.calls[i]))
        return name_of(seen_.calls[i]);
    return {};
  }

 private:
  std::size_t fails_;
  fault injected_;
  fault_report seen_;
};

/// Keeps what is printed to itself: destructors that cannot throw print, and that is right.
class silence {
 public:
  explicit silence(bool on) : on_(on) {
    if (on_) ::testing::internal::CaptureStderr();
  }
  ~silence() {
    if (on_) (void)::testing::internal::GetCapturedStderr();
  }
  silence(const silence&) = delete;
  silence& operator=(const silence&) = delete;

 private:
  bool on_;
};

// --- what is there -------------------------------------------------------------------------------

struct inventory : device_state {
  inventory() : device_state(state_of_devices()) {}
  int device = current_device();

  static int current_device() {
    int device = -1;
    (void)cudaGetDevice(&device);
    return device;
  }
};

/// What has become more, in words; empty where nothing has.
std::string left_behind(const inventory& before, const inventory& after) {
  std::string text;
  if (after.allocations > before.allocations)
    text = "allocated memory (" + std::to_string(after.allocations - before.allocations) + ")";
  for (std::size_t kind = 0; kind < before.objects.size(); ++kind)
    if (after.objects[kind] > before.objects[kind])
      text += std::string(text.empty() ? "" : ", ") +
              cpu_device::name_of(static_cast<cpu_device::object_kind>(kind)) + " (" +
              std::to_string(after.objects[kind] - before.objects[kind]) + ")";
  return text;
}

/// Lets all work come to its end that a failed wait did not wait for; what it prints is lost.
void finish_all_work(int device) {
  int count = 0;
  ::testing::internal::CaptureStdout();
  (void)cudaGetDeviceCount(&count);
  for (int other = 0; other < count; ++other) {
    (void)cudaSetDevice(other);
    (void)cudaDeviceSynchronize();
  }
  (void)cudaSetDevice(device);
  (void)::testing::internal::GetCapturedStdout();
}

// --- sentences -----------------------------------------------------------------------------------

std::string ordinal(std::size_t n) {
  const bool teen = n % 100 >= 11 && n % 100 <= 13;
  const char* ending = teen          ? "th"
                       : n % 10 == 1 ? "st"
                       : n % 10 == 2 ? "nd"
                       : n % 10 == 3 ? "rd"
                                     : "th";
  return std::to_string(n) + ending;
}

std::string code_given_to(const call& c) {
  if (c.name.starts_with("cublas")) return cublas_status_name(kCublasFault);
  if (c.name.starts_with("curand")) return "CURAND_STATUS_ARCH_MISMATCH";
  if (c.name.starts_with("nccl")) return nccl_result_name(kNcclFault);
  return cudaGetErrorName(kCudaFault);
}

/// "When this test made the 3rd of 9 calls, cudaMemcpy, fail with cudaErrorOperatingSystem"
std::string what_failed(std::size_t n, std::size_t of, const call& c) {
  return "When this test made the " + ordinal(n + 1) + " of " + std::to_string(of) + " calls, " +
         name_of(c) + ", fail with " + code_given_to(c);
}

std::string how_to_check(const call& c) {
  if (is_launch(c))
    return "A launch returns nothing: check it with CUDA_CHECK(cudaGetLastError()), right "
           "after it.";
  if (c.name.starts_with("curand")) return "Check the status that it returns.";
  const std::string check = c.name.starts_with("cublas") ? "CUBLAS_CHECK"
                            : c.name.starts_with("nccl") ? "NCCL_CHECK"
                                                         : "CUDA_CHECK";
  if (c.releases)
    return "Keep the status that it returns, release everything else, too, and only then check "
           "it: " +
           check + "(status). In a destructor, which must not throw: " + check + "_NOTHROW(" +
           c.name + "(...)).";
  return "Check it: " + check + "(" + c.name + "(...)).";
}

std::string another_error(const std::exception& error, const call& failed) {
  return std::string("a different error was reported, later: ") + error.what() + ". " +
         how_to_check(failed);
}
std::string another_exception(const std::exception& error, const call& failed) {
  return std::string("this was thrown instead of lab::cuda_error: ") + error.what() + " " +
         how_to_check(failed);
}

/// What is wrong with what came out of the contract; empty where nothing is.
std::string complain_about_outcome(const fault_subject& subject, failure_in_turn& injected) {
  const auto is_right = [&] {
    try {
      const bool right = subject.is_right();
      injected.look();
      return right;
    } catch (...) {
      injected.look();
      throw;
    }
  };
  try {
    const bool right = is_right();
    if (!injected.fired()) return "the number of calls differs from run to run";
    if (right && injected.may_be_survived()) return {};
    return (right ? "the function returned as if nothing had happened. "
                  : "the function returned a wrong result instead of an error. ") +
           how_to_check(injected.failed());
  } catch (const cuda_error& error) {
    if (error.code() != injected.status()) return another_error(error, injected.failed());
  } catch (const cublas_error& error) {
    if (error.status() != injected.status()) return another_error(error, injected.failed());
  } catch (const nccl_error& error) {
    if (error.result() != injected.status()) return another_error(error, injected.failed());
  } catch (const not_possible& error) {
    if (injected.failed().name != "cudaGetDeviceCount")
      return another_exception(error, injected.failed());
  } catch (const std::exception& error) {
    return another_exception(error, injected.failed());
  }
  // A launch returns nothing: its error may be asked for after an event that takes the time.
  if (injected.failed().releases || is_launch(injected.failed()) || injected.next().empty())
    return {};
  return "the function continued with " + injected.next() + " before it reported the error. " +
         how_to_check(injected.failed());
}

/// One failure; what is wrong about it, or nothing. `calls` are those of a good run.
std::string fail_one(const fault_subject& subject, const std::vector<call>& calls, std::size_t n) {
  const inventory before;
  std::string complaint;
  call failed = calls[n];
  int open_ranges = 0;
  bool reset = false;
  {
    const silence quiet(tidies_up(failed));
    failure_in_turn injected(n);
    complaint = complain_about_outcome(subject, injected);
    if (injected.fired()) failed = injected.failed();  // another one, if several threads make calls
    open_ranges = injected.open_ranges();
    reset = injected.reset_a_device();
  }
  const std::string failure = what_failed(n, calls.size(), failed) + ", ";
  const cudaError_t pending = cudaGetLastError();
  const int device = inventory::current_device();
  finish_all_work(device);
  if (!complaint.empty()) return failure + complaint;
  if (reset)
    return failure +
           "the function called cudaDeviceReset(), which also frees what its caller has on this "
           "device. Free what the function itself has allocated.";
  if (pending != cudaSuccess && !(failed.releases && pending == kCudaFault))
    return failure + "the function left " + cudaGetErrorName(pending) +
           " in the runtime, so the next cudaGetLastError() would report it. " +
           (pending == kCudaFault ? how_to_check(failed)
                                  : "This is not the error of that call: some other call or kernel "
                                    "has failed since.");
  const inventory after;
  if (after.reports != before.reports)
    return failure + "the CPU device reported: " + cpu_device::last_report();
  if (const std::string what = left_behind(before, after); !what.empty())
    return failure + "the function left this behind: " + what +
           ". Release it on every path out of the function.";
  if (open_ranges != 0)
    return failure + "the function left " + std::to_string(open_ranges) +
           " NVTX ranges open: end each of them on every path out of the function, in a "
           "destructor.";
  if (device != before.device) {
    (void)cudaSetDevice(before.device);
    if (failed.name != "cudaSetDevice")  // after which nobody can go back
      return failure + "the function left device " + std::to_string(device) +
             " as the current one; before the call it was device " + std::to_string(before.device) +
             ".";
  }
  if (!subject.inputs_unchanged()) return failure + "the function changed its input.";
  try {
    if (!subject.is_right()) return failure + "the next call, without a fault, was wrong.";
  } catch (const std::exception& error) {
    return failure + "the next call, without a fault, failed as well: " + error.what();
  }
  return {};
}

/// What is wrong when `function` fails in a thread of the contract, or nothing.
std::string fail_one_of_threads(const fault_subject& subject, const call& fails) {
  const inventory before;
  {
    const fault_of_a_thread injected(fails.name);
    try {
      const bool right = subject.is_right();
      if (!injected.fired()) return {};
      return (right ? "the function returned as if nothing had happened. "
                    : "the function returned a wrong result instead of an error. ") +
             how_to_check(fails);
    } catch (const cuda_error& error) {
      if (error.code() != kCudaFault) return another_error(error, fails);
    } catch (const nccl_error& error) {
      if (!fails.name.starts_with("nccl") || error.result() != kNcclFault)
        return another_error(error, fails);
    } catch (const std::exception& error) {
      return another_exception(error, fails);
    }
  }
  const inventory after;
  if (after.reports != before.reports)
    return "the CPU device reported: " + cpu_device::last_report();
  if (const std::string what = left_behind(before, after); !what.empty())
    return "the function left this behind: " + what +
           ". Release it on every path out of the function.";
  try {
    if (!subject.is_right()) return "the next call, without a fault, was wrong.";
  } catch (const std::exception& error) {
    return std::string("the next call, without a fault, failed as well: ") + error.what();
  }
  return {};
}

/// The numbers of the calls that fail in turn.
std::vector<std::size_t> choose(const std::vector<call>& calls) {
  std::vector<std::size_t> all(calls.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  if (all.size() <= kAll + kSample) return all;
  // Those that only a sample could miss: a program may launch its kernel once, after the first 40.
  std::map<std::string, std::size_t> last;
  for (std::size_t i = kAll; i < calls.size(); ++i) last[calls[i].name] = i;
  auto sampled = all.begin() + kAll;
  for (const auto& [name, n] : last) {
    std::iter_swap(sampled, std::find(sampled, all.end(), n));
    ++sampled;
  }
  std::shuffle(sampled, all.end(), std::mt19937(all.size()));
  const auto left = static_cast<std::size_t>(all.end() - sampled);
  all.resize(all.size() - left + std::min(left, kSample));
  return all;
}

// --- the ranks of an MPI job ---------------------------------------------------------------------

/// What a rank did next, after its call number n had failed, that was no cleaning up.
std::string went_on(const std::vector<rank_call>& made, std::size_t n) {
  for (std::size_t i = n + 1; i < made.size(); ++i)
    if (const call next{made[i].name, made[i].releases}; !tidies_up(next))
      return "the rank continued with " + name_of(next) + " before it reported the error. " +
             how_to_check({made[n].name, made[n].releases});
  return {};
}

/// What comes out of a call of ranks that fails; empty where it is as it should be.
std::string fail_one_of_ranks(const fault_subject& subject, const std::vector<call>& calls,
                              std::size_t n, int rank) {
  const std::string failure =
      what_failed(n, calls.size(), calls[n]) +
      (rank == rank_fault::kEachRank ? " in each rank, " : " in the last rank, ");
  std::string complaint;
  std::optional<rank_fault> injected(std::in_place, n, rank);
  // A launch returns nothing: its error may be asked for after an event that takes the time.
  const auto note_those_that_go_on = [&] {
    if (!complaint.empty() || calls[n].releases || is_launch(calls[n])) return;
    for (const auto& [number, made] : injected->calls())
      if ((rank == rank_fault::kEachRank || rank == number) && complaint.empty())
        complaint = went_on(made, n);
  };
  try {
    const bool right = subject.is_right();
    if (!right || !may_be_survived(calls, n))
      complaint = (right ? "the ranks returned as if nothing had happened. "
                         : "the result was wrong instead of an error. ") +
                  how_to_check(calls[n]);
  } catch (const cuda_error& error) {
    if (error.code() != kCudaFault) complaint = another_error(error, calls[n]);
    note_those_that_go_on();
  } catch (const nccl_error& error) {
    // The call of this number need not be the same one in each rank.
    const auto made = injected->calls();
    const bool is_of_nccl = std::any_of(made.begin(), made.end(), [&](const auto& of_rank) {
      return n < of_rank.second.size() && of_rank.second[n].name.starts_with("nccl");
    });
    if (!is_of_nccl || error.result() != kNcclFault) complaint = another_exception(error, calls[n]);
    note_those_that_go_on();
  } catch (const not_possible& error) {
    if (calls[n].name != "cudaGetDeviceCount") complaint = another_exception(error, calls[n]);
  } catch (const std::exception& error) {
    complaint = another_exception(error, calls[n]);
  }
  if (!complaint.empty()) return failure + complaint;
  injected.reset();
  try {
    if (!subject.is_right()) return failure + "the next call, without a fault, was wrong.";
  } catch (const std::exception& error) {
    return failure + "the next call, without a fault, failed as well: " + error.what();
  }
  return {};
}

void fail_each_call_of_ranks(const fault_subject& subject,
                             const std::map<int, std::vector<rank_call>>& by_rank) {
  // Where only some ranks fail, the others wait for them, and the job is started anew: that takes a
  // while, and so it is not done for every call. Of one rank, each call fails in turn.
  constexpr std::size_t kOfEachRank = 2, kOfTheLast = 1;
  const auto& [last, made] = *by_rank.rbegin();
  std::vector<call> calls;
  for (const rank_call& one : made) calls.push_back({one.name, one.releases});
  ASSERT_FALSE(calls.empty()) << "the last rank makes no CUDA calls";
  const auto fail_some = [&](std::size_t most, int rank) {
    const std::size_t step = std::max<std::size_t>(1, calls.size() / most);
    for (std::size_t n = step / 2; n < calls.size(); n += step) {
      const std::string complaint = fail_one_of_ranks(subject, calls, n, rank);
      if (!complaint.empty()) return complaint;
    }
    return std::string();
  };
  std::string complaint =
      fail_some(by_rank.size() == 1 ? calls.size() : kOfEachRank, rank_fault::kEachRank);
  if (complaint.empty() && by_rank.size() > 1) complaint = fail_some(kOfTheLast, last);
  EXPECT_TRUE(complaint.empty()) << complaint;
}

}  // namespace

void fail_each_call(const fault_subject& subject) {
  // Late, so that what a failed wait should have waited for has not happened.
  cpu_device::set_stream_policy(cpu_device::stream_policy::interleaved);
  const on_device the_same(current_device());  // where cudaSetDevice fails, nobody can go back
  ASSERT_TRUE(subject.is_right()) << "the result is wrong even if no CUDA call fails";
  ASSERT_TRUE(subject.inputs_unchanged()) << "the function changed its input";
  std::vector<call> calls;
  std::map<int, std::vector<rank_call>> calls_of_ranks;
  {
    // The second run: what a program does only once is done.
    const fault none;
    const rank_fault none_of_ranks;
    ASSERT_TRUE(subject.is_right()) << "a second call gave a different result from the first";
    calls = none.report().calls;
    calls_of_ranks = none_of_ranks.calls();
  }
  if (calls.empty() && !calls_of_ranks.empty())
    return fail_each_call_of_ranks(subject, calls_of_ranks);
  ASSERT_FALSE(calls.empty()) << "the function makes no CUDA calls";
  for (const std::size_t n : choose(calls)) {
    const std::string complaint = fail_one(subject, calls, n);
    // One is enough: others may be its consequence.
    if (!complaint.empty()) FAIL() << complaint;
  }
}

void fail_a_call_of_a_thread(const fault_subject& subject, const std::string& function) {
  const call fails{function};
  const std::string complaint = fail_one_of_threads(subject, fails);
  EXPECT_TRUE(complaint.empty()) << "When one of the threads called " << function
                                 << " and it failed with " << code_given_to(fails) << ", "
                                 << complaint;
}

}  // namespace lab::testing::detail

#else

namespace lab::testing::detail {

void fail_each_call(const fault_subject&) {}
void fail_a_call_of_a_thread(const fault_subject&, const std::string&) {}

}  // namespace lab::testing::detail

#endif
