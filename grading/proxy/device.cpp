// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The CUDA of a grader: there is no device in its process. What a test asks of CUDA, or of the CPU
// device where that is the worker's, is asked of the worker, where the student's code runs: the
// current device, pending errors, what is still allocated. stub/device.cpp has the other end of
// each function.
//
// These are the functions that the course's tests use. A test that uses another one does not link
// with a grader until it is here and there.
//
// After the loss of a worker nothing of this throws, since it is called from where nothing may be
// thrown: calls fail, and counts stay what they were.

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "../wire/raw.hpp"
#ifdef __CPU_DEVICE__
#include "device_state.hpp"
#endif
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "worker.hpp"

namespace grading {
namespace {

template <class R, class... P>
R ask(const char* name, R without_worker, std::type_identity_t<P>... arguments) noexcept {
  try {
    return wire::call<R, P...>(function(name), static_cast<P>(arguments)...);
  } catch (...) {
    return without_worker;
  }
}

constexpr cudaError_t kLost = cudaErrorUnknown;

/// In one process the other tests would be left out; here they get a new worker.
void end_after_endless_kernel() noexcept { give_up("had a kernel that never ended"); }

template <class... P>
cudaError_t call(const char* name, std::type_identity_t<P>... arguments) noexcept {
  const cudaError_t status = ask<cudaError_t, P...>(name, kLost, static_cast<P>(arguments)...);
  if (status != cudaErrorLaunchTimeout) return status;
  end_after_endless_kernel();
  return kLost;
}

/// An address of the worker: never followed here.
std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
void* pointer_of(std::uint64_t number) { return reinterpret_cast<void*>(number); }

/// Where the result of a call goes; nowhere is worth a question, too.
template <class T, class... P>
cudaError_t call_for(const char* name, T* result, std::type_identity_t<P>... arguments) noexcept {
  wire::raw<T> value{};
  bool is_there = result != nullptr;
  const cudaError_t status = call<bool, wire::raw<T>&, P...>(name, is_there, value, arguments...);
  if (is_there && status == cudaSuccess) *result = value.value;
  return status;
}

/// The words for an error, each asked once.
const char* words(const char* name, cudaError_t error) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, cudaError_t>, std::string> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({name, error}, "unknown error");
  if (is_new) at->second = ask<std::string, cudaError_t>(name, at->second, error);
  return at->second.c_str();
}

/// Host memory that CUDA knows: ours, but what is in it is pinned in the worker, too.
struct pinned_ranges {
  std::mutex mutex;
  std::map<const std::byte*, std::pair<std::size_t, unsigned>> all;  // size and flags

  std::optional<unsigned> flags_of(const void* address) {
    const std::lock_guard lock(mutex);
    const auto* const at = static_cast<const std::byte*>(address);
    auto range = all.upper_bound(at);
    if (range == all.begin()) return std::nullopt;
    --range;
    if (at >= range->first + range->second.first) return std::nullopt;
    return range->second.second;
  }
};
pinned_ranges& ranges() {
  static pinned_ranges one;
  return one;
}

#ifdef __CPU_DEVICE__
struct settings {
  std::optional<std::pair<cpu_device::thread_order, unsigned>> order;
  std::optional<cpu_device::stream_policy> policy;
  std::optional<unsigned char> fill;
  std::optional<unsigned> peers;
  std::optional<bool> apart;
};
settings& chosen() {
  static settings one;
  return one;
}

/// Makes a choice, and says whether the worker has to be told: each test chooses an order of
/// threads and of streams, most of them the one that is chosen.
template <class T>
bool changes(std::optional<T>& chosen, const std::type_identity_t<T>& now) {
  return std::exchange(chosen, now) != now;
}
#endif

const bool kPrepared = [] {
  wire::pinned().flags_of = [](const void* address) { return ranges().flags_of(address); };
  lab::detail::tell_of_samples = [](int samples) {
    (void)ask<bool, int>("take_samples", false, samples);
  };
#ifdef __CPU_DEVICE__
  on_new_worker([] {
    const settings before = std::exchange(chosen(), {});  // this worker has been told nothing
    if (before.order) cpu_device::set_thread_order(before.order->first, before.order->second);
    if (before.policy) cpu_device::set_stream_policy(*before.policy);
    if (before.fill) cpu_device::fill_new_memory_with(*before.fill);
    if (before.peers) cpu_device::set_peer_group(*before.peers);
    if (before.apart) cpu_device::set_lanes_apart(*before.apart);
  });
#endif
  return true;
}();

#ifdef __CPU_DEVICE__
/// A number that is as it was when nobody is there to say.
template <class... P>
std::size_t count(const char* name, std::size_t& last, std::type_identity_t<P>... arguments) {
  return last = ask<std::size_t, P...>(name, last, arguments...);
}
#else
/// On a GPU every call of a process fails once a kernel has failed. (The CPU device is repaired:
/// tests/support/test_main.cpp.)
class repair : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (!loss().empty() || call<>("cudaDeviceSynchronize") == cudaSuccess) return;
    (void)call<>("cudaGetLastError");
    if (call<>("cudaDeviceSynchronize") != cudaSuccess && loss().empty()) renew();
  }
};
const lab::testing::needs needs_repair([] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new repair);  // GoogleTest owns it
});
#endif

}  // namespace
}  // namespace grading

