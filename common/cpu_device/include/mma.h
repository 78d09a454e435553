// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Tensor cores: nvcuda::wmma, matrices that the 32 threads of a warp hold and multiply together.
//
// CUDA does not say which thread holds which element. Here it is neither a GPU's mapping nor a
// regular one, and a different one for each type, so that only code that does the same to all
// elements works. Each element is in one place (a GPU keeps those of some fragments twice).
// Elements that were never set are NaN, or -1.
//
// Each lane reads and writes a part of a matrix in memory. It passes its arguments when the warp
// synchronizes, and the first one to continue moves and multiplies the elements for all lanes.
//
// Not there: integers of fewer than 8 bits (wmma::experimental).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cpu_device/kernel_functions.h"
#include "cpu_device/synchronization.h"
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
namespace precision {
struct tf32;
}
enum layout_t { mem_row_major, mem_col_major };

/// A float as tensor cores take it: 10 digits behind the point instead of 23, rounded to the
/// nearest, ties away from zero.
CPU_DEVICE_UNWATCHED inline float __float_to_tf32(float x) {
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000U) != 0x7f800000U) bits += 0x1000U;
  bits &= ~0x1fffU;
  if (x != x) bits = 0x7fffffffU;
  __builtin_memcpy(&x, &bits, sizeof bits);
  return x;
}

// What accesses a matrix in memory is part of the kernel, so that a wrong address is reported with
// the kernel's line. (The check build, which watches kernels and not this, reports the call.)
#ifdef CPU_DEVICE_CHECK
#define CPU_DEVICE_IN_KERNEL CPU_DEVICE_UNWATCHED
#else
#define CPU_DEVICE_IN_KERNEL [[gnu::always_inline]] inline
#endif

namespace cpu_device_detail {

template <class T>
struct storage {
  using type = T;
};
template <>
struct storage<precision::tf32> {
  using type = float;
};

/// What the elements of a product of T are added up in: an integer that is wide enough, or the
/// type of the accumulators.
template <class T>
using sum_of = std::conditional_t<std::is_integral_v<T>, std::int64_t,
                                  std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T>
constexpr bool is_8_bits = std::is_same_v<T, signed char> || std::is_same_v<T, unsigned char>;

template <int M, int N, int K>
constexpr bool is_shape(int m, int n, int k) {
  return M == m && N == n && K == k;
}
/// The shapes that tensor cores know for matrices of T.
template <class T, int M, int N, int K>
constexpr bool is_product() {
  if (std::is_same_v<T, double>) return is_shape<M, N, K>(8, 8, 4);
  if (std::is_same_v<T, precision::tf32>) return is_shape<M, N, K>(16, 16, 8);
  if (!std::is_same_v<T, __half> && !std::is_same_v<T, __nv_bfloat16> && !is_8_bits<T>)
    return false;
  return is_shape<M, N, K>(16, 16, 16) || is_shape<M, N, K>(32, 8, 16) ||
         is_shape<M, N, K>(8, 32, 16);
}
/// The same for accumulators.
template <class T, int M, int N, int K>
constexpr bool is_sum() {
  if (std::is_same_v<T, double>) return is_product<double, M, N, K>();
  if (std::is_same_v<T, float>)
    return is_product<__half, M, N, K>() || is_product<precision::tf32, M, N, K>();
  return (std::is_same_v<T, __half> || std::is_same_v<T, int>)&&is_product<__half, M, N, K>();
}
/// Whether a product of matrices of T may be added to accumulators of Sum.
template <class T, class Sum>
constexpr bool may_become() {
  if (std::is_same_v<T, __half>) return std::is_same_v<Sum, __half> || std::is_same_v<Sum, float>;
  if (is_8_bits<T>) return std::is_same_v<Sum, int>;
  return std::is_same_v<Sum, std::conditional_t<std::is_same_v<T, double>, double, float>>;
}

}  // namespace cpu_device_detail

/// A thread's part of a matrix that its warp holds.
template <class Use, int M, int N, int K, class T, class Layout = void>
class fragment {
  static constexpr bool kIsA = std::is_same_v<Use, matrix_a>, kIsB = std::is_same_v<Use, matrix_b>;
  static constexpr bool kIsSum = std::is_same_v<Use, accumulator>;
  static_assert(kIsA || kIsB || kIsSum, "a fragment is a matrix_a, a matrix_b or an accumulator");
  static_assert(kIsSum ? std::is_same_v<Layout, void>
                       : std::is_same_v<Layout, row_major> || std::is_same_v<Layout, col_major>,
                "matrix_a and matrix_b are row_major or col_major; an accumulator has no layout of "
                "its own: load_matrix_sync() and store_matrix_sync() are told");
  static_assert(kIsSum ? cpu_device_detail::is_sum<T, M, N, K>()
                       : cpu_device_detail::is_product<T, M, N, K>(),
                "tensor cores have no fragment of this type and shape. There are: __half, "
                "__nv_bfloat16, signed and unsigned char in 16x16x16, 32x8x16 and 8x32x16, "
                "precision::tf32 in 16x16x8, double in 8x8x4, and their accumulators");

