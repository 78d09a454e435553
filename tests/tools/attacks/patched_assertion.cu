// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// attack: overwrites the function of the test library through which all failures go
// stopped by: the tests and their library are in another process
// base: starter
// state: graded
// points: 0

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

// testing::UnitTest::AddTestPartResult(), as the linker calls it: a worker has none.
#define ADD_RESULT \
  _ZN7testing8UnitTest17AddTestPartResultENS_14TestPartResult4TypeEPKciRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESC_
extern "C" __attribute__((weak)) void ADD_RESULT();

__attribute__((constructor)) static void attack() {
  void* const function = reinterpret_cast<void*>(&ADD_RESULT);
  if (function == nullptr) return;
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(function) & ~std::uintptr_t{4095};
  mprotect(reinterpret_cast<void*>(page), 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
#ifdef __aarch64__
  const std::uint32_t returns = 0xd65f03c0;
#else
  const unsigned char returns = 0xc3;
#endif
  std::memcpy(function, &returns, sizeof returns);
}
