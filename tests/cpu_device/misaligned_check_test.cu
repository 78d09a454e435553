// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build reports about addresses that are not a multiple of their type's alignment: a
// GPU fails with cudaErrorMisalignedAddress. Each wrong access is reported with its place, and its
// correct twin is silent.
// This file is compiled the way the check build compiles kernels.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

void expect_silence(std::size_t reports_before) {
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), reports_before) << cpu_device::last_report();
}

std::string at(int line) { return " at misaligned_check_test.cu:" + std::to_string(line); }

struct pair_of_doubles {  // 16 bytes, aligned to 8
  double a, b;
};
struct words {  // 12 bytes, aligned to 4
  int a, b, c;
};
struct __attribute__((packed)) packed {
  char c;
  int value;
};

// --- types --------------------------------------------------------------------------------------

template <class T>
struct typed {
  static constexpr int kLine = __LINE__ + 2;
  static __device__ void copy(const char* in, char* out) {
    *reinterpret_cast<T*>(out) = *reinterpret_cast<const T*>(in);
  }
};
/// Thread 1 goes `read_more` bytes too far to read, and `write_more` to write.
template <class T>
__global__ void copy(const char* in, char* out, int offset, int read_more, int write_more) {
  const int i = offset + static_cast<int>(threadIdx.x) * 32;
  const bool wrong = threadIdx.x == 1;
  typed<T>::copy(in + i + (wrong ? read_more : 0), out + i + (wrong ? write_more : 0));
}

/// Addresses that are not a multiple of `alignment` are reported, and all multiples are not.
template <class T>
void expect_only_misaligned_is_reported(const std::string& name, int alignment) {
  SCOPED_TRACE(name);
  EXPECT_EQ(alignof(T), static_cast<std::size_t>(alignment));
  {
    const device_array<char> in(1024, 1), out(1024, 0);
    const std::size_t before = cpu_device::report_count();
    for (int offset = 0; offset < 128; offset += alignment)
      copy<T><<<1, 4>>>(in.data(), out.data(), offset, 0, 0);
    expect_silence(before);
  }
  for (const int reads : {1, 0}) {
    const int more = reads ? alignment / 2 : alignment + 1;
    const device_array<char> in(1024, 1), out(1024, 0);
    const std::string text = expect_report(
        [&] { copy<T><<<1, 4>>>(in.data(), out.data(), 32, reads * more, (1 - reads) * more); },
        cudaErrorMisalignedAddress);
    const int past = more % alignment;
    expect_parts(text,
                 {"misaligned access: thread (1,0,0)", at(typed<T>::kLine),
                  std::to_string(past) + (past == 1 ? " byte" : " bytes") + " past a multiple of " +
                      std::to_string(alignment) + ", in device memory (1024 bytes",
                  "kernel copy", "block (0,0,0)", "Try: "});
#ifndef __clang__  // which knows only the size
    expect_parts(text, {" " + name + at(typed<T>::kLine)});
#endif
  }
}

TEST(Misaligned, AccessesToNumbersAreReported) {
  expect_only_misaligned_is_reported<short>("a short int", 2);
  expect_only_misaligned_is_reported<int>("an int", 4);
  expect_only_misaligned_is_reported<double>("a double", 8);
  expect_only_misaligned_is_reported<int*>("an int *", 8);
}

TEST(Misaligned, AccessesToVectorsOfUpTo8BytesAreReported) {
  expect_only_misaligned_is_reported<uchar4>("an uchar4", 4);
  expect_only_misaligned_is_reported<float2>("a float2", 8);
}

#ifndef __clang__  // which has them copied by a function of the C library, or by their components
TEST(Misaligned, AccessesToVectorsOf16BytesAreReported) {
  expect_only_misaligned_is_reported<float4>("a float4", 16);
  expect_only_misaligned_is_reported<double2>("a double2", 16);
  expect_only_misaligned_is_reported<double4_32a>("a double4_32a", 32);
}

TEST(Misaligned, StructuresAreReportedByTheirAlignment) {
  expect_only_misaligned_is_reported<pair_of_doubles>("a pair_of_doubles", 8);
  expect_only_misaligned_is_reported<words>("a words", 4);
}

// A vector by its components: a GPU accesses it as a whole.

constexpr int kPutLine = __LINE__ + 2;
__global__ void put(float* out, int offset) {
  reinterpret_cast<float4*>(out + offset)[threadIdx.x] = make_float4(1, 2, 3, 4);
}
constexpr int kSumLine = __LINE__ + 3;
__global__ void sum(const float* in, int offset, float* out) {
  const auto* in4 = reinterpret_cast<const float4*>(in + offset);
  *out = in4->x + in4->y + in4->z + in4->w;
}
constexpr int kLdgLine = __LINE__ + 2;
__global__ void read_only(const float* in, int offset, float4* out) {
  *out = __ldg(reinterpret_cast<const float4*>(in + offset));
}

TEST(Misaligned, AccessesToVectorsByTheirComponentsAreReported) {
  const std::size_t before = cpu_device::report_count();
  {
    const device_array<float> in(64, 1), out(64, 0);
    for (const int offset : {0, 4, 8}) {
      put<<<1, 8>>>(out.data(), offset);
      sum<<<1, 1>>>(in.data(), offset, out.data());
      read_only<<<1, 1>>>(in.data(), offset, reinterpret_cast<float4*>(out.data()));
    }
    expect_silence(before);
  }
  for (const int offset : {1, 2, 3, 5}) {
    const std::string bytes = std::to_string(offset % 4 * 4) + " bytes past a multiple of 16";
    const device_array<float> first(64, 1);
    expect_parts(
        expect_report([&] { put<<<1, 8>>>(first.data(), offset); }, cudaErrorMisalignedAddress),
        {"writes a float4" + at(kPutLine), bytes});
    const device_array<float> second(64, 1);
    expect_parts(expect_report([&] { sum<<<1, 1>>>(second.data(), offset, second.data()); },
                               cudaErrorMisalignedAddress),
                 {"a float4" + at(kSumLine), bytes});
    const device_array<float> third(64, 1);
    expect_parts(expect_report(
                     [&] {
                       read_only<<<1, 1>>>(third.data(), offset,
                                           reinterpret_cast<float4*>(third.data()));
                     },
                     cudaErrorMisalignedAddress),
                 {"a float4" + at(kLdgLine), bytes});
  }
}
#endif

