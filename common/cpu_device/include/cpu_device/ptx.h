// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the instructions of inline PTX do. The rewriter writes the calls and includes this header;
// an operand of an asm statement may be of any type of its register's size.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <cuda/atomic>
#include <limits>
#include <type_traits>

#include "cpu_device/part_barriers.h"
#include "cuda_pipeline_primitives.h"
#include "cuda_runtime.h"

namespace cpu_device::ptx {

// --- registers -----------------------------------------------------------------------------------

template <std::size_t Bytes>
using bits_of = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t,
                       std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// A register read as a T: the same bits where one is a float and the other is not.
template <class T, class V>
T as(const V& value) {
  if constexpr (std::is_pointer_v<V>) {
    return as<T>(reinterpret_cast<std::uintptr_t>(value));
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(as<std::uintptr_t>(value));
  } else if constexpr (std::is_floating_point_v<V> && !std::is_floating_point_v<T>) {
    return static_cast<T>(std::bit_cast<bits_of<sizeof(V)>>(value));
  } else if constexpr (std::is_floating_point_v<T> && !std::is_floating_point_v<V>) {
    return std::bit_cast<T>(static_cast<bits_of<sizeof(T)>>(value));
  } else {
    return static_cast<T>(value);
  }
}
template <class To, class V>
void put(To& to, const V& value) {
  to = as<To>(value);
}

/// A number without its sign, so that it may wrap around.
template <class T>
std::make_unsigned_t<T> bare(const T& value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}
/// The type of twice the size.
template <class T>
struct wider;
template <>
struct wider<std::uint16_t> {
  using type = std::uint32_t;
};
template <>
struct wider<std::int16_t> {
  using type = std::int32_t;
};
template <>
struct wider<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct wider<std::int32_t> {
  using type = std::int64_t;
};
template <>
struct wider<std::uint64_t> {
  __extension__ using type = unsigned __int128;
};
template <>
struct wider<std::int64_t> {
  __extension__ using type = __int128;
};

inline unsigned warp_id() { return progress.position->linear / 32; }
inline unsigned warps() { return (progress.count + 31) / 32; }

template <class T>
T pack(const auto& low, const auto& high) {
  using half = bits_of<sizeof(T) / 2>;
  return static_cast<T>(T{as<half>(high)} << (4 * sizeof(T)) | as<half>(low));
}
template <class T>
void unpack(auto& low, auto& high, const auto& value) {
  using half = bits_of<sizeof(T) / 2>;
  const T whole = as<T>(value);
  put(low, static_cast<half>(whole));
  put(high, static_cast<half>(whole >> (4 * sizeof(T))));
}

// --- arithmetic ----------------------------------------------------------------------------------

template <class T>
T copy(const auto& a) {
  return as<T>(a);
}

// Whole numbers wrap around.
#define CPU_DEVICE_PTX_WRAPPING(NAME, OPERATOR)                                     \
  template <class T>                                                                \
  T NAME(const auto& a, const auto& b) {                                            \
    if constexpr (std::is_floating_point_v<T>)                                      \
      return as<T>(a) OPERATOR as<T>(b);                                            \
    else                                                                            \
      return static_cast<T>(std::uint64_t{bare(as<T>(a))} OPERATOR bare(as<T>(b))); \
  }
CPU_DEVICE_PTX_WRAPPING(add, +)
CPU_DEVICE_PTX_WRAPPING(subtract, -)
CPU_DEVICE_PTX_WRAPPING(multiply, *)
#undef CPU_DEVICE_PTX_WRAPPING

template <class T>
typename wider<T>::type multiply_wide(const auto& a, const auto& b) {
  using wide = typename wider<T>::type;
  return static_cast<wide>(static_cast<wide>(as<T>(a)) * static_cast<wide>(as<T>(b)));
}
template <class T>
T multiply_high(const auto& a, const auto& b) {
  return static_cast<T>(multiply_wide<T>(a, b) >> (8 * sizeof(T)));
}
template <class T>
T multiply_add(const auto& a, const auto& b, const auto& c) {
  return add<T>(multiply<T>(a, b), c);
}
template <class T>
T multiply_high_add(const auto& a, const auto& b, const auto& c) {
  return add<T>(multiply_high<T>(a, b), c);
}
template <class T>
typename wider<T>::type multiply_wide_add(const auto& a, const auto& b, const auto& c) {
  using wide = typename wider<T>::type;
  return add<wide>(multiply_wide<T>(a, b), c);
}

/// With the carry of the instruction before, and for the one after.
template <class T, bool In, bool Out>
T add_carry(unsigned& carry, const auto& a, const auto& b) {
  using bits = std::make_unsigned_t<T>;
  bits sum{}, all{};
  const bool first = __builtin_add_overflow(bare(as<T>(a)), bare(as<T>(b)), &sum);
  const bool second = __builtin_add_overflow(sum, static_cast<bits>(In ? carry : 0), &all);
  if (Out) carry = first || second ? 1 : 0;
  return static_cast<T>(all);
}
template <class T, bool In, bool Out>
T subtract_borrow(unsigned& carry, const auto& a, const auto& b) {
  using bits = std::make_unsigned_t<T>;
  bits difference{}, all{};
  const bool first = __builtin_sub_overflow(bare(as<T>(a)), bare(as<T>(b)), &difference);
  const bool second = __builtin_sub_overflow(difference, static_cast<bits>(In ? carry : 0), &all);
  if (Out) carry = first || second ? 1 : 0;
  return static_cast<T>(all);
}
template <class T, bool In, bool Out>
T multiply_add_carry(unsigned& carry, const auto& a, const auto& b, const auto& c) {
  return add_carry<T, In, Out>(carry, multiply<T>(a, b), c);
}
template <class T, bool In, bool Out>
T multiply_high_add_carry(unsigned& carry, const auto& a, const auto& b, const auto& c) {
  return add_carry<T, In, Out>(carry, multiply_high<T>(a, b), c);
}

template <class T>
T fused_multiply_add(const auto& a, const auto& b, const auto& c) {
  return std::fma(as<T>(a), as<T>(b), as<T>(c));
}
template <class T>
T divide(const auto& a, const auto& b) {
  if constexpr (!std::is_floating_point_v<T>) {
    if (as<T>(b) == 0) return static_cast<T>(~T{0});  // a GPU traps nowhere
    if (std::is_signed_v<T> && as<T>(b) == static_cast<T>(-1)) return subtract<T>(T{0}, a);
  }
  return static_cast<T>(as<T>(a) / as<T>(b));
}
template <class T>
T remainder(const auto& a, const auto& b) {
  if (as<T>(b) == 0) return as<T>(a);
  if (std::is_signed_v<T> && as<T>(b) == static_cast<T>(-1)) return 0;
  return static_cast<T>(as<T>(a) % as<T>(b));
}
template <class T>
T minimum(const auto& a, const auto& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmin(as<T>(a), as<T>(b));
  else
    return as<T>(b) < as<T>(a) ? as<T>(b) : as<T>(a);
}
template <class T>
T maximum(const auto& a, const auto& b) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fmax(as<T>(a), as<T>(b));
  else
    return as<T>(a) < as<T>(b) ? as<T>(b) : as<T>(a);
}
template <class T>
T negate(const auto& a) {
  if constexpr (std::is_floating_point_v<T>)
    return -as<T>(a);
  else
    return subtract<T>(T{0}, a);
}
template <class T>
T absolute(const auto& a) {
  if constexpr (std::is_floating_point_v<T>)
    return std::fabs(as<T>(a));
  else
    return as<T>(a) < 0 ? negate<T>(a) : as<T>(a);
}
#define CPU_DEVICE_PTX_FUNCTION(NAME, EXPRESSION) \
  template <class T>                              \
  T NAME(const auto& a) {                         \
    const T x = as<T>(a);                         \
    return static_cast<T>(EXPRESSION);            \
  }