 public:
  using element_type = T;
  using storage_element_type = typename cpu_device_detail::storage<T>::type;

  // For the functions below: the matrix, and where its elements are.
  static constexpr int cpu_device_rows = kIsB ? K : M, cpu_device_columns = kIsA ? K : N;
  static constexpr int cpu_device_size = cpu_device_rows * cpu_device_columns;
  static constexpr bool cpu_device_is_sum = kIsSum;

  static constexpr int num_elements = cpu_device_size / 32;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];

  CPU_DEVICE_UNWATCHED fragment() { __builtin_memset(x, 0xff, sizeof x); }

  /// The place, counted row by row, of element i of a lane.
  CPU_DEVICE_UNWATCHED static constexpr unsigned cpu_device_place(unsigned lane, unsigned i) {
    constexpr unsigned kKind = (kIsA ? 1 : kIsB ? 2 : 3) + 5 * sizeof(storage_element_type);
    return ((lane * num_elements + i) * 37 + kKind) % cpu_device_size;
  }
};

namespace cpu_device_detail {

/// What a lane brings to the warp's meeting, and what all lanes must agree about.
struct warp_call {
  const void* memory = nullptr;
  unsigned stride = 0;
  bool by_columns = false;
  const char* file = nullptr;
  int line = 0;
  // Where the lane's fragments are.
  void* out = nullptr;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
};

CPU_DEVICE_UNWATCHED inline const warp_call& call_of(const ::cpu_device::warp_exchange& all,
                                                     unsigned lane) {
  return *reinterpret_cast<const warp_call*>(all.value[lane]);
}

/// Waits for the warp. The first lane that continues reads what all lanes have passed.
CPU_DEVICE_UNWATCHED inline ::cpu_device::warp_exchange& meet(const warp_call& mine,
                                                              const char* what) {
  ::cpu_device::warp_exchange& all = ::cpu_device::meet_warp(
      0xffffffffU, reinterpret_cast<std::uintptr_t>(&mine), what, mine.file, mine.line);
  if (all.left != 0) return all;
  if (all.mask != 0xffffffffU)
    ::cpu_device::refuse(
        "A function of nvcuda::wmma needs all 32 threads of a warp, and this warp has fewer. Try: "
        "a block whose size is a multiple of 32.",
        mine.file, mine.line);
  for (unsigned lane = 0; lane < 32; ++lane) {
    const warp_call& other = call_of(all, lane);
    if (other.line != mine.line || other.file != mine.file)
      ::cpu_device::refuse(
          "The threads of a warp met in different calls of a function of nvcuda::wmma. All 32 must "
          "be at the same one. Try: conditions that are the same for the whole warp.",
          mine.file, mine.line);
    if (other.memory != mine.memory || other.stride != mine.stride ||
        other.by_columns != mine.by_columns)
      ::cpu_device::refuse(
          "The threads of a warp called a function of nvcuda::wmma with different addresses, "
          "leading dimensions or layouts. All 32 name the same matrix: its first element. Try: "
          "compute them from the number of the warp, not of the thread.",
          mine.file, mine.line);
  }
  return all;
}

/// CUDA asks for an address that is a multiple of 32 bytes (of 16 where the matrix has lines of 16
/// bytes, or no two tiles could be neighbours), and for lines that are multiples of 16 bytes apart.
template <class F>
CPU_DEVICE_UNWATCHED void check_alignment(const warp_call& call) {
  constexpr std::size_t kSize = sizeof(typename F::storage_element_type);
  const std::size_t line =
      kSize *
      static_cast<std::size_t>(call.by_columns ? F::cpu_device_rows : F::cpu_device_columns);
  if (reinterpret_cast<std::uintptr_t>(call.memory) % (line < 32 ? line : 32) != 0)
    ::cpu_device::refuse(
        "The address of a matrix in memory must be a multiple of 32 bytes for nvcuda::wmma (of 16 "
        "where its lines have 16 bytes), and this one is not. Try: __shared__ alignas(32), and "
        "tiles that begin at multiples of their size.",
        call.file, call.line);
  if (call.stride * kSize % 16 != 0)
    ::cpu_device::refuse(
        "The leading dimension of a matrix in memory must be a multiple of 16 bytes for "
        "nvcuda::wmma: of 16 elements of 1 byte, 8 of 2 bytes, 4 of 4 bytes, 2 of 8 bytes. This "
        "one "
        "is not. Try: rows that are padded to such a length.",
        call.file, call.line);
}

/// Where the lanes of each warp put a matrix together that they load, and take one from that they
/// store: line by line, without gaps.
struct warp_tiles {
  alignas(32) char loaded[32][1024];
  alignas(32) char stored[32][1024];
};
inline thread_local constinit warp_tiles tiles{};

CPU_DEVICE_UNWATCHED inline char* tile_of_warp(char (&all)[32][1024]) {
  return all[::cpu_device::progress.position->linear / 32];
}

struct own_word_to {
  char* tile;
  template <class Size>
  CPU_DEVICE_IN_KERNEL void operator()(const char* memory, unsigned at, Size size) const {
    __builtin_memcpy(tile + at, memory, size);
  }
};
struct own_word_from {
  const char* tile;
  template <class Size>
  CPU_DEVICE_IN_KERNEL void operator()(char* memory, unsigned at, Size size) const {
    __builtin_memcpy(memory, tile + at, size);
  }
};
/// Calls move(to or from memory, place in the tile, constant size) for the thread's part of an
/// access to the matrix in memory. As on GPUs, that is done in pieces of 8 lines of 16 or 32 bytes,
/// whatever elements the thread holds.
template <class F, class Move>
CPU_DEVICE_IN_KERNEL void for_own_words(const warp_call& call, bool write, Move move) {
  using element = typename F::storage_element_type;
  constexpr unsigned kWord =
      sizeof(element) < 4 ? 4 : sizeof(element) * (F::cpu_device_is_sum ? 2 : 1);
  constexpr unsigned kBytes = F::cpu_device_size * sizeof(element);
  static_assert(kBytes <= sizeof tiles.loaded[0]);
  const unsigned lines = call.by_columns ? F::cpu_device_columns : F::cpu_device_rows;
  const unsigned line_bytes = kBytes / lines;
  const unsigned rows = lines < 8 ? lines : 8, columns = 32 / rows;
  const unsigned lane = ::cpu_device::lane_id();
  const unsigned first_line = rows < 8 ? lane % rows : lane / columns;
  const unsigned first_word = rows < 8 ? lane / rows : lane % columns;
  for (unsigned line = first_line; line < lines; line += rows)
    for (unsigned at = first_word * kWord; at < line_bytes; at += columns * kWord) {
      auto* const memory = static_cast<char*>(const_cast<void*>(call.memory)) +
                           std::size_t{line} * call.stride * sizeof(element) + at;
#ifdef CPU_DEVICE_CHECK
      cpu_device_look_at_call(memory, kWord, write ? 1 : 0, 0, call.file, call.line);
#else
      static_cast<void>(write);
#endif
      move(memory, line * line_bytes + at, std::integral_constant<unsigned, kWord>{});
    }
}
/// Tells the check build that the thread's own variable was written.
CPU_DEVICE_UNWATCHED inline void note_written([[maybe_unused]] const void* x,
                                              [[maybe_unused]] std::size_t bytes,
                                              [[maybe_unused]] const warp_call& call) {
#ifdef CPU_DEVICE_CHECK
  cpu_device_look_at_call(x, bytes, 1, 0, call.file, call.line);
#endif
}

/// Where the element at this place is in the warp's tile.
template <class F>
CPU_DEVICE_UNWATCHED inline std::size_t offset_of(const warp_call& call, unsigned place) {
  const unsigned row = place / F::cpu_device_columns, column = place % F::cpu_device_columns;
  return sizeof(typename F::storage_element_type) *
         (call.by_columns ? column * F::cpu_device_rows + row : place);
}

// The next three are functions of their own, in which no lane is preempted (kernel_code.cpp): what
// one lane does for all, no other one begins meanwhile.

/// The lanes take their elements from the warp's tile.
template <class F>
[[gnu::noinline]] CPU_DEVICE_UNWATCHED void scatter(const warp_call& call, const char* tile) {
  using element = typename F::storage_element_type;
  ::cpu_device::warp_exchange& all = meet(call, "wmma::load_matrix_sync");
  if (all.left == 0)
    for (unsigned lane = 0; lane < 32; ++lane) {
      auto* const x = static_cast<element*>(call_of(all, lane).out);
      for (unsigned i = 0; i < F::num_elements; ++i)
        __builtin_memcpy(&x[i], tile + offset_of<F>(call, F::cpu_device_place(lane, i)),
                         sizeof(element));
    }
  ::cpu_device::leave_warp(all);
  note_written(call.out, F::num_elements * sizeof(element), call);
}
/// The lanes put them there.
template <class F>
[[gnu::noinline]] CPU_DEVICE_UNWATCHED void collect(const warp_call& call, char* tile) {
  using element = typename F::storage_element_type;
  ::cpu_device::warp_exchange& all = meet(call, "wmma::store_matrix_sync");
  if (all.left == 0)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const auto* const x = static_cast<const element*>(call_of(all, lane).a);
      for (unsigned i = 0; i < F::num_elements; ++i)
        __builtin_memcpy(tile + offset_of<F>(call, F::cpu_device_place(lane, i)), &x[i],
                         sizeof(element));
    }
  ::cpu_device::leave_warp(all);
}

