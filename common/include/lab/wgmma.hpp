// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The products of a warpgroup: four warps, 128 threads, that multiply matrices in shared memory
// (PTX: wgmma, compute capability 9.0). CUDA has no functions for them, only instructions.
//
//   lab::wgmma::sums<256> sums;                        // 64 x 256, spread over the 128 threads
//   lab::wgmma::fence();                               // before the first product that uses them
//   for (…) lab::wgmma::multiply(sums, of_a, of_b, add);  // starts one: 64 x 256 x 8
//   lab::wgmma::commit(sums);                          // those started since are a group
//   lab::wgmma::wait<0>(sums);                         // until no group is under way
//   … sums.x[i] …
//
// All threads of the warpgroup call each of them together. `of_a` and `of_b` are descriptors of
// tiles in *dynamic* shared memory, both with rows along k:
//
//   bits  0 … 13   the tile's address in shared memory, divided by 16
//   bits 16 … 29   the distance of core matrices along k, divided by 16 (unused with a swizzle)
//   bits 32 … 45   the distance from 8 rows to the next 8 rows, in bytes, divided by 16
//   bits 49 … 51   0, if the tile begins where the pattern of the swizzle does
//   bits 62 … 63   the swizzle: 0 none, 1 of 128 bytes, 2 of 64, 3 of 32
//
// The CPU device multiplies what the descriptors say, as late as the instructions may do it: in the
// wait(). (In PTX 8.0 and later: "Asynchronous Warpgroup Level Matrix Multiply-Accumulate".)
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

/// Whether the code that is compiled now may use all this: on the host, to compile it, and for
/// sm_90a. CMake compiles files that include this header for sm_90a where they would be for sm_90.
#if defined(__CPU_DEVICE__) || !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define LAB_WGMMA_CODE 1
#else
#define LAB_WGMMA_CODE 0
#endif

#ifdef __CPU_DEVICE__
#include "cpu_device/execution.h"
#include "cpu_device/synchronization.h"
#endif

namespace lab::wgmma {

/// A thread's part of the sums: 64 rows and kColumns columns of the warpgroup.
template <unsigned kColumns>
struct sums {
  static_assert(kColumns == 128 || kColumns == 256, "there are instructions for more, not here");
  static constexpr unsigned kElements = kColumns / 2;
  float x[kElements];

