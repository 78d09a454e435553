// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "api/calls.hpp"
#include "api/kernels.hpp"
#include "api/stream_queue.hpp"
#include "base/events.hpp"
#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "cpu_device/launch_api.h"
#include "engine/engine.hpp"
#include "engine/symbols.hpp"
#include "observers/watchdog.hpp"

namespace cpu_device {
namespace {

/// Kernels that may have more shared memory on a device. On a GPU each device has its own copy of
/// a kernel, and only that of the current one is asked for more.
std::map<std::pair<int, const void*>, std::size_t>& opted_in() {
  static auto* all = new std::map<std::pair<int, const void*>, std::size_t>;
  return *all;
}

std::map<const void*, unsigned>& thread_limits() {  // kernels with __launch_bounds__
  static auto* all = new std::map<const void*, unsigned>;
  return *all;
}

std::map<const void*, dim3>& cluster_dims() {  // kernels with __cluster_dims__
  static auto* all = new std::map<const void*, dim3>;
  return *all;
}

std::set<const void*>& large_clusters() {  // kernels that may have clusters of more than 8 blocks
  static auto* all = new std::set<const void*>;
  return *all;
}

std::map<const void*, known_kernel>& known_kernels() {
  static auto* all = new std::map<const void*, known_kernel>;
  return *all;
}

std::string extent(dim3 d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

std::string launch_of(const launch_site& site) {
  return "the launch of " + std::string(site.kernel) + " at " + short_name(site.file) + ":" +
         std::to_string(site.line);
}

/// What CUDA 13 calls a grid or a block that cannot be. Until CUDA 12 it was
/// cudaErrorInvalidConfiguration, as documents still say.
constexpr cudaError_t kRefused = cudaErrorInvalidValue;

unsigned blocks_in(dim3 cluster) { return cluster.x * cluster.y * cluster.z; }

/// How many of the blocks run at the same time: their occupancy of all multiprocessors, and one
/// cluster at least.
std::uint64_t resident_blocks(const launch_shape& shape) {
  const int fitting =
      blocks_that_fit(shape.block.x * shape.block.y * shape.block.z, shape.shared_bytes);
  return std::max<std::uint64_t>(std::uint64_t{worker_count()} * static_cast<unsigned>(fitting),
                                 blocks_in(shape.cluster));
}

/// Why the kernel's blocks cannot form such clusters; empty if they can.
std::string wrong_cluster(const launch_shape& shape, const void* kernel) {
  const dim3 g = shape.grid, c = shape.cluster, declared = cluster_dims_of(kernel);
  if (c.x == 0 && c.y == 0 && c.z == 0) return {};
  const std::string cluster = "clusters of " + extent(c) + " blocks ";
  if (c.x == 0 || c.y == 0 || c.z == 0)
    return cluster + "have none in some direction. Try: 1 where a cluster is flat.";
  if (declared.x != 0 && (c.x != declared.x || c.y != declared.y || c.z != declared.z))
    return cluster + "are asked for, but the kernel was compiled for " + extent(declared) +
           ": __cluster_dims__. Try: the attribute or __cluster_dims__, not both.";
  const unsigned limit = cluster_limit_of(kernel);
  if (c.x > limit || c.y > limit || c.z > limit || blocks_in(c) > limit)
    return cluster + "are too large: at most " + std::to_string(kPortableCluster) + " blocks, or " +
           std::to_string(kLargestCluster) + " with cudaFuncSetAttribute(kernel, " +
           "cudaFuncAttributeNonPortableClusterSizeAllowed, 1).";
  if (g.x % c.x != 0 || g.y % c.y != 0 || g.z % c.z != 0)
    return "the grid " + extent(g) + " is no multiple of the cluster " + extent(c) +
           ": all clusters are whole. Try: round the number of blocks up, and let the threads that "
           "are too many do nothing.";
  return {};
}

cudaError_t check_shape(const launch_site& site, const launch_shape& shape, const void* kernel) {
  const dim3 g = shape.grid, b = shape.block;
  const auto wrong = [&](cudaError_t error, const std::string& why) {
    return fail(error, launch_of(site) + " fails: " + why);
  };
  if (g.x == 0 || g.y == 0 || g.z == 0)
    return wrong(kRefused,
                 "the grid " + extent(g) +
                     " has no blocks. An empty input needs no launch at all; n / 256 is 0 for "
                     "small n, (n + 255) / 256 is not.");
  if (b.x == 0 || b.y == 0 || b.z == 0)
    return wrong(kRefused, "the block " + extent(b) + " has no threads.");
  if (b.x > 1024 || b.y > 1024 || b.z > 64 || std::size_t{b.x} * b.y * b.z > kMaxThreads)
    return wrong(
        kRefused,
        "the block " + extent(b) +
            " is too large: at most 1024 threads, and (1024, 1024, 64) in each direction.");
  const unsigned threads = b.x * b.y * b.z, thread_limit = thread_limit_of(kernel);
  if (threads > thread_limit)
    return wrong(kRefused, "the block " + extent(b) + " has " + std::to_string(threads) +
                               " threads, but the kernel was compiled for at most " +
                               std::to_string(thread_limit) + ": __launch_bounds__(" +
                               std::to_string(thread_limit) +
                               "). Try: a smaller block, or a higher bound.");
  if (g.x > 2147483647U || g.y > 65535 || g.z > 65535)
    return wrong(kRefused,
                 "the grid " + extent(g) +
                     " is too large: at most (2147483647, 65535, 65535) blocks. A negative number "
                     "looks like a huge one here.");
  if (shape.shared_bytes > shared_limit_of(kernel))
    return wrong(cudaErrorInvalidValue,
                 std::to_string(shape.shared_bytes) +
                     " bytes of dynamic shared memory are too many: this kernel may have " +
                     std::to_string(shared_limit_of(kernel)) +
                     ". Try: cudaFuncSetAttribute(kernel, "
                     "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) before, with at most " +
                     std::to_string(kSharedOptinLimit) + ".");
  if (const std::string why = wrong_cluster(shape, kernel); !why.empty())
    return wrong(cudaErrorInvalidClusterSize, why);
  if (shape.cooperative) {
    const std::uint64_t most = resident_blocks(shape);
    if (std::uint64_t{g.x} * g.y * g.z > most)
      return wrong(cudaErrorCooperativeLaunchTooLarge,
                   "the grid " + extent(g) + " has more blocks than can run at the same time, " +
                       std::to_string(most) +
                       " of this size. Try: cudaOccupancyMaxActiveBlocksPerMultiprocessor times "
                       "the device's multiProcessorCount, and a grid-stride loop.");
  }
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
    if (!may_use(here, *a))
      return wrong("points into memory of device " + std::to_string(a->device) +
                   ", but the kernel runs on device " + std::to_string(here) +
                   ".\n  Try: cudaSetDevice before the launch, or " +
                   (a->reached_by != nullptr ? "cudaMemPoolSetAccess, since it is of a memory pool."
                                             : "cudaDeviceEnablePeerAccess."));
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

bool note_launch_bound(const void* kernel, unsigned threads) {
  const std::lock_guard lock(api_mutex());
  thread_limits()[kernel] = threads;
  return true;
}

unsigned thread_limit_of(const void* kernel) {
  const auto it = thread_limits().find(kernel);
  return it != thread_limits().end() ? std::min(it->second, kMaxThreads) : kMaxThreads;
}

std::size_t shared_limit_of(const void* kernel) {
  const auto it = opted_in().find({current_device(), kernel});
  return it != opted_in().end() ? it->second : kSharedLimit;
}

bool note_cluster_dims(const void* kernel, dim3 cluster) {
  const std::lock_guard lock(api_mutex());
  cluster_dims()[kernel] = cluster;
  return true;
}

dim3 cluster_dims_of(const void* kernel) {
  const auto it = cluster_dims().find(kernel);
  return it != cluster_dims().end() ? it->second : dim3(0, 0, 0);
}

unsigned cluster_limit_of(const void* kernel) {
  return large_clusters().count(kernel) != 0 ? kLargestCluster : kPortableCluster;
}

cudaError_t set_function_attribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  return call(api::cudaFuncSetAttribute, [&] {
    if (kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout ||
        attribute == cudaFuncAttributeClusterSchedulingPolicyPreference)
      return cudaSuccess;
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && (value == 0 || value == 1)) {
      if (value == 1)
        large_clusters().insert(kernel);
      else
        large_clusters().erase(kernel);
      return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        static_cast<std::size_t>(value) > kSharedOptinLimit)
      return fail(cudaErrorInvalidValue);
    // As on a GPU, a value below what a launch may have without it lowers the limit.
    opted_in()[{current_device(), kernel}] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}

void note_kernel(const void* kernel, const known_kernel& how) {
  const std::lock_guard lock(api_mutex());
  known_kernels()[kernel] = how;
}

const char* name_of_kernel(const void* kernel, const char* otherwise) {
  const std::lock_guard lock(api_mutex());
  const auto known = known_kernels().find(kernel);
  if (known != known_kernels().end()) return known->second.name;
  static auto* names = new std::map<const void*, std::string>;
  const auto [entry, is_new] = names->try_emplace(kernel);
  if (is_new) entry->second = function_name(kernel);
  return entry->second.empty() ? otherwise : entry->second.c_str();
}

cudaError_t launch_by_address(const void* kernel, const launch_shape& shape, void** arguments,
                              const char* file, int line) {
  const std::lock_guard lock(api_mutex());
  const auto it = known_kernels().find(kernel);
  if (it == known_kernels().end())
    return fail(cudaErrorInvalidResourceHandle,
                "the launch at " + short_name(file) + ":" + std::to_string(line) +
                    " fails: the address is none of a kernel. Try: name the kernel in the call, or "
                    "in a cast, (void*)kernel.");
  return it->second.launch({it->second.name, file, line}, shape, kernel, arguments);
}

bool is_known_kernel(const void* kernel) { return known_kernels().count(kernel) != 0; }

cudaError_t launch_again(const kernel_node& like, const launch_shape& shape, void** arguments) {
  const std::shared_ptr<void> copy(like.call.clone(like.call.arguments), like.call.destroy);
  if (arguments == nullptr && like.call.argument_count != 0) return fail(cudaErrorInvalidValue);
  like.call.visit(copy.get(), arguments, true);
  kernel_call call = like.call;
  call.arguments = copy.get();
  call.pointer_count = 0;  // which are pointers was known where it was launched
  return submit(like.site, shape, call);
}

cudaError_t shape_of(const cudaLaunchConfig_t* config, launch_shape& shape) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr))
    return fail(cudaErrorInvalidValue);
  shape = {config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream, false};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& a = config->attrs[i];
    switch (a.id) {
      case cudaLaunchAttributeCooperative:
        shape.cooperative = a.val.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        shape.cluster = dim3(a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z);
        break;
      case cudaLaunchAttributeProgrammaticEvent:
      case cudaLaunchAttributeLaunchCompletionEvent:
      case cudaLaunchAttributeDeviceUpdatableKernelNode:
        return fail(cudaErrorNotSupported, "the CPU device has no launch attribute " +
                                               std::to_string(static_cast<int>(a.id)));
      default:  // the others are hints
        if (static_cast<unsigned>(a.id) > cudaLaunchAttributePreferredSharedMemoryCarveout)
          return fail(cudaErrorInvalidValue);
    }
  }
  return cudaSuccess;
}

