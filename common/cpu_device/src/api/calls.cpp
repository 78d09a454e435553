// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "api/calls.hpp"

#include <cstring>

#include "api/capture.hpp"
#include "api/faults.hpp"
#include "api/forks.hpp"
#include "base/events.hpp"
#include "base/report.hpp"
#include "context/device.hpp"
#include "cpu_device.h"
#include "engine/engine.hpp"
#include "observers/trace.hpp"

namespace cpu_device {
namespace {

int keep_error(int status) { return fail(static_cast<cudaError_t>(status)); }

constexpr call_family kRuntime = {cudaErrorNotSupported, keep_error, error_named};

using namespace rules;
constexpr call_info kCalls[] = {
#define CPU_DEVICE_CALL(name, rules, usual_error) {#name, rules, usual_error, &kRuntime},
    CPU_DEVICE_RUNTIME_CALLS(CPU_DEVICE_CALL)
#undef CPU_DEVICE_CALL
};

constinit const library_call* library_calls = nullptr;

thread_local constinit const call_info* tls_call = nullptr;  // of the program
thread_local constinit bool tls_injected = false;
std::uint64_t calls_that_count = 0;
[[maybe_unused]] const bool traced = trace_from_environment();  // here: every program has this file

/// Those that a program can do without an answer to do not count: a failing cudaFree is rarely
/// looked at, and cudaGetLastError gives the errors of others.
bool counts(const call_info& info) { return (info.rules & (releases | asks)) == 0; }

}  // namespace

const call_info& info_of(api function) { return kCalls[static_cast<unsigned>(function)]; }

const call_info* find_call(const char* name) {
  for (const call_info& info : kCalls)
    if (std::strcmp(info.name, name) == 0) return &info;
  for (const library_call* info = library_calls; info != nullptr; info = info->next)
    if (std::strcmp(info->name, name) == 0) return info;
  return nullptr;
}

const char* name_of_this_call() { return tls_call != nullptr ? tls_call->name : "the CPU device"; }
bool fails_by_injection() { return tls_injected; }

std::uint64_t calls_made() {
  const std::lock_guard lock(api_mutex());
  return calls_that_count;
}

library_call::library_call(const char* name, unsigned rules, int usual_error,
                           const call_family& family)
    : call_info{name, rules, usual_error, &family}, next(library_calls) {
  library_calls = this;
}

running_call::running_call(const call_info& info) : info_(info) { begin(); }

void running_call::begin() {
  const unsigned rules = info_.rules;
  // Without the lock: the host thread that launched the kernel holds it, and waits for the kernel.
  if (inside_kernel()) {
    if ((rules & anywhere) == 0) {
      explain(std::string(info_.name) + " was called inside a kernel");
      refuse(info_.family->keep(info_.family->inside_kernel));
    }
    return;
  }
  if (lost_in_fork()) [[unlikely]] {
    explain_loss(info_.name);
    return refuse(info_.family == &kRuntime ? static_cast<int>(cudaErrorInitializationError)
                                            : info_.family->inside_kernel);
  }
  api_mutex().lock();
  locked_ = true;
  if (tls_call == nullptr) {
    tls_call = &info_;
    of_program_ = true;
    read_faults_of_environment();
    if (counts(info_)) number_ = ++calls_that_count;
    if (listening(event_kind::call)) {
      injected_ = publish_call({info_.name, number_, info_.usual_error, 0});
      if (injected_ != 0 && (rules & (releases | ends)) == 0) return refuse(end(0));
      tls_injected = injected_ != 0;
    }
  }
  if ((rules & checked) != 0)
    if (const cudaError_t pending = pending_error(); pending != cudaSuccess)
      return refuse(end(fail(pending)));
  if ((rules & (uncaptured | unwaited)) != 0)
    if (const cudaError_t refused = refuse_in_capture((rules & unwaited) != 0);
        refused != cudaSuccess)
      return refuse(end(refused));
}

int running_call::end(int status) {
  if (status == 0 && (info_.rules & awaits) != 0 && injected_ == 0 && locked_)
    if (const cudaError_t pending = pending_error(); pending != cudaSuccess) status = fail(pending);
  if (injected_ != 0)
    status = (info_.rules & asks) != 0 ? injected_ : info_.family->keep(injected_);
  if (of_program_ && listening(event_kind::call))
    publish(event_kind::call, &observer::call_ends,
            call_event{info_.name, number_, info_.usual_error, status});
  return status;
}

running_call::~running_call() {
  if (of_program_) {
    tls_call = nullptr;
    tls_injected = false;
  }
  if (locked_) api_mutex().unlock();
}

}  // namespace cpu_device
