// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Putting work into streams. Internal to the CPU device; under api_mutex().
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "cpu_device/execution.h"
#include "cpu_device/graphs.h"
#include "cpu_device/textures.h"

namespace cpu_device {

/// A launch, with its arguments.
struct kernel_node {
  kernel_call call;  // call.arguments are those of `kept`
  launch_site site;
  launch_shape shape;
  std::shared_ptr<void> kept;
  std::vector<void*> addresses;  // of the arguments
};
/// What a program may ask a node for.
using node_parameters =
    std::variant<kernel_node, cudaMemcpy3DParms, cudaMemsetParams, cudaHostNodeParams>;
using parameters_ptr = std::shared_ptr<const node_parameters>;

/// True if work on this stream becomes a node of a graph.
bool becomes_node(cudaStream_t stream);
/// The parameters of the work, if it becomes a node.
template <class P>
parameters_ptr parameters_on(cudaStream_t stream, const P& p) {
  return becomes_node(stream) ? std::make_shared<const node_parameters>(p) : nullptr;
}

/// Puts work at the end of a stream. It runs now (eager) or later (stream_policy). In a captured
/// stream it becomes a node of this type instead.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work,
                    cudaGraphNodeType type = cudaGraphNodeTypeMemcpy,
                    parameters_ptr parameters = nullptr);
/// As enqueue, and comes back when it has run.
cudaError_t enqueue_and_wait(cudaStream_t stream, std::function<void()> work,
                             parameters_ptr parameters = nullptr);
/// A copy of pageable memory to the device. As CUDA says, `copy` is called only when the stream has
/// done all that it was given before, and it may come after this returns: the host can change the
/// `bytes` at `from` then, so it is given another place where they are.
cudaError_t enqueue_from_host(cudaStream_t stream, const void* from, std::size_t bytes,
                              std::function<void(const void*)> copy,
                              parameters_ptr parameters = nullptr);
/// Runs everything that was queued on a device.
void finish_device(int device);
/// False for a handle that names no stream.
bool is_stream(cudaStream_t stream);
/// True if work on this stream may run after the call that puts it there.
bool keeps_work(cudaStream_t stream);

}  // namespace cpu_device
