// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Buffers and textures of a graphics library that kernels use; cuda_gl_interop.h registers those of
// OpenGL. While one is mapped, the CPU device holds a copy of it in its own memory, for textures an
// array: read when it is mapped, written back when it is unmapped.
#pragma once

#include "cpu_device/runtime_api.h"
#include "cpu_device/textures.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cudaGraphicsResource* cudaGraphicsResource_t;

enum cudaGraphicsRegisterFlags {
  cudaGraphicsRegisterFlagsNone = 0,
  cudaGraphicsRegisterFlagsReadOnly = 1,
  cudaGraphicsRegisterFlagsWriteDiscard = 2,
  cudaGraphicsRegisterFlagsSurfaceLoadStore = 4,
  cudaGraphicsRegisterFlagsTextureGather = 8
};

enum cudaGraphicsMapFlags {
  cudaGraphicsMapFlagsNone = 0,
  cudaGraphicsMapFlagsReadOnly = 1,     // a kernel that writes is reported; GL keeps what it had
  cudaGraphicsMapFlagsWriteDiscard = 2  // what was in the buffer is gone: 0xFF bytes
};

/// Ends what cudaGraphicsGLRegisterBuffer or …Image began. Not while the resource is mapped.
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
/// For the next time it is mapped; in place of the flags it was registered with.
cudaError_t cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags);
/// Work that is put into `stream` afterwards finds what OpenGL drew before. All or none are mapped.
cudaError_t cudaGraphicsMapResources(int count, cudaGraphicsResource_t* resources,
                                     cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
/// What OpenGL draws afterwards finds the results of the work that is in `stream` now. The pointers
/// and arrays of these resources are no longer valid.
cudaError_t cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t* resources,
                                       cudaStream_t stream CPU_DEVICE_DEFAULT(nullptr));
/// `bytes` may be null. The pointer holds until the resource is unmapped.
cudaError_t cudaGraphicsResourceGetMappedPointer(void** pointer, size_t* bytes,
                                                 cudaGraphicsResource_t resource);
/// The array of a texture; `index` and `level` are 0. It holds until the resource is unmapped.
/// Kernels write to it (cudaCreateSurfaceObject) if it was registered with …SurfaceLoadStore.
cudaError_t cudaGraphicsSubResourceGetMappedArray(cudaArray_t* array,
                                                  cudaGraphicsResource_t resource,
                                                  unsigned int index, unsigned int level);

#ifdef __cplusplus
}  // extern "C"

template <class T>
cudaError_t cudaGraphicsResourceGetMappedPointer(T** pointer, std::size_t* bytes,
                                                 cudaGraphicsResource_t resource) {
  return cudaGraphicsResourceGetMappedPointer(reinterpret_cast<void**>(pointer), bytes, resource);
}
#endif