CPU_DEVICE_PTX_FUNCTION(square_root, std::sqrt(x))
CPU_DEVICE_PTX_FUNCTION(reciprocal_square_root, T{1} / std::sqrt(x))
CPU_DEVICE_PTX_FUNCTION(reciprocal, T{1} / x)
CPU_DEVICE_PTX_FUNCTION(power_of_2, std::exp2(x))
CPU_DEVICE_PTX_FUNCTION(logarithm_to_2, std::log2(x))
CPU_DEVICE_PTX_FUNCTION(sine, std::sin(x))
CPU_DEVICE_PTX_FUNCTION(cosine, std::cos(x))
CPU_DEVICE_PTX_FUNCTION(hyperbolic_tangent, std::tanh(x))
#undef CPU_DEVICE_PTX_FUNCTION

enum class rounding { nearest, to_zero, down, up };

/// `Whole`: to a whole number. One that does not fit becomes the nearest that does, a NaN 0.
template <class T, class From, rounding Way, bool Whole>
T convert(const auto& a) {
  const From x = as<From>(a);
  if constexpr (std::is_floating_point_v<From> && (Whole || !std::is_floating_point_v<T>)) {
    const From whole = Way == rounding::nearest   ? std::nearbyint(x)
                       : Way == rounding::to_zero ? std::trunc(x)
                       : Way == rounding::down    ? std::floor(x)
                                                  : std::ceil(x);
    if constexpr (!std::is_floating_point_v<T>) {
      if (std::isnan(whole)) return 0;
      if (whole <= static_cast<From>(std::numeric_limits<T>::min()))
        return std::numeric_limits<T>::min();
      if (whole >= static_cast<From>(std::numeric_limits<T>::max()))
        return std::numeric_limits<T>::max();
    }
    return static_cast<T>(whole);
  } else {
    return static_cast<T>(x);
  }
}

