// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.5 error_handling: the program.

#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>

#include "error_handling.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

namespace {

using lab::error_handling::failure;
using lab::error_handling::mistake;

struct named_mistake {
  mistake value;
  const char* name;
};
constexpr named_mistake kHarmless[] = {{mistake::invalid_value, "invalid_value"},
                                       {mistake::invalid_pointer, "invalid_pointer"},
                                       {mistake::bad_direction, "bad_direction"},
                                       {mistake::bad_configuration, "bad_configuration"},
                                       {mistake::out_of_memory, "out_of_memory"}};
constexpr named_mistake kDeadly = {mistake::illegal_address, "illegal_address"};

/// `error_handling.cu:12`, without the folder.
std::string location_of(const failure& of) {
  const std::size_t slash = of.file.rfind('/');
  return (slash == std::string::npos ? of.file : of.file.substr(slash + 1)) + ":" +
         std::to_string(of.line);
}

/// Makes the mistake, prints what is known about it, and returns whether CUDA has said what it
/// should, and whether the device is lost.
bool show(const named_mistake& one, bool should_be_lost) {
  std::printf("%s\n", one.name);
  const auto error = lab::error_handling::provoke(one.value);
  const bool lost = lab::error_handling::is_lost();
  if (error) {
    std::printf("    %s: %s\n", location_of(*error).c_str(), error->call.c_str());
    std::printf("    %s (%s)\n", error->name.c_str(), error->text.c_str());
  } else {
    std::printf("    nothing was thrown\n");
  }
  std::printf("    %s\n", lost ? "sticky: every further call fails" : "the device can be used");
  return error && lab::error_handling::is_named(one.value, error->name) && lost == should_be_lost;
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("01.5_error_handling", "Makes mistakes, names them, and goes on.");
  std::size_t size = 1000, threads = 4000;
  bool sticky = false;
  program.add_size("--size", size, "how many numbers a kernel writes at the end");
  program.add_size("--threads", threads, "threads of its blocks: more than there may be")
      .at_most(std::numeric_limits<unsigned>::max());
  program.add_flag("--sticky", sticky, "ends with a mistake that costs the device");

  return program.run(argc, argv, [&] {
    program.require_memory(2 * size * sizeof(unsigned), size * sizeof(unsigned));
    bool right = true;
    for (const named_mistake& one : kHarmless) right = show(one, false) && right;
    if (!program.verdict(right, right ? "each mistake is named, and the device can still be used"
                                      : "a mistake is not named as it should, or it sticks"))
      return false;

    std::printf("\n%zu numbers in blocks of %zu threads\n", size, threads);
    const auto result = lab::error_handling::number(size, static_cast<unsigned>(threads));
    for (const failure& each : result.refused)
      std::printf("    refused: %s (%s)\n", each.name.c_str(), each.text.c_str());
    if (result.threads > 0) std::printf("    done in blocks of %u threads\n", result.threads);
    if (!program.verdict(
            lab::compare_exact(result.values, lab::error_handling::reference_values(size))))
      return false;

    if (!sticky) return true;
    std::printf("\n");
    const bool lost = show(kDeadly, true);
    return program.verdict(lost,
                           lost ? "the device is lost to this process; a new one can use it"
                                : "CUDA should say cudaErrorIllegalAddress, and go on saying it");
  });
}