template <class F>
CPU_DEVICE_IN_KERNEL void load(const warp_call& call) {
  check_alignment<F>(call);
  char* const tile = tile_of_warp(tiles.loaded);
  for_own_words<F>(call, false, own_word_to{tile});
  scatter<F>(call, tile);
}
template <class F>
CPU_DEVICE_IN_KERNEL void store(const warp_call& call) {
  check_alignment<F>(call);
  char* const tile = tile_of_warp(tiles.stored);
  collect<F>(call, tile);
  for_own_words<F>(call, true, own_word_from{tile});
}

/// An element as it is multiplied and added.
template <class T>
struct number {
  CPU_DEVICE_UNWATCHED static sum_of<T> of(T x) { return x; }
};
template <>
struct number<__half> {
  CPU_DEVICE_UNWATCHED static float of(__half h) {
    const std::uint32_t size = h.bits & 0x7fffU, sign = static_cast<std::uint32_t>(h.bits) << 16;
    // The digits where a float has them, and an exponent that is too small by 112.
    std::uint32_t bits = size << 13;
    float x = 0;
    __builtin_memcpy(&x, &bits, sizeof x);
    x = size < 0x7c00U ? x * 0x1p112F : size == 0x7c00U ? __builtin_inff() : __builtin_nanf("");
    return (sign & 0x80000000U) != 0 ? -x : x;
  }
};
template <>
struct number<__nv_bfloat16> {
  CPU_DEVICE_UNWATCHED static float of(__nv_bfloat16 h) {
    const std::uint32_t bits = static_cast<std::uint32_t>(h.bits) << 16;
    float x = 0;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  }
};
template <>
struct number<precision::tf32> {
  CPU_DEVICE_UNWATCHED static float of(float x) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= ~0x1fffU;  // the digits that tensor cores ignore
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
  }
};