// --- bits and predicates -------------------------------------------------------------------------

#define CPU_DEVICE_PTX_BITS(NAME, OPERATOR)            \
  template <class T>                                   \
  T NAME(const auto& a, const auto& b) {               \
    return static_cast<T>(as<T>(a) OPERATOR as<T>(b)); \
  }
CPU_DEVICE_PTX_BITS(bit_and, &)
CPU_DEVICE_PTX_BITS(bit_or, |)
CPU_DEVICE_PTX_BITS(bit_xor, ^)
CPU_DEVICE_PTX_BITS(equal, ==)
CPU_DEVICE_PTX_BITS(unequal, !=)
CPU_DEVICE_PTX_BITS(less, <)
CPU_DEVICE_PTX_BITS(less_or_equal, <=)
CPU_DEVICE_PTX_BITS(greater, >)
CPU_DEVICE_PTX_BITS(greater_or_equal, >=)
#undef CPU_DEVICE_PTX_BITS
template <class T>
T bit_not(const auto& a) {
  if constexpr (std::is_same_v<T, bool>)
    return !as<T>(a);
  else
    return static_cast<T>(~as<T>(a));
}
template <class T>
T select(const auto& a, const auto& b, bool first) {
  return first ? as<T>(a) : as<T>(b);
}

// A shift by more than there is leaves zeros, or copies of the sign.
template <class T>
T shift_left(const auto& a, const auto& by) {
  const std::uint32_t n = as<std::uint32_t>(by);
  return n >= 8 * sizeof(T) ? T{0} : static_cast<T>(as<T>(a) << n);
}
template <class T>
T shift_right(const auto& a, const auto& by) {
  const std::uint32_t n = as<std::uint32_t>(by), most = 8 * sizeof(T) - 1;
  if (n > most && !std::is_signed_v<T>) return 0;
  return static_cast<T>(as<T>(a) >> (n > most ? most : n));
}
template <class T>
T funnel_left_wrap(const auto& low, const auto& high, const auto& by) {
  return __funnelshift_l(as<T>(low), as<T>(high), as<T>(by));
}
template <class T>
T funnel_left_clamp(const auto& low, const auto& high, const auto& by) {
  return __funnelshift_lc(as<T>(low), as<T>(high), as<T>(by));
}
template <class T>
T funnel_right_wrap(const auto& low, const auto& high, const auto& by) {
  return __funnelshift_r(as<T>(low), as<T>(high), as<T>(by));
}
template <class T>
T funnel_right_clamp(const auto& low, const auto& high, const auto& by) {
  return __funnelshift_rc(as<T>(low), as<T>(high), as<T>(by));
}
/// `length` bits from bit `begin` on, of which only the lowest 8 bits count; beyond the last bit,
/// and above the field, there is its sign, or 0.
template <class T>
T extract(const auto& a, const auto& begin, const auto& length) {
  const unsigned first = as<std::uint32_t>(begin) & 0xFF, bits = as<std::uint32_t>(length) & 0xFF;
  constexpr unsigned kBits = 8 * sizeof(T);
  if (bits == 0) return 0;
  const auto value = bare(as<T>(a));
  const unsigned top = first + bits - 1 < kBits - 1 ? first + bits - 1 : kBits - 1;
  const bool sign = std::is_signed_v<T> && (value >> top & 1) != 0;
  using word = std::make_unsigned_t<T>;
  const word field = first >= kBits ? word{0} : static_cast<word>(value >> first);
  if (bits >= kBits && first == 0) return static_cast<T>(value);
  const unsigned kept = first >= kBits ? 0 : top - first + 1;
  const word mask =
      kept >= kBits ? static_cast<word>(~word{0}) : static_cast<word>((word{1} << kept) - 1);
  return static_cast<T>(sign ? static_cast<word>(field | ~mask) : static_cast<word>(field & mask));
}
template <class T>
T insert(const auto& field, const auto& into, const auto& begin, const auto& length) {
  const unsigned first = as<std::uint32_t>(begin) & 0xFF, bits = as<std::uint32_t>(length) & 0xFF;
  constexpr unsigned kBits = 8 * sizeof(T);
  if (bits == 0 || first >= kBits) return as<T>(into);
  const T ones = bits >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << bits) - 1);
  const T mask = static_cast<T>(ones << first);
  return static_cast<T>((as<T>(into) & ~mask) | (as<T>(field) << first & mask));
}
template <class T>
T reverse(const auto& a) {
  if constexpr (sizeof(T) == 8)
    return __brevll(as<T>(a));
  else
    return __brev(as<T>(a));
}
template <class T>
std::uint32_t count_ones(const auto& a) {
  return static_cast<std::uint32_t>(std::popcount(as<T>(a)));
}
template <class T>
std::uint32_t count_leading_zeros(const auto& a) {
  return static_cast<std::uint32_t>(std::countl_zero(as<T>(a)));
}
/// The highest bit that is set, or, below 0, that is not; 2^32 - 1: there is none.
template <class T>
std::uint32_t find_highest(const auto& a) {
  auto value = bare(as<T>(a));
  if (std::is_signed_v<T> && as<T>(a) < 0) value = static_cast<decltype(value)>(~value);
  return static_cast<std::uint32_t>(std::bit_width(value)) - 1;
}
template <class T>
T permute(const auto& a, const auto& b, const auto& selector) {
  T result = 0;
  const std::uint64_t bytes = std::uint64_t{as<T>(b)} << 32 | as<T>(a);
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned which = as<T>(selector) >> (4 * i) & 0xF;
    const auto byte = static_cast<unsigned>(bytes >> (8 * (which & 7)) & 0xFF);
    result |= ((which & 8) == 0 ? byte : (byte & 0x80) != 0 ? 0xFFU : 0U) << (8 * i);
  }
  return result;
}
/// Bit 4a + 2b + c of the table says what three bits become.
template <class T>
T logic(const auto& a, const auto& b, const auto& c, const auto& table) {
  const T x = as<T>(a), y = as<T>(b), z = as<T>(c);
  const unsigned bits = as<std::uint32_t>(table);
  T result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if ((bits >> i & 1) != 0)
      result |= ((i & 4) != 0 ? x : ~x) & ((i & 2) != 0 ? y : ~y) & ((i & 1) != 0 ? z : ~z);
  return result;
}
template <class A, class B>
auto dot_of_bytes(const auto& a, const auto& b, const auto& c) {
  using sum =
      std::conditional_t<std::is_signed_v<A> || std::is_signed_v<B>, std::int32_t, std::uint32_t>;
  using byte_a = std::conditional_t<std::is_signed_v<A>, std::int8_t, std::uint8_t>;
  using byte_b = std::conditional_t<std::is_signed_v<B>, std::int8_t, std::uint8_t>;
  return ::cpu_device::dot_of_bytes<byte_a, byte_b>(as<std::uint32_t>(a), as<std::uint32_t>(b),
                                                    as<sum>(c));
}

