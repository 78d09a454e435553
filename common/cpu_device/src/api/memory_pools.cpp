// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu_device/memory_pools.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "api/calls.hpp"
#include "api/memory_api.hpp"
#include "api/stream_queue.hpp"
#include "base/memory.hpp"
#include "context/device.hpp"
#include "context/objects.hpp"
#include "cpu_device.h"

namespace cpu_device {
namespace {

std::atomic<std::uint64_t> pool_piece{1};

}  // namespace

void set_pool_piece(std::uint64_t bytes) { pool_piece = bytes; }

}  // namespace cpu_device

struct CUmemPoolHandle_st {
  int device = 0;
  std::map<cudaMemPoolAttr, std::uint64_t> settings = {
      {cudaMemPoolReuseFollowEventDependencies, 1},
      {cudaMemPoolReuseAllowOpportunistic, 1},
      {cudaMemPoolReuseAllowInternalDependencies, 1},
      {cudaMemPoolAttrReleaseThreshold, 0}};
  std::map<void*, std::size_t> allocations;  // that have not been freed
  std::uint64_t used = 0, used_high = 0;
  // What a GPU would keep mapped. Here the memory of the host is given back at once: this counts.
  std::uint64_t reserved = 0, reserved_high = 0;
  std::shared_ptr<std::set<int>> reached_by = std::make_shared<std::set<int>>();  // besides device

  void reset_allocations() {
    allocations.clear();
    used = 0;
  }
  std::uint64_t needed() const {
    const std::uint64_t piece = cpu_device::pool_piece;
    return (used + piece - 1) / piece * piece;
  }
  /// Keeps no more than this of what is not used.
  void keep(std::uint64_t bytes) {
    const std::uint64_t piece = cpu_device::pool_piece;
    reserved = std::max(needed(), std::min(reserved, bytes) / piece * piece);
  }
};

