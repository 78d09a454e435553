// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "context/objects.hpp"

#include <unistd.h>

#include <string>

#include "base/memory.hpp"
#include "base/report.hpp"
#include "context/device.hpp"

namespace cpu_device {
namespace {

constinit const object_keeper* keepers = nullptr;
const pid_t owner = getpid();  // a forked process has these objects, but need not destroy them

}  // namespace

object_keeper::object_keeper(object_kind of, std::size_t (*how_many)())
    : kind(of), count(how_many), next(keepers) {
  keepers = this;
}

std::size_t live_objects(object_kind kind) {
  const std::lock_guard lock(api_mutex());
  std::size_t count = kind == object_kind::registration ? live_registrations() : 0;
  for (const object_keeper* keeper = keepers; keeper != nullptr; keeper = keeper->next)
    if (keeper->kind == kind) count += keeper->count();
  return count;
}

/// After the last static object is gone, so that those may destroy what they hold. What
/// base/memory.cpp says of memory is not said again.
__attribute__((destructor)) void report_objects_left() {
  if (owner != getpid() || leaks_excused()) return;
  // A thread that is still inside of a call may never come out of it.
  const std::unique_lock lock(api_mutex(), std::try_to_lock);
  if (!lock) return;
  std::string left;
  for (int i = 0; i <= static_cast<int>(kLastObjectKind); ++i) {
    const auto kind = static_cast<object_kind>(i);
    const std::size_t count = kind == object_kind::opened_memory ? 0 : live_objects(kind);
    if (count != 0)
      left += (left.empty() ? "" : ", ") + std::string(name_of(kind)) + " (" +
              std::to_string(count) + ")";
  }
  if (!left.empty())
    explain("never destroyed: " + left +
            ". Each cudaEventCreate needs its cudaEventDestroy, each cudaStreamCreate its "
            "cudaStreamDestroy, and so on, also on the way out of an error.");
}

const char* name_of(object_kind kind) {
  switch (kind) {
    case object_kind::registration:
      return "registrations of host memory";
    case object_kind::memory_pool:
      return "memory pools";
    case object_kind::stream:
      return "streams";
    case object_kind::event:
      return "events";
    case object_kind::graph:
      return "graphs";
    case object_kind::executable_graph:
      return "executable graphs";
    case object_kind::array:
      return "arrays";
    case object_kind::texture_object:
      return "texture objects";
    case object_kind::surface_object:
      return "surface objects";
    case object_kind::graphics_resource:
      return "registrations of OpenGL's buffers and textures";
    case object_kind::opened_memory:
      return "openings of memory of other processes";
    case object_kind::library_handle:
      return "handles of cuBLAS, generators of cuRAND and communicators of NCCL";
    default:
      return "objects";
  }
}

}  // namespace cpu_device