// --- memory --------------------------------------------------------------------------------------

/// A pointer, or a register that holds one.
template <class T>
T* address(const auto& base, std::int64_t offset) {
  return reinterpret_cast<T*>(as<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}
/// The same where numbers of 32 bits are addresses of shared memory.
template <class T>
T* shared_address(const auto& base, std::int64_t offset) {
  const std::uintptr_t number = as<std::uintptr_t>(as<bits_of<sizeof base>>(base));
  return number >> 32 != 0
             ? address<T>(number, offset)
             : address<T>(__cvta_shared_to_generic(number + static_cast<std::uintptr_t>(offset)),
                          0);
}
inline std::uint64_t to_shared(const auto& a) {
  return __cvta_generic_to_shared(as<const void*>(a));
}
inline std::uint64_t from_shared(const auto& a) {
  return as<std::uint64_t>(__cvta_shared_to_generic(as<std::uint64_t>(a)));
}

template <class T>
T load(const T* from) {
  return *from;
}
template <class T>
T load_volatile(const volatile T* from) {
  return *from;
}
template <class T, std::memory_order Order, cuda::thread_scope Scope>
T load_ordered(T* from) {
  return cuda::atomic_ref<T, Scope>(*from).load(Order);
}
template <class T>
void store(T* to, const auto& value) {
  *to = as<T>(value);
}
template <class T>
void store_volatile(volatile T* to, const auto& value) {
  *to = as<T>(value);
}
template <class T, std::memory_order Order, cuda::thread_scope Scope>
void store_ordered(T* to, const auto& value) {
  cuda::atomic_ref<T, Scope>(*to).store(as<T>(value), Order);
}
/// Two or four neighbours, in one access.
template <class T, std::size_t N>
struct alignas(sizeof(T) * N) several {
  T values[N];
};
template <class T, class... To>
void load_vector(const T* from, To&... to) {
  const auto all = *reinterpret_cast<const several<T, sizeof...(To)>*>(from);
  std::size_t i = 0;
  (put(to, all.values[i++]), ...);
}
template <class T, class... From>
void store_vector(T* to, const From&... values) {
  *reinterpret_cast<several<T, sizeof...(From)>*>(to) = {{as<T>(values)...}};
}

#define CPU_DEVICE_PTX_ATOMIC(NAME, CALL)                               \
  template <class T, std::memory_order Order, cuda::thread_scope Scope> \
  T atomic_##NAME(T* at, const auto& b) {                               \
    const cuda::atomic_ref<T, Scope> word(*at);                         \
    return word.CALL(as<T>(b), Order);                                  \
  }
