// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// An exercise asks for more than right values: its contract says what must compute them ("Requires:
// …"). A test checks this by the work that the device was given during a call:
//
//   REQUIRED_WORK(AKernelWhoseBlocksShareTheSum) {
//     const vector a = …, b = …;
//     EXPECT_TRUE(as_required(work_of([&] { return is_exact(dot(a, b)); }),
//                             {.threads = 1024, .blocks = 2, .reads = 2 * bytes_of(a)}))
//         << "static_shared";
//   }
//
// What follows << begins with the name of the step that was called: a grader then knows which
// step's work was missing, and otherwise takes it to be that of all steps.
//
// Ask for what the exercise is about, and not for what only our solution does: another grid,
// other tiles, several kernels are as good.
//
// In every build the CPU device reports launches, copies, allocations and calls; in the watched
// build (`scripts/lab check`) also what each thread accessed, and what that would cost on a GPU.
// The fields of `required` that need it are ignored in other builds. A GPU reports none of this, so
// the cases do not exist there.
#pragma once

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lab/timer.hpp"
#include "recording.hpp"

#ifdef __CPU_DEVICE__
/// A case that checks what does the work. Not on a GPU: there it is compiled and never run.
#define REQUIRED_WORK(name) TEST(Requires, name)
#else
#define REQUIRED_WORK(name) [[maybe_unused]] static void requires_##name()
#endif

