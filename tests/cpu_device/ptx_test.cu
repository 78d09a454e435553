// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Inline PTX: special registers, arithmetic, bits, memory, warp functions. Runs on the CPU device
// and on a GPU.
//
// Needs compute capability 8.0

#include <cstdint>
#include <cstring>

#include "conformance.hpp"

namespace {

using namespace conformance;
using words = std::vector<unsigned>;

// As public programs have it, in a macro.
#define LANE_ID(x) asm("mov.u32 %0, %%laneid;" : "=r"(x))

constexpr unsigned kPerThread = 12;

__global__ void read_registers(unsigned* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * blockIdx.x);
  unsigned* mine = out + kPerThread * thread;
  unsigned lane;
  LANE_ID(lane);
  mine[0] = lane;
  asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mine[1]));
  asm volatile("mov.u32 %0, %%lanemask_le;" : "=r"(mine[2]));
  asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(mine[3]));
  asm volatile("mov.u32 %0, %%lanemask_ge;" : "=r"(mine[4]));
  asm volatile("mov.u32 %0, %%lanemask_gt;" : "=r"(mine[5]));
  asm("mov.u32 %0, %%tid.x;\n\t"
      "mov.u32 %1, %%tid.y;\n\t"
      "mov.u32 %2, %%ntid.x;"
      : "=r"(mine[6]), "=r"(mine[7]), "=r"(mine[8]));
  asm("mov.u32 %0, %%ctaid.x; mov.u32 %1, %%nctaid.x;" : "=r"(mine[9]), "=r"(mine[10]));
  unsigned multiprocessor, multiprocessors;
  asm("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm("mov.u32 %0, %%nsmid;" : "=r"(multiprocessors));
  mine[11] = multiprocessor < multiprocessors ? 1 : 0;
}

TEST(SpecialRegisters, SayWhoAThreadIs) {
  const dim3 block(8, 10);  // two warps and a half
  constexpr unsigned kThreads = 80, kBlocks = 2;
  const device_array<unsigned> out(kPerThread * kThreads * kBlocks, 0);
  read_registers<<<kBlocks, block>>>(out.data());
  const words all = out.to_host();
  for (unsigned t = 0; t < kThreads * kBlocks; ++t) {
    const unsigned inside = t % kThreads, lane = inside % 32, mine = 1U << lane;
    const words expected{lane,         mine - 1,    mine | (mine - 1),
                         mine,         ~(mine - 1), ~(mine | (mine - 1)),
                         inside % 8,   inside / 8,  8,
                         t / kThreads, kBlocks,     1};
    EXPECT_EQ(words(all.begin() + kPerThread * t, all.begin() + kPerThread * (t + 1)), expected)
        << "thread " << t;
  }
}

__global__ void read_clocks(long long* out) {
  long long first, second;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(first)::"memory");
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(second)::"memory");
  out[0] = second - first;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(second));
  out[1] = second - first;
}