CPU_DEVICE_PTX_ATOMIC(add, fetch_add)
CPU_DEVICE_PTX_ATOMIC(min, fetch_min)
CPU_DEVICE_PTX_ATOMIC(max, fetch_max)
CPU_DEVICE_PTX_ATOMIC(and, fetch_and)
CPU_DEVICE_PTX_ATOMIC(or, fetch_or)
CPU_DEVICE_PTX_ATOMIC(xor, fetch_xor)
CPU_DEVICE_PTX_ATOMIC(exch, exchange)
#undef CPU_DEVICE_PTX_ATOMIC
template <class T, std::memory_order Order, cuda::thread_scope Scope>
T atomic_cas(T* at, const auto& wanted, const auto& value) {
  T seen = as<T>(wanted);
  cuda::atomic_ref<T, Scope>(*at).compare_exchange_strong(seen, as<T>(value), Order);
  return seen;
}
/// Up to b and from there to 0, and back.
template <class T, std::memory_order Order, cuda::thread_scope Scope>
T atomic_inc(T* at, const auto& b) {
  return atomicInc(at, as<T>(b));
}
template <class T, std::memory_order Order, cuda::thread_scope Scope>
T atomic_dec(T* at, const auto& b) {
  return atomicDec(at, as<T>(b));
}

inline void fence_of_block() { __threadfence_block(); }
inline void fence_of_device() { __threadfence(); }
inline void fence_of_system() { __threadfence_system(); }

inline void copy_async(char* to, const char* from, std::size_t bytes, CPU_DEVICE_HERE) {
  __pipeline_memcpy_async(to, from, bytes, 0, file, line);
}
/// Of which only the first `there` are read; the others become 0.
inline void copy_async(char* to, const char* from, std::size_t bytes, std::size_t there,
                       CPU_DEVICE_HERE) {
  __pipeline_memcpy_async(to, from, bytes, bytes - (there < bytes ? there : bytes), file, line);
}
inline void commit_copies() { __pipeline_commit(); }
inline void wait_for_copies(std::size_t prior) { __pipeline_wait_prior(prior); }
/// Also for those that are not committed.
inline void wait_for_copies() {
  commit_copies();
  wait_for_copies(0);
}

// --- threads that meet ---------------------------------------------------------------------------

