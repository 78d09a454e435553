// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "required_work.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cmath>
#include <sstream>

namespace lab::testing {
namespace detail {

namespace {

/// What cuBLAS does besides calculating.
bool calculates(std::string_view call) {
  if (!call.starts_with("cublas") && !call.starts_with("curandGenerate")) return false;
  for (const char* other : {"Create", "Destroy", "Set", "Get", "DeviceSelect", "Status"})
    if (call.find(other) != std::string_view::npos) return false;
  return true;
}

bool called(const work& done, std::string_view names) {
  for (;;) {
    const std::size_t bar = names.find('|');
    if (done.calls.contains(std::string(names.substr(0, bar)))) return true;
    if (bar == std::string_view::npos) return false;
    names.remove_prefix(bar + 1);
  }
}

std::string or_for_bar(std::string names) {
  for (std::size_t bar = 0; (bar = names.find('|')) != std::string::npos;)
    names.replace(bar, 1, " or ");
  return names;
}

std::string number_of(std::uint64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

double ratio(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

/// What is wrong with the kernels; empty if nothing is.
std::string complaint_of_kernels(const work& done, const required& what) {
  std::vector<work::kernel> own;
  for (const work::kernel& k : done.kernels) {
    if (!k.of_library)
      own.push_back(k);
    else if (!what.library)
      return "a library did the work: " + k.name;
  }
  if (own.size() < what.kernels && own.empty())
    return "no kernel of yours was launched: the work was done on the host, or by a library";
  if (own.size() < what.kernels)
    return std::to_string(own.size()) + (own.size() == 1 ? " launch" : " launches") +
           " of your kernels, but the exercise requires at least " + std::to_string(what.kernels);
  if (what.kernels == 0) return {};

  const auto most = [&](auto member) {
    std::uint64_t most_of_all = 0;
    for (const work::kernel& k : own) most_of_all = std::max<std::uint64_t>(most_of_all, member(k));
    return most_of_all;
  };
  const auto sum = [&](auto member) {
    std::uint64_t all = 0;
    for (const work::kernel& k : own) all += member(k);
    return all;
  };
  const std::uint64_t launched = most([](const auto& k) { return k.all_threads(); });
  if (launched < what.threads)
    return "the largest launch has " + number_of(launched, "thread") + ", but there is work for " +
           std::to_string(what.threads);
  const std::uint64_t blocks = most([](const auto& k) { return k.blocks; });
  if (blocks < what.blocks)
    return "the largest launch has " + number_of(blocks, "block") +
           ", but the work must be shared by at least " + std::to_string(what.blocks);
  const std::uint64_t barriers = most([](const auto& k) { return k.barriers; });
  if (what.barriers != 0 && barriers > what.barriers)
    return "a block's threads wait at " + number_of(barriers, "barrier") + ", but " +
           std::to_string(what.barriers) + (what.barriers == 1 ? " is" : " are") + " enough";
  const std::uint64_t of_all = most([](const auto& k) { return k.barriers_of_all; });
  if (what.barriers_of_all != 0 && of_all > what.barriers_of_all)
    return "the threads of all blocks wait at " + number_of(of_all, "barrier") + ", but " +
           std::to_string(what.barriers_of_all) + (what.barriers_of_all == 1 ? " is" : " are") +
           " enough";
  const std::uint64_t shared_by_warps = sum([](const auto& k) { return k.warp_functions; });
  if (shared_by_warps < what.warp_functions)
    return "the lanes of a warp exchanged values " + number_of(shared_by_warps, "time") +
           ", but the exercise requires at least " + std::to_string(what.warp_functions) +
           ": use the shuffle functions, for example";
  if (const auto copied = sum([](const auto& k) { return k.async_bytes; });
      copied < what.async_bytes)
    return "asynchronous copies have moved " + number_of(copied, "byte") +
           ", but the exercise requires at least " + std::to_string(what.async_bytes) +
           ": use cuda::memcpy_async, for example";
  if (const auto copied = sum([](const auto& k) { return k.bulk_bytes; }); copied < what.bulk_bytes)
    return "bulk copies without a tensor map have moved " + number_of(copied, "byte") +
           ", but the exercise requires at least " + std::to_string(what.bulk_bytes);
  if (const auto copied = sum([](const auto& k) { return k.tensor_bytes; });
      copied < what.tensor_bytes)
    return "bulk copies with a tensor map have moved " + number_of(copied, "byte") +
           ", but the exercise requires at least " + std::to_string(what.tensor_bytes);
  const std::size_t streams = done.streams();
  if (streams < what.streams)
    return "all kernels ran in " + number_of(streams, "stream") +
           ", but the exercise requires at least " + std::to_string(what.streams);
  if (done.devices() < what.devices)
    return "kernels ran on " + number_of(done.devices(), "device") +
           ", but the exercise requires at least " + std::to_string(what.devices);
  if (!done.watched || what.only_shape) return {};

  if (what.threads > 1) {
    const std::uint64_t all = sum([](const auto& k) { return k.accesses; });
    const std::uint64_t busiest = most([](const auto& k) { return k.busiest; });
    // (A thread that stores what a block has, or adds a few last numbers, is no such thread.)
    if (busiest > 64 && 2 * busiest > all)
      return "one thread did the work: it made " + std::to_string(busiest) + " of " +
             std::to_string(all) + " accesses to global memory";
    for (const work::kernel& k : own)
      if (k.threads_per_block >= 32 && k.plain > 64 * k.busy_blocks &&
          2 * k.busiest_of_blocks > k.plain)
        return "one thread of each block did the work of " + k.name + ": " +
               std::to_string(k.busiest_of_blocks) + " of " + std::to_string(k.plain) +
               " loads and stores in global memory";
    for (const work::kernel& k : own)
      if (what.share != 0 && k.busiest > 8 &&
          static_cast<double>(k.busiest) * static_cast<double>(k.threads) >
              what.share * static_cast<double>(k.accesses))
        return "one thread has far more than its share: it made " + std::to_string(k.busiest) +
               " of " + std::to_string(k.accesses) + " accesses to global memory, in which " +
               number_of(k.threads, "thread") + " took part";
    const std::uint64_t threads = most([&](const auto& k) {
      constexpr std::uint64_t kOthers = 31;  // in a warp
      const bool by_warp = what.texels != 0 || what.registers;
      const std::uint64_t warps = by_warp ? std::min(k.threads, k.warp_functions) : 0;
      return std::min(k.all_threads(), k.threads + kOthers * warps);
    });
    if (threads < what.threads)
      return "only " + number_of(threads, "thread") + " of a launch did any work, but there is " +
             "work for " + std::to_string(what.threads);
  }
  if (const auto threads = most([](const auto& k) { return k.loading_threads; });
      threads < what.loading_threads)
    return "only " + number_of(threads, "thread") +
           " of a launch read any of the data, but there is work for " +
           std::to_string(what.loading_threads);
  const std::uint64_t busy = most([](const auto& k) { return k.busy_blocks; });
  if (busy < what.blocks)
    return "only " + number_of(busy, "block") +
           " of a launch did any work, but there is work for " + std::to_string(what.blocks);
  if (const auto read = sum([](const auto& k) { return k.reads; }); read < what.reads)
    return "the kernels read only " + number_of(read, "byte") +
           " of global memory, but the data has " + std::to_string(what.reads) +
           ": the device did not process all of it";
  if (const auto read = sum([](const auto& k) { return k.reads; });
      what.reads_at_most != 0 && read > what.reads_at_most)
    return "the kernels read " + number_of(read, "byte") + " of global memory, but " +
           std::to_string(what.reads_at_most) +
           " are enough: the rest can come from shared memory, registers or a texture";
  if (const auto written = sum([](const auto& k) { return k.writes; }); written < what.writes)
    return "the kernels wrote only " + number_of(written, "byte") + ", but the result has " +
           std::to_string(what.writes) + ": the device did not compute all of it";
  if (const auto read = sum([](const auto& k) { return k.fetches; }); read < what.texels)
    return "the kernels read only " + number_of(read, "byte") +
           " through textures, but the data has " + std::to_string(what.texels);
  if (const auto threads = most([](const auto& k) { return k.fetching_threads; });
      what.texels != 0 && threads < what.threads)
    return "only " + number_of(threads, "thread") + " of a launch read a texture, but there is " +
           "work for " + std::to_string(what.threads);
  if (const auto widest = most([](const auto& k) { return k.bytes_a_load; });
      widest < what.bytes_a_load)
    return "no load from global memory has more than " + number_of(widest, "byte") +
           ", but the exercise requires loads of " + std::to_string(what.bytes_a_load);
  if (const auto widest = most([](const auto& k) { return k.bytes_a_shared_load; });
      widest < what.bytes_a_shared_load)
    return "no load from shared memory has more than " + number_of(widest, "byte") +
           ", but the exercise requires loads of " + std::to_string(what.bytes_a_shared_load);
  if (what.shared_memory) {
    const std::uint64_t shared = sum([](const auto& k) { return k.shared; });
    // What the lanes of a warp get from each other need not be in shared memory as well.
    constexpr std::uint64_t kLanes = 32;
    const std::uint64_t by_warps =
        sum([](const auto& k) { return kLanes * (k.warp_functions - k.warp_barriers); });
    if (shared == 0 || shared + by_warps < what.threads) return "shared memory was not used";
  }
  // (What bulk copies bring, no thread has written.)
  if (what.shared_memory && what.threads > 1 &&
      sum([](const auto& k) { return k.exchanges + k.bulk_bytes + k.tensor_bytes; }) == 0)
    return "no thread reads from shared memory what another thread has written there: nothing is "
           "shared";
  if (const auto exchanges = sum([](const auto& k) { return k.exchanges; });
      exchanges < what.exchanges)
    return "threads read from shared memory what another thread has written " +
           number_of(exchanges, "time") + ", but the exercise requires at least " +
           std::to_string(what.exchanges);
  if (const auto reads = sum([](const auto& k) {
        return k.reads_while_loading + (k.copies_under_way != 0 ? k.shared : 0);
      });
      reads < what.reads_while_loading)
    return "shared memory is read " + number_of(reads, "time") +
           " by a thread that has loads from global memory in flight, but the exercise requires at "
           "least " +
           std::to_string(what.reads_while_loading) +
           ": load the next tile before you use this one, and store it in shared memory after that";
  if (const auto copies = most([](const auto& k) { return k.copies_under_way; });
      copies < what.copies_under_way)
    return "while a thread reads shared memory, at most " + std::to_string(copies) +
           " of its asynchronous copies are in flight, but the exercise requires at least " +
           std::to_string(what.copies_under_way) +
           ": start the copies of the next tiles before you use this tile";
  if (const auto reads = sum([](const auto& k) { return k.shared_meanwhile; });
      reads < what.shared_meanwhile)
    return "shared memory is read " + number_of(reads, "time") +
           " while a bulk copy of the block is in flight, but the exercise requires at least " +
           std::to_string(what.shared_meanwhile) +
           ": start the copy of the next tile before you use this tile";
  if (const auto variables = done.costs.find("variable load");
      what.constant_memory && (variables == done.costs.end() || variables->second.requests == 0))
    return "no kernel read a __constant__ variable";
  // (Who does not fill it by its name may need its address for that.)
  if (what.constant_memory && done.calls.contains("cudaGetSymbolAddress") &&
      (done.calls.contains("cudaMemcpyToSymbol") || done.calls.contains("cudaMemcpyToSymbolAsync")))
    return "a kernel reads constant memory as such only by the variable's name: through the "
           "pointer that cudaGetSymbolAddress gives, it reads device memory";
  if (what.atomics && sum([](const auto& k) { return k.atomics + k.shared_atomics; }) == 0)
    return "no atomic function was used";
  if (what.shared_atomics && sum([](const auto& k) { return k.shared_atomics; }) == 0)
    return "no atomic function was used in shared memory";
  return {};
}

/// The same for what memory costs.
std::string complaint_of_costs(const work& done, const required& what) {
  std::ostringstream text;
  text.precision(3);
  for (const auto& [kind, cost] : done.costs) {
    if (kind != "global load" && kind != "global store" && kind != "shared load" &&
        kind != "shared store")
      continue;
    const double sectors = ratio(cost.sectors, cost.ideal_sectors);
    if (what.sectors != 0 && sectors > what.sectors) {
      text << kind << "s take " << sectors
           << " times the sectors that their bytes need (allowed: " << what.sectors
           << "): neighbouring threads do not access neighbouring elements";
      return text.str();
    }
    const double wavefronts = ratio(cost.wavefronts, cost.ideal_wavefronts);
    if (what.wavefronts != 0 && wavefronts > what.wavefronts) {
      text << kind << "s take " << wavefronts
           << " times the wavefronts that they need (allowed: " << what.wavefronts
           << "): the threads of a warp access different words of the same bank";
      return text.str();
    }
  }
  return {};
}

std::string complaint(const work& done, const required& what) {
  for (const auto& [name, count] : done.calls)
    if (!what.library && calculates(name)) return "a library did the work: " + name;
  for (const std::string& names : what.not_called)
    if (called(done, names)) return names + " was called, but must not be used here";
  std::string sentence = complaint_of_kernels(done, what);
  if (!sentence.empty()) return sentence;
  for (const std::string& names : what.calls)
    if (!called(done, names)) return or_for_bar(names) + " was not called";

  std::uint64_t shared_with_host = 0;
  for (const std::size_t bytes : done.host_memory) shared_with_host += bytes;
  const auto moved = [&](int kind) { return done.bytes_copied(kind) + shared_with_host; };
  if (moved(cudaMemcpyHostToDevice) < what.sent)
    return "only " + number_of(moved(cudaMemcpyHostToDevice), "byte") + " of " +
           std::to_string(what.sent) + " reached the device";
  if (const std::uint64_t back = moved(cudaMemcpyDeviceToHost); back < what.fetched)
    return "only " + number_of(back, "byte") + " of " + std::to_string(what.fetched) +
           " came back from the device" +
           (back != 0 ? ""
                      : ": did the host compute the result, or dereference a pointer to device "
                        "memory, which crashes on a GPU?");
  if (done.values_of_the_host && (what.fetched != 0 || (what.kernels != 0 && done.more_than_zeros)))
    return "they stay the same if everything that comes back from the device is replaced by zeros: "
           "the host computes them again";
  return complaint_of_costs(done, what);
}

/// What is wrong with a time that was measured while a recording pretended what things take.
std::string complaint_of_time(double ms, double by_the_host, const recorded_work& done,
                              timed what) {
  if (!std::isfinite(ms) || ms <= 0) return "nothing was measured";
  if (done.pretended_kernels == 0) return {};  // a step on the host, by the host's clock
  const auto events = [](const auto& call) { return call.first.starts_with("cudaEventElapsed"); };
  if (std::none_of(done.calls.begin(), done.calls.end(), events)) {
    const std::uint64_t slow = std::min(done.pretended_kernels, recording::kSlowKernels);
    const double least = what == timed::kernels ? static_cast<double>(slow) : 1;
    if (ms < least) return "no events measured it, and by the host's clock the kernels took longer";
    return is_measured(static_cast<float>(ms), by_the_host) ? "" : "the whole call took less";
  }
  const double copies = std::floor(ms / recording::kCopyMs + 1e-6);
  const double kernels = (ms - copies * recording::kCopyMs) / recording::kKernelMs;
  const std::string by_the_test =
      " (In this test, events say that a kernel takes 1000 ms, a memset 1 ms, and such a copy 1e9 "
      "ms.)";
  if (what == timed::everything)
    return copies >= static_cast<double>(done.pretended_copies)
               ? ""
               : "it does not contain all copies between host and device: record the first event "
                 "before the first copy, and the last one after the last copy." +
                     by_the_test;
  if (copies >= 1 && what != timed::with_copies)
    return "it contains copies between host and device, but should be the time of the kernel "
           "alone: record one event right before the launch, and one right after it." +
           by_the_test;
  if (ms < 0.999 * recording::kKernelMs)
    return "it does not contain the kernel: record one event before the launch, and one after "
           "it." +
           by_the_test;
  if (what == timed::kernels && 2 * kernels <= static_cast<double>(done.pretended_kernels))
    return "it contains only a part of the " + std::to_string(done.pretended_kernels) +
           " kernels: record one event before the first launch, and one after the last." +
           by_the_test;
  constexpr double kMemset = recording::kMemsetMs / recording::kKernelMs;  // in kernels
  if (what == timed::kernel && kernels - std::floor(kernels + kMemset / 2) > kMemset / 2)
    return "it contains a memset, but should be the time of the kernel alone: clear memory before "
           "the first event, or in the second function that time_kernel() takes." +
           by_the_test;
  if (copies > static_cast<double>(done.pretended_copies) ||
      (copies < 1 && kernels > static_cast<double>(done.pretended_kernels) +
                                   kMemset * static_cast<double>(done.pretended_memsets) + 0.001))
    return "it is longer than everything that the device did." + by_the_test;
  return {};
}

}  // namespace

::testing::AssertionResult is_measured(float milliseconds, double by_the_host,
                                       const recorded_work& done, timed what) {
  const std::string sentence = complaint_of_time(milliseconds, by_the_host, done, what);
  if (sentence.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "the time that was returned is " << milliseconds << " ms: " << sentence;
}

::testing::AssertionResult is_measured(float milliseconds, double by_the_host) {
  if (milliseconds > 0 && milliseconds <= 1.01 * by_the_host + 0.1)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the time that was returned is " << milliseconds
                                       << " ms, and the whole call took " << by_the_host << " ms";
}

#ifdef __CPU_DEVICE__
nothing_from::nothing_from(source which) {
  using cpu_device::lanes_get;
  cpu_device::set_lanes_get(which == source::tensor_cores ? lanes_get::no_products
                                                          : lanes_get::no_exchange);
}
nothing_from::~nothing_from() { cpu_device::set_lanes_get(cpu_device::lanes_get::everything); }
#else
nothing_from::nothing_from(source) {}
nothing_from::~nothing_from() = default;
#endif

}  // namespace detail

std::uint64_t recorded_work::bytes_copied(int kind) const {
  std::uint64_t bytes = 0;
  for (const copy& c : copies)
    if (c.kind == kind) bytes += c.bytes;
  return bytes;
}

namespace {
std::multiset<std::uint64_t> content_of(const std::vector<recorded_work::copy>& copies, int kind) {
  std::multiset<std::uint64_t> all;
  for (const recorded_work::copy& c : copies)
    if (c.kind == kind) all.insert(c.content);
  return all;
}
}  // namespace

std::multiset<std::uint64_t> recorded_work::came_back() const {
  return content_of(copies, cudaMemcpyDeviceToHost);
}
std::multiset<std::uint64_t> recorded_work::went_there() const {
  return content_of(copies, cudaMemcpyHostToDevice);
}

std::size_t recorded_work::streams() const {
  std::set<const void*> all;
  for (const kernel& k : kernels) all.insert(k.stream);
  return all.size();
}

std::size_t recorded_work::devices() const {
  std::set<int> all;
  for (const kernel& k : kernels) all.insert(k.device);
  return all.size();
}

::testing::AssertionResult as_required(const work& done, const required& what) {
  if (done.values && !*done.values)
    return ::testing::AssertionResult(*done.values)
           << (*done.values->message() == '\0' ? "the values are wrong" : "");
  const std::string sentence = detail::complaint(done, what);
  if (sentence.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << (done.values ? "right values, but " : "") << sentence;
}

void let_the_newest_stream_go_first() {
#ifdef __CPU_DEVICE__
  cpu_device::set_stream_policy(cpu_device::stream_policy::newest_first);
#endif
}

std::string waits_between_launches(const work& done) {
  std::string since_the_launch, waits;
  bool launched = false;
  for (const std::string& call : done.sequence)
    if (call == "cudaLaunchKernel") {
      waits += since_the_launch;
      since_the_launch.clear();
      launched = true;
    } else if (launched && (call.ends_with("Synchronize") || call == "cudaMemcpy to the host")) {
      since_the_launch += call + " ";
    }
  return waits;
}

}  // namespace lab::testing
