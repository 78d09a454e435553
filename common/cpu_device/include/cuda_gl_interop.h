// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// OpenGL buffers and textures for kernels. Nothing here needs OpenGL to be installed or linked: its
// functions are looked up in the running program, through the window system whose context is
// current.
#pragma once

#include "cpu_device/graphics.h"

#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#else
typedef unsigned int GLenum;
typedef unsigned int GLuint;
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum cudaGLDeviceList {
  cudaGLDeviceListAll = 1,
  cudaGLDeviceListCurrentFrame = 2,
  cudaGLDeviceListNextFrame = 3
};

/// The CUDA devices that can use buffers of the current OpenGL context: all there are. Writes at
/// most `room` numbers to `devices`.
cudaError_t cudaGLGetDevices(unsigned int* count, int* devices, unsigned int room,
                             enum cudaGLDeviceList list);

/// A buffer object that has its storage (glBufferData). `flags`: cudaGraphicsRegisterFlagsNone,
/// …ReadOnly or …WriteDiscard.
cudaError_t cudaGraphicsGLRegisterBuffer(cudaGraphicsResource_t* resource, GLuint buffer,
                                         unsigned int flags);
/// A texture that has its image (glTexImage2D): of the kinds GL_TEXTURE_2D, GL_TEXTURE_RECTANGLE
/// and GL_TEXTURE_3D, with 1, 2 or 4 channels of 8, 16 or 32 bits, or of 32 bits float. `flags`:
/// cudaGraphicsRegisterFlagsNone, …ReadOnly or …WriteDiscard, and …SurfaceLoadStore where kernels
/// write to it.
cudaError_t cudaGraphicsGLRegisterImage(cudaGraphicsResource_t* resource, GLuint texture,
                                        GLenum target, unsigned int flags);

/// What programs from before CUDA 5 begin with; the same as cudaSetDevice.
static inline cudaError_t cudaGLSetGLDevice(int device) { return cudaSetDevice(device); }

#ifdef __cplusplus
}  // extern "C"
#endif