/// Barrier 0 with all threads of the block is that of __syncthreads().
inline void barrier(unsigned number, unsigned threads, CPU_DEVICE_HERE) {
  if (number == 0 && (threads == threads_in_warps() || threads == progress.count))
    __syncthreads(file, line);
  else
    numbered_barrier(number, threads, true, "bar.sync", file, line);
}
inline void barrier(unsigned number, CPU_DEVICE_HERE) {
  barrier(number, threads_in_warps(), file, line);
}
/// Comes to a barrier of other threads, and does not wait.
inline void barrier_arrive(unsigned number, unsigned threads, CPU_DEVICE_HERE) {
  numbered_barrier(number, threads, false, "bar.arrive", file, line);
}
inline void warp_barrier(unsigned mask, CPU_DEVICE_HERE) { __syncwarp(mask, file, line); }
inline void pause(unsigned nanoseconds, CPU_DEVICE_HERE) { __nanosleep(nanoseconds, file, line); }
[[noreturn]] inline void trap(CPU_DEVICE_HERE) { __trap(file, line); }
template <class T>
T active_lanes(CPU_DEVICE_HERE) {
  return __activemask(file, line);
}

/// Bits 0 to 4 of `limits` are the last lane of a segment, or the first for `up`; bits 8 to 12 say
/// which bits of a lane's number name its segment.
inline int width_of(std::uint32_t limits) { return static_cast<int>(32 - (limits >> 8 & 0x1F)); }
inline bool in_segment(int from, std::uint32_t limits) {
  const int lane = static_cast<int>(lane_id()), first = lane & ~(width_of(limits) - 1);
  return from >= first && from < first + width_of(limits);
}
#define CPU_DEVICE_PTX_SHUFFLE(NAME, FUNCTION, KIND, FROM)                                         \
  inline std::uint32_t shuffle_##NAME(const auto& a, const auto& b, const auto& limits,            \
                                      const auto& mask, bool* there, CPU_DEVICE_HERE) {            \
    const int lane = static_cast<int>(lane_id()), n = as<std::int32_t>(b);                         \
    const auto segment = as<std::uint32_t>(limits);                                                \
    if (there != nullptr) *there = in_segment(FROM, segment);                                      \
    static_cast<void>(lane);                                                                       \
    return FUNCTION(as<std::uint32_t>(mask), as<std::uint32_t>(a), as<KIND>(n), width_of(segment), \
                    file, line);                                                                   \
  }
CPU_DEVICE_PTX_SHUFFLE(idx, __shfl_sync, int, (lane & ~(width_of(segment) - 1)) + n)
CPU_DEVICE_PTX_SHUFFLE(up, __shfl_up_sync, unsigned, lane - n)
CPU_DEVICE_PTX_SHUFFLE(down, __shfl_down_sync, unsigned, lane + n)
CPU_DEVICE_PTX_SHUFFLE(bfly, __shfl_xor_sync, int, lane ^ n)
#undef CPU_DEVICE_PTX_SHUFFLE

#define CPU_DEVICE_PTX_REDUCTION(NAME)                                            \
  template <class T>                                                              \
  T reduce_##NAME(const auto& a, const auto& mask, CPU_DEVICE_HERE) {             \
    return __reduce_##NAME##_sync(as<std::uint32_t>(mask), as<T>(a), file, line); \
  }
CPU_DEVICE_PTX_REDUCTION(add)
CPU_DEVICE_PTX_REDUCTION(min)
CPU_DEVICE_PTX_REDUCTION(max)
CPU_DEVICE_PTX_REDUCTION(and)
CPU_DEVICE_PTX_REDUCTION(or)
CPU_DEVICE_PTX_REDUCTION(xor)
#undef CPU_DEVICE_PTX_REDUCTION

template <class T>
T vote_all(bool a, const auto& mask, CPU_DEVICE_HERE) {
  return __all_sync(as<std::uint32_t>(mask), a ? 1 : 0, file, line) != 0;
}
template <class T>
T vote_any(bool a, const auto& mask, CPU_DEVICE_HERE) {
  return __any_sync(as<std::uint32_t>(mask), a ? 1 : 0, file, line) != 0;
}
template <class T>
T vote_ballot(bool a, const auto& mask, CPU_DEVICE_HERE) {
  return __ballot_sync(as<std::uint32_t>(mask), a ? 1 : 0, file, line);
}
/// Whether all lanes bring the same.
template <class T>
T vote_uniform(bool a, const auto& mask, CPU_DEVICE_HERE) {
  const unsigned yes = vote_ballot<std::uint32_t>(a, mask, file, line);
  return yes == 0 || yes == as<std::uint32_t>(mask);
}
template <class T>
std::uint32_t match_any(const auto& a, const auto& mask, CPU_DEVICE_HERE) {
  return __match_any_sync(as<std::uint32_t>(mask), as<T>(a), file, line);
}

}  // namespace cpu_device::ptx