namespace lab::testing {

struct work : recorded_work {
  std::optional<::testing::AssertionResult> values = {};  ///< whether the call's result is right
  bool values_of_the_host =
      false;                     ///< they were right, too, when the device gave nothing but zeros
  bool more_than_zeros = false;  ///< and it would have given something else
};

/// What a call must do. A field that is left out is not checked.
struct required {
  std::uint64_t threads = 2;  ///< of some launch; watched: so many of them access memory
  std::uint64_t blocks = 1;   ///< of some launch; watched: the same
  std::size_t kernels = 1;    ///< launches, all together. 0: this call needs no kernel of yours
  std::size_t sent = 0;       ///< bytes that reach the device: copied, or in memory for both sides
  std::size_t fetched = 0;    ///< bytes that come back, in the same way
  std::size_t streams = 1;    ///< that kernels run in
  std::size_t devices = 1;
  std::vector<std::string> calls = {};       ///< functions, each called; "a|b" is one of the two
  std::vector<std::string> not_called = {};  ///< functions that would be another exercise
  std::uint64_t barriers = 0;                ///< a block's, at most; 0: as many as it takes
  std::uint64_t barriers_of_all = 0;         ///< of all blocks together, likewise
  std::uint64_t warp_functions = 0;  ///< at least so many times the lanes of a warp share something
  std::size_t async_bytes = 0;   ///< copied asynchronously, by threads that wait for it themselves
  std::size_t bulk_bytes = 0;    ///< copied to shared memory by bulk copies without a tensor map
  std::size_t tensor_bytes = 0;  ///< the same with one
  bool library = false;          ///< cuBLAS or cub may do it (then it is among the calls)
  bool only_shape = false;       ///< the threads only print, or read a clock
  // Watched:
  std::size_t reads = 0;  ///< bytes of global memory that kernels read; a texture is none
  std::size_t writes = 0;
  std::size_t reads_at_most = 0;      ///< 0: as many as it takes
  std::uint64_t loading_threads = 0;  ///< of some launch, that load from global memory: of
                                      ///< `threads` some may only store what stands for nothing
  double share = 0;  ///< a thread makes at most so many times the accesses to global memory of an
                     ///< average thread that has any work, or eight; 0: as many as it likes
  std::size_t bytes_a_load = 0;         ///< some load of global memory has so many: a float4 has 16
  std::size_t bytes_a_shared_load = 0;  ///< likewise of shared memory
  std::size_t texels = 0;  ///< bytes that kernels read through textures, by so many threads of a
                           ///< launch as `threads` says. These reads are no accesses to memory: a
                           ///< thread that makes one counts for its whole warp if the lanes share
                           ///< something
  bool registers = false;  ///< the lanes of a warp may share what they have in registers only; then
                           ///< a thread that accesses memory counts for its whole warp, too
  bool shared_memory = false;
  std::uint64_t exchanges = 0;  ///< reads of shared memory where another thread has written
  std::uint64_t reads_while_loading = 0;  ///< of shared memory, of a thread that has loaded what it
                                          ///< stores there later; or it copies asynchronously
  std::uint64_t copies_under_way = 0;  ///< asynchronous ones of a thread that reads shared memory
  std::uint64_t shared_meanwhile =
      0;                         ///< reads of it while a bulk copy of the block may be under way
  bool constant_memory = false;  ///< or another variable outside of all functions is read
  bool atomics = false;
  bool shared_atomics = false;
  double sectors = 0;     ///< at most, for each that is needed, of loads and stores
  double wavefronts = 0;  ///< at most, for each that is needed, of loads and stores
};

/// For `sectors`, where a block may begin anywhere: the 32 lanes of a warp that access neighbouring
/// floats need five sectors of 32 bytes for four, unless the first one begins a sector.
inline constexpr double kNeighbours = 1.3;

/// The work of these functions of a library, and no kernel of one's own.
inline required by_library(std::vector<std::string> functions) {
  return {.kernels = 0, .fetched = 1, .calls = std::move(functions), .library = true};
}

/// Calls again, while only zeros come back. If the values are still right, the host has computed
/// them, whatever the kernels did.
template <class Call>
void call_without_the_device(const Call& call, work& done) {
  const detail::nothing_comes_back meanwhile;
  using reporter = ::testing::ScopedFakeTestPartResultReporter;
  ::testing::TestPartResultArray meant_to_fail;
  const reporter catch_them(reporter::INTERCEPT_ALL_THREADS, &meant_to_fail);
  try {
    done.values_of_the_host = static_cast<bool>(::testing::AssertionResult(call()));
    done.more_than_zeros = meanwhile.made_a_difference();
  } catch (const std::exception&) {
    return;
  }
}

/// What the device does while `call` runs, which returns whether its values are right. If they are
/// wrong, or never came, the work is not as_required() either: a step that throws does not prevent
/// checks of the steps after it.
template <class Call>
work work_of(const Call& call) {
  static_assert(!std::is_void_v<decltype(call())>,
                "return whether the values are right: else the host may calculate them, after a "
                "kernel for show. A call that has none is for work_without_values()");
  detail::recording seen;
  try {
    const ::testing::AssertionResult values(call());
    work done{seen.finish()};
    done.values.emplace(values);
    if (values) call_without_the_device(call, done);
    return done;
  } catch (const std::exception& error) {
    return {{}, ::testing::AssertionFailure() << error.what()};
  }
}

/// The same for a call without values that could be right or wrong: it queries the runtime, or
/// measures. With `kernel_ms`, its events measure what the test says: kernel number n takes
/// kernel_ms[n], those after the last one as long as that one; and so does copy number n of each
/// direction with `copy_ms`.
template <class Call>
work work_without_values(const Call& call, const std::vector<double>& kernel_ms = {},
                         const std::vector<double>& copy_ms = {detail::recording::kCopyMs}) {
  detail::recording seen(kernel_ms, copy_ms);
  try {
    call();
    return {seen.finish()};
  } catch (const std::exception& error) {
    return {{}, ::testing::AssertionFailure() << error.what()};
  }
}

/// Whether this is the required work; if not, a sentence for the student.
::testing::AssertionResult as_required(const work& done, const required& what);

/// The calls by which a host waits for a device, from the first launch to the last.
std::string waits_between_launches(const work& done);

/// Whether the device also works at other sizes than the one that a case checks closely: the host
/// must not do the work itself when there is little of it. `call(n)` returns whether the values are
/// right.
template <class Call>
::testing::AssertionResult at_other_sizes(
    const Call& call, const required& what = {.threads = 1, .fetched = 1, .writes = 1},
    std::initializer_list<std::uint16_t> sizes = {1, 3, 40}) {
  for (const std::uint16_t n : sizes)
    if (const auto result = as_required(work_of([&] { return call(n); }), what); !result)
      return ::testing::AssertionFailure() << "at size " << n << ": " << result.message();
  return ::testing::AssertionSuccess();
}

/// Whether what `call` returns is true, and the device has worked for it: for the program's size,
/// where calling a second time would take too long. On a GPU, which reports nothing: whether it is
/// true.
template <class Call>
::testing::AssertionResult is_true_by_the_device(const Call& call,
                                                 const required& what = {.threads = 32,
                                                                         .fetched = 1}) {
#ifdef __CPU_DEVICE__
  detail::recording seen;
  const ::testing::AssertionResult values(call());
  if (!values) return values;
  return as_required(work{seen.finish()}, what);
#else
  (void)what;
  return ::testing::AssertionResult(call());
#endif
}

/// The same, and, by a second call from which only zeros come back, whether the host computes it
/// again.
template <class Call>
::testing::AssertionResult is_true_without_the_host(const Call& call, const required& what) {
#ifdef __CPU_DEVICE__
  return as_required(work_of(call), what);
#else
  (void)what;
  return ::testing::AssertionResult(call());
#endif
}

/// From here to the end of the case, the stream that was created last runs as far ahead of the
/// others as CUDA allows: it comes before everything that it does not wait for. See
/// recorded_work::in_streams.
void let_the_newest_stream_go_first();

/// What a measured time must contain.
enum class timed : std::uint8_t {
  kernel,       ///< a kernel alone: no copy between host and device, and no memset
  kernels,      ///< most of the kernels that run, and no such copy; memsets may be in it
  with_copies,  ///< kernels, and perhaps what is copied between them
  everything,   ///< all copies between host and device
};

namespace detail {
/// `by_the_host`: how long the whole call has taken, in milliseconds.
::testing::AssertionResult is_measured(float milliseconds, double by_the_host,
                                       const recorded_work& done, timed what);
::testing::AssertionResult is_measured(float milliseconds, double by_the_host);
}  // namespace detail

/// Whether the time in milliseconds that `call` returns was measured, and from the right place to
/// the right one. On the CPU device the test pretends how long everything takes, so it knows the
/// result. A GPU tells at least whether there is one, and whether it is longer than the call took.
template <class Call>
::testing::AssertionResult is_time_of(timed what, const Call& call) {
#ifdef __CPU_DEVICE__
  let_the_newest_stream_go_first();  // a launch returns before the kernel has run, as on a GPU
  detail::recording seen({detail::recording::kKernelMs}, {detail::recording::kCopyMs},
                         detail::recording::kMemsetMs);
  const host_timer since;
  const float milliseconds = call();
  return detail::is_measured(milliseconds, since.milliseconds(), seen.finish(), what);
#else
  (void)what;
  const host_timer since;
  const float milliseconds = call();
  return detail::is_measured(milliseconds, since.milliseconds());
#endif
}

namespace detail {
/// How often a time is taken. On a busy machine anything may take as long as the slow calls, which
/// lets a wrong time pass, but never all of the times; and nothing makes a right one fail.
inline constexpr int kTimes = 4;
}  // namespace detail

/// Whether the time in milliseconds that `call` returns, by the host's clock, contains all its
/// calls of these functions ("a|b" is both), which take longer here. One host thread makes them; of
/// an MPI job, where they may be MPI's, a rank's. (Only on the CPU device, and in one process with
/// it: elsewhere no call can be made to take longer.)
template <class Call>
::testing::AssertionResult is_time_with(const std::string& functions, const Call& call) {
  for (int i = 0; i < detail::kTimes; ++i) {
    const detail::slow_calls slow(functions);
    const double milliseconds = call();
    if (milliseconds < 0.99 * slow.milliseconds())  // by another clock, perhaps, and as a float
      return ::testing::AssertionFailure()
             << "the time that was returned is " << milliseconds
             << " ms, but calls of these functions took at least " << slow.milliseconds()
             << " ms, and it should contain them: " << functions;
  }
  return ::testing::AssertionSuccess();
}

/// Whether it contains none of them. (Not of MPI jobs: a rank may wait for another one's.)
template <class Call>
::testing::AssertionResult is_time_without(const std::string& functions, const Call& call) {
  for (int i = 0; i < detail::kTimes; ++i) {
    const detail::slow_calls slow(functions);
    const host_timer whole;
    const double milliseconds = call();
    const double others = whole.milliseconds() - slow.milliseconds();
    if (milliseconds > others)
      return ::testing::AssertionFailure()
             << "the time that was returned is " << milliseconds
             << " ms, but the whole call took only " << others
             << " ms besides its calls of these functions, which it should not contain: "
             << functions;
  }
  return ::testing::AssertionSuccess();
}

/// CUDA's functions that allocate memory, for these two.
inline constexpr const char* kAllocations =
    "cudaMalloc|cudaMallocAsync|cudaMallocPitch|cudaMallocManaged|cudaMallocFromPoolAsync|"
    "cudaHostAlloc|cudaMallocHost|cudaHostRegister";
/// And those that copy.
inline constexpr const char* kCopies = "cudaMemcpy|cudaMemcpyAsync|cudaMemcpy2D|cudaMemcpy2DAsync";

/// Sources of numbers that the lanes of a warp have not computed themselves.
enum class source {
  tensor_cores,  ///< as nvcuda::wmma multiplies
  other_lanes,   ///< by shuffles, and reductions of a warp
};

namespace detail {
/// While it lives, that source gives only zeros.
class nothing_from {
 public:
  explicit nothing_from(source which);
  nothing_from(const nothing_from&) = delete;
  nothing_from& operator=(const nothing_from&) = delete;
  ~nothing_from();
};
}  // namespace detail

/// Whether results need that source. `call` returns how many it has all the same while the source
/// gives nothing: products for show, whose sums are thrown away, show by that.
template <class Call>
::testing::AssertionResult all_need(source which, const Call& call) {
  std::size_t there = 0;
  try {
    const detail::nothing_from meanwhile(which);
    there = call();
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << error.what();
  }
  if (there == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << there << (there == 1 ? " value was" : " values were")
         << " computed although in this run "
         << (which == source::tensor_cores ? "the tensor cores multiply nothing"
                                           : "the lanes of a warp get only zeros from each other")
         << ": something else computes " << (there == 1 ? "it" : "them");
}

/// Whether right values need more from the device than what it was given. `call`, which returns
/// whether its values are right, is called while nothing else comes back: for results that have
/// their input in them, which are not right when only zeros come back.
template <class Call>
::testing::AssertionResult need_the_device(const Call& call) {
  using detail::nothing_comes_back;
  try {
    const nothing_comes_back meanwhile(nothing_comes_back::except::what_was_sent);
    if (!::testing::AssertionResult(call()) || !meanwhile.made_a_difference())
      return ::testing::AssertionSuccess();
  } catch (const std::exception&) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "right values in a run in which the device gave back only what had been copied to it: "
         << "the host has made the rest, whatever the kernels did";
}

template <class Range>
std::size_t bytes_of(const Range& values) {
  return values.size() * sizeof(*values.begin());
}

}  // namespace lab::testing
