// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <map>
#include <memory>
#include <string>

#include "device.hpp"
#include "engine.hpp"
#include "memory.hpp"
#include "report.hpp"

namespace cpu_device {
namespace {

std::map<const void*, std::size_t>& opted_in() {  // kernels that may have more shared memory
  static auto* all = new std::map<const void*, std::size_t>;
  return *all;
}

std::string extent(dim3 d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

std::string launch_of(const launch_site& site) {
  return "the launch of " + std::string(site.kernel) + " at " + short_name(site.file) + ":" +
         std::to_string(site.line);
}

cudaError_t check_shape(const launch_site& site, const launch_shape& shape, const void* kernel) {
  const dim3 g = shape.grid, b = shape.block;
  const auto wrong = [&](cudaError_t error, const std::string& why) {
    return fail(error, launch_of(site) + " fails: " + why);
  };
  if (g.x == 0 || g.y == 0 || g.z == 0)
    return wrong(cudaErrorInvalidConfiguration,
                 "the grid " + extent(g) +
                     " has no blocks. An empty input needs no launch at all; n / 256 is 0 for "
                     "small n, (n + 255) / 256 is not.");
  if (b.x == 0 || b.y == 0 || b.z == 0)
    return wrong(cudaErrorInvalidConfiguration, "the block " + extent(b) + " has no threads.");
  if (b.x > 1024 || b.y > 1024 || b.z > 64 || std::size_t{b.x} * b.y * b.z > kMaxThreads)
    return wrong(
        cudaErrorInvalidConfiguration,
        "the block " + extent(b) +
            " is too large: at most 1024 threads, and (1024, 1024, 64) in each direction.");
  if (g.x > 2147483647U || g.y > 65535 || g.z > 65535)
    return wrong(cudaErrorInvalidConfiguration,
                 "the grid " + extent(g) +
                     " is too large: at most (2147483647, 65535, 65535) blocks. A negative number "
                     "looks like a huge one here.");
  std::size_t limit = kSharedLimit;
  if (const auto it = opted_in().find(kernel); it != opted_in().end()) limit = it->second;
  if (shape.shared_bytes > limit)
    return wrong(cudaErrorInvalidValue,
                 std::to_string(shape.shared_bytes) +
                     " bytes of dynamic shared memory are too many: " + std::to_string(limit) +
                     " without cudaFuncSetAttribute(kernel, "
                     "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), " +
                     std::to_string(kSharedOptinLimit) + " with it.");
  return cudaSuccess;
}

/// A GPU notices a wrong pointer when the kernel follows it; here it can be told by its name.
cudaError_t check_pointer(const launch_site& site, const void* pointer, unsigned position) {
  if (pointer == nullptr) return cudaSuccess;
  const auto wrong = [&](const std::string& what) {
    report(launch_of(site) + ": argument " + std::to_string(position) + " " + what);
    return cudaErrorIllegalAddress;
  };
  if (const auto a = find_allocation(pointer)) {
    const int here = current_device();
    if (a->kind == memory_kind::device && a->device != here && !peer_enabled(here, a->device))
      return wrong("points into memory of device " + std::to_string(a->device) +
                   ", but the kernel runs on device " + std::to_string(here) +
                   ".\n  Try: cudaSetDevice before the launch, or cudaDeviceEnablePeerAccess.");
    return cudaSuccess;
  }
  if (const auto a = find_freed(pointer))
    return wrong("points into " + describe(*a) + ".\n  Try: free memory only after its last use.");
  if (const auto a = find_near(pointer))
    return cudaSuccess;  // one past the end and the like: following it will be found
  return wrong(
      "is a host pointer, which a kernel cannot follow.\n  Try: cudaMalloc memory on the device, "
      "cudaMemcpy the data there, and pass that pointer.");
}

}  // namespace

cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > kSharedOptinLimit)
    return fail(cudaErrorInvalidValue);
  const std::lock_guard lock(api_mutex());
  opted_in()[kernel] = std::max(kSharedLimit, static_cast<std::size_t>(value));
  return cudaSuccess;
}

void submit(const launch_site& site, const launch_shape& shape, const kernel_call& call) {
  if (inside_kernel()) {
    report(launch_of(site) + " happens inside a kernel: the CPU device has no dynamic parallelism");
    fail(cudaErrorNotSupported);
    return;
  }
  if (const cudaError_t pending = pending_error(); pending != cudaSuccess) {
    fail(pending);
    return;
  }
  const std::lock_guard lock(api_mutex());
  if (check_shape(site, shape, call.kernel) != cudaSuccess) return;
  if (!is_stream(shape.stream)) {
    fail(cudaErrorInvalidResourceHandle, launch_of(site) + " fails: its stream does not exist.");
    return;
  }
  const int device = current_device();
  for (unsigned i = 0; i < call.pointer_count; ++i) {
    const cudaError_t status = check_pointer(site, call.pointers[i], call.pointer_positions[i]);
    if (status != cudaSuccess) {
      break_device(device, status);
      return;
    }
  }
  const auto execute = [site, shape, device, run = call.run](const void* arguments) {
    running_launch launch;
    launch.site = site;
    launch.grid = shape.grid;
    launch.block = shape.block;
    launch.shared_bytes = shape.shared_bytes;
    launch.run = run;
    launch.arguments = arguments;
    launch.device = device;
    launch.order = current_order(launch.seed);
    const cudaError_t error = run_launch(launch);
    if (error != cudaSuccess) break_device(device, error);
    if (check_slack(site.kernel)) break_device(device, cudaErrorIllegalAddress);
  };
  if (!runs_late()) {
    enqueue(shape.stream, [&] { execute(call.arguments); });  // runs before enqueue comes back
    return;
  }
  const std::shared_ptr<void> kept(call.clone(call.arguments), call.destroy);
  enqueue(shape.stream, [execute, kept] { execute(kept.get()); });
}

}  // namespace cpu_device
