// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Putting work into streams. Internal to the CPU device; under api_mutex().
#pragma once

#include <functional>

#include "cpu_device/graphs.h"

namespace cpu_device {

/// Puts work at the end of a stream. It runs now (eager) or later (stream_policy). In a captured
/// stream it becomes a node of this type instead.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work,
                    cudaGraphNodeType type = cudaGraphNodeTypeMemcpy);
/// As enqueue, and comes back when it has run.
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work);
/// A copy of pageable memory to the device. As CUDA says, `copy` is called only when the stream has
/// done all that it was given before, and it may come after this returns: the host can change the
/// `bytes` at `from` then, so it is given another place where they are.
cudaError_t enqueue_from_host(cudaStream_t stream, const void* from, std::size_t bytes,
                              std::function<void(const void*)> copy);
/// Runs everything that was queued on a device.
void finish_device(int device);
/// False for a handle that names no stream.
bool is_stream(cudaStream_t stream);
/// True if work on this stream may run after the call that puts it there.
bool keeps_work(cudaStream_t stream);

}  // namespace cpu_device
