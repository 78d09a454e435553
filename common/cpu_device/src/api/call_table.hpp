// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Every function of the runtime API, and what the wrapper (calls.hpp) does for it. Internal to the
// CPU device.
//
//   name, rules, an error that the function is known to give (what fail_any_call() uses)
//
// checked     returns the error that a kernel left on the device, before it works
// awaits      the same after it has worked, because it waited for kernels
// uncaptured  is refused while a stream is captured, unless the capture is a relaxed one
// unwaited    is refused while any stream is captured, since it would wait for the whole device
// releases    gives something back: it does so even when a fault is injected, and fail_any_call()
//             does not count it
// ends        ends something, even when a fault is injected (but is counted)
// asks        asks for errors, and so never is one itself
// anywhere    may be called inside a kernel
//
// Launches by <<<>>> and by every function are cudaLaunchKernel or cudaLaunchCooperativeKernel.
#pragma once

#define CPU_DEVICE_RUNTIME_CALLS(X)                                                      \
  /* devices and errors */                                                               \
  X(cudaGetLastError, asks | anywhere, cudaErrorUnknown)                                 \
  X(cudaPeekAtLastError, asks | anywhere, cudaErrorUnknown)                              \
  X(cudaGetDeviceCount, anywhere, cudaErrorNoDevice)                                     \
  X(cudaGetDevice, anywhere, cudaErrorInitializationError)                               \
  X(cudaSetDevice, none, cudaErrorInvalidDevice)                                         \
  X(cudaInitDevice, none, cudaErrorInvalidDevice)                                        \
  X(cudaChooseDevice, checked, cudaErrorInitializationError)                             \
  X(cudaDeviceSynchronize, unwaited | awaits, cudaErrorLaunchFailure)                    \
  X(cudaDeviceReset, releases, cudaErrorInitializationError)                             \
  X(cudaDriverGetVersion, anywhere, cudaErrorInitializationError)                        \
  X(cudaRuntimeGetVersion, anywhere, cudaErrorInitializationError)                       \
  X(cudaSetDeviceFlags, checked, cudaErrorInvalidValue)                                  \
  X(cudaGetDeviceFlags, checked, cudaErrorInvalidValue)                                  \
  X(cudaDeviceCanAccessPeer, none, cudaErrorInvalidDevice)                               \
  X(cudaDeviceEnablePeerAccess, none, cudaErrorPeerAccessUnsupported)                    \
  X(cudaDeviceDisablePeerAccess, releases, cudaErrorPeerAccessNotEnabled)                \
  X(cudaGetDeviceProperties, none, cudaErrorInvalidDevice)                               \
  X(cudaDeviceGetAttribute, none, cudaErrorInvalidDevice)                                \
  X(cudaDeviceSetLimit, checked, cudaErrorUnsupportedLimit)                              \
  X(cudaDeviceGetLimit, checked, cudaErrorUnsupportedLimit)                              \
  X(cudaDeviceSetCacheConfig, checked, cudaErrorInvalidValue)                            \
  X(cudaDeviceGetCacheConfig, checked, cudaErrorInvalidValue)                            \
  X(cudaDeviceSetSharedMemConfig, checked, cudaErrorInvalidValue)                        \
  X(cudaDeviceGetSharedMemConfig, checked, cudaErrorInvalidValue)                        \
  X(cudaCtxResetPersistingL2Cache, checked, cudaErrorInvalidValue)                       \
  X(cudaDeviceGetPCIBusId, none, cudaErrorInvalidDevice)                                 \
  X(cudaDeviceGetByPCIBusId, none, cudaErrorInvalidDevice)                               \
  X(cudaDeviceGetP2PAttribute, none, cudaErrorInvalidDevice)                             \
  X(cudaGetDriverEntryPoint, none, cudaErrorNotSupported)                                \
  X(cudaGetDriverEntryPointByVersion, none, cudaErrorNotSupported)                       \
  X(cudaIpcGetMemHandle, checked | uncaptured, cudaErrorMemoryAllocation)                \
  X(cudaIpcOpenMemHandle, checked | uncaptured, cudaErrorMapBufferObjectFailed)          \
  X(cudaIpcCloseMemHandle, checked | uncaptured | releases, cudaErrorInvalidValue)       \
  X(cudaIpcGetEventHandle, checked, cudaErrorMemoryAllocation)                           \
  X(cudaIpcOpenEventHandle, checked, cudaErrorMapBufferObjectFailed)                     \
  /* memory */                                                                           \
  X(cudaMalloc, checked | uncaptured, cudaErrorMemoryAllocation)                         \
  X(cudaMallocHost, checked | uncaptured, cudaErrorMemoryAllocation)                     \
  X(cudaHostAlloc, checked | uncaptured, cudaErrorMemoryAllocation)                      \
  X(cudaMallocManaged, checked | uncaptured, cudaErrorMemoryAllocation)                  \
  X(cudaMallocPitch, checked | uncaptured, cudaErrorMemoryAllocation)                    \
  X(cudaMalloc3D, checked | uncaptured, cudaErrorMemoryAllocation)                       \
  X(cudaFree, checked | releases, cudaErrorInvalidDevicePointer)                         \
  X(cudaFreeHost, checked | releases, cudaErrorInvalidValue)                             \
  X(cudaHostRegister, checked, cudaErrorMemoryAllocation)                                \
  X(cudaHostUnregister, checked | releases, cudaErrorHostMemoryNotRegistered)            \
  X(cudaHostGetDevicePointer, checked, cudaErrorInvalidValue)                            \
  X(cudaHostGetFlags, none, cudaErrorInvalidValue)                                       \
  X(cudaMemGetInfo, checked, cudaErrorInvalidValue)                                      \
  X(cudaPointerGetAttributes, checked, cudaErrorInvalidValue)                            \
  X(cudaMallocAsync, checked, cudaErrorMemoryAllocation)                                 \
  X(cudaMallocFromPoolAsync, checked, cudaErrorMemoryAllocation)                         \
  X(cudaFreeAsync, releases, cudaErrorInvalidValue)                                      \
  X(cudaDeviceGetDefaultMemPool, none, cudaErrorInvalidDevice)                           \
  X(cudaDeviceGetMemPool, none, cudaErrorInvalidDevice)                                  \
  X(cudaDeviceSetMemPool, none, cudaErrorInvalidValue)                                   \
  X(cudaMemPoolCreate, none, cudaErrorMemoryAllocation)                                  \
  X(cudaMemPoolDestroy, releases, cudaErrorInvalidValue)                                 \
  X(cudaMemPoolSetAttribute, none, cudaErrorInvalidValue)                                \
  X(cudaMemPoolGetAttribute, none, cudaErrorInvalidValue)                                \
  X(cudaMemPoolTrimTo, none, cudaErrorInvalidValue)                                      \
  X(cudaMemPoolSetAccess, none, cudaErrorInvalidValue)                                   \
  X(cudaMemPoolGetAccess, none, cudaErrorInvalidValue)                                   \
  X(cudaMemAdvise, checked, cudaErrorInvalidValue)                                       \
  X(cudaMemPrefetchAsync, checked, cudaErrorInvalidValue)                                \
  X(cudaMemRangeGetAttribute, none, cudaErrorInvalidValue)                               \
  X(cudaMemRangeGetAttributes, none, cudaErrorInvalidValue)                              \
  X(cudaStreamAttachMemAsync, none, cudaErrorInvalidValue)                               \
  /* copies */                                                                           \
  X(cudaMemcpy, checked | awaits, cudaErrorInvalidValue)                                 \
  X(cudaMemcpyAsync, checked, cudaErrorInvalidValue)                                     \
  X(cudaMemcpyPeer, checked | awaits, cudaErrorInvalidValue)                             \
  X(cudaMemcpyPeerAsync, checked, cudaErrorInvalidValue)                                 \
  X(cudaMemcpy2D, checked | awaits, cudaErrorInvalidValue)                               \
  X(cudaMemcpy2DAsync, checked, cudaErrorInvalidValue)                                   \
  X(cudaMemset, checked, cudaErrorInvalidValue)                                          \
  X(cudaMemsetAsync, checked, cudaErrorInvalidValue)                                     \
  X(cudaMemset2D, checked, cudaErrorInvalidValue)                                        \
  X(cudaMemset2DAsync, checked, cudaErrorInvalidValue)                                   \
  X(cudaMemset3D, checked, cudaErrorInvalidValue)                                        \
  X(cudaMemset3DAsync, checked, cudaErrorInvalidValue)                                   \
  X(cudaMemcpyToSymbol, checked, cudaErrorInvalidSymbol)                                 \
  X(cudaMemcpyToSymbolAsync, checked, cudaErrorInvalidSymbol)                            \
  X(cudaMemcpyFromSymbol, checked, cudaErrorInvalidSymbol)                               \
  X(cudaMemcpyFromSymbolAsync, checked, cudaErrorInvalidSymbol)                          \
  X(cudaGetSymbolAddress, checked, cudaErrorInvalidSymbol)                               \
  X(cudaMemcpy2DToArray, checked | awaits, cudaErrorInvalidValue)                        \
  X(cudaMemcpy2DToArrayAsync, checked, cudaErrorInvalidValue)                            \
  X(cudaMemcpy2DFromArray, checked | awaits, cudaErrorInvalidValue)                      \
  X(cudaMemcpy2DFromArrayAsync, checked, cudaErrorInvalidValue)                          \
  X(cudaMemcpyToArray, checked | awaits, cudaErrorInvalidValue)                          \
  X(cudaMemcpyFromArray, checked | awaits, cudaErrorInvalidValue)                        \
  X(cudaMemcpy2DArrayToArray, checked | awaits, cudaErrorInvalidValue)                   \
  X(cudaMemcpy3D, checked | awaits, cudaErrorInvalidValue)                               \
  X(cudaMemcpy3DAsync, checked, cudaErrorInvalidValue)                                   \
  /* arrays, textures, surfaces */                                                       \
  X(cudaMallocArray, checked, cudaErrorMemoryAllocation)                                 \
  X(cudaMalloc3DArray, checked, cudaErrorMemoryAllocation)                               \
  X(cudaMallocMipmappedArray, none, cudaErrorNotSupported)                               \
  X(cudaFreeArray, checked | releases, cudaErrorInvalidValue)                            \
  X(cudaArrayGetInfo, none, cudaErrorInvalidResourceHandle)                              \
  X(cudaGetChannelDesc, none, cudaErrorInvalidResourceHandle)                            \
  X(cudaCreateTextureObject, checked, cudaErrorMemoryAllocation)                         \
  X(cudaDestroyTextureObject, releases, cudaErrorInvalidValue)                           \
  X(cudaGetTextureObjectResourceDesc, none, cudaErrorInvalidValue)                       \
  X(cudaGetTextureObjectTextureDesc, none, cudaErrorInvalidValue)                        \
  X(cudaGetTextureObjectResourceViewDesc, none, cudaErrorInvalidValue)                   \
  X(cudaDeviceGetTexture1DLinearMaxWidth, none, cudaErrorInvalidValue)                   \
  X(cudaCreateSurfaceObject, checked, cudaErrorMemoryAllocation)                         \
  X(cudaDestroySurfaceObject, releases, cudaErrorInvalidValue)                           \
  X(cudaGetSurfaceObjectResourceDesc, none, cudaErrorInvalidValue)                       \
  /* kernels */                                                                          \
  X(cudaLaunchKernel, checked, cudaErrorLaunchOutOfResources)                            \
  X(cudaLaunchCooperativeKernel, checked, cudaErrorCooperativeLaunchTooLarge)            \
  X(cudaFuncGetAttributes, none, cudaErrorInvalidDeviceFunction)                         \
  X(cudaFuncSetAttribute, none, cudaErrorInvalidValue)                                   \
  X(cudaFuncSetCacheConfig, none, cudaErrorInvalidDeviceFunction)                        \
  X(cudaOccupancyMaxActiveBlocksPerMultiprocessor, none, cudaErrorInvalidDeviceFunction) \
  X(cudaOccupancyAvailableDynamicSMemPerBlock, none, cudaErrorInvalidDeviceFunction)     \
  X(cudaOccupancyMaxPotentialClusterSize, none, cudaErrorInvalidDeviceFunction)          \
  X(cudaOccupancyMaxActiveClusters, none, cudaErrorInvalidClusterSize)                   \
  /* streams and events */                                                               \
  X(cudaStreamCreate, checked, cudaErrorMemoryAllocation)                                \
  X(cudaStreamCreateWithFlags, checked, cudaErrorMemoryAllocation)                       \
  X(cudaStreamCreateWithPriority, checked, cudaErrorMemoryAllocation)                    \
  X(cudaStreamDestroy, releases, cudaErrorInvalidResourceHandle)                         \
  X(cudaStreamSynchronize, awaits, cudaErrorLaunchFailure)                               \
  X(cudaStreamQuery, checked, cudaErrorLaunchFailure)                                    \
  X(cudaStreamGetFlags, none, cudaErrorInvalidResourceHandle)                            \
  X(cudaStreamGetPriority, none, cudaErrorInvalidResourceHandle)                         \
  X(cudaStreamSetAttribute, none, cudaErrorInvalidResourceHandle)                        \
  X(cudaStreamGetAttribute, none, cudaErrorInvalidResourceHandle)                        \
  X(cudaStreamCopyAttributes, none, cudaErrorInvalidResourceHandle)                      \
  X(cudaStreamGetId, none, cudaErrorInvalidResourceHandle)                               \
  X(cudaStreamGetDevice, none, cudaErrorInvalidResourceHandle)                           \
  X(cudaDeviceGetStreamPriorityRange, checked, cudaErrorInvalidValue)                    \
  X(cudaStreamWaitEvent, checked, cudaErrorInvalidResourceHandle)                        \
  X(cudaLaunchHostFunc, checked, cudaErrorInvalidResourceHandle)                         \
  X(cudaStreamAddCallback, checked, cudaErrorInvalidResourceHandle)                      \
  X(cudaEventCreate, checked, cudaErrorMemoryAllocation)                                 \
  X(cudaEventCreateWithFlags, checked, cudaErrorMemoryAllocation)                        \
  X(cudaEventDestroy, releases, cudaErrorInvalidResourceHandle)                          \
  X(cudaEventRecord, checked, cudaErrorInvalidResourceHandle)                            \
  X(cudaEventRecordWithFlags, checked, cudaErrorInvalidResourceHandle)                   \
  X(cudaEventSynchronize, awaits, cudaErrorLaunchFailure)                                \
  X(cudaEventQuery, checked, cudaErrorLaunchFailure)                                     \
  X(cudaEventElapsedTime, checked, cudaErrorInvalidResourceHandle)                       \
  /* capture and graphs */                                                               \
  X(cudaStreamBeginCapture, checked, cudaErrorStreamCaptureUnsupported)                  \
  X(cudaStreamEndCapture, ends, cudaErrorStreamCaptureInvalidated)                       \
  X(cudaStreamGetCaptureInfo, none, cudaErrorStreamCaptureImplicit)                      \
  X(cudaStreamIsCapturing, none, cudaErrorStreamCaptureImplicit)                         \
  X(cudaThreadExchangeStreamCaptureMode, none, cudaErrorInvalidValue)                    \
  X(cudaGraphCreate, none, cudaErrorMemoryAllocation)                                    \
  X(cudaGraphDestroy, releases, cudaErrorInvalidValue)                                   \
  X(cudaGraphClone, none, cudaErrorMemoryAllocation)                                     \
  X(cudaGraphAddKernelNode, none, cudaErrorInvalidValue)                                 \
  X(cudaGraphAddMemcpyNode, none, cudaErrorInvalidValue)                                 \
  X(cudaGraphAddMemcpyNode1D, none, cudaErrorInvalidValue)                               \
  X(cudaGraphAddMemsetNode, none, cudaErrorInvalidValue)                                 \
  X(cudaGraphAddHostNode, none, cudaErrorInvalidValue)                                   \
  X(cudaGraphAddChildGraphNode, none, cudaErrorInvalidValue)                             \
  X(cudaGraphAddMemAllocNode, none, cudaErrorMemoryAllocation)                           \
  X(cudaGraphAddMemFreeNode, none, cudaErrorInvalidValue)                                \
  X(cudaGraphMemAllocNodeGetParams, none, cudaErrorInvalidValue)                         \
  X(cudaGraphMemFreeNodeGetParams, none, cudaErrorInvalidValue)                          \
  X(cudaDeviceGraphMemTrim, none, cudaErrorInvalidValue)                                 \
  X(cudaDeviceGetGraphMemAttribute, none, cudaErrorInvalidValue)                         \
  X(cudaDeviceSetGraphMemAttribute, none, cudaErrorInvalidValue)                         \
  X(cudaGraphAddEmptyNode, none, cudaErrorInvalidValue)                                  \
  X(cudaGraphAddEventRecordNode, none, cudaErrorInvalidValue)                            \
  X(cudaGraphAddEventWaitNode, none, cudaErrorInvalidValue)                              \
  X(cudaGraphAddNode, none, cudaErrorInvalidValue)                                       \
  X(cudaGraphNodeSetParams, none, cudaErrorInvalidValue)                                 \
  X(cudaGraphExecNodeSetParams, none, cudaErrorInvalidValue)                             \
  X(cudaGraphConditionalHandleCreate, none, cudaErrorInvalidValue)                       \
  X(cudaStreamBeginCaptureToGraph, none, cudaErrorInvalidValue)                          \
  X(cudaStreamUpdateCaptureDependencies, none, cudaErrorInvalidValue)                    \
  X(cudaGraphDestroyNode, releases, cudaErrorInvalidValue)                               \
  X(cudaGraphKernelNodeGetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphMemcpyNodeGetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphMemsetNodeGetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphHostNodeGetParams, none, cudaErrorInvalidValue)                             \
  X(cudaGraphKernelNodeSetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphMemcpyNodeSetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphMemcpyNodeSetParams1D, none, cudaErrorInvalidValue)                         \
  X(cudaGraphMemsetNodeSetParams, none, cudaErrorInvalidValue)                           \
  X(cudaGraphHostNodeSetParams, none, cudaErrorInvalidValue)                             \
  X(cudaGraphAddDependencies, none, cudaErrorInvalidValue)                               \
  X(cudaGraphGetNodes, none, cudaErrorInvalidValue)                                      \
  X(cudaGraphGetRootNodes, none, cudaErrorInvalidValue)                                  \
  X(cudaGraphGetEdges, none, cudaErrorInvalidValue)                                      \
  X(cudaGraphNodeGetType, none, cudaErrorInvalidValue)                                   \
  X(cudaGraphNodeGetDependencies, none, cudaErrorInvalidValue)                           \
  X(cudaGraphNodeGetDependentNodes, none, cudaErrorInvalidValue)                         \
  X(cudaGraphInstantiate, none, cudaErrorMemoryAllocation)                               \
  X(cudaGraphInstantiateWithFlags, none, cudaErrorMemoryAllocation)                      \
  X(cudaGraphUpload, none, cudaErrorInvalidValue)                                        \
  X(cudaGraphLaunch, checked, cudaErrorLaunchOutOfResources)                             \
  X(cudaGraphExecDestroy, releases, cudaErrorInvalidValue)                               \
  X(cudaGraphExecKernelNodeSetParams, none, cudaErrorInvalidValue)                       \
  X(cudaGraphExecMemcpyNodeSetParams1D, none, cudaErrorInvalidValue)                     \
  X(cudaGraphExecMemcpyNodeSetParams, none, cudaErrorInvalidValue)                       \
  X(cudaGraphExecMemsetNodeSetParams, none, cudaErrorInvalidValue)                       \
  X(cudaGraphExecChildGraphNodeSetParams, none, cudaErrorInvalidValue)                   \
  X(cudaGraphExecHostNodeSetParams, none, cudaErrorInvalidValue)                         \
  X(cudaGraphExecUpdate, none, cudaErrorGraphExecUpdateFailure)                          \
  /* OpenGL */                                                                           \
  X(cudaGLGetDevices, checked, cudaErrorInvalidGraphicsContext)                          \
  X(cudaGraphicsGLRegisterBuffer, checked, cudaErrorMemoryAllocation)                    \
  X(cudaGraphicsGLRegisterImage, checked, cudaErrorMemoryAllocation)                     \
  X(cudaGraphicsUnregisterResource, checked | releases, cudaErrorInvalidResourceHandle)  \
  X(cudaGraphicsResourceSetMapFlags, checked, cudaErrorInvalidResourceHandle)            \
  X(cudaGraphicsMapResources, checked | uncaptured, cudaErrorMapBufferObjectFailed)      \
  X(cudaGraphicsUnmapResources, checked | awaits | uncaptured | releases,                \
    cudaErrorUnmapBufferObjectFailed)                                                    \
  X(cudaGraphicsResourceGetMappedPointer, checked, cudaErrorNotMapped)                   \
  X(cudaGraphicsSubResourceGetMappedArray, checked, cudaErrorNotMapped)