TEST(SpecialRegisters, CountTime) {
  const device_array<long long> out(2, -1);
  read_clocks<<<1, 1>>>(out.data());
  for (const long long passed : out.to_host()) {
    EXPECT_GE(passed, 0);
    EXPECT_LT(passed, 10'000'000'000);
  }
}

// --- arithmetic and bits -------------------------------------------------------------------------

__global__ void compute(const unsigned* in, unsigned* out, float* floats) {
  const unsigned a = in[0], b = in[1], c = in[2];
  unsigned i = 0;
  asm("add.u32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("sub.s32 %0, %1, %2;" : "=r"(out[i++]) : "r"(b), "r"(a));
  asm("mul.lo.u32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("mul.hi.s32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(out[i++]) : "r"(a), "r"(b), "r"(c));
  asm("bfe.u32 %0, %1, 4, 8;" : "=r"(out[i++]) : "r"(a));
  asm("bfe.s32 %0, %1, %2, 8;" : "=r"(out[i++]) : "r"(a), "n"(24));
  asm("bfi.b32 %0, %1, %2, 8, 16;" : "=r"(out[i++]) : "r"(b), "r"(a));
  asm("brev.b32 %0, %1;" : "=r"(out[i++]) : "r"(a));
  asm("popc.b32 %0, %1;" : "=r"(out[i++]) : "r"(a));
  asm("clz.b32 %0, %1;" : "=r"(out[i++]) : "r"(c));
  asm("bfind.u32 %0, %1;" : "=r"(out[i++]) : "r"(c));
  asm("prmt.b32 %0, %1, %2, 0x3541;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(out[i++]) : "r"(a), "r"(b), "r"(c));
  asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(out[i++]) : "r"(a), "r"(b), "r"(c));
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(out[i++]) : "r"(a), "r"(b), "r"(c));
  asm("shf.l.wrap.b32 %0, %1, %2, 12;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("shl.b32 %0, %1, 40;" : "=r"(out[i++]) : "r"(a));
  asm("shr.s32 %0, %1, 40;" : "=r"(out[i++]) : "r"(a));
  asm("min.s32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("max.u32 %0, %1, %2;" : "=r"(out[i++]) : "r"(a), "r"(b));
  asm("xor.b32 %0, %1, -1;" : "=r"(out[i++]) : "r"(a));
  // A register of its own, a predicate, and an instruction that only some threads execute.
  asm("{\n\t"
      ".reg .pred p;\n\t"
      ".reg .u32 t;\n\t"
      "setp.lt.u32 p, %1, %2;\n\t"
      "mov.u32 t, 7;\n\t"
      "@p add.u32 t, t, 100;  // skipped, or not\n\t"
      "selp.u32 %0, t, 0, !p;\n\t"
      "}"
      : "=r"(out[i++])
      : "r"(a), "r"(b));
  unsigned kept = 5;
  asm("add.u32 %0, %0, %1;" : "+r"(kept) : "r"(c));
  out[i++] = kept;
  // 64 bits by their halves.
  unsigned low, high;
  asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %4, %5;"
      : "=r"(low), "=r"(high)
      : "r"(a), "r"(b), "r"(c), "r"(c));
  out[i++] = low;
  out[i++] = high;
  unsigned long long wide;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide));
  out[i++] = low;
  out[i++] = high;
  const float x = static_cast<float>(c) + 0.5F;
  asm("fma.rn.f32 %0, %1, %1, %2;" : "=f"(floats[0]) : "f"(x), "f"(1.0F));
  asm("mul.f32 %0, %1, 0f40490FDB;" : "=f"(floats[1]) : "f"(x));
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(out[i++]) : "f"(x));
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(out[i++]) : "f"(-x));
  asm("cvt.rn.f32.u32 %0, %1;" : "=f"(floats[2]) : "r"(a));
  asm("mov.b32 %0, %1;" : "=r"(out[i++]) : "f"(x));
}

std::uint64_t wide_product(unsigned a, unsigned b) { return std::uint64_t{a} * b; }

TEST(Arithmetic, IsThatOfTheInstructions) {
  constexpr unsigned a = 0xF234'5678, b = 0x8BCD'EF01, c = 20;
  const device_array<unsigned> in(words{a, b, c});
  const device_array<unsigned> out(40, 0);
  const device_array<float> floats(3, 0.0F);
  compute<<<1, 1>>>(in.data(), out.data(), floats.data());
  const auto byte = [](unsigned x, int i) { return x >> (8 * i) & 0xFF; };
  unsigned dot = c;
  int signed_dot = static_cast<int>(c);
  for (int i = 0; i < 4; ++i) {
    dot += byte(a, i) * byte(b, i);
    signed_dot += int{static_cast<signed char>(byte(a, i))} * static_cast<signed char>(byte(b, i));
  }
  const std::uint64_t signed_product =
      static_cast<std::uint64_t>(std::int64_t{static_cast<int>(a)} * static_cast<int>(b));
  const float x = 20.5F;
  unsigned bits_of_x;
  std::memcpy(&bits_of_x, &x, sizeof x);
  unsigned reversed = 0, ones = 0;
  for (int i = 0; i < 32; ++i) {
    reversed |= (a >> i & 1) << (31 - i);
    ones += a >> i & 1;
  }
  const words expected{a + b,
                       b - a,
                       a * b,
                       static_cast<unsigned>(wide_product(a, b) >> 32),
                       static_cast<unsigned>(signed_product >> 32),
                       a * b + c,
                       0x67,
                       0xFFFF'FFF2,
                       0xF2EF'0178,
                       reversed,
                       ones,
                       27,
                       4,
                       byte(a, 1) | byte(b, 0) << 8 | byte(b, 1) << 16 | byte(a, 3) << 24,
                       a ^ b ^ c,
                       dot,
                       static_cast<unsigned>(signed_dot),
                       b << 12 | a >> 20,
                       0,
                       0xFFFF'FFFF,
                       b,
                       a,
                       ~a,
                       7,
                       c + 5,
                       a + b,
                       2 * c + 1,
                       static_cast<unsigned>(wide_product(a, b)),
                       static_cast<unsigned>(wide_product(a, b) >> 32),
                       20,
                       static_cast<unsigned>(-20),
                       bits_of_x};
  words results = out.to_host();
  results.resize(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(results[i], expected[i]) << "result " << i;
  EXPECT_EQ(floats.to_host(),
            (std::vector<float>{421.25F, x * 3.14159274F, static_cast<float>(a)}));
}

// --- memory --------------------------------------------------------------------------------------

__device__ unsigned load_acquire(const unsigned* from) {
  unsigned value;
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ void store_release(unsigned* to, unsigned value) {
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

__global__ void access_memory(const float* in, float* out, unsigned* counters) {
  const unsigned i = threadIdx.x;
  float4 four;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "l"(in + 4 * i));
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * i), "f"(four.w),
               "f"(four.z), "f"(four.y), "f"(four.x)
               : "memory");
  float first;
  asm volatile("ld.global.cg.f32 %0, [%1+4];" : "=f"(first) : "l"(in));
  out[4 * blockDim.x + i] = first;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
  unsigned old;
  asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(counters), "r"(2) : "memory");
  asm volatile("red.relaxed.gpu.global.max.u32 [%0], %1;" ::"l"(counters + 1), "r"(i) : "memory");
  asm volatile("red.global.add.f32 [%0], %1;" ::"l"(out + 5 * blockDim.x), "f"(0.5F) : "memory");
  asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old)
               : "l"(counters + 2), "r"(0), "r"(i + 1)
               : "memory");
  if (old == 0) store_release(counters + 3, i + 1);
  asm volatile("membar.gl;" ::: "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if (i == 0) counters[4] = load_acquire(counters + 3) == counters[2] ? 1 : 0;
}

