// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/nccl_check.hpp"

#include <cstdio>

#include "../without_folder.hpp"

namespace lab {
namespace {

struct named_result {
  const char* name;
  const char* words;
};

// In words for beginners, and without a call of the library, as in cublas_check.cpp.
named_result describe(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return {"ncclSuccess", "all is well"};
    case ncclUnhandledCudaError:
      return {"ncclUnhandledCudaError",
              "a call of CUDA has failed inside: look at the pointers, the streams, and at errors "
              "of earlier kernels"};
    case ncclSystemError:
      return {"ncclSystemError",
              "the system did not do what NCCL asked for, or a rank cannot be reached: "
              "NCCL_DEBUG=WARN in the environment says more"};
    case ncclInternalError:
      return {"ncclInternalError", "something failed inside the library"};
    case ncclInvalidArgument:
      return {"ncclInvalidArgument",
              "an argument cannot be right: look at the communicator, the rank of the root, and "
              "which device the stream and the memory belong to"};
    case ncclInvalidUsage:
      return {"ncclInvalidUsage",
              "the calls do not fit together: all ranks make the same calls in the same order, and "
              "a thread with several ranks makes them in a group"};
    case ncclRemoteError:
      return {"ncclRemoteError", "another rank has failed or left"};
    case ncclInProgress:
      return {"ncclInProgress", "the call is still under way"};
    default:
      return {"unknown NCCL result", "a number that this course does not know"};
  }
}

std::string sentence(ncclResult_t result, const char* expression, const char* file, int line) {
  const named_result r = describe(result);
  return std::string(without_folder(file)) + ":" + std::to_string(line) + ": " + expression +
         " failed: " + r.name + " (" + r.words + ")";
}

}  // namespace

nccl_error::nccl_error(ncclResult_t result, const char* expression, const char* file, int line)
    : std::runtime_error(sentence(result, expression, file, line)),
      result_(result),
      expression_(expression),
      file_(without_folder(file)),
      line_(line) {}

const char* nccl_result_name(ncclResult_t result) noexcept { return describe(result).name; }
const char* nccl_result_words(ncclResult_t result) noexcept { return describe(result).words; }

namespace detail {

void throw_nccl_error(ncclResult_t result, const char* expression, const char* file, int line) {
  throw nccl_error(result, expression, file, line);
}

void print_nccl_error(ncclResult_t result, const char* expression, const char* file,
                      int line) noexcept {
  const named_result r = describe(result);  // piece by piece: building a string could throw
  std::fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", without_folder(file), line, expression,
               r.name, r.words);
}

}  // namespace detail
}  // namespace lab