namespace cpu_device {
namespace {

struct device_pools {
  CUmemPoolHandle_st first;              // the device's own
  CUmemPoolHandle_st* current = &first;  // what cudaMallocAsync takes from
};
std::map<int, device_pools>& pools() {
  static auto* all = new std::map<int, device_pools>;
  return *all;
}
std::set<CUmemPoolHandle_st*>& made_pools() {
  static auto* all = new std::set<CUmemPoolHandle_st*>;
  return *all;
}

const object_keeper keeps_pools(object_kind::memory_pool, [] { return made_pools().size(); });

device_pools& pools_of(int device) {
  const auto [it, is_new] = pools().try_emplace(device);
  if (is_new) it->second.first.device = device;
  return it->second;
}

bool is_default_pool(const CUmemPoolHandle_st* pool) {
  return std::any_of(pools().begin(), pools().end(),
                     [&](const auto& entry) { return &entry.second.first == pool; });
}
bool is_pool(CUmemPoolHandle_st* pool) {
  return pool != nullptr && (made_pools().count(pool) != 0 || is_default_pool(pool));
}

void note(CUmemPoolHandle_st& pool, void* pointer, std::size_t bytes) {
  pool.allocations[pointer] = bytes;
  pool.used += bytes;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved = std::max(pool.reserved, pool.needed());
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
}

template <class Do>
void for_each_pool(const Do& act) {
  for (auto& entry : pools()) act(entry.second.first);
  for (CUmemPoolHandle_st* pool : made_pools()) act(*pool);
}

const bool resets_pools = on_reset(reset_step::pools, [](int device) {
  for_each_pool([&](CUmemPoolHandle_st& pool) {
    pool.reached_by->erase(device);
    if (pool.device != device) return;
    pool.reset_allocations();
    pool.reached_by->clear();
  });
});

cudaError_t from_pool(void** pointer, std::size_t bytes, CUmemPoolHandle_st* pool,
                      cudaStream_t stream, const void* made_at) {
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  if (!is_pool(pool)) return fail(cudaErrorInvalidValue);
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (stream != nullptr && cudaStreamIsCapturing(stream, &capture) == cudaSuccess &&
      capture != cudaStreamCaptureStatusNone)
    return capture_allocation(pointer, bytes, pool->device, *pool->reached_by, stream, made_at);
  const cudaError_t status = allocate_async(pointer, bytes, pool->device, made_at);
  if (status != cudaSuccess || *pointer == nullptr) return status;
  note(*pool, *pointer, bytes);
  set_access(*pointer, pool->reached_by);
  if (!keeps_work(stream)) return cudaSuccess;
  close_memory(*pointer);  // nobody may use it before the stream has come to this place
  return enqueue(stream, [memory = *pointer] { open_memory(memory); });
}

/// What was said of a managed allocation; places are devices, cudaCpuDeviceId or nowhere.
struct advice {
  const char* begin = nullptr;
  std::size_t bytes = 0;
  bool read_mostly = false;
  int preferred = cudaInvalidDeviceId, prefetched = cudaInvalidDeviceId;
  std::vector<int> accessed_by;
};

cudaError_t find_advice(const void* pointer, std::size_t bytes, advice*& found) {
  static auto* all = new std::map<const void*, advice>;
  const auto a = find_allocation(pointer);
  if (!a || a->kind != memory_kind::managed || bytes == 0 ||
      bytes > a->bytes - static_cast<std::size_t>(static_cast<const char*>(pointer) - a->begin))
    return fail(cudaErrorInvalidValue,
                this_call() + ": the range is no part of cudaMallocManaged's memory");
  found = &(*all)[a->begin];
  if (found->begin != a->begin || found->bytes != a->bytes) {
    *found = {};  // new memory at an old address
    found->begin = a->begin;
    found->bytes = a->bytes;
  }
  return cudaSuccess;
}

/// The device's number, cudaCpuDeviceId, or cudaInvalidDeviceId for no place.
int place(cudaMemLocation location) {
  switch (location.type) {
    case cudaMemLocationTypeDevice:
      return is_device(location.id) ? location.id : cudaInvalidDeviceId;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
      return cudaCpuDeviceId;
    default:
      return cudaInvalidDeviceId;
  }
}
cudaMemLocation location_of(int device) {
  return {device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device};
}

}  // namespace

void return_to_pool(void* pointer) {
  for_each_pool([&](CUmemPoolHandle_st& pool) {
    const auto it = pool.allocations.find(pointer);
    if (it == pool.allocations.end()) return;
    pool.used -= it->second;
    pool.allocations.erase(it);
  });
}

bool is_pool_memory(void* pointer) {
  bool found = false;
  for_each_pool(
      [&](const CUmemPoolHandle_st& pool) { found |= pool.allocations.count(pointer) != 0; });
  return found;
}

cudaError_t change_access(std::set<int>& reached_by, int owner, const cudaMemAccessDesc* wanted,
                          std::size_t count) {
  if (wanted == nullptr && count != 0) return fail(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [location, flags] = wanted[i];
    if (location.type != cudaMemLocationTypeDevice || !is_device(location.id))
      return fail(cudaErrorInvalidValue, this_call() + ": access is given to devices");
    if (flags == cudaMemAccessFlagsProtRead)
      return fail(cudaErrorNotSupported,
                  this_call() + ": a device gets access to read and to write, or none");
    if (flags != cudaMemAccessFlagsProtNone && flags != cudaMemAccessFlagsProtReadWrite)
      return fail(cudaErrorInvalidValue);
    if (location.id == owner && flags == cudaMemAccessFlagsProtNone)
      return fail(cudaErrorInvalidValue, this_call() + ": the memory is on device " +
                                             std::to_string(owner) + ", which always has access");
    if (location.id != owner && !can_reach(location.id, owner))
      return fail(cudaErrorInvalidDevice, this_call() + ": device " + std::to_string(location.id) +
                                              " cannot reach memory of device " +
                                              std::to_string(owner) +
                                              " (cudaDeviceCanAccessPeer says so)");
  }
  for (std::size_t i = 0; i < count; ++i) {
    reached_by.erase(wanted[i].location.id);
    if (wanted[i].flags == cudaMemAccessFlagsProtReadWrite && wanted[i].location.id != owner)
      reached_by.insert(wanted[i].location.id);
  }
  return cudaSuccess;
}

void release_unused_of_pools() {
  for_each_pool([](CUmemPoolHandle_st& pool) {
    pool.keep(pool.settings.at(cudaMemPoolAttrReleaseThreshold));
  });
}

}  // namespace cpu_device