/// A sum as an accumulator keeps it.
template <class T>
CPU_DEVICE_UNWATCHED inline T kept(sum_of<T> x, [[maybe_unused]] bool saturate) {
  if constexpr (std::is_same_v<T, int>) {
    if (saturate) {
      constexpr std::int64_t kLeast = -2147483648LL, kMost = 2147483647LL;
      return static_cast<int>(x < kLeast ? kLeast : x > kMost ? kMost : x);
    }
    return static_cast<int>(static_cast<std::uint32_t>(x));
  } else {
    return T(x);
  }
}

/// The warp's matrix, row by row. `member` says which of the lanes' fragments.
template <class F, class Number>
CPU_DEVICE_UNWATCHED void gather(const ::cpu_device::warp_exchange& all,
                                 const void* warp_call::*member, Number* matrix) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    const auto* const f = static_cast<const F*>(call_of(all, lane).*member);
    for (unsigned i = 0; i < F::num_elements; ++i)
      matrix[F::cpu_device_place(lane, i)] = number<typename F::element_type>::of(f->x[i]);
  }
}

template <class A, class B, class C, class D>
CPU_DEVICE_UNWATCHED void multiply(const ::cpu_device::warp_exchange& all, bool saturate) {
  using sum_type = sum_of<typename D::element_type>;
  constexpr int kRows = A::cpu_device_rows, kInner = A::cpu_device_columns,
                kColumns = B::cpu_device_columns;
  sum_type a[A::cpu_device_size], b[B::cpu_device_size], sum[C::cpu_device_size];
  gather<A>(all, &warp_call::a, a);
  gather<B>(all, &warp_call::b, b);
  gather<C>(all, &warp_call::c, sum);
  const int rows = ::cpu_device::products_are_made() ? kRows : 0;
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < kInner; ++k)
      for (int j = 0; j < kColumns; ++j) {
        sum_type& s = sum[i * kColumns + j];
        if constexpr (std::is_same_v<sum_type, double>)
          s = __builtin_fma(a[i * kInner + k], b[k * kColumns + j], s);
        else
          s += a[i * kInner + k] * b[k * kColumns + j];  // but for tiny ones, the product is exact
      }
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto* const d = static_cast<D*>(call_of(all, lane).out);
    for (unsigned i = 0; i < D::num_elements; ++i)
      d->x[i] = kept<typename D::element_type>(sum[D::cpu_device_place(lane, i)], saturate);
  }
}