cudaError_t largest_cluster(int* blocks, const void* kernel, const cudaLaunchConfig_t* config) {
  return call(api::cudaOccupancyMaxPotentialClusterSize, [&] {
    if (kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
    launch_shape shape{};
    if (blocks == nullptr) return fail(cudaErrorInvalidValue);
    if (const cudaError_t status = shape_of(config, shape); status != cudaSuccess) return status;
    shape.grid = shape.cluster;  // the grid is not asked for
    if (const std::string why = wrong_cluster(shape, kernel); !why.empty())
      return fail(cudaErrorInvalidClusterSize, this_call() + " fails: " + why);
    *blocks = static_cast<int>(cluster_limit_of(kernel));  // whatever it was compiled for
    return cudaSuccess;
  });
}

cudaError_t active_clusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config) {
  return call(api::cudaOccupancyMaxActiveClusters, [&] {
    if (kernel == nullptr) return fail(cudaErrorInvalidDeviceFunction);
    launch_shape shape{};
    if (clusters == nullptr) return fail(cudaErrorInvalidValue);
    if (const cudaError_t status = shape_of(config, shape); status != cudaSuccess) return status;
    if (blocks_in(shape.cluster) == 0) shape.cluster = cluster_dims_of(kernel);
    const std::string why = blocks_in(shape.cluster) == 0
                                ? "neither the configuration nor the kernel has clusters"
                                : wrong_cluster(shape, kernel);
    if (!why.empty()) return fail(cudaErrorInvalidClusterSize, this_call() + " fails: " + why);
    *clusters = static_cast<int>(resident_blocks(shape) / blocks_in(shape.cluster));
    return cudaSuccess;
  });
}

