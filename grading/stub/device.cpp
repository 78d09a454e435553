// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The worker's end of what a test asks of CUDA and of the CPU device: see proxy/device.cpp.

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif
#include <sys/mman.h>

#include <optional>

#include "../wire/raw.hpp"
#ifdef __CPU_DEVICE__
#include "device_state.hpp"
#endif
#include "lab/cuda_check.hpp"
#include "lab/new_memory.hpp"
#include "lab/time_kernel.hpp"
#include "stub.hpp"

namespace worker {
namespace {

using wire::handler_of;
using wire::raw;

template <class... P, class Function>
offer cuda(const char* name, Function function) {
  return {name, handler_of<cudaError_t, P...>(function)};
}

/// A function whose first argument says where the result goes; nowhere is possible.
template <class T, class... P, class Function>
offer result(const char* name, Function function) {
  return cuda<bool, raw<T>&, P...>(name, [function](bool is_there, raw<T>& value, P... arguments) {
    return function(is_there ? &value.value : nullptr, arguments...);
  });
}

#ifdef __CPU_DEVICE__
template <class... P, class Function>
offer setting(const char* name, Function function) {
  return {name, handler_of<bool, P...>([function](P... arguments) {
            function(arguments...);
            return true;
          })};
}
#endif

template <class R, class... P, class Function>
offer answer(const char* name, Function function) {
  return {name, handler_of<R, P...>(function)};
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
void* pointer_of(std::uint64_t number) { return reinterpret_cast<void*>(number); }

const offer kOffers[] = {
    result<int>("cudaGetDeviceCount", cudaGetDeviceCount),
    result<int>("cudaGetDevice", cudaGetDevice),
    cuda<int>("cudaSetDevice", cudaSetDevice),
    result<int, int, int>("cudaDeviceCanAccessPeer", cudaDeviceCanAccessPeer),
    cuda<int, unsigned>("cudaDeviceEnablePeerAccess", cudaDeviceEnablePeerAccess),
    cuda<int>("cudaDeviceDisablePeerAccess", cudaDeviceDisablePeerAccess),
    result<int, cudaDeviceAttr, int>("cudaDeviceGetAttribute", cudaDeviceGetAttribute),
    result<cudaDeviceProp, int>(
        "cudaGetDeviceProperties",
        [](cudaDeviceProp* to, int device) { return cudaGetDeviceProperties(to, device); }),
    result<std::size_t, raw<cudaChannelFormatDesc>, int>(
        "cudaDeviceGetTexture1DLinearMaxWidth",
        [](std::size_t* to, const raw<cudaChannelFormatDesc>& format, int device) {
          return cudaDeviceGetTexture1DLinearMaxWidth(to, &format.value, device);
        }),
    cuda<>("cudaDeviceSynchronize", cudaDeviceSynchronize),
    cuda<>("cudaDeviceReset", cudaDeviceReset),
    cuda<>("cudaGetLastError", cudaGetLastError),
    cuda<>("cudaPeekAtLastError", cudaPeekAtLastError),
    answer<std::string, cudaError_t>("cudaGetErrorName",
                                     [](cudaError_t e) { return cudaGetErrorName(e); }),
    answer<std::string, cudaError_t>("cudaGetErrorString",
                                     [](cudaError_t e) { return cudaGetErrorString(e); }),
    cuda<std::size_t&, std::size_t&>("cudaMemGetInfo",
                                     [](std::size_t& free_bytes, std::size_t& total_bytes) {
                                       return cudaMemGetInfo(&free_bytes, &total_bytes);
                                     }),
    result<std::uint64_t, std::size_t>("cudaMalloc",
                                       [](std::uint64_t* to, std::size_t bytes) {
                                         void* memory = nullptr;
                                         const cudaError_t status =
                                             cudaMalloc(to ? &memory : nullptr, bytes);
                                         if (to) *to = number_of(memory);
                                         return status;
                                       }),
    cuda<std::uint64_t&, std::size_t&, std::size_t, std::size_t>(
        "cudaMallocPitch",
        [](std::uint64_t& to, std::size_t& pitch, std::size_t width, std::size_t height) {
          void* memory = nullptr;
          const cudaError_t status = cudaMallocPitch(&memory, &pitch, width, height);
          to = number_of(memory);
          return status;
        }),
    cuda<std::uint64_t>("cudaFree", [](std::uint64_t p) { return cudaFree(pointer_of(p)); }),
    result<cudaPointerAttributes, std::uint64_t>(
        "cudaPointerGetAttributes",
        [](cudaPointerAttributes* to, std::uint64_t pointer) {
          return cudaPointerGetAttributes(to, pointer_of(pointer));
        }),
    cuda<std::uint64_t>("cudaLaunchHostFunc",
                        [](std::uint64_t number) {
                          return cudaLaunchHostFunc(
                              nullptr, [](void* what) { call_back(number_of(what)); },
                              pointer_of(number));
                        }),

    answer<bool, int>("take_samples",
                      [](int samples) {
                        static std::optional<lab::repeated_timing> repeated;
                        repeated.reset();
                        if (samples > 0) repeated.emplace(samples);
                        return true;
                      }),

#ifdef __CPU_DEVICE__
    setting<cpu_device::thread_order, unsigned>("set_thread_order", cpu_device::set_thread_order),
    setting<cpu_device::stream_policy>("set_stream_policy", cpu_device::set_stream_policy),
    setting<unsigned>("set_peer_group", cpu_device::set_peer_group),
    setting<std::uint64_t, std::uint64_t>("set_blocks_that_run", cpu_device::set_blocks_that_run),
    setting<cpu_device::lanes_get>("set_lanes_get", cpu_device::set_lanes_get),
    setting<bool, raw<cudaDeviceProp>, int>("set_said_of_devices",
                                            [](bool is_said, const raw<cudaDeviceProp>& what,
                                               int of) {
                                              static cudaDeviceProp said;
                                              said = what.value;
                                              cpu_device::set_said_of_devices(
                                                  is_said ? &said : nullptr, of);
                                            }),
    setting<int, bool, int, int>("set_said_of_attribute",
                                 [](int attribute, bool is_said, int value, int of) {
                                   cpu_device::set_said_of_attribute(
                                       attribute, is_said ? &value : nullptr, of);
                                 }),
    setting<std::uint64_t>("set_pool_piece", cpu_device::set_pool_piece),
    setting<cpu_device::said_of_pinned_memory>("set_said_of_pinned_memory",
                                               cpu_device::set_said_of_pinned_memory),
    setting<unsigned char>("fill_new_memory_with",
                           [](unsigned char byte) {
                             lab::detail::new_memory_byte = byte;
                             cpu_device::fill_new_memory_with(byte);
                           }),
    setting<bool>("count_accesses", cpu_device::count_accesses),
    setting<>("reset_counters", cpu_device::reset_counters),
    answer<std::size_t>("live_allocations", cpu_device::live_allocations),
    answer<std::size_t, cpu_device::object_kind>("live_objects", cpu_device::live_objects),
    answer<std::string, cpu_device::object_kind>(
        "name_of_objects", [](cpu_device::object_kind kind) { return cpu_device::name_of(kind); }),
    answer<lab::testing::detail::device_state>("state_of_devices",
                                               lab::testing::detail::state_of_devices),
    answer<lab::testing::detail::repair>("repair_devices", lab::testing::detail::repair_devices),
    answer<std::string>("newest_allocation", cpu_device::newest_allocation),
    answer<std::string>("last_report", cpu_device::last_report),
    setting<>("report_again", cpu_device::report_again),
    answer<bool>("is_check_build", cpu_device::is_check_build),
    answer<bool, bool>("set_lanes_apart", cpu_device::set_lanes_apart),
    answer<std::vector<cpu_device::access_counters>>("read_counters", cpu_device::read_counters),
#endif
};

const bool kPrepared = [] {
  wire::pinned().allocate = [](std::size_t bytes, unsigned flags) -> std::shared_ptr<void> {
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, bytes, flags));
    return {memory, [](void* there) { (void)cudaFreeHost(there); }};
  };
  wire::pinned().pretend = [](std::size_t bytes) -> std::shared_ptr<void> {
    // Where that is more than there are addresses, one page has to do.
    for (const std::size_t size : {bytes, std::size_t{4096}}) {
      void* const there =
          ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (there != MAP_FAILED) return {there, [size](void* at) { ::munmap(at, size); }};
    }
    throw std::bad_alloc();
  };
  return true;
}();

}  // namespace
}  // namespace worker
