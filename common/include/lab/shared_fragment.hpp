// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Loads fragments of tensor cores from shared memory.
//
// nvcuda::wmma::load_matrix_sync() takes an address of any memory, and nvcc (13.0) does not find
// out that it is one of shared memory: each lane loads its elements by one instruction for 4 or 8
// bytes each, which look at every address. If the instruction says that the matrix is in shared
// memory, a fragment of 16 x 16 elements of 16 bits is a single one (LDSM).
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>

namespace lab::from_shared {

#ifdef __CPU_DEVICE__
using nvcuda::wmma::load_matrix_sync;
#else
namespace detail {

__device__ inline unsigned address_of(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

}  // namespace detail

/// nvcuda::wmma::load_matrix_sync() for a matrix in shared memory. `ldm` elements are from one row
/// to the next.
__device__ inline void load_matrix_sync(
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __nv_bfloat16,
                           nvcuda::wmma::row_major>& to,
    const __nv_bfloat16* from, unsigned ldm) {
  static_assert(sizeof to.x == 16, "four registers");
  auto* const x = reinterpret_cast<unsigned*>(to.x);
  asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(detail::address_of(from)), "r"(ldm)
               : "memory");
}
__device__ inline void load_matrix_sync(
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, __nv_bfloat16,
                           nvcuda::wmma::row_major>& to,
    const __nv_bfloat16* from, unsigned ldm) {
  static_assert(sizeof to.x == 16, "four registers");
  auto* const x = reinterpret_cast<unsigned*>(to.x);
  asm volatile("wmma.load.b.sync.aligned.row.m16n16k16.shared.bf16 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(detail::address_of(from)), "r"(ldm)
               : "memory");
}
__device__ inline void load_matrix_sync(
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 8, 8, 4, double, nvcuda::wmma::row_major>& to,
    const double* from, unsigned ldm) {
  asm volatile("wmma.load.a.sync.aligned.row.m8n8k4.shared.f64 {%0}, [%1], %2;"
               : "=d"(to.x[0])
               : "r"(detail::address_of(from)), "r"(ldm)
               : "memory");
}
__device__ inline void load_matrix_sync(
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 8, 8, 4, double, nvcuda::wmma::row_major>& to,
    const double* from, unsigned ldm) {
  asm volatile("wmma.load.b.sync.aligned.row.m8n8k4.shared.f64 {%0}, [%1], %2;"
               : "=d"(to.x[0])
               : "r"(detail::address_of(from)), "r"(ldm)
               : "memory");
}
#endif

}  // namespace lab::from_shared