namespace {

/// Runs the kernel, with its events.
void execute(const launch_site& site, const launch_shape& shape, int device,
             void (*run)(const void*), const void* arguments) {
  running_launch launch;
  launch.site = site;
  launch.grid = shape.grid;
  launch.block = shape.block;
  launch.shared_bytes = shape.shared_bytes;
  launch.run = run;
  launch.arguments = arguments;
  launch.device = device;
  launch.order = current_order(launch.seed);
  launch.resident = resident_blocks(shape);
  if (shape.cooperative)
    launch.meeting = std::make_unique<grid_meeting>(shape.grid.x * shape.grid.y * shape.grid.z);
  if (blocks_in(shape.cluster) > 1)
    launch.clusters = std::make_unique<launch_clusters>(shape.cluster, shape.grid);
  launch.together = shape.cooperative            ? std::uint64_t{launch.meeting->blocks}
                    : launch.clusters != nullptr ? launch.clusters->size
                                                 : 1;
  launch.stream = shape.stream;
  launch.hardware_barriers = hardware_barriers();
  launch.wakes_spinners = launch.hardware_barriers || launch.clusters != nullptr;
  const auto tell = [&](void (observer::*what)(const launch_event&), cudaError_t status) {
    if (listening(event_kind::launch)) publish(event_kind::launch, what, event_of(launch, status));
  };
  tell(&observer::launch_begins, cudaSuccess);
  cudaError_t error = [&] {
    const watchdog guard(launch);
    return run_launch(launch);
  }();
  if (check_slack(site.kernel) && error == cudaSuccess) error = cudaErrorIllegalAddress;
  if (error != cudaSuccess) break_device(device, error);
  tell(&observer::launch_ends, error);
}

cudaError_t check_and_enqueue(const launch_site& site, launch_shape shape,
                              const kernel_call& call) {
  if (shape.cluster.x == 0 && shape.cluster.y == 0 && shape.cluster.z == 0)
    shape.cluster = cluster_dims_of(call.kernel);
  const cudaError_t wrong_shape = check_shape(site, shape, call.kernel);
  if (wrong_shape != cudaSuccess) return wrong_shape;
  if (!is_stream(shape.stream))
    return fail(cudaErrorInvalidResourceHandle,
                launch_of(site) + " fails: its stream does not exist.");
  const int device = current_device();
  int stream_device = device;
  cudaStreamGetDevice(shape.stream, &stream_device);
  if (stream_device != device)
    return fail(cudaErrorInvalidResourceHandle,
                launch_of(site) + " fails: its stream belongs to device " +
                    std::to_string(stream_device) + ", but the current device is " +
                    std::to_string(device) + ". Try: cudaSetDevice(" +
                    std::to_string(stream_device) + ") before the launch.");
  for (unsigned i = 0; i < call.pointer_count; ++i) {
    const cudaError_t status = check_pointer(site, call.pointers[i], call.pointer_positions[i]);
    if (status != cudaSuccess) {
      break_device(device, status);
      return cudaSuccess;  // as on a GPU: who synchronises is told
    }
  }
  if (!keeps_work(shape.stream))  // runs before enqueue comes back
    return enqueue(
        shape.stream, [&] { execute(site, shape, device, call.run, call.arguments); },
        cudaGraphNodeTypeKernel);
  const std::shared_ptr<void> kept(call.clone(call.arguments), call.destroy);
  parameters_ptr parameters;
  if (becomes_node(shape.stream)) {
    kernel_node node{call, site, shape, kept, std::vector<void*>(call.argument_count)};
    node.call.arguments = kept.get();
    call.visit(kept.get(), node.addresses.data(), false);
    parameters = std::make_shared<const node_parameters>(std::move(node));
  }
  return enqueue(
      shape.stream,
      [site, shape, device, run = call.run, kept] {
        execute(site, shape, device, run, kept.get());
      },
      cudaGraphNodeTypeKernel, std::move(parameters));
}

}  // namespace

cudaError_t submit(const launch_site& site, const launch_shape& shape, const kernel_call& kernel) {
  return call(shape.cooperative ? api::cudaLaunchCooperativeKernel : api::cudaLaunchKernel,
              [&] { return check_and_enqueue(site, shape, kernel); });
}

}  // namespace cpu_device