TEST(Memory, IsReadAndWritten) {
  constexpr unsigned kThreads = 64;
  std::vector<float> values(4 * kThreads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const device_array<float> in(values), out(5 * kThreads + 1, 0.0F);
  const device_array<unsigned> counters(5, 0);
  access_memory<<<1, kThreads>>>(in.data(), out.data(), counters.data());
  const std::vector<float> result = out.to_host();
  for (unsigned i = 0; i < kThreads; ++i) {
    for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(result[4 * i + k], values[4 * i + 3 - k]);
    EXPECT_EQ(result[4 * kThreads + i], 1.0F);
  }
  EXPECT_EQ(result.back(), 0.5F * kThreads);
  const words counted = counters.to_host();
  EXPECT_EQ(counted[0], 2 * kThreads);
  EXPECT_EQ(counted[1], kThreads - 1);
  EXPECT_EQ(counted[4], 1U);
}

// Addresses of shared memory have 32 bits.
__global__ void copy_by_shared_memory(const int* in, int* out, int there) {
  __shared__ alignas(16) int tile[256];
  extern __shared__ int more[];
  const unsigned i = threadIdx.x;
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  unsigned begin_of_more;
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }"
      : "=r"(begin_of_more)
      : "l"(more));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(begin + 16 * i),
               "l"(in + 4 * i), "n"(16), "r"(i == 3 ? there : 16)
               : "memory");
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  int value;
  asm volatile("ld.shared.u32 %0, [%1 + 4];" : "=r"(value) : "r"(begin + 16 * i));
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(begin_of_more + 4 * i), "r"(value) : "memory");
  __syncthreads();
  out[i] = more[i];
  for (unsigned k = 0; k < 4; ++k) out[(k + 1) * blockDim.x + i] = tile[4 * i + k];
}

TEST(Memory, OfABlockHasAddressesOf32Bits) {
  constexpr unsigned kThreads = 64;
  std::vector<int> values(4 * kThreads);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i) + 1;
  const device_array<int> in(values), out(5 * kThreads, -1);
  copy_by_shared_memory<<<1, kThreads, kThreads * sizeof(int)>>>(in.data(), out.data(), 8);
  const std::vector<int> result = out.to_host();
  for (unsigned i = 0; i < kThreads; ++i) {
    EXPECT_EQ(result[i], values[4 * i + 1]);
    for (unsigned k = 0; k < 4; ++k)
      EXPECT_EQ(result[(k + 1) * kThreads + i], i == 3 && k >= 2 ? 0 : values[4 * i + k])
          << "thread " << i << ", element " << k;
  }
}

// --- warps ---------------------------------------------------------------------------------------

__global__ void meet(unsigned* out) {
  const unsigned lane = threadIdx.x, all = 0xFFFF'FFFF;
  unsigned* mine = out + 8 * lane;
  // A running sum: where the lane below is in the warp, its value is added.
  int sum = static_cast<int>(lane) + 1;
  for (int distance = 1; distance < 32; distance *= 2)
    asm volatile(
        "{\n"
        "  .reg .s32 r0;\n"
        "  .reg .pred p;\n"
        "  shfl.sync.up.b32 r0|p, %1, %2, 0, %3;\n"
        "  @p add.s32 r0, r0, %0;\n"
        "  @p mov.s32 %0, r0;\n"
        "}\n"
        : "+r"(sum)
        : "r"(sum), "r"(distance), "r"(all));
  mine[0] = static_cast<unsigned>(sum);
  asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, %2;" : "=r"(mine[1]) : "r"(lane), "r"(all));
  asm volatile("shfl.sync.idx.b32 %0, %1, 3, 0x181f, %2;" : "=r"(mine[2]) : "r"(lane), "r"(all));
  asm volatile("{ .reg .pred p; setp.ge.u32 p, %1, 20; vote.sync.ballot.b32 %0, p, 0xffffffff; }"
               : "=r"(mine[3])
               : "r"(lane));
  asm volatile("redux.sync.add.u32 %0, %1, %2;" : "=r"(mine[4]) : "r"(lane), "r"(all));
  asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(mine[5]) : "r"(lane % 4), "r"(all));
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
  asm volatile("activemask.b32 %0;" : "=r"(mine[6]));
  asm volatile("nanosleep.u32 10;");
}