using grading::call;
using grading::call_for;

cudaError_t cudaGetDeviceCount(int* count) { return call_for("cudaGetDeviceCount", count); }
cudaError_t cudaGetDevice(int* device) { return call_for("cudaGetDevice", device); }
cudaError_t cudaSetDevice(int device) { return call<int>("cudaSetDevice", device); }
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return call_for<int, int, int>("cudaDeviceCanAccessPeer", can, device, peer);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return call<int, unsigned>("cudaDeviceEnablePeerAccess", peer, flags);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call<int>("cudaDeviceDisablePeerAccess", peer);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return call_for<int, cudaDeviceAttr, int>("cudaDeviceGetAttribute", value, which, device);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return call_for<cudaDeviceProp, int>("cudaGetDeviceProperties", properties, device);
}
#ifndef __CPU_DEVICE__  // the CPU device has it in its header; no device is asked
cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
#endif
cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(std::size_t* width,
                                                 const cudaChannelFormatDesc* format, int device) {
  return call_for<std::size_t, wire::raw<cudaChannelFormatDesc>, int>(
      "cudaDeviceGetTexture1DLinearMaxWidth", width,
      wire::raw<cudaChannelFormatDesc>{format == nullptr ? cudaChannelFormatDesc{} : *format},
      device);
}
cudaError_t cudaDeviceSynchronize() { return call<>("cudaDeviceSynchronize"); }
cudaError_t cudaDeviceReset() { return call<>("cudaDeviceReset"); }
cudaError_t cudaGetLastError() { return call<>("cudaGetLastError"); }
cudaError_t cudaPeekAtLastError() { return call<>("cudaPeekAtLastError"); }
const char* cudaGetErrorName(cudaError_t error) {
  return grading::words("cudaGetErrorName", error);
}
const char* cudaGetErrorString(cudaError_t error) {
  return grading::words("cudaGetErrorString", error);
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call<std::size_t&, std::size_t&>("cudaMemGetInfo", *free_bytes, *total_bytes);
}
cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  std::uint64_t number = 0;
  const cudaError_t status =
      call_for<std::uint64_t, std::size_t>("cudaMalloc", pointer ? &number : nullptr, bytes);
  if (status == cudaSuccess) *pointer = grading::pointer_of(number);
  return status;
}
cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width,
                            std::size_t height) {
  std::uint64_t number = 0;
  const cudaError_t status = call<std::uint64_t&, std::size_t&, std::size_t, std::size_t>(
      "cudaMallocPitch", number, *pitch, width, height);
  if (status == cudaSuccess) *pointer = grading::pointer_of(number);
  return status;
}
cudaError_t cudaFree(void* pointer) {
  return call<std::uint64_t>("cudaFree", grading::number_of(pointer));
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call_for<cudaPointerAttributes, std::uint64_t>("cudaPointerGetAttributes", attributes,
                                                        grading::number_of(pointer));
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(grading::ranges().mutex);
  grading::ranges().all[static_cast<std::byte*>(memory)] = {bytes, flags};
  *pointer = memory;
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  const std::lock_guard lock(grading::ranges().mutex);
  if (grading::ranges().all.erase(static_cast<std::byte*>(pointer)) == 0)
    return cudaErrorInvalidValue;
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (stream != nullptr) return cudaErrorNotSupported;  // streams do not cross
  return call<std::uint64_t>("cudaLaunchHostFunc",
                             grading::add_callback([function, data] { function(data); }));
}