  /// Where x[i] is.
  __device__ static unsigned row(unsigned i) {
    return threadIdx.x / 32 % 4 * 16 + i / 2 % 2 * 8 + threadIdx.x % 32 / 4;
  }
  __device__ static unsigned column(unsigned i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

#ifdef __CPU_DEVICE__
  struct product {
    std::uint64_t a, b;
    bool add;
    unsigned group;
    const char* file;
    int line;
  };
  product under_way[64];
  unsigned count = 0, groups = 0;
  sums() { __builtin_memset(x, 0xff, sizeof x); }
#endif
};

/// The address in shared memory, as descriptors have it, before it is divided by 16.
__device__ inline std::uint32_t shared_address(const void* tile) {
#ifdef __CPU_DEVICE__
  return static_cast<std::uint32_t>(static_cast<const char*>(tile) -
                                    static_cast<const char*>(cpu_device::dynamic_shared()));
#else
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
#endif
}

/// Whether the host may launch kernels with this code on the current device.
inline bool is_available() {
#if defined(__CPU_DEVICE__)
  return true;
#elif defined(LAB_SM90A)
  int device = 0, major = 0, minor = 0;
  return cudaGetDevice(&device) == cudaSuccess &&
         cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
         cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device) == cudaSuccess &&
         major == 9 && minor == 0;
#else
  return false;
#endif
}

#ifdef __CPU_DEVICE__

namespace detail {

/// A field of a descriptor: 14 bits, for a multiple of 16.
CPU_DEVICE_UNWATCHED inline std::size_t field(std::uint64_t descriptor, unsigned from) {
  return static_cast<std::size_t>(descriptor >> from & 0x3fffU) * 16;
}

/// Four neighbours along k in row `row` of the tile that a descriptor describes, from column `i`
/// on, as a tensor core takes them.
CPU_DEVICE_UNWATCHED inline void read_four(std::uint64_t descriptor, unsigned row, unsigned i,
                                           float* to, const char* file, int line) {
  const auto swizzle = static_cast<unsigned>(descriptor >> 62U);
  const char* at = static_cast<const char*>(cpu_device::dynamic_shared()) + field(descriptor, 0);
  at += row / 8 * field(descriptor, 32);
  if (swizzle == 0) {  // 8 rows of 16 bytes are a core matrix
    at += i / 4 * field(descriptor, 16) + row % 8 * 16;
  } else {
    const std::size_t width = std::size_t{256} >> swizzle;  // of a row, in bytes
    at += row % 8 * width + i * 4;
    // Pieces of 16 bytes are swapped, depending on bits of the address.
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (((address - row % 8 * width) >> 7U & (width / 16 - 1)) != 0)
      cpu_device::refuse(
          "A product of a warpgroup reads rows that do not begin where the pattern of their "
          "swizzle "
          "does. Try: tiles at multiples of 1024 bytes, and the distance of 8 rows.",
          file, line);
    at = reinterpret_cast<const char*>(address ^ (address >> 3U & (width / 16 - 1) << 4U));
  }
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(at, 16, 0, 0, file, line);
#endif
  std::uint32_t bits[4];
  __builtin_memcpy(bits, at, sizeof bits);
  for (std::uint32_t& b : bits) b &= ~std::uint32_t{0x1fff};
  __builtin_memcpy(to, bits, sizeof bits);
}

/// This thread's part of a product, 8 elements along k.
template <unsigned kColumns>
CPU_DEVICE_UNWATCHED void finish(sums<kColumns>& to, const typename sums<kColumns>::product& p) {
  const unsigned row = sums<kColumns>::row(0), column = sums<kColumns>::column(0);
  const unsigned inner = cpu_device::products_are_made() ? 8 : 0;
  float a[2][8], b[8];
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned i = 0; i < 8; i += 4)
      read_four(p.a, row + 8 * half, i, a[half] + i, p.file, p.line);
  for (unsigned pair = 0; pair < kColumns / 8; ++pair)
    for (unsigned in_pair = 0; in_pair < 2; ++in_pair) {
      for (unsigned i = 0; i < 8; i += 4)
        read_four(p.b, column + 8 * pair + in_pair, i, b + i, p.file, p.line);
      for (unsigned half = 0; half < 2; ++half) {
        float& sum = to.x[4 * pair + 2 * half + in_pair];
        if (!p.add) sum = 0;
        for (unsigned i = 0; i < inner; ++i) sum += a[half][i] * b[i];
      }
    }
}

template <unsigned kColumns>
CPU_DEVICE_UNWATCHED void finish_first(sums<kColumns>& of) {
  finish(of, of.under_way[0]);
  for (unsigned i = 1; i < of.count; ++i) of.under_way[i - 1] = of.under_way[i];
  --of.count;
}

}  // namespace detail

inline void fence() { __syncwarp(); }
template <unsigned kColumns>
CPU_DEVICE_UNWATCHED void multiply(sums<kColumns>& to, std::uint64_t of_a, std::uint64_t of_b,
                                   bool add, const char* file = __builtin_FILE(),
                                   int line = __builtin_LINE()) {
  __syncwarp();
  if (to.count == 64) detail::finish_first(to);
  to.under_way[to.count++] = {of_a, of_b, add, to.groups, file, line};
}
template <unsigned kColumns>
void commit(sums<kColumns>& of) {
  __syncwarp();
  ++of.groups;
}
template <unsigned kGroups, unsigned kColumns>
CPU_DEVICE_UNWATCHED void wait(sums<kColumns>& of) {
  __syncwarp();
  while (of.count != 0 && of.under_way[0].group + kGroups < of.groups) detail::finish_first(of);
  __syncwarp();
}
template <unsigned kRegisters>
void give_registers_back() {}
template <unsigned kRegisters>
void take_registers() {}

#elif LAB_WGMMA_CODE

namespace detail {

__device__ inline void multiply_add(float (&x)[64], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63}, "
      "%64, %65, add, 1, 1;\n}\n"
      : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
        "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
        "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
        "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
        "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31]), "+f"(x[32]), "+f"(x[33]), "+f"(x[34]),
        "+f"(x[35]), "+f"(x[36]), "+f"(x[37]), "+f"(x[38]), "+f"(x[39]), "+f"(x[40]), "+f"(x[41]),
        "+f"(x[42]), "+f"(x[43]), "+f"(x[44]), "+f"(x[45]), "+f"(x[46]), "+f"(x[47]), "+f"(x[48]),
        "+f"(x[49]), "+f"(x[50]), "+f"(x[51]), "+f"(x[52]), "+f"(x[53]), "+f"(x[54]), "+f"(x[55]),
        "+f"(x[56]), "+f"(x[57]), "+f"(x[58]), "+f"(x[59]), "+f"(x[60]), "+f"(x[61]), "+f"(x[62]),
        "+f"(x[63])
      : "l"(a), "l"(b), "r"(add));
}