template <class D, class A, class B, class C>
[[gnu::noinline]] CPU_DEVICE_UNWATCHED void mma(D& d, const A& a, const B& b, const C& c,
                                                bool saturate, const char* file, int line) {
  static_assert(may_become<typename A::element_type, typename C::element_type>() &&
                    may_become<typename A::element_type, typename D::element_type>(),
                "the products of such matrices are not added to such accumulators: those of __half "
                "to __half or float, those of 8-bit integers to int, those of double to double, "
                "others to float");
  warp_call call;
  call.file = file;
  call.line = line;
  call.out = &d;
  call.a = &a;
  call.b = &b;
  call.c = &c;
  ::cpu_device::warp_exchange& all = meet(call, "wmma::mma_sync");
  if (all.left == 0) multiply<A, B, C, D>(all, saturate);
  ::cpu_device::leave_warp(all);
  note_written(d.x, sizeof d.x, call);
}

}  // namespace cpu_device_detail

/// The warp takes the matrix whose first element is *from. `stride`, in elements, is from one row
/// to the next, or from one column to the next.
template <class Use, int M, int N, int K, class T, class Layout>
[[gnu::always_inline]] inline void load_matrix_sync(
    fragment<Use, M, N, K, T, Layout>& f,
    const typename fragment<Use, M, N, K, T, Layout>::storage_element_type* from, unsigned stride,
    CPU_DEVICE_HERE) {
  static_assert(!std::is_same_v<Use, accumulator>,
                "an accumulator is loaded with a layout: mem_row_major or mem_col_major");
  cpu_device_detail::load<std::remove_reference_t<decltype(f)>>(
      {from, stride, std::is_same_v<Layout, col_major>, file, line, f.x});
}
template <int M, int N, int K, class T>
[[gnu::always_inline]] inline void load_matrix_sync(
    fragment<accumulator, M, N, K, T>& f,
    const typename fragment<accumulator, M, N, K, T>::storage_element_type* from, unsigned stride,
    layout_t layout, CPU_DEVICE_HERE) {
  cpu_device_detail::load<std::remove_reference_t<decltype(f)>>(
      {from, stride, layout == mem_col_major, file, line, f.x});
}

template <int M, int N, int K, class T>
[[gnu::always_inline]] inline void store_matrix_sync(
    typename fragment<accumulator, M, N, K, T>::storage_element_type* to,
    const fragment<accumulator, M, N, K, T>& f, unsigned stride, layout_t layout, CPU_DEVICE_HERE) {
  cpu_device_detail::store<fragment<accumulator, M, N, K, T>>(
      {to, stride, layout == mem_col_major, file, line, nullptr, f.x});
}

template <class Use, int M, int N, int K, class T, class Layout>
inline void fill_fragment(
    fragment<Use, M, N, K, T, Layout>& f,
    const typename fragment<Use, M, N, K, T, Layout>::storage_element_type& value) {
  for (auto& x : f.x) x = value;
}

/// d = a * b + c, added up in float where T is smaller.
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class C, class D>
inline void mma_sync(fragment<accumulator, M, N, K, D>& d,
                     const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                     const fragment<accumulator, M, N, K, C>& c, CPU_DEVICE_HERE) {
  cpu_device_detail::mma(d, a, b, c, false, file, line);
}
/// With `saturate`, an integer that is too large becomes the largest one.
template <int M, int N, int K, class T, class LayoutA, class LayoutB>
inline void mma_sync(fragment<accumulator, M, N, K, int>& d,
                     const fragment<matrix_a, M, N, K, T, LayoutA>& a,
                     const fragment<matrix_b, M, N, K, T, LayoutB>& b,
                     const fragment<accumulator, M, N, K, int>& c, bool saturate, CPU_DEVICE_HERE) {
  cpu_device_detail::mma(d, a, b, c, saturate, file, line);
}

}  // namespace wmma
}  // namespace nvcuda
#undef CPU_DEVICE_IN_KERNEL
