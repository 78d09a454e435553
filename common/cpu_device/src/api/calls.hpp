// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The way into the API. Every function that a program calls is
//
//   cudaError_t cudaX(…) { return call(api::cudaX, [&] { …; return cudaSuccess; }); }
//
// and whatever all calls have in common happens here and nowhere else: the lock, the refusal inside
// a kernel and while a stream is captured, the error that a kernel has left, events and injected
// faults. What a function may do is in call_table.hpp. Internal to the CPU device.
#pragma once

#include <cstdint>
#include <string>

#include "api/call_table.hpp"
#include "cpu_device/runtime_api.h"

namespace cpu_device {

/// A library (or the runtime itself): what its statuses mean.
struct call_family {
  int inside_kernel;                        ///< what a call inside a kernel returns
  int (*keep)(int status);                  ///< keeps the error where the program asks for it
  int (*status_named)(const char* status);  ///< its number; -1 if there is none of this name
};

/// What the wrapper knows about a function.
struct call_info {
  const char* name;
  unsigned rules;
  int usual_error;
  const call_family* family;
};

namespace rules {
enum rule : unsigned {
  none = 0,
  checked = 1,
  awaits = 2,
  uncaptured = 4,
  unwaited = 8,
  releases = 16,
  asks = 32,
  anywhere = 64,
  ends = 128,
};
}  // namespace rules

/// The functions of the runtime API.
enum class api : unsigned {
#define CPU_DEVICE_NAME(name, rules, usual_error) name,
  CPU_DEVICE_RUNTIME_CALLS(CPU_DEVICE_NAME)
#undef CPU_DEVICE_NAME
};
const call_info& info_of(api function);

/// The function of this name, of the runtime or of a library that the program is linked with; null
/// if there is none.
const call_info* find_call(const char* name);

/// The function that the program has called on this thread, for messages. Calls that the API makes
/// of itself do not count.
const char* name_of_this_call();
inline std::string this_call() { return name_of_this_call(); }

/// Whether the running call fails by an injected fault, whatever it does: only functions that
/// release or end something run then at all.
bool fails_by_injection();

/// A call, from its first line to its last.
class running_call {
 public:
  explicit running_call(const call_info& info);
  ~running_call();
  running_call(const running_call&) = delete;
  running_call& operator=(const running_call&) = delete;

  /// False: the call has failed before it has done anything.
  bool works() const { return works_; }
  int status() const { return status_; }
  /// The status that the program gets.
  int end(int status);

 private:
  void begin();
  void refuse(int status) {
    works_ = false;
    status_ = status;
  }

  const call_info& info_;
  bool works_ = true;
  bool locked_ = false;
  bool of_program_ = false;
  int status_ = 0, injected_ = 0;
  std::uint64_t number_ = 0;
};

// Always inline: otherwise the compiler makes two more functions for each of some 220 calls.
template <class Status = cudaError_t, class Body>
[[gnu::always_inline]] inline Status call(const call_info& info, const Body& body) {
  running_call here(info);
  return static_cast<Status>(here.works() ? here.end(body()) : here.status());
}
template <class Body>
[[gnu::always_inline]] inline cudaError_t call(api function, const Body& body) {
  return call(info_of(function), body);
}

/// A function of a library, which the program may or may not be linked with: it puts itself on the
/// list that find_call() searches.
struct library_call : call_info {
  library_call(const char* name, unsigned rules, int usual_error, const call_family& family);
  const library_call* next;
};

}  // namespace cpu_device