__device__ inline void multiply_add(float (&x)[128], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 "
      "{%0, %1, %2, %3, %4, %5, %6, %7, "
      "%8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, "
      "%40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, "
      "%72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, "
      "%88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, "
      "%104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, "
      "%120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, add, 1, 1;\n}\n"
      : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]),
        "+f"(x[7]), "+f"(x[8]), "+f"(x[9]), "+f"(x[10]), "+f"(x[11]), "+f"(x[12]), "+f"(x[13]),
        "+f"(x[14]), "+f"(x[15]), "+f"(x[16]), "+f"(x[17]), "+f"(x[18]), "+f"(x[19]), "+f"(x[20]),
        "+f"(x[21]), "+f"(x[22]), "+f"(x[23]), "+f"(x[24]), "+f"(x[25]), "+f"(x[26]), "+f"(x[27]),
        "+f"(x[28]), "+f"(x[29]), "+f"(x[30]), "+f"(x[31]), "+f"(x[32]), "+f"(x[33]), "+f"(x[34]),
        "+f"(x[35]), "+f"(x[36]), "+f"(x[37]), "+f"(x[38]), "+f"(x[39]), "+f"(x[40]), "+f"(x[41]),
        "+f"(x[42]), "+f"(x[43]), "+f"(x[44]), "+f"(x[45]), "+f"(x[46]), "+f"(x[47]), "+f"(x[48]),
        "+f"(x[49]), "+f"(x[50]), "+f"(x[51]), "+f"(x[52]), "+f"(x[53]), "+f"(x[54]), "+f"(x[55]),
        "+f"(x[56]), "+f"(x[57]), "+f"(x[58]), "+f"(x[59]), "+f"(x[60]), "+f"(x[61]), "+f"(x[62]),
        "+f"(x[63]), "+f"(x[64]), "+f"(x[65]), "+f"(x[66]), "+f"(x[67]), "+f"(x[68]), "+f"(x[69]),
        "+f"(x[70]), "+f"(x[71]), "+f"(x[72]), "+f"(x[73]), "+f"(x[74]), "+f"(x[75]), "+f"(x[76]),
        "+f"(x[77]), "+f"(x[78]), "+f"(x[79]), "+f"(x[80]), "+f"(x[81]), "+f"(x[82]), "+f"(x[83]),
        "+f"(x[84]), "+f"(x[85]), "+f"(x[86]), "+f"(x[87]), "+f"(x[88]), "+f"(x[89]), "+f"(x[90]),
        "+f"(x[91]), "+f"(x[92]), "+f"(x[93]), "+f"(x[94]), "+f"(x[95]), "+f"(x[96]), "+f"(x[97]),
        "+f"(x[98]), "+f"(x[99]), "+f"(x[100]), "+f"(x[101]), "+f"(x[102]), "+f"(x[103]),
        "+f"(x[104]), "+f"(x[105]), "+f"(x[106]), "+f"(x[107]), "+f"(x[108]), "+f"(x[109]),
        "+f"(x[110]), "+f"(x[111]), "+f"(x[112]), "+f"(x[113]), "+f"(x[114]), "+f"(x[115]),
        "+f"(x[116]), "+f"(x[117]), "+f"(x[118]), "+f"(x[119]), "+f"(x[120]), "+f"(x[121]),
        "+f"(x[122]), "+f"(x[123]), "+f"(x[124]), "+f"(x[125]), "+f"(x[126]), "+f"(x[127])
      : "l"(a), "l"(b), "r"(add));
}

}  // namespace detail

/// The warpgroup's registers are as they should be before the next multiply(). Not needed between
/// products that add to the same sums.
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/// Starts sums = A · B, or with `add` sums += A · B, for 8 elements along k.
template <unsigned kColumns>
__device__ void multiply(sums<kColumns>& to, std::uint64_t of_a, std::uint64_t of_b, bool add) {
  detail::multiply_add(to.x, of_a, of_b, add ? 1 : 0);
}

/// All products started since the last commit() become a group.
template <unsigned kColumns>
__device__ void commit(sums<kColumns>&) {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/// Waits until at most kGroups groups, the newest ones, are under way.
template <unsigned kGroups, unsigned kColumns>
__device__ void wait(sums<kColumns>&) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kGroups) : "memory");
}

/// The warpgroup keeps this many registers per thread, and releases the rest for other warpgroups.
template <unsigned kRegisters>
__device__ void give_registers_back() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
/// The warpgroup waits until it has this many registers per thread.
template <unsigned kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

#endif

}  // namespace lab::wgmma
