// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the files of memory share. Internal to the CPU device; under api_mutex().
#pragma once

#include <cstddef>
#include <set>

#include "cpu_device/events.h"
#include "cpu_device/memory_pools.h"
#include "cpu_device/runtime_api.h"
#include "cpu_device/textures.h"

namespace cpu_device {

constexpr std::size_t kPitchAlignment = 512;  // of rows, by cudaMallocPitch and cudaMalloc3D

/// memory_api.cpp: memory of cudaMallocAsync.
cudaError_t allocate_async(void** pointer, std::size_t bytes, int device, const void* made_at);
/// memory_pools.cpp: memory that is freed is its pool's again, if it came from one.
void return_to_pool(void* pointer);
bool is_pool_memory(void* pointer);
/// memory_pools.cpp: the host has waited, so pools keep no more than their release thresholds.
void release_unused_of_pools();
/// memory_pools.cpp: gives and takes access to memory of device `owner`, all of it or nothing.
cudaError_t change_access(std::set<int>& reached_by, int owner, const cudaMemAccessDesc* wanted,
                          std::size_t count);
/// Tells observers of copies, when the copy runs. `from` is null where bytes are set, and `rows`
/// says where they lie there. `symbol` is the one of both that is in a __device__ variable, which
/// no allocation need know of.
void publish_copy(const void* to, const void* from, const copied_rows& rows, cudaStream_t stream,
                  const void* symbol);
inline void note_copy(const void* to, const void* from, const copied_rows& rows,
                      cudaStream_t stream, const void* symbol = nullptr) {
  if (listening(event_kind::copy)) publish_copy(to, from, rows, stream, symbol);
}
/// What a node that copies `height` rows of memory tells of it.
inline cudaMemcpy3DParms row_copy(const void* to, std::size_t to_pitch, const void* from,
                                  std::size_t from_pitch, std::size_t width_bytes,
                                  std::size_t height, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p = {};
  p.srcPtr = {const_cast<void*>(from), from_pitch, width_bytes, height};
  p.dstPtr = {const_cast<void*>(to), to_pitch, width_bytes, height};
  p.extent = {width_bytes, height, 1};
  p.kind = kind;
  return p;
}
/// graph_memory.cpp: frees memory that a graph has allocated, until it does again. False if it is
/// none, or is not allocated now.
bool free_graph_memory(void* pointer);
bool is_graph_memory(const void* pointer);
/// The same as nodes of the graph that the stream is captured into.
cudaError_t capture_allocation(void** pointer, std::size_t bytes, int device,
                               const std::set<int>& reached_by, cudaStream_t stream,
                               const void* made_at);
cudaError_t capture_free(void* pointer, cudaStream_t stream);
/// graphics.cpp: whether this is the begin of a mapped buffer.
bool is_graphics_memory(const void* pointer);

}  // namespace cpu_device