TEST(Warps, MeetInInstructions) {
  const device_array<unsigned> out(8 * 32, 0);
  meet<<<1, 32>>>(out.data());
  const words result = out.to_host();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned* mine = result.data() + 8 * lane;
    EXPECT_EQ(mine[0], (lane + 1) * (lane + 2) / 2) << lane;
    EXPECT_EQ(mine[1], lane ^ 5);
    EXPECT_EQ(mine[2], lane / 8 * 8 + 3);
    EXPECT_EQ(mine[3], 0xFFF0'0000);
    EXPECT_EQ(mine[4], 31U * 16);
    EXPECT_EQ(mine[5], 0x1111'1111U << lane % 4);
    EXPECT_NE(mine[6] & 1U << lane, 0U);
  }
}

// --- parts of a block ----------------------------------------------------------------------------

constexpr unsigned kRounds = 20;

// In each round, both halves of the block pass their numbers on to the left, each for itself; the
// second half has twice as many rounds.
__global__ void rotate_halves(unsigned* data) {
  __shared__ unsigned tile[128];
  const unsigned i = threadIdx.x, half = i / 64, next = 64 * half + (i + 1) % 64;
  tile[i] = data[i];
  for (unsigned round = 0; round < kRounds * (half + 1); ++round) {
    asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
    const unsigned value = tile[next];
    asm volatile("barrier.sync %0, 64;" ::"r"(half + 1) : "memory");
    tile[i] = value;
  }
  data[i] = tile[i];
}

TEST(Barriers, OfAPartOfTheBlockWaitForThatPart) {
  in_every_order([] {
    words before(128);
    for (unsigned i = 0; i < 128; ++i) before[i] = i;
    const device_array<unsigned> data(before);
    rotate_halves<<<1, 128>>>(data.data());
    const words after = data.to_host();
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(after[i], i / 64 * 64 + (i + kRounds * (i / 64 + 1)) % 64) << i;
  });
}

// The first warp fills a slot and continues, while the second one reads what was there before.
__global__ void hand_over(unsigned* out) {
  __shared__ unsigned slots[2][32];
  const unsigned lane = threadIdx.x % 32;
  unsigned sum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned full = 1 + round % 2, empty = 3 + round % 2;
    if (threadIdx.x < 32) {
      if (round >= 2) asm volatile("bar.sync %0, 64;" ::"r"(empty) : "memory");
      slots[round % 2][lane] = 100 * round + lane;
      asm volatile("bar.arrive %0, 64;" ::"r"(full) : "memory");
    } else {
      asm volatile("bar.sync %0, 64;" ::"r"(full) : "memory");
      sum += slots[round % 2][31 - lane];
      if (round + 2 < kRounds) asm volatile("bar.arrive %0, 64;" ::"r"(empty) : "memory");
    }
  }
  if (threadIdx.x >= 32) out[lane] = sum;
}

TEST(Barriers, AThreadThatArrivesNeedNotWait) {
  in_every_order([] {
    const device_array<unsigned> out(32, 0);
    hand_over<<<1, 64>>>(out.data());
    const words sums = out.to_host();
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(sums[lane], 100 * (kRounds * (kRounds - 1) / 2) + kRounds * (31 - lane)) << lane;
  });
}

// A warp that is not whole counts as one.
__global__ void meet_with_a_part_of_a_warp(unsigned* out) {
  __shared__ unsigned tile[40];
  const unsigned i = threadIdx.x;
  tile[i] = i;
  asm volatile("bar.sync 5, 64;" ::: "memory");
  out[i] = tile[39 - i];
}

TEST(Barriers, CountWholeWarps) {
  in_every_order([] {
    const device_array<unsigned> out(40, 0);
    meet_with_a_part_of_a_warp<<<1, 40>>>(out.data());
    const words result = out.to_host();
    for (unsigned i = 0; i < 40; ++i) EXPECT_EQ(result[i], 39 - i);
  });
}

}  // namespace