// --- kinds of access and of memory --------------------------------------------------------------

constexpr int kVolatileLine = __LINE__ + 2;
__global__ void wait_for(char* in, int offset) {
  *reinterpret_cast<volatile int*>(in + offset) = 1;
}
constexpr int kAtomicLine = __LINE__ + 2;
__global__ void count(char* in, int offset) {
  atomicAdd(reinterpret_cast<unsigned long long*>(in + offset), 1ULL);
}

TEST(Misaligned, VolatileAndAtomicAccessesAreReported) {
  const std::size_t before = cpu_device::report_count();
  {
    const device_array<char> data(64, 0);
    for (const int offset : {0, 8, 16}) {
      wait_for<<<1, 1>>>(data.data(), offset + 4);
      count<<<1, 64>>>(data.data(), offset);
    }
    expect_silence(before);
  }
  const device_array<char> first(64, 0);
  expect_parts(
      expect_report([&] { wait_for<<<1, 1>>>(first.data(), 6); }, cudaErrorMisalignedAddress),
      {"writes ", at(kVolatileLine), "2 bytes past a multiple of 4"});
  const device_array<char> second(64, 0);
  expect_parts(
      expect_report([&] { count<<<1, 64>>>(second.data(), 4); }, cudaErrorMisalignedAddress),
      {"updates 8 bytes", at(kAtomicLine), "4 bytes past a multiple of 8"});
}

/// `offset` bytes into memory of each kind.
enum class kind { fixed, dynamic, local, variable };
__device__ double in_variable[8];
__global__ void use(kind where, int offset, double* out) {
  __shared__ double fixed[8];
  extern __shared__ double dynamic[];
  double local[8] = {};
  fixed[0] = dynamic[0] = static_cast<double>(offset);
  char* memory = reinterpret_cast<char*>(where == kind::fixed     ? fixed
                                         : where == kind::dynamic ? dynamic
                                         : where == kind::local   ? local
                                                                  : in_variable);
  *reinterpret_cast<double*>(memory + offset) = 5;
  *out = *reinterpret_cast<double*>(memory + offset / 8 * 8);
}

TEST(Misaligned, AccessesToMemoryOfEveryKindAreReported) {
  for (const kind where : {kind::fixed, kind::dynamic, kind::local, kind::variable}) {
    SCOPED_TRACE(static_cast<int>(where));
    {
      const device_array<double> out(1, 0);
      const std::size_t before = cpu_device::report_count();
      in_every_order([&] { use<<<1, 1, 64>>>(where, 16, out.data()); });
      expect_silence(before);
      EXPECT_EQ(out.to_host()[0], 5);
    }
    const device_array<double> out(1, 0);
    expect_parts(expect_report([&] { use<<<1, 1, 64>>>(where, 12, out.data()); },
                               cudaErrorMisalignedAddress),
                 {"misaligned access", "4 bytes past a multiple of 8", "kernel use"});
  }
}

TEST(Misaligned, AnAccessLeavesItsErrorUntilTheReset) {
  const device_array<char> data(64, 0);
  expect_report(
      [&] {
        wait_for<<<1, 1>>>(data.data(), 1);
        EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
        EXPECT_EQ(cudaGetLastError(), cudaErrorMisalignedAddress);
        void* more = nullptr;
        EXPECT_EQ(cudaMalloc(&more, 16), cudaErrorMisalignedAddress);
      },
      cudaErrorMisalignedAddress);
}

// --- what is right ------------------------------------------------------------------------------

__global__ void copy_bytes(char* to, const char* from, int offset) {
  float number = 0;
  float4 four = {};
  std::memcpy(&number, from + offset, sizeof number);
  std::memcpy(&four, from + offset, sizeof four);
  std::memcpy(to + offset, &number, sizeof number);
  std::memcpy(to + offset + 7, &four, sizeof four);
  const packed* p = reinterpret_cast<const packed*>(from + offset);
  reinterpret_cast<packed*>(to + offset + 23)->value = p->value;
  for (int i = 0; i < 8; ++i) to[offset + 32 + i] = from[offset + i];
}

TEST(Silence, OnBytesThatAreCopiedAnywhere) {
  const device_array<char> from(256, 7), to(256, 0);
  const std::size_t before = cpu_device::report_count();
  for (int offset = 0; offset < 16; ++offset) copy_bytes<<<1, 1>>>(to.data(), from.data(), offset);
  expect_silence(before);
  EXPECT_EQ(to.to_host()[15 + 7], 7);
}

TEST(Silence, OnMisalignedAccessesOfHostCode) {
  const std::size_t before = cpu_device::report_count();
  std::vector<char> bytes(64, 1);
  volatile int offset = 1;
  EXPECT_EQ(*reinterpret_cast<const int*>(bytes.data() + offset), 0x01010101);
  expect_silence(before);
}

}  // namespace

#else

TEST(Misaligned, IsNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the check build and AddressSanitizer cannot be combined";
}

#endif
