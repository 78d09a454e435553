// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Memory that the nodes of a graph allocate and free. It exists as long as a node that allocates or
// frees it does, in a graph or in an executable one, or as it is allocated; it is unreachable while
// it is not.

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/graphs.hpp"
#include "api/memory_api.hpp"
#include "base/memory.hpp"
#include "context/device.hpp"

namespace cpu_device {
namespace {

std::map<const void*, std::weak_ptr<graph_memory>>& memories() {
  static auto* all = new std::map<const void*, std::weak_ptr<graph_memory>>;
  return *all;
}

std::shared_ptr<graph_memory> find(const void* pointer) {
  const auto it = memories().find(pointer);
  return it == memories().end() ? nullptr : it->second.lock();
}

struct usage {
  std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
};
usage& usage_of(int device) {
  static auto* all = new std::map<int, usage>;
  return (*all)[device];
}

void note_use(graph_memory& memory, bool open) {
  usage& u = usage_of(memory.device);
  memory.open = open;
  u.used = open ? u.used + memory.bytes : u.used - memory.bytes;
  u.used_high = std::max(u.used_high, u.used);
}

void close(graph_memory& memory) {
  const std::shared_ptr<graph_memory> kept = std::move(memory.itself);
  note_use(memory, false);
  close_memory(memory.begin, true);
}

const bool resets_memories = on_reset(reset_step::pools, [](int device) {
  std::vector<std::shared_ptr<graph_memory>> open;
  for (const auto& [begin, memory] : memories())
    if (auto one = memory.lock(); one && one->open && one->device == device)
      open.push_back(std::move(one));
  for (const auto& one : open) close(*one);
});

}  // namespace

graph_memory::~graph_memory() {
  if (open) note_use(*this, false);
  usage_of(device).reserved -= bytes;
  memories().erase(begin);
  std::string why_not;  // a reset of the device has released it
  release(begin, true, &why_not);
}

bool is_graph_memory(const void* pointer) { return find(pointer) != nullptr; }

bool free_graph_memory(void* pointer) {
  const std::shared_ptr<graph_memory> memory = find(pointer);
  if (!memory || !memory->open) return false;
  close(*memory);
  return true;
}

cudaError_t draft_allocation(node_draft& draft, void** pointer, std::size_t bytes, int device,
                             const std::set<int>& reached_by, const void* made_at) {
  if (bytes == 0) return fail(cudaErrorInvalidValue);
  void* begin = nullptr;
  const cudaError_t status = allocate_async(&begin, bytes, device, made_at);
  if (status != cudaSuccess) return status;
  const auto memory = std::make_shared<graph_memory>();
  memory->begin = begin;
  memory->bytes = bytes;
  memory->device = device;
  memories()[begin] = memory;
  usage& u = usage_of(device);
  u.reserved += bytes;
  u.reserved_high = std::max(u.reserved_high, u.reserved);
  set_access(begin, std::make_shared<const std::set<int>>(reached_by));
  close_memory(begin, true);
  *pointer = begin;
  draft.type = cudaGraphNodeTypeMemAlloc;
  draft.memory = memory;
  draft.work = [memory] {
    if (memory->open && !memory->frees_itself) {
      fail(cudaErrorInvalidValue,
           "cudaGraphLaunch: memory that the graph has allocated before is not freed yet.");
      return;
    }
    if (!find_allocation(memory->begin)) {  // the device was reset
      fail(cudaErrorInvalidValue, "cudaGraphLaunch: the memory of this graph is gone.");
      return;
    }
    if (!memory->open) note_use(*memory, true);
    memory->itself = memory;
    open_memory(memory->begin);
    std::memset(memory->begin, 0xFF, memory->bytes);  // nothing is left of the launch before
  };
  return cudaSuccess;
}

cudaError_t draft_free(node_draft& draft, void* pointer) {
  const std::shared_ptr<graph_memory> memory = find(pointer);
  if (!memory)
    return fail(cudaErrorInvalidValue,
                this_call() + ": no node of a graph has allocated this memory.");
  draft.type = cudaGraphNodeTypeMemFree;
  draft.memory = memory;
  draft.work = [memory] {
    if (memory->open) close(*memory);
  };
  return cudaSuccess;
}

namespace {
/// What was drafted becomes a node of the stream's capture.
cudaError_t capture(node_draft& draft, cudaStream_t stream) {
  const cudaError_t status = enqueue(stream, std::move(draft.work), draft.type);
  if (status == cudaSuccess) resolve(stream)->last.front()->memory = std::move(draft.memory);
  return status;
}
}  // namespace

cudaError_t capture_allocation(void** pointer, std::size_t bytes, int device,
                               const std::set<int>& reached_by, cudaStream_t stream,
                               const void* made_at) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  node_draft draft;
  const cudaError_t status = draft_allocation(draft, pointer, bytes, device, reached_by, made_at);
  return status == cudaSuccess ? capture(draft, stream) : status;
}

cudaError_t capture_free(void* pointer, cudaStream_t stream) {
  node_draft draft;
  const cudaError_t status = draft_free(draft, pointer);
  return status == cudaSuccess ? capture(draft, stream) : status;
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaDeviceGraphMemTrim(int device) {
  return call(api::cudaDeviceGraphMemTrim, [&] {
    return device >= 0 && device < device_count() ? cudaSuccess : fail(cudaErrorInvalidDevice);
  });
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return call(api::cudaDeviceGetGraphMemAttribute, [&] {
    if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
    if (value == nullptr || attribute < cudaGraphMemAttrUsedMemCurrent ||
        attribute > cudaGraphMemAttrReservedMemHigh)
      return fail(cudaErrorInvalidValue);
    const usage& u = usage_of(device);
    const std::uint64_t all[] = {u.used, u.used_high, u.reserved, u.reserved_high};
    std::memcpy(value, &all[attribute], sizeof all[attribute]);
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute,
                                           void* value) {
  return call(api::cudaDeviceSetGraphMemAttribute, [&] {
    if (device < 0 || device >= device_count()) return fail(cudaErrorInvalidDevice);
    std::uint64_t wanted = 1;
    if (value != nullptr) std::memcpy(&wanted, value, sizeof wanted);
    usage& u = usage_of(device);
    if (wanted == 0 && attribute == cudaGraphMemAttrUsedMemHigh)
      u.used_high = u.used;
    else if (wanted == 0 && attribute == cudaGraphMemAttrReservedMemHigh)
      u.reserved_high = u.reserved;
    else
      return fail(cudaErrorInvalidValue);
    return cudaSuccess;
  });
}