using namespace cpu_device;

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return call(api::cudaDeviceGetDefaultMemPool, [&] {
    if (pool == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_device(device)) return fail(cudaErrorInvalidDevice);
    *pool = &pools_of(device).first;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return call(api::cudaDeviceGetMemPool, [&] {
    if (pool == nullptr) return fail(cudaErrorInvalidValue);
    if (!is_device(device)) return fail(cudaErrorInvalidDevice);
    *pool = pools_of(device).current;
    return cudaSuccess;
  });
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return call(api::cudaDeviceSetMemPool, [&] {
    if (!is_device(device)) return fail(cudaErrorInvalidDevice);
    if (!is_pool(pool) || pool->device != device) return fail(cudaErrorInvalidValue);
    pools_of(device).current = pool;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* p) {
  return call(api::cudaMemPoolCreate, [&] {
    if (pool == nullptr || p == nullptr || p->allocType != cudaMemAllocationTypePinned ||
        p->location.type != cudaMemLocationTypeDevice || !is_device(p->location.id))
      return fail(cudaErrorInvalidValue);
    if (p->handleTypes != cudaMemHandleTypeNone) return fail(cudaErrorNotSupported);
    *pool = new CUmemPoolHandle_st;
    (*pool)->device = p->location.id;
    made_pools().insert(*pool);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return call(api::cudaMemPoolDestroy, [&] {
    if (pool == nullptr || made_pools().erase(pool) == 0)
      return fail(cudaErrorInvalidValue,
                  "cudaMemPoolDestroy: this is no pool of cudaMemPoolCreate");
    device_pools& mine = pools_of(pool->device);
    if (mine.current == pool) mine.current = &mine.first;
    delete pool;  // its allocations stay until they are freed
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call(api::cudaMemPoolSetAttribute, [&] {
    if (!is_pool(pool) || value == nullptr) return fail(cudaErrorInvalidValue);
    if (const auto it = pool->settings.find(attribute); it != pool->settings.end()) {
      it->second = attribute == cudaMemPoolAttrReleaseThreshold
                       ? *static_cast<std::uint64_t*>(value)
                       : static_cast<std::uint64_t>(*static_cast<int*>(value) != 0);
      return cudaSuccess;
    }
    const bool high =
        attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
    if (!high || *static_cast<std::uint64_t*>(value) != 0) return fail(cudaErrorInvalidValue);
    if (attribute == cudaMemPoolAttrUsedMemHigh)
      pool->used_high = pool->used;
    else
      pool->reserved_high = pool->reserved;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call(api::cudaMemPoolGetAttribute, [&] {
    if (!is_pool(pool) || value == nullptr) return fail(cudaErrorInvalidValue);
    if (const auto it = pool->settings.find(attribute); it != pool->settings.end()) {
      if (attribute == cudaMemPoolAttrReleaseThreshold)
        *static_cast<std::uint64_t*>(value) = it->second;
      else
        *static_cast<int*>(value) = static_cast<int>(it->second);
      return cudaSuccess;
    }
    auto* number = static_cast<std::uint64_t*>(value);
    switch (attribute) {
      case cudaMemPoolAttrReservedMemCurrent:
        *number = pool->reserved;
        return cudaSuccess;
      case cudaMemPoolAttrReservedMemHigh:
        *number = pool->reserved_high;
        return cudaSuccess;
      case cudaMemPoolAttrUsedMemCurrent:
        *number = pool->used;
        return cudaSuccess;
      case cudaMemPoolAttrUsedMemHigh:
        *number = pool->used_high;
        return cudaSuccess;
      default:
        return fail(cudaErrorInvalidValue);
    }
  });
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep) {
  return call(api::cudaMemPoolTrimTo, [&] {
    if (!is_pool(pool)) return fail(cudaErrorInvalidValue);
    pool->keep(bytes_to_keep);
    return cudaSuccess;
  });
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted,
                                 std::size_t count) {
  return call(api::cudaMemPoolSetAccess, [&] {
    if (!is_pool(pool)) return fail(cudaErrorInvalidValue);
    return change_access(*pool->reached_by, pool->device, wanted, count);
  });
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool,
                                 cudaMemLocation* location) {
  return call(api::cudaMemPoolGetAccess, [&] {
    if (flags == nullptr || !is_pool(pool) || location == nullptr ||
        location->type != cudaMemLocationTypeDevice || !is_device(location->id))
      return fail(cudaErrorInvalidValue);
    const bool reached = location->id == pool->device || pool->reached_by->count(location->id) != 0;
    *flags = reached ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
    return cudaSuccess;
  });
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocFromPoolAsync,
              [&] { return from_pool(pointer, bytes, pool, stream, made_at); });
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  const void* made_at = __builtin_return_address(0);
  return call(api::cudaMallocAsync, [&] {
    return from_pool(pointer, bytes, pools_of(current_device()).current, stream, made_at);
  });
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise what,
                          cudaMemLocation location) {
  return call(api::cudaMemAdvise, [&] {
    advice* a = nullptr;
    if (const cudaError_t status = find_advice(pointer, bytes, a); status != cudaSuccess)
      return status;
    const int where = place(location);
    const auto remove = [&] {
      a->accessed_by.erase(std::remove(a->accessed_by.begin(), a->accessed_by.end(), where),
                           a->accessed_by.end());
    };
    switch (what) {
      case cudaMemAdviseSetReadMostly:
      case cudaMemAdviseUnsetReadMostly:
        a->read_mostly = what == cudaMemAdviseSetReadMostly;
        return cudaSuccess;
      case cudaMemAdviseUnsetPreferredLocation:
        a->preferred = cudaInvalidDeviceId;
        return cudaSuccess;
      default:
        break;
    }
    if (where == cudaInvalidDeviceId) return fail(cudaErrorInvalidDevice);
    switch (what) {
      case cudaMemAdviseSetPreferredLocation:
        a->preferred = where;
        return cudaSuccess;
      case cudaMemAdviseSetAccessedBy:
        remove();
        a->accessed_by.push_back(where);
        return cudaSuccess;
      case cudaMemAdviseUnsetAccessedBy:
        remove();
        return cudaSuccess;
      default:
        return fail(cudaErrorInvalidValue);
    }
  });
}
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise what,
                          int device) {
  return call(api::cudaMemAdvise,
              [&] { return cudaMemAdvise(pointer, bytes, what, location_of(device)); });
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation location,
                                 unsigned int flags, cudaStream_t stream) {
  return call(api::cudaMemPrefetchAsync, [&] {
    if (flags != 0) return fail(cudaErrorInvalidValue);
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    advice* a = nullptr;
    if (const cudaError_t status = find_advice(pointer, bytes, a); status != cudaSuccess)
      return status;
    const int where = place(location);
    if (where == cudaInvalidDeviceId) return fail(cudaErrorInvalidDevice);
    a->prefetched = where;
    return cudaSuccess;
  });
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, int device,
                                 cudaStream_t stream) {
  return call(api::cudaMemPrefetchAsync, [&] {
    return cudaMemPrefetchAsync(pointer, bytes, location_of(device), 0U, stream);
  });
}

cudaError_t cudaMemRangeGetAttribute(void* value, std::size_t value_bytes,
                                     cudaMemRangeAttribute attribute, const void* pointer,
                                     std::size_t bytes) {
  return call(api::cudaMemRangeGetAttribute, [&] {
    if (value == nullptr || value_bytes < 4 || value_bytes % 4 != 0)
      return fail(cudaErrorInvalidValue);
    advice* a = nullptr;
    if (const cudaError_t status = find_advice(pointer, bytes, a); status != cudaSuccess)
      return status;
    auto* out = static_cast<int*>(value);
    switch (attribute) {
      case cudaMemRangeAttributeReadMostly:
        *out = a->read_mostly ? 1 : 0;
        break;
      case cudaMemRangeAttributePreferredLocation:
        *out = a->preferred;
        break;
      case cudaMemRangeAttributeLastPrefetchLocation:
        *out = a->prefetched;
        break;
      case cudaMemRangeAttributeAccessedBy:
        for (std::size_t i = 0; i < value_bytes / 4; ++i)
          out[i] = i < a->accessed_by.size() ? a->accessed_by[i] : cudaInvalidDeviceId;
        return cudaSuccess;
      default:
        return fail(cudaErrorInvalidValue);
    }
    return value_bytes == 4 ? cudaSuccess : fail(cudaErrorInvalidValue);
  });
}
cudaError_t cudaMemRangeGetAttributes(void** values, std::size_t* value_bytes,
                                      cudaMemRangeAttribute* attributes, std::size_t count,
                                      const void* pointer, std::size_t bytes) {
  return call(api::cudaMemRangeGetAttributes, [&] {
    if (values == nullptr || value_bytes == nullptr || attributes == nullptr || count == 0)
      return fail(cudaErrorInvalidValue);
    for (std::size_t i = 0; i < count; ++i) {
      const cudaError_t status =
          cudaMemRangeGetAttribute(values[i], value_bytes[i], attributes[i], pointer, bytes);
      if (status != cudaSuccess) return status;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, std::size_t,
                                     unsigned int flags) {
  return call(api::cudaStreamAttachMemAsync, [&] {
    if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
      return fail(cudaErrorInvalidValue);
    if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
    const auto a = find_allocation(pointer);
    if (!a || a->kind != memory_kind::managed) return fail(cudaErrorInvalidValue);
    return cudaSuccess;
  });
}