#ifdef __CPU_DEVICE__
namespace cpu_device {

void set_thread_order(thread_order order, unsigned seed) {
  if (!grading::changes(grading::chosen().order, {order, seed})) return;
  (void)grading::ask<bool, thread_order, unsigned>("set_thread_order", false, order, seed);
}
void fill_new_memory_with(unsigned char byte) {
  grading::chosen().fill = byte;
  (void)grading::ask<bool, unsigned char>("fill_new_memory_with", false, byte);
}
void set_blocks_that_run(std::uint64_t first, std::uint64_t count) {
  (void)grading::ask<bool, std::uint64_t, std::uint64_t>("set_blocks_that_run", false, first,
                                                         count);
}
void set_peer_group(unsigned devices) {
  grading::chosen().peers = devices;
  (void)grading::ask<bool, unsigned>("set_peer_group", false, devices);
}
void set_lanes_get(lanes_get what) {
  (void)grading::ask<bool, lanes_get>("set_lanes_get", false, what);
}
bool set_lanes_apart(bool apart) {
  const bool before = grading::chosen().apart.value_or(false);
  if (grading::changes(grading::chosen().apart, apart))
    (void)grading::ask<bool, bool>("set_lanes_apart", false, apart);
  return before;
}
void set_said_of_devices(const cudaDeviceProp* what, int of) {
  (void)grading::ask<bool, bool, wire::raw<cudaDeviceProp>, int>(
      "set_said_of_devices", false, what != nullptr, {what == nullptr ? cudaDeviceProp{} : *what},
      of);
}
void set_said_of_attribute(int attribute, const int* value, int of) {
  (void)grading::ask<bool, int, bool, int, int>("set_said_of_attribute", false, attribute,
                                                value != nullptr, value == nullptr ? 0 : *value,
                                                of);
}
void set_pool_piece(std::uint64_t bytes) {
  (void)grading::ask<bool, std::uint64_t>("set_pool_piece", false, bytes);
}
void set_said_of_pinned_memory(said_of_pinned_memory what) {
  (void)grading::ask<bool, said_of_pinned_memory>("set_said_of_pinned_memory", false, what);
}
void set_stream_policy(stream_policy policy) {
  if (!grading::changes(grading::chosen().policy, policy)) return;
  (void)grading::ask<bool, stream_policy>("set_stream_policy", false, policy);
}

std::size_t live_allocations() {
  static std::size_t last = 0;
  return grading::count<>("live_allocations", last);
}
std::size_t live_objects(object_kind kind) {
  static std::map<object_kind, std::size_t> last;
  return grading::count<object_kind>("live_objects", last[kind], kind);
}
const char* name_of(object_kind kind) {
  static std::map<object_kind, std::string> known;
  const auto [at, is_new] = known.try_emplace(kind, "objects");
  if (is_new)
    at->second = grading::ask<std::string, object_kind>("name_of_objects", at->second, kind);
  return at->second.c_str();
}

std::string newest_allocation() { return grading::ask<std::string>("newest_allocation", ""); }
std::string last_report() {
  return grading::ask<std::string>("last_report", "(nobody is there to say)");
}
void report_again() { (void)grading::ask<bool>("report_again", false); }
bool is_check_build() { return grading::ask<bool>("is_check_build", false); }

void count_accesses(bool on) { (void)grading::ask<bool, bool>("count_accesses", false, on); }
void reset_counters() { (void)grading::ask<bool>("reset_counters", false); }
std::vector<access_counters> read_counters() {
  return grading::ask<std::vector<access_counters>>("read_counters", {});
}

}  // namespace cpu_device

namespace lab::testing::detail {

device_state state_of_devices() {
  constexpr std::size_t kKinds = static_cast<std::size_t>(cpu_device::kLastObjectKind) + 1;
  static device_state last{.objects = std::vector<std::size_t>(kKinds)};
  device_state now = grading::ask<device_state>("state_of_devices", last);
  if (now.objects.size() == kKinds)
    last = std::move(now);
  else
    grading::give_up("sent what it was not asked for");
  return last;
}
repair repair_devices() {
  const auto done = grading::ask<repair>("repair_devices", repair::reset);
  if (done != repair::never_ended) return done;
  grading::end_after_endless_kernel();
  return repair::reset;
}

}  // namespace lab::testing::detail
#endif
