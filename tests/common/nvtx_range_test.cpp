// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/nvtx_range.hpp"

#include <cuda_runtime.h>

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/device_buffer.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "recording.hpp"

namespace {

const lab::testing::device_may_change kByDesign;  // a program chooses its device

TEST(NvtxRange, MayBeInsideOfAnother) {
  const lab::nvtx_range outer("outer");
  for (int i = 0; i < 3; ++i) const lab::nvtx_range inner(std::to_string(i));
}

#ifdef __CPU_DEVICE__

using strings = std::vector<std::string>;

/// The ranges while `call` runs: "[ name" and "]".
template <class Call>
strings ranges_in(const Call& call) {
  lab::testing::detail::recording seen;
  call();
  strings found;
  for (const std::string& each : seen.finish().sequence)
    if (each == "]" || each.starts_with("[ ")) found.push_back(each);
  return found;
}

/// Sets LAB_NVTX, and unsets it.
struct asked_for {
  explicit asked_for(const char* value) { ::setenv("LAB_NVTX", value, 1); }
  ~asked_for() { ::unsetenv("LAB_NVTX"); }
};

TEST(NvtxRange, IsThereOnlyWhereItIsAskedFor) {
  const auto one = [] { const lab::nvtx_range range("one"); };
  EXPECT_EQ(ranges_in(one), strings{});
  for (const char* off : {"", "0"}) {
    const asked_for no(off);
    EXPECT_EQ(ranges_in(one), strings{});
  }
  const asked_for yes("1");
  EXPECT_EQ(ranges_in(one), (strings{"[ one", "]"}));
}

TEST(NvtxRange, EndsWhereItsScopeEndsWhateverTheEnvironmentSaysThen) {
  EXPECT_EQ(ranges_in([] {
              try {
                const asked_for yes("1");
                const lab::nvtx_range outer("outer"), inner("inner");
                ::setenv("LAB_NVTX", "0", 1);
                throw std::runtime_error("to leave");
              } catch (const std::runtime_error&) {
              }
            }),
            (strings{"[ outer", "[ inner", "]", "]"}));
}

TEST(NvtxRange, OfAProgramCoversItsParts) {
  const asked_for yes("1");
  const auto run = [](bool fails) {
    lab::program program("the_program", "Does nothing.");
    const char* const arguments[] = {"the_program", "--repeat", "1"};
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    program.run(3, arguments, [&] {
      if (fails) throw std::runtime_error("before the verdict");
      if (!program.verdict(true, "all right")) return false;
      program.verdict(true, "still right");
      lab::device_buffer<int> data(1);
      program.report_kernel([&] {
        return lab::time_kernel([&] { cudaMemsetAsync(data.data(), 0, 4, nullptr); }, "a/b.cu", 7);
      });
      return true;
    });
    ::testing::internal::GetCapturedStdout();
    ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(ranges_in([&] { run(false); }),
            (strings{"[ the_program", "[ data, call and check", "]", "[ report_kernel",
                     "[ time_kernel b.cu:7", "]", "]", "]"}));
  EXPECT_EQ(ranges_in([&] { run(true); }),
            (strings{"[ the_program", "[ data, call and check", "]", "]"}));
}

#endif

}  // namespace
