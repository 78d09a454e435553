/* SPDX-FileCopyrightText: The CUDA Labs authors
   SPDX-License-Identifier: Apache-2.0

   What a stack that waits has at its top: the frame that switch.S saves and engine.cpp builds for a
   new stack. Read by the assembler and the compiler. */
#if defined(__x86_64__)
#define CPU_DEVICE_FRAME_BYTES 72 /* the result, six registers, the address, one for alignment */
#define CPU_DEVICE_FRAME_ENTRY 56 /* where it goes on */
#elif defined(__aarch64__)
#define CPU_DEVICE_FRAME_BYTES 176 /* x19 to x30, d8 to d15, the result, one for alignment */
#define CPU_DEVICE_FRAME_ENTRY 88  /* x30 */
#endif
